"""What a server and its authorization server say of themselves (RFC 9728, RFC 8414, OpenID Connect Discovery), checked."""

from __future__ import annotations

from dataclasses import dataclass

from ael.mcp.oauth.challenge import Challenge, scopes_of
from ael.mcp.oauth.document import Document
from ael.mcp.oauth.exchange import Exchange
from ael.mcp.oauth.place import Place, covers, denied, place, resource_metadata_urls, server_metadata_urls
from ael.net.address import AddressRules

MAX_SERVERS = 16


@dataclass(frozen=True)
class ProtectedResource:
    """A server's metadata. `resource` is its identifier, sent on exactly as it is written; `servers` are issuers."""

    resource: str
    servers: tuple[str, ...]
    scopes: tuple[str, ...] | None


@dataclass(frozen=True)
class AuthorizationServer:
    """Where tokens come from. `issuer` is what it calls itself; None for a lists where it says nothing.

    `described` is false for a server without metadata, whose endpoints are those of the protocol's first revision.
    """

    issuer: str
    token: Place
    authorization: str | None = None
    registration: Place | None = None
    methods: tuple[str, ...] | None = None
    algorithms: tuple[str, ...] | None = None
    grants: tuple[str, ...] | None = None
    scopes: tuple[str, ...] | None = None
    challenge_methods: tuple[str, ...] | None = None
    dpop_algorithms: tuple[str, ...] | None = None
    answers_with_issuer: bool = False
    client_documents: bool = False
    described: bool = True


async def protected_resource(
    exchange: Exchange, server: Place, challenge: Challenge | None, allowed: AddressRules
) -> ProtectedResource | None:
    """The metadata of `server`: where its challenge says, else at the well-known places. None where it has none.

    Only the server's own origin is asked, and what is found has to be about this server: otherwise another's tokens would be asked for
    in its name. Raises `McpError`.
    """
    what = "the metadata of the MCP server"
    named = None if challenge is None else challenge.resource_metadata
    if named is None:
        candidates = [place(url, allowed, what) for url in resource_metadata_urls(server)]
    else:
        where = place(named, allowed, what)
        if where.endpoint != server.endpoint:
            raise denied(f"the MCP server {server.origin} names metadata of another origin, {where.origin}")
        candidates = [where]
    for candidate in candidates:
        found = await exchange.metadata(candidate, what)
        if found is not None:
            return _resource(found, server, allowed)
    if named is not None:
        raise denied(f"the MCP server {server.origin} names metadata that is not there")
    return None


async def authorization_server(exchange: Exchange, issuer: str, allowed: AddressRules) -> AuthorizationServer | None:
    """The metadata of the authorization server with this issuer. None where it has none. Raises `McpError`."""
    what = "the metadata of the authorization server"
    where = place(issuer, allowed, "the issuer of the authorization server")
    for url in server_metadata_urls(where):
        found = await exchange.metadata(place(url, allowed, what), what)
        if found is not None:
            return _server(found, issuer, where, allowed)
    return None


def first_revision(server: Place) -> AuthorizationServer:
    """The endpoints that a server without any metadata has (MCP 2025-03-26, section 2.3.3), all of its own origin."""
    endpoint = server.endpoint
    return AuthorizationServer(
        issuer=server.origin,
        token=Place(endpoint, "/token"),
        authorization=f"{server.origin}/authorize",
        registration=Place(endpoint, "/register"),
        described=False,
    )


def _resource(found: Document, server: Place, allowed: AddressRules) -> ProtectedResource:
    resource = found.needed("resource")
    if not covers(place(resource, allowed, "the resource in the metadata of the MCP server"), server):
        raise denied(f"the metadata of the MCP server {server.origin} is about another resource")
    scopes = found.texts("scopes_supported")
    servers = found.texts("authorization_servers") or ()
    return ProtectedResource(resource, servers[:MAX_SERVERS], None if scopes is None else scopes_of(" ".join(scopes)))


def _server(found: Document, issuer: str, where: Place, allowed: AddressRules) -> AuthorizationServer:
    own = found.needed("issuer")
    # Simple comparison (RFC 8414, section 3.3), but for the one slash after a host: libraries add it to what they were given,
    # and both are read from the same well-known place.
    if own != issuer and not (where.path == "/" and own.rstrip("/") == issuer.rstrip("/")):
        raise denied(f"the metadata of the authorization server {where.origin} is of another issuer")
    authorization = found.text("authorization_endpoint")
    registration = found.text("registration_endpoint")
    if authorization is not None:
        place(authorization, allowed, "the authorization endpoint")
    scopes = found.texts("scopes_supported")
    return AuthorizationServer(
        issuer=own,
        token=place(found.needed("token_endpoint"), allowed, "the token endpoint"),
        authorization=authorization,
        registration=None if registration is None else place(registration, allowed, "the registration endpoint"),
        methods=found.texts("token_endpoint_auth_methods_supported"),
        algorithms=found.texts("token_endpoint_auth_signing_alg_values_supported"),
        grants=found.texts("grant_types_supported"),
        scopes=None if scopes is None else scopes_of(" ".join(scopes)),
        challenge_methods=found.texts("code_challenge_methods_supported"),
        dpop_algorithms=found.texts("dpop_signing_alg_values_supported"),
        answers_with_issuer=found.flag("authorization_response_iss_parameter_supported"),
        client_documents=found.flag("client_id_metadata_document_supported"),
    )
