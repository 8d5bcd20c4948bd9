"""The authorizer of one server for one tenant: finds out where tokens come from, gets, keeps and renews them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from ael.mcp.failure import McpError
from ael.mcp.oauth.challenge import MAX_SCOPES, Challenge, token_challenge
from ael.mcp.oauth.code import OFFLINE
from ael.mcp.oauth.discovery import (
    AuthorizationServer,
    ProtectedResource,
    authorization_server,
    first_revision,
    protected_resource,
)
from ael.mcp.oauth.exchange import Exchange, exchange, within
from ael.mcp.oauth.grant import Ask, Grant, Prover
from ael.mcp.oauth.place import Place, denied, place
from ael.mcp.oauth.token import Facts, Slot, Token, TokenKey, Tokens
from ael.net.address import AddressRules, rules
from ael.types.fault import FaultKind
from ael.types.value import Secret

FLOW_SECONDS = 60.0
"""A flow takes no longer, however much time the caller has, beside the time that a person has for an answer."""
FRESH = 5.0
"""Seconds. A token that is refused so soon after it was granted is not replaced by another of the same kind."""


class KeyProof(Prover, Protocol):
    """Binds tokens to a key, for requests to the server itself too."""

    @property
    def thumbprint(self) -> str:
        """Which key it is: tokens of one are of no use with another."""

    def server_request(self, where: Place, method: str, token: str) -> dict[str, str]:
        """The proof that goes with a token."""


@dataclass(frozen=True)
class ServerFacts:
    """What the deployment says. `url` is the server's; `hosts` the private hosts that are listed; `scopes`, where there are any, are
    all that is ever asked for; `issuer` the one authorization server that may be used.
    """

    url: str
    tenant: str = ""
    hosts: frozenset[str] = frozenset()
    scopes: tuple[str, ...] = ()
    issuer: str | None = None
    tokens: Tokens = field(default_factory=Tokens, repr=False)
    clock: Callable[[], float] = field(default=time.monotonic, repr=False)


class OAuthAuthorizer:
    """Implements `ael.mcp.endpoint.Authorizer` with a grant of `ael.mcp.oauth.grant` or `code`."""

    def __init__(self, facts: ServerFacts, grant: Grant, prover: KeyProof | None = None) -> None:
        """Raises `McpError` (`Denied`) for a server's URL that tokens must not be sent to."""
        self._facts = facts
        self._grant = grant
        self._prover = prover
        allowed = rules(facts.hosts)
        self._server = place(facts.url, allowed, "the URL of the MCP server")
        self._allowed = _discoverable(
            self._server, (*grant.named, *([facts.issuer] if facts.issuer is not None else [])), allowed
        )
        self._key: TokenKey | None = None
        self._known: Facts = ()

    def __repr__(self) -> str:
        return f"OAuthAuthorizer({self._server.origin})"

    # --- the contract

    async def headers(self, deadline: float, *, method: str = "POST") -> Mapping[str, str | Secret]:
        slot = self._slot()
        if self._due(slot):
            async with within(min(deadline, FLOW_SECONDS)), slot.turn() as first:
                if first and self._due(slot):
                    await self._prepare(slot)
        token = slot.token
        return {} if token is None else self._headers(token, method)

    async def challenged(
        self,
        status: int,
        challenges: Sequence[str],
        deadline: float,
        *,
        sent: Mapping[str, str | Secret] | None = None,
        nonce: str = "",
    ) -> bool:
        challenge = token_challenge(challenges)
        slot = self._slot()
        if status == 401 and self._prover is not None and challenge is not None and challenge.error == "use_dpop_nonce":
            return self._prover.told(self._server, nonce)
        if status != 401 and not (status == 403 and challenge is not None and challenge.error == "insufficient_scope"):
            return False
        seen = slot.token
        if sent is not None and seen is not None and _token_in(sent) != seen.access.reveal():
            # Another token came while this request was under way.
            return True
        async with within(min(deadline, FLOW_SECONDS + self._grant.patience)), slot.turn() as first:
            if first:
                return await self._answer(slot, status, challenge)
        return slot.token is not None and slot.token is not seen

    # --- getting tokens

    async def _prepare(self, slot: Slot) -> None:
        """A token where there is none, or in time for the one that ends."""
        old, server = slot.token, slot.server
        async with exchange(self._allowed) as asking:
            if old is None or server is None:
                resource = await protected_resource(asking, self._server, None, self._allowed)
                if resource is not None or self._facts.issuer is not None:
                    await self._obtain(asking, slot, resource, None)
                # Else the server may say more when it is asked: its challenge is waited for.
                return
            ended = old.end is not None and self._facts.clock() >= old.end
            try:
                if old.refresh is not None:
                    slot.token = await self._renewed(asking, slot, server, old, old.refresh)
                elif self._grant.eager:
                    slot.token = await self._grant.obtain(self._ask(asking, slot, server, old.resource, slot.asked))
                elif ended:
                    slot.token = None
            except McpError as problem:
                if problem.kind is FaultKind.DENIED:
                    # The next request finds out anew where tokens come from; until its end the old one is sent.
                    slot.server = None
                    slot.token = None if ended else replace(old, refresh=None)
                if ended and (self._grant.eager or problem.kind is not FaultKind.DENIED):
                    raise
                slot.pause = self._facts.clock() + FRESH

    async def _answer(self, slot: Slot, status: int, challenge: Challenge | None) -> bool:
        old, server = slot.token, slot.server
        async with exchange(self._allowed) as asking:
            resource = await protected_resource(asking, self._server, challenge, self._allowed)
            if status == 401 and old is not None and old.refresh is not None and server is not None and not self._is_fresh(old):
                same = resource is None or server.issuer in _variants(resource.servers)
                wanted = () if challenge is None or challenge.scopes is None else challenge.scopes
                if same and set(wanted) <= set(slot.asked):
                    try:
                        slot.token = await self._renewed(asking, slot, server, old, old.refresh)
                    except McpError as problem:
                        if problem.kind is not FaultKind.DENIED:
                            raise
                    else:
                        return True
            return await self._obtain(asking, slot, resource, challenge, old=old, more=status == 403)

    async def _renewed(self, asking: Exchange, slot: Slot, server: AuthorizationServer, old: Token, refresh: Secret) -> Token:
        fresh = await self._grant.renew(self._ask(asking, slot, server, old.resource, slot.asked), refresh)
        # A server that rotates refresh tokens sends the next one; else the old one stays.
        return fresh if fresh.refresh is not None else replace(fresh, refresh=refresh)

    async def _obtain(
        self,
        asking: Exchange,
        slot: Slot,
        resource: ProtectedResource | None,
        challenge: Challenge | None,
        *,
        old: Token | None = None,
        more: bool = False,
    ) -> bool:
        issuer = self._issuer(slot, resource)
        server = await authorization_server(asking, issuer, self._allowed)
        if server is None:
            if resource is not None or self._facts.issuer is not None:
                raise denied(f"the authorization server of {self._server.origin} has no metadata, without which it is not used")
            server = first_revision(self._server)
        scopes = self._scopes(slot, server, resource, challenge, more)
        if old is not None and old.issuer == server.issuer and set(scopes) <= set(slot.asked) and (more or self._is_fresh(old)):
            # The very same was asked for already, and what came of it was refused: asking again changes nothing.
            return False
        name = None if resource is None else resource.resource
        if self._grant.pinned:
            slot.issuer = issuer
        token = await self._grant.obtain(self._ask(asking, slot, server, name, scopes))
        slot.token, slot.server, slot.asked = token, server, scopes
        return True

    def _issuer(self, slot: Slot, resource: ProtectedResource | None) -> str:
        """Which authorization server to use. Raises `McpError` (`Denied`) rather than show a credential to another than its own."""
        named = () if resource is None else resource.servers
        wanted = self._facts.issuer
        if wanted is not None:
            if named and wanted not in _variants(named):
                raise denied(f"{self._server.origin} does not take tokens of the authorization server that the deployment names")
            return wanted
        if resource is not None and not named:
            raise denied(f"the metadata of {self._server.origin} names no authorization server")
        bound = slot.issuer
        if self._grant.pinned and bound is not None:
            if bound not in _variants(named or (self._server.origin,)):
                raise denied(
                    f"{self._server.origin} names another authorization server than before, "
                    "and the credential is not shown to it: name the right one in the deployment (`issuer`)"
                )
            return bound
        return named[0] if named else self._server.origin

    def _scopes(
        self,
        slot: Slot,
        server: AuthorizationServer,
        resource: ProtectedResource | None,
        challenge: Challenge | None,
        more: bool,
    ) -> tuple[str, ...]:
        """What to ask for: what the challenge says, else what the server's metadata says; together with what was asked before. Never
        more than the deployment names.
        """
        asked = None if challenge is None else challenge.scopes
        own = self._facts.scopes
        if own:
            beyond = sorted(set(asked or ()) - set(own)) if more else []
            if beyond:
                raise denied(
                    f"{self._server.origin} asks for a scope that the deployment does not name ({', '.join(beyond)[:200]!r})"
                )
            return own
        if asked is None:
            asked = resource.scopes if resource is not None else None
        # Who says yes a second time says yes to all of it: a page for what was given before would come right after this one.
        before = slot.asked if more or (slot.server is not None and slot.server.issuer == server.issuer) else ()
        wanted = [*before, *(asked or ())]
        if (
            not self._grant.eager
            and OFFLINE in (server.scopes or ())
            and "refresh_token" in (server.grants or ("refresh_token",))
        ):
            wanted.append(OFFLINE)
        return tuple(dict.fromkeys(wanted))[:MAX_SCOPES]

    # --- small things

    def _slot(self) -> Slot:
        """What is known for the credential that counts now; what an older one got is forgotten."""
        facts = self._facts
        bound = "" if self._prover is None else self._prover.thumbprint
        now = (*self._grant.facts(), facts.issuer or "", " ".join(facts.scopes), bound)
        # A secret is only equal to itself: one that is made anew each time has its key computed each time.
        if now != self._known or self._key is None:
            key = facts.tokens.key(self._server.url, facts.tenant, now)
            if self._key is not None and self._key != key:
                facts.tokens.drop(self._key)
            self._key, self._known = key, now
        return facts.tokens.slot(self._key)

    def _due(self, slot: Slot) -> bool:
        token = slot.token
        if token is None:
            return self._grant.eager
        now = self._facts.clock()
        return (
            token.renew is not None and now >= token.renew and (now >= slot.pause or (token.end is not None and now >= token.end))
        )

    def _is_fresh(self, token: Token) -> bool:
        return self._facts.clock() - token.made < FRESH

    def _headers(self, token: Token, method: str) -> Mapping[str, str | Secret]:
        proofs = {} if self._prover is None else self._prover.server_request(self._server, method, token.access.reveal())
        return {"authorization": Secret("access token", f"{token.scheme} {token.access.reveal()}"), **proofs}

    def _ask(
        self, asking: Exchange, slot: Slot, server: AuthorizationServer, resource: str | None, scopes: tuple[str, ...]
    ) -> Ask:
        def allowed(url: str, what: str) -> Place:
            return place(url, rules(self._facts.hosts), what)

        return Ask(asking, server, resource, scopes, slot, self._facts.clock(), allowed, self._prover)


def _discoverable(server: Place, named: tuple[str, ...], allowed: AddressRules) -> AddressRules:
    """Where discovery may lead: a public server leads to no private host, unless the deployment itself names it (`named` are URLs)."""
    if allowed.lists(server.endpoint.host, server.endpoint.port):
        return allowed
    private: set[str] = set()
    for url in named:
        endpoint = place(url, allowed, "a URL of the authorization in the deployment").endpoint
        if allowed.lists(endpoint.host, endpoint.port):
            private |= {f"{endpoint.host}:{endpoint.port}", f"[{endpoint.host}]:{endpoint.port}"}
    return AddressRules(frozenset(private))


def _variants(servers: Iterable[str]) -> set[str]:
    """Issuers as they are named, and with or without the one slash after a host."""
    return {variant for server in servers for variant in (server, server.rstrip("/"), f"{server.rstrip('/')}/")}


def _token_in(sent: Mapping[str, str | Secret]) -> str:
    value = sent.get("authorization", "")
    text = value.reveal() if isinstance(value, Secret) else value
    return text.partition(" ")[2]
