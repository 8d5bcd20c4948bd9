"""Who this side is for an authorization server, and how it proves it at the token endpoint (RFC 6749, 7523, 7591)."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import quote

from ael.mcp.failure import McpError
from ael.mcp.oauth.discovery import AuthorizationServer
from ael.mcp.oauth.exchange import Exchange, Fields
from ael.mcp.oauth.place import denied
from ael.types.fault import FaultKind
from ael.types.value import Secret

Credential = Secret | Callable[[], Secret]
"""A secret, or what gives the one that counts now: asked each time one is needed, so that a rotated one is used at once."""

ASSERTION = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
Method = Literal["none", "client_secret_basic", "client_secret_post", "private_key_jwt"]


def current(credential: Credential) -> Secret:
    """The secret that counts now."""
    return credential if isinstance(credential, Secret) else credential()


@dataclass(frozen=True)
class SigningKey:
    """A private key (PEM, PKCS#8) for `private_key_jwt`. `id` is the `kid` of its public half, if the server knows it by one."""

    key: Credential
    algorithm: str = "ES256"
    id: str | None = None


@dataclass(frozen=True)
class Identity:
    """A client at one authorization server. `method`: how it proves itself; None: what the server takes."""

    id: str
    secret: Secret | None = None
    key: SigningKey | None = None
    method: Method | None = None


@dataclass(frozen=True)
class Registered:
    """An identity that the server gave on request; `redirect` is what it was registered with, `until` (Unix time) when its secret ends."""

    identity: Identity
    redirect: str
    until: float = 0.0


Sign = Callable[[SigningKey, str, AuthorizationServer], str]
"""Makes the signed assertion of a client (its id) for a server: `signing.client_assertion`, loaded when a key is used."""


@dataclass(frozen=True)
class Proof:
    """What goes into a token request to say who asks."""

    fields: Fields
    headers: Mapping[str, Secret] = field(default_factory=dict)


def proof(exchange: Exchange, client: Identity, server: AuthorizationServer, sign: Sign | None) -> Proof:
    """Prove who asks, by the client's method or the best that both sides know. Raises `McpError` (`Denied`)."""
    match client.method or _method(client, server):
        case "none":
            return Proof((("client_id", client.id),))
        case "private_key_jwt" if client.key is not None and sign is not None:
            assertion = sign(client.key, client.id, server)
            signed = Secret("client assertion", assertion)
            return Proof((("client_id", client.id), ("client_assertion_type", ASSERTION), ("client_assertion", signed)))
        case "client_secret_post" if client.secret is not None:
            return Proof((("client_id", client.id), ("client_secret", client.secret)))
        case "client_secret_basic" if client.secret is not None:
            exchange.hide(client.secret.reveal())
            pair = f"{quote(client.id, safe='')}:{quote(client.secret.reveal(), safe='')}"
            value = b64encode(pair.encode()).decode()
            return Proof((), {"authorization": Secret(client.secret.name, f"Basic {value}")})
        case method:
            raise denied(f"the authorization server wants `{method}`, for which this client has no credential")


def _method(client: Identity, server: AuthorizationServer) -> Method:
    offered = server.methods
    if client.key is not None:
        wanted: tuple[Method, ...] = ("private_key_jwt",)
    elif client.secret is not None:
        wanted = ("client_secret_basic", "client_secret_post")
    else:
        return "none"
    # RFC 8414: a server that names no methods takes `client_secret_basic`.
    for method in wanted:
        if offered is None or method in offered:
            return method
    raise denied(f"{server.token.origin} takes none of the ways in which this client can prove itself ({', '.join(wanted)})")


async def register(
    exchange: Exchange, server: AuthorizationServer, name: str, redirect: str, scopes: tuple[str, ...]
) -> Registered:
    """Register this program as a new client (RFC 7591). Raises `McpError`."""
    if server.registration is None:
        raise denied(f"{server.token.origin} registers no clients: give the id of one that it knows")
    method = _registered_method(server)
    asked: dict[str, object] = {
        "client_name": name,
        "redirect_uris": [redirect],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": method,
        # A program on the user's machine with a loopback redirect (RFC 8252).
        "application_type": "native",
    }
    if scopes:
        asked["scope"] = " ".join(scopes)
    told = await exchange.json(server.registration, asked, "the registration")
    secret = told.text("client_secret")
    given = told.text("token_endpoint_auth_method")
    if given is not None and given not in ("none", "client_secret_basic", "client_secret_post"):
        raise denied(f"{server.token.origin} registered this client with a method that was not asked for")
    if secret is not None:
        exchange.hide(secret)
    chosen: Method = method if given is None else given  # type: ignore[assignment]  # narrowed by the test above
    if chosen != "none" and secret is None:
        raise McpError(FaultKind.MALFORMED, f"the registration of {server.token.origin} gives no secret for `{chosen}`")
    identity = Identity(told.needed("client_id"), None if secret is None else Secret("client secret", secret), method=chosen)
    return Registered(identity, redirect, told.seconds("client_secret_expires_at") or 0.0)


def _registered_method(server: AuthorizationServer) -> Method:
    offered = server.methods
    for method in _PREFERRED:
        if offered is not None and method in offered:
            return method
    if offered is None:
        # A program on a user's machine keeps no secret; a server that knows only secrets says so.
        return "none"
    raise denied(f"{server.token.origin} takes none of the ways in which a program on this machine can prove itself")


_PREFERRED: tuple[Method, ...] = ("none", "client_secret_basic", "client_secret_post")
