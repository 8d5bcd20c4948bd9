"""A user's authorization in a browser: the authorization code grant with PKCE (OAuth 2.1, RFC 7636, RFC 9207)."""

from __future__ import annotations

import hashlib
import secrets
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable
from dataclasses import dataclass, field

from ael.mcp.failure import McpError
from ael.mcp.oauth.client import Credential, Identity, Registered, current, proof, register
from ael.mcp.oauth.discovery import AuthorizationServer
from ael.mcp.oauth.exchange import Fields
from ael.mcp.oauth.grant import Ask, request
from ael.mcp.oauth.place import denied, with_query
from ael.mcp.oauth.redirect import OpenUrl, RedirectReceiver
from ael.mcp.oauth.token import Facts, Token
from ael.types.fault import FaultKind
from ael.types.value import Secret

LOGIN_SECONDS = 300.0
"""How long a user has in the browser, if the deadline of what waits for it is not sooner."""
OFFLINE = "offline_access"


@dataclass(frozen=True)
class AuthorizationCode:
    """A user says yes in a browser.

    The client is, in this order, the one that is given (`id`, with a `secret` if it has one), the one that the document at
    `document` (an https URL, the client's id) describes, or one that is registered on the spot.
    """

    open_url: OpenUrl = field(repr=False)
    id: str | None = None
    secret: Credential | None = field(default=None, repr=False)
    document: str | None = None
    name: str = "AEL"
    seconds: float = LOGIN_SECONDS
    today: Callable[[], float] = field(default=time.time, repr=False)

    eager = False
    named = ()

    @property
    def patience(self) -> float:
        return self.seconds

    @property
    def pinned(self) -> bool:
        return self.id is not None

    def facts(self) -> Facts:
        secret = "" if self.secret is None else current(self.secret)
        return ("authorization_code", self.id or "", secret, self.document or "")

    async def obtain(self, ask: Ask) -> Token:
        server = ask.server
        if server.authorization is None:
            raise denied(f"{server.token.origin} has no authorization endpoint: no user can be asked")
        if server.described and "S256" not in (server.challenge_methods or ()):
            raise denied(f"{server.token.origin} does not say that it takes PKCE with S256, without which codes can be stolen")
        known = ask.slot.registered.get(server.issuer)
        async with RedirectReceiver(0 if known is None else _port(known.redirect)) as receiver:
            client = await self._client(ask, receiver.uri)
            verifier, state = secrets.token_urlsafe(64), secrets.token_urlsafe(32)
            ask.exchange.hide(state)
            url = with_query(server.authorization, self._parameters(ask, client, receiver.uri, verifier, state))
            answer = await receiver.answer(url, state, self.open_url, self.seconds)
            code = _code(ask, answer)
            fields: Fields = [
                ("grant_type", "authorization_code"),
                ("code", code),
                ("redirect_uri", receiver.uri),
                ("code_verifier", Secret("code verifier", verifier)),
            ]
        return await request(ask, fields, proof(ask.exchange, client, server, None))

    async def renew(self, ask: Ask, refresh: Secret) -> Token:
        """With the refresh token; where the answer brings none, the old one stays. Raises `McpError` when a user is needed again."""
        client = self._known(ask)
        if client is None:
            raise denied("the client that the refresh token belongs to is not known any more")
        fields: Fields = [("grant_type", "refresh_token"), ("refresh_token", refresh)]
        return await request(ask, fields, proof(ask.exchange, client, ask.server, None))

    def _known(self, ask: Ask) -> Identity | None:
        if self.id is not None:
            return Identity(self.id, None if self.secret is None else current(self.secret))
        if self.document is not None and ask.server.client_documents:
            return Identity(self.document, method="none")
        registered = ask.slot.registered.get(ask.server.issuer)
        return None if registered is None else registered.identity

    async def _client(self, ask: Ask, redirect: str) -> Identity:
        registered = ask.slot.registered.get(ask.server.issuer)
        if registered is not None and not self._fits(registered, redirect):
            del ask.slot.registered[ask.server.issuer]
        known = self._known(ask)
        if known is not None:
            return known
        made = await register(ask.exchange, ask.server, self.name, redirect, ask.scopes)
        ask.slot.registered[ask.server.issuer] = made
        return made.identity

    def _fits(self, registered: Registered, redirect: str) -> bool:
        return registered.redirect == redirect and (registered.until == 0 or registered.until > self.today())

    def _parameters(self, ask: Ask, client: Identity, redirect: str, verifier: str, state: str) -> list[tuple[str, str]]:
        digest = hashlib.sha256(verifier.encode()).digest()
        resource = [] if ask.resource is None else [("resource", ask.resource)]
        # OpenID Connect grants lasting access only to who says yes to it anew.
        consent = [("prompt", "consent")] if OFFLINE in ask.scopes else []
        return [
            ("response_type", "code"),
            ("client_id", client.id),
            ("redirect_uri", redirect),
            ("code_challenge", urlsafe_b64encode(digest).rstrip(b"=").decode()),
            ("code_challenge_method", "S256"),
            ("state", state),
            *([("scope", " ".join(ask.scopes))] if ask.scopes else []),
            *resource,
            *consent,
        ]


def _code(ask: Ask, answer: dict[str, str]) -> Secret:
    """The code of an authorization response, after it is seen whose response it is: before anything else in it is believed."""
    server, issuer = ask.server, answer.get("iss")
    if issuer is None:
        if server.answers_with_issuer:
            raise denied(
                f"the authorization response does not say that it is from {server.token.origin}, which says that it always does"
            )
    elif not _is(server, issuer):
        raise denied(f"the authorization response is not from {server.token.origin}, which was asked")
    if "error" in answer:
        told = ": ".join(part for part in (answer["error"], answer.get("error_description", "")) if part)
        raise denied(f"the authorization was not given (the server says: {ask.exchange.outside(told)!r})")
    code = answer.get("code", "")
    if not code:
        raise McpError(FaultKind.MALFORMED, "the authorization response has neither a code nor an error")
    return Secret("authorization code", code)


def _is(server: AuthorizationServer, issuer: str) -> bool:
    # Simple comparison, without any normalization (RFC 9207, section 2.4).
    return server.issuer == issuer


def _port(redirect: str) -> int:
    return int(redirect.partition("://")[2].partition("/")[0].rpartition(":")[2])
