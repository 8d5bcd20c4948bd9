"""Which URLs may take part in an authorization, and where a server's documents are (RFC 8414, RFC 9728)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from ipaddress import ip_address
from urllib.parse import parse_qsl, urlencode, urlsplit

from ael.mcp.failure import McpError
from ael.net.address import AddressRules, Endpoint, parse_endpoint
from ael.net.failure import NetError
from ael.types.fault import FaultKind

MAX_URL = 2048


@dataclass(frozen=True)
class Place:
    """A URL that may be asked: `endpoint` is its host alone, `path` all that comes after it as it was written."""

    endpoint: Endpoint
    path: str

    @property
    def origin(self) -> str:
        """What may be shown in a message."""
        return self.endpoint.origin

    @property
    def url(self) -> str:
        return f"{self.endpoint.origin}{self.path}"


def place(url: str, allowed: AddressRules, what: str) -> Place:
    """Check a URL. Raises `McpError` (`Denied`), whose message says `what` it is and shows at most its host.

    `https`, or `http` for a loopback host that the deployment lists: a listed private host is no place for tokens without TLS.
    """
    if len(url) > MAX_URL:
        raise denied(f"{what} is a URL of more than {MAX_URL} characters")
    try:
        endpoint = parse_endpoint(url, allowed)
    except NetError as problem:
        raise denied(f"{what} is not a URL that may be asked: {problem.message}") from None
    if not endpoint.tls and not (_loopback(endpoint.host) and allowed.lists(endpoint.host, endpoint.port)):
        raise denied(
            f"{what}, on `{endpoint.authority}`, is not https (http is only for a loopback host that the deployment lists)"
        )
    parts = urlsplit(url)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Place(replace(endpoint, path="", query=""), path)


def with_query(url: str, values: list[tuple[str, str]]) -> str:
    """The URL with further parameters; those of the same name that it has give way."""
    parts = urlsplit(url)
    names = {name for name, _ in values}
    kept = [(name, value) for name, value in parse_qsl(parts.query, keep_blank_values=True) if name not in names]
    return parts._replace(query=urlencode([*kept, *values])).geturl()


def resource_metadata_urls(server: Place) -> tuple[str, ...]:
    """Where a server's own metadata may be when it does not say: with its path, then without (RFC 9728, section 3.1)."""
    well_known = f"{server.origin}/.well-known/oauth-protected-resource"
    path = server.path.partition("?")[0].rstrip("/")
    return (f"{well_known}{path}", well_known) if path else (well_known,)


def server_metadata_urls(issuer: Place) -> tuple[str, ...]:
    """Where an authorization server's metadata may be: RFC 8414, then OpenID Connect's two readings of a path."""
    origin, path = issuer.origin, issuer.path.partition("?")[0].rstrip("/")
    found = [f"{origin}/.well-known/oauth-authorization-server{path}", f"{origin}/.well-known/openid-configuration{path}"]
    if path:
        found.append(f"{origin}{path}/.well-known/openid-configuration")
    return tuple(found)


def covers(resource: Place, server: Place) -> bool:
    """Whether a token for `resource` is meant for `server`: the same origin, and a path that the server's begins with."""
    if resource.endpoint != server.endpoint:
        return False
    outer = resource.path.partition("?")[0].rstrip("/").split("/")
    inner = server.path.partition("?")[0].rstrip("/").split("/")
    return inner[: len(outer)] == outer


def denied(message: str) -> McpError:
    """A refusal of this side: nothing was sent."""
    return McpError(FaultKind.DENIED, message)


def _loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
