"""How a token is asked for: one class for each grant, all behind `Grant`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Protocol

from ael.mcp.failure import McpError
from ael.mcp.oauth.client import Credential, Identity, Proof, Sign, SigningKey, current, proof
from ael.mcp.oauth.discovery import AuthorizationServer
from ael.mcp.oauth.document import Document
from ael.mcp.oauth.exchange import Exchange, Fields
from ael.mcp.oauth.place import Place, denied
from ael.mcp.oauth.token import Facts, Slot, Token, token_of
from ael.types.fault import FaultKind
from ael.types.value import Secret

JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"
TOKEN_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
ID_TOKEN = "urn:ietf:params:oauth:token-type:id_token"
ID_JAG = "urn:ietf:params:oauth:token-type:id-jag"


class Prover(Protocol):
    """What binds tokens to a key (RFC 9449)."""

    def token_request(self, where: Place) -> dict[str, str]:
        """The headers of a request to a token endpoint."""

    def told(self, where: Place, nonce: str) -> bool:
        """The server gave a nonce. True when it is a new one."""


@dataclass(frozen=True)
class Ask:
    """What a token is asked for. `resource` is the server's identifier as its metadata gives it; None where it has none."""

    exchange: Exchange = field(repr=False)
    server: AuthorizationServer
    resource: str | None
    scopes: tuple[str, ...]
    slot: Slot = field(repr=False)
    now: float
    allowed: Callable[[str, str], Place] = field(repr=False)
    prover: Prover | None = field(default=None, repr=False)


class Grant(Protocol):
    """A way to a token."""

    @property
    def eager(self) -> bool:
        """Whether a token can be got before the server has asked for one, without a person."""

    @property
    def pinned(self) -> bool:
        """Whether it uses a credential that one authorization server gave out beforehand: it must see no other server."""

    @property
    def patience(self) -> float:
        """Seconds that a person has for an answer."""

    @property
    def named(self) -> tuple[str, ...]:
        """URLs that the deployment names for it, beside the server's."""

    def facts(self) -> Facts:
        """All that the tokens depend on, with the secrets that count now (for `TokenKey`)."""

    async def obtain(self, ask: Ask) -> Token:
        """A new token. Raises `McpError`."""

    async def renew(self, ask: Ask, refresh: Secret) -> Token:
        """A new token for a refresh token. Raises `McpError`."""


async def request(ask: Ask, fields: Fields, client: Proof, *, resource: bool = True) -> Token:
    """One token request. With `resource`, the token is asked for this server alone (RFC 8707)."""
    named = [("resource", ask.resource)] if resource and ask.resource is not None else []
    found = await post(ask, [*fields, *client.fields, *named], client, ask.server.token)
    return token_of(found, ask.scopes, ask.resource, ask.server.issuer, ask.now, bound=ask.prover is not None)


async def post(ask: Ask, fields: Fields, client: Proof, where: Place, what: str = "the token request") -> Document:
    """Post to a token endpoint, once more where it wants a nonce in the proof (RFC 9449, section 8)."""
    reply = None
    for _ in range(2):
        proofs = {} if ask.prover is None else ask.prover.token_request(where)
        reply = await ask.exchange.form(where, fields, {**client.headers, **proofs}, what)
        if ask.prover is None or not ask.prover.told(where, reply.nonce) or ask.exchange.error_of(reply) != "use_dpop_nonce":
            break
    assert reply is not None
    try:
        return ask.exchange.accepted(reply, where, what)
    except McpError as problem:
        if ask.exchange.error_of(reply) == "invalid_client":
            # The server may have forgotten a client that registered itself: the next flow registers anew.
            ask.slot.registered.pop(ask.server.issuer, None)
        raise problem from None


def scope_field(ask: Ask) -> Fields:
    """The scopes of a request, if there are any."""
    return [("scope", " ".join(ask.scopes))] if ask.scopes else []


@dataclass(frozen=True)
class ClientCredentials:
    """The program's own credential (RFC 6749, section 4.4), a secret or a key."""

    id: str
    secret: Credential | None = field(default=None, repr=False)
    key: SigningKey | None = field(default=None, repr=False)
    sign: Sign | None = field(default=None, repr=False)

    eager = True
    pinned = True
    patience = 0.0
    named = ()

    def facts(self) -> Facts:
        credential = self.secret if self.secret is not None else self.key.key if self.key is not None else None
        return ("client_credentials", self.id, "" if credential is None else current(credential))

    async def obtain(self, ask: Ask) -> Token:
        fields = [("grant_type", "client_credentials"), *scope_field(ask)]
        token = await request(ask, fields, self._proof(ask))
        # RFC 6749, section 4.4.3: no refresh token here; the credential itself is one.
        return replace(token, refresh=None)

    async def renew(self, ask: Ask, refresh: Secret) -> Token:
        return await self.obtain(ask)

    def _proof(self, ask: Ask) -> Proof:
        client = Identity(self.id, None if self.secret is None else current(self.secret), self.key)
        return proof(ask.exchange, client, ask.server, self.sign)


@dataclass(frozen=True)
class WorkloadIdentity:
    """A token that the platform gives a program, taken for one of the server's (RFC 7523, section 2.1). A refusal is final."""

    id: str
    assertion: Credential = field(repr=False)

    eager = True
    pinned = True
    patience = 0.0
    named = ()

    def facts(self) -> Facts:
        return ("jwt_bearer", self.id, current(self.assertion))

    async def obtain(self, ask: Ask) -> Token:
        fields: Fields = [("grant_type", JWT_BEARER), ("assertion", current(self.assertion)), *scope_field(ask)]
        return replace(await request(ask, fields, Proof((("client_id", self.id),))), refresh=None)

    async def renew(self, ask: Ask, refresh: Secret) -> Token:
        return await self.obtain(ask)


@dataclass(frozen=True)
class EnterpriseManaged:
    """A user's identity at the organisation's provider, exchanged there for a grant at the server's authorization server.

    RFC 8693 and the draft of identity assertion grants: `identity` is the user's ID token, `provider` the token endpoint of the
    organisation's identity provider, `provider_id` this client's id there.
    """

    id: str
    secret: Credential = field(repr=False)
    provider: str
    provider_id: str
    identity: Credential = field(repr=False)
    provider_secret: Credential | None = field(default=None, repr=False)

    eager = True
    pinned = True
    patience = 0.0

    @property
    def named(self) -> tuple[str, ...]:
        return (self.provider,)

    def facts(self) -> Facts:
        more = "" if self.provider_secret is None else current(self.provider_secret)
        return ("enterprise", self.id, current(self.secret), self.provider, self.provider_id, current(self.identity), more)

    async def obtain(self, ask: Ask) -> Token:
        if ask.resource is None:
            raise denied("the server has no metadata that names it as a resource, which the identity provider has to be told")
        client = Identity(self.id, current(self.secret))
        assertion = await self._assertion(ask, ask.resource)
        fields: Fields = [("grant_type", JWT_BEARER), ("assertion", assertion), *scope_field(ask)]
        # The assertion names the resource already.
        token = await request(ask, fields, proof(ask.exchange, client, ask.server, None), resource=False)
        return replace(token, refresh=None)

    async def renew(self, ask: Ask, refresh: Secret) -> Token:
        return await self.obtain(ask)

    async def _assertion(self, ask: Ask, resource: str) -> Secret:
        what = "the token exchange"
        where = ask.allowed(self.provider, "the token endpoint of the identity provider")
        own = AuthorizationServer(issuer=where.origin, token=where)
        secret = None if self.provider_secret is None else current(self.provider_secret)
        client = proof(ask.exchange, Identity(self.provider_id, secret), own, None)
        fields: Fields = [
            ("grant_type", TOKEN_EXCHANGE),
            ("requested_token_type", ID_JAG),
            ("audience", ask.server.issuer),
            ("resource", resource),
            ("subject_token", current(self.identity)),
            ("subject_token_type", ID_TOKEN),
            *client.fields,
        ]
        found = ask.exchange.accepted(await ask.exchange.form(where, fields, client.headers, what), where, what)
        if found.text("issued_token_type") != ID_JAG:
            raise McpError(FaultKind.MALFORMED, f"{found.what}: what was issued is no identity assertion")
        return Secret("identity assertion", found.needed("access_token"))
