"""Access tokens: read from an answer, kept in memory for one server, tenant and version of a credential (fault kind K43)."""

from __future__ import annotations

import asyncio
import hmac
import re
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from ael.mcp.failure import McpError
from ael.mcp.oauth.challenge import scopes_of
from ael.mcp.oauth.client import Registered
from ael.mcp.oauth.discovery import AuthorizationServer
from ael.mcp.oauth.document import Document
from ael.types.fault import FaultKind
from ael.types.value import Secret

MARGIN = 30.0
"""Seconds before its end at which a token is renewed, at most a tenth of its life."""
MAX_TOKEN = 16 * 1024
MAX_LIFE = 366 * 24 * 3600.0

Facts = tuple[str | Secret, ...]
"""All that a token depends on."""

_SENDABLE = re.compile(r"[\x21-\x7e]+")


@dataclass(frozen=True)
class Token:
    """A token and what it was asked with. Times are of the authorizer's clock: `renew` when it should be renewed, `end` when it ends."""

    access: Secret
    scheme: str
    scopes: frozenset[str]
    resource: str | None
    issuer: str
    made: float
    renew: float | None = None
    end: float | None = None
    refresh: Secret | None = None


def token_of(
    found: Document, asked: tuple[str, ...], resource: str | None, issuer: str, now: float, *, bound: bool = False
) -> Token:
    """The token of an answer to a token request (RFC 6749, section 5.1). `bound`: a DPoP token was asked for. Raises `McpError`."""
    access = found.needed("access_token")
    scheme = found.needed("token_type").lower()
    if scheme != ("dpop" if bound else "bearer"):
        raise McpError(FaultKind.MALFORMED, f"{found.what}: the token is of a type that was not asked for")
    refresh = found.text("refresh_token")
    for value in (access, refresh):
        if value is not None and not sendable(value):
            raise McpError(FaultKind.MALFORMED, f"{found.what}: a token that no header can carry")
    life = found.seconds("expires_in")
    if life is not None:
        life = min(life, MAX_LIFE)
    told = found.text("scope")
    return Token(
        access=Secret("access token", access),
        scheme="DPoP" if bound else "Bearer",
        scopes=frozenset(asked if told is None else scopes_of(told)),
        resource=resource,
        issuer=issuer,
        made=now,
        renew=None if life is None else now + life - min(MARGIN, life / 10),
        end=None if life is None else now + life,
        refresh=None if refresh is None else Secret("refresh token", refresh),
    )


def sendable(token: str) -> bool:
    """Whether a header can carry it and nothing else (RFC 6750, section 2.1, and the visible characters that some servers use)."""
    return len(token) <= MAX_TOKEN and _SENDABLE.fullmatch(token) is not None


@dataclass(frozen=True)
class TokenKey:
    """Whose a token is. `version` changes with the credential and with what is asked for; it says nothing of them."""

    server: str
    tenant: str
    version: str = field(repr=False)


class Slot:
    """What is known for one key: the token, how it came about, and the turn of who gets a new one."""

    def __init__(self, told: Callable[[Secret], None] | None = None) -> None:
        self._token: Token | None = None
        self._told = told
        self.server: AuthorizationServer | None = None
        self.asked: tuple[str, ...] = ()
        self.issuer: str | None = None
        """The issuer that a credential given by the deployment was first used with: it goes to no other."""
        self.registered: dict[str, Registered] = {}
        self.pause = 0.0
        """Before this time of the authorizer's clock a token that is still good is not renewed: the last try failed."""
        self._turns = 0
        self._failed: McpError | None = None
        self._lock: asyncio.Lock | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def token(self) -> Token | None:
        """The token that is sent now."""
        return self._token

    @token.setter
    def token(self, token: Token | None) -> None:
        self._token = token
        for secret in () if token is None or self._told is None else (token.access, token.refresh):
            if secret is not None and self._told is not None:
                self._told(secret)

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[bool]:
        """Wait until nobody else gets a token. Gives false when somebody did meanwhile; raises the `McpError` with which they failed.

        So of many callers at once one asks the authorization server, and all end with what it said. One that is cancelled counts as if
        it had never been there.
        """
        loop = asyncio.get_running_loop()
        if self._lock is None or self._loop is not loop:
            self._lock, self._loop = asyncio.Lock(), loop
        before = self._turns
        async with self._lock:
            if self._turns != before:
                if self._failed is not None:
                    raise again(self._failed)
                yield False
                return
            try:
                yield True
            except McpError as problem:
                if problem.kind is not FaultKind.TIMEOUT:
                    # That one's time was up says nothing to those who have more.
                    self._turns, self._failed = self._turns + 1, problem
                raise
            self._turns, self._failed = self._turns + 1, None


class Tokens:
    """Tokens in memory. One may serve many authorizers: each finds only what belongs to its own key.

    Of more than `limit` keys the one that was not used for longest is forgotten: tenants come and go.
    """

    def __init__(self, limit: int = 10_000, told: Callable[[Secret], None] | None = None) -> None:
        """`told` hears of each new token, so that it can be masked in what is shown."""
        self._limit = limit
        self._told = told
        self._salt = secrets.token_bytes(32)
        self._slots: dict[TokenKey, Slot] = {}

    def key(self, server: str, tenant: str, facts: Facts) -> TokenKey:
        """The key for a server (its URL), a tenant and all that its tokens depend on, secrets included; those cannot be read from it."""
        texts = [fact.reveal() if isinstance(fact, Secret) else fact for fact in facts]
        text = "".join(f"{len(one)}:{one}" for one in texts)
        return TokenKey(server, tenant, hmac.new(self._salt, text.encode(), "sha256").hexdigest())

    def slot(self, key: TokenKey) -> Slot:
        """What is known for a key."""
        found = self._slots.pop(key, None) or Slot(self._told)
        # Last in the order of use.
        self._slots[key] = found
        if len(self._slots) > self._limit:
            del self._slots[next(iter(self._slots))]
        return found

    def drop(self, key: TokenKey) -> None:
        """Forget a key, when its credential counts no more."""
        self._slots.pop(key, None)

    def __len__(self) -> int:
        return len(self._slots)


def again(problem: McpError) -> McpError:
    """The same error for another who waited: one object raised twice would collect the places of both."""
    return McpError(
        problem.kind,
        problem.message,
        sent=problem.sent,
        status=problem.status,
        code=problem.code,
        retry_after=problem.retry_after,
    )
