"""A real authorization server and a protected MCP endpoint on the loopback address, which misbehave as they are told."""

from __future__ import annotations

import asyncio
import hashlib
import json
from base64 import b64decode, urlsafe_b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlencode, urlsplit

from tests.net.loopback import Answer, Asked, Loopback, whole

HOSTS = frozenset({"127.0.0.1", "localhost"})


def said(value: object, status: int = 200, **headers: str) -> Answer:
    """A JSON answer."""
    return whole(json.dumps(value).encode(), status=status, **headers)


def nothing(status: int = 404, **headers: str) -> Answer:
    return whole(b"", "text/plain", status, **headers)


@dataclass(frozen=True)
class Granted:
    """A token that the authority gave, with what it is for."""

    token: str
    scopes: frozenset[str]
    client: str
    resource: str | None


@dataclass
class Authority:
    """Gives tokens out. `changes` override its metadata (None takes a member away); `answers` override whole paths; `wait` are
    seconds before a token is given; `life` is a token's in seconds, None: it does not say.
    """

    clients: dict[str, str] = field(default_factory=lambda: {"robot": "robot-secret-4711"})
    changes: dict[str, Any] = field(default_factory=dict)
    answers: dict[str, Callable[[Asked], Answer]] = field(default_factory=dict)
    redirect: dict[str, str | None] = field(default_factory=dict)
    life: float | None = 3600.0
    wait: float = 0.0
    refreshes: bool = True
    prefix: str = ""
    url: str = ""
    tokens: dict[str, Granted] = field(default_factory=dict)
    token_requests: list[dict[str, str]] = field(default_factory=list)
    authorizations: list[dict[str, str]] = field(default_factory=list)
    registrations: list[dict[str, Any]] = field(default_factory=list)
    proofs: list[str] = field(default_factory=list)
    _codes: dict[str, dict[str, str]] = field(default_factory=dict)
    _refresh: dict[str, dict[str, str]] = field(default_factory=dict)

    @property
    def issuer(self) -> str:
        return f"{self.url}{self.prefix}"

    def metadata(self) -> dict[str, Any]:
        told: dict[str, Any] = {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "registration_endpoint": f"{self.issuer}/register",
            "response_types_supported": ["code"],
            "grant_types_supported": ["authorization_code", "refresh_token", "client_credentials"],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["none", "client_secret_basic", "client_secret_post", "private_key_jwt"],
            "authorization_response_iss_parameter_supported": True,
            **self.changes,
        }
        return {name: value for name, value in told.items() if value is not None}

    def __call__(self, asked: Asked) -> Answer:
        path = urlsplit(asked.path).path
        if path in self.answers:
            return self.answers[path](asked)
        match path.removeprefix(self.prefix):
            case "/authorize" if asked.method == "GET":
                return self._authorize(asked)
            case "/token" if asked.method == "POST":
                return self._token(asked)
            case "/register" if asked.method == "POST":
                return self._register(asked)
        if path == f"/.well-known/oauth-authorization-server{self.prefix}":
            return said(self.metadata())
        return nothing()

    def _authorize(self, asked: Asked) -> Answer:
        query = plain(urlsplit(asked.path).query)
        self.authorizations.append(query)
        code = f"code-{len(self.authorizations)}-0815"
        self._codes[code] = query
        answer: dict[str, str | None] = {"code": code, "state": query["state"], "iss": self.issuer, **self.redirect}
        back = urlencode({name: value for name, value in answer.items() if value is not None})
        return nothing(302, location=f"{query['redirect_uri']}?{back}")

    def _register(self, asked: Asked) -> Answer:
        wanted = json.loads(asked.body)
        self.registrations.append(wanted)
        id, secret = f"registered-{len(self.registrations)}", f"registered-secret-{len(self.registrations)}"
        self.clients[id] = secret
        shown = {} if wanted["token_endpoint_auth_method"] == "none" else {"client_secret": secret}
        return said({"client_id": id, **wanted, **shown}, 201)

    def _token(self, asked: Asked) -> Answer:
        form = plain(asked.body.decode())
        client = self._client(asked, form)
        self.token_requests.append({**form, "authorization": asked.headers.get("authorization", "")})
        self.proofs.append(asked.headers.get("dpop", ""))
        if client is None:
            return said({"error": "invalid_client", "error_description": f"no such client: {form}"}, 401)
        facts = {"client": client, "scope": form.get("scope", ""), "resource": form.get("resource", "")}
        match form["grant_type"]:
            case "client_credentials":
                return self._grant(facts, refresh=False)
            case "refresh_token":
                kept = self._refresh.pop(form["refresh_token"], None)
                if kept is None or kept["client"] != client:
                    return said({"error": "invalid_grant"}, 400)
                return self._grant(kept)
            case "authorization_code":
                asked_for = self._codes.pop(form["code"], None)
                digest = urlsafe_b64encode(hashlib.sha256(form["code_verifier"].encode()).digest()).rstrip(b"=").decode()
                if (
                    asked_for is None
                    or digest != asked_for["code_challenge"]
                    or form["redirect_uri"] != asked_for["redirect_uri"]
                ):
                    return said({"error": "invalid_grant"}, 400)
                return self._grant({**facts, "scope": asked_for.get("scope", "")})
            case kind:
                return said({"error": "unsupported_grant_type", "error_description": kind}, 400)

    def _client(self, asked: Asked, form: Mapping[str, str]) -> str | None:
        basic = asked.headers.get("authorization", "")
        if basic.startswith("Basic "):
            id, _, secret = b64decode(basic[6:]).decode().partition(":")
            return unquote(id) if self.clients.get(unquote(id)) == unquote(secret) else None
        id = form.get("client_id", "")
        if "client_assertion" in form:
            return id
        if "client_secret" in form:
            return id if self.clients.get(id) == form["client_secret"] else None
        return id or None

    def _grant(self, facts: dict[str, str], *, refresh: bool = True) -> Answer:
        number = len(self.tokens) + 1
        token = f"token-{quote(facts['client'], safe='')}-{number:04}"
        self.tokens[token] = Granted(token, frozenset(facts["scope"].split()), facts["client"], facts["resource"] or None)
        told: dict[str, Any] = {"access_token": token, "token_type": "Bearer"}
        if self.life is not None:
            told["expires_in"] = self.life
        if facts["scope"]:
            told["scope"] = facts["scope"]
        if refresh and self.refreshes:
            told["refresh_token"] = f"refresh-{number:04}-secret"
            self._refresh[told["refresh_token"]] = facts
        body = json.dumps(told).encode()
        pieces: Sequence[bytes | float | str] = (self.wait, body) if self.wait else (body,)
        return Answer(pieces, 200, {"content-type": "application/json", "content-length": str(len(body))})


@dataclass
class Protected:
    """An MCP endpoint that wants a token of `authority`. `needs` are scopes; `challenge` is the whole header when it is given."""

    authority: Authority
    needs: frozenset[str] = frozenset()
    changes: dict[str, Any] = field(default_factory=dict)
    answers: dict[str, Callable[[Asked], Answer]] = field(default_factory=dict)
    challenge: str | None = None
    metadata: bool = True
    accepts: bool = True
    url: str = ""
    asked: list[Asked] = field(default_factory=list)

    @property
    def mcp(self) -> str:
        return f"{self.url}/mcp"

    def __call__(self, asked: Asked) -> Answer:
        self.asked.append(asked)
        path = urlsplit(asked.path).path
        if path in self.answers:
            return self.answers[path](asked)
        if path == "/.well-known/oauth-protected-resource/mcp" and self.metadata:
            told = {"resource": self.mcp, "authorization_servers": [self.authority.issuer], **self.changes}
            return said({name: value for name, value in told.items() if value is not None})
        if path != "/mcp":
            return nothing()
        value = asked.headers.get("authorization", "")
        granted = self.authority.tokens.get(value.partition(" ")[2])
        if granted is None or not self.accepts:
            return nothing(401, www_authenticate=self.challenge if self.challenge is not None else 'Bearer realm="mcp"')
        if not self.needs <= granted.scopes:
            scope = " ".join(sorted(self.needs - granted.scopes))
            return nothing(403, www_authenticate=f'Bearer error="insufficient_scope", scope="{scope}"')
        return said({"token": granted.token, "client": granted.client, "resource": granted.resource})


class Site:
    """`async with Site() as site:` runs an authority and a protected endpoint, each on its own port (its own origin)."""

    def __init__(self, authority: Authority | None = None, protected: Protected | None = None) -> None:
        self.authority = authority or Authority()
        self.protected = protected or Protected(self.authority)
        self._servers = (Loopback(self.authority), Loopback(self.protected))

    async def __aenter__(self) -> Site:
        for server in self._servers:
            await server.__aenter__()
        self.authority.url, self.protected.url = (server.url for server in self._servers)
        return self

    async def __aexit__(self, *_: object) -> None:
        for server in self._servers:
            await server.__aexit__()

    @property
    def mcp(self) -> str:
        return self.protected.mcp


async def visit(url: str) -> None:
    """The browser of a user who says yes."""
    for _ in range(3):
        status, headers, _ = await fetch(url)
        if status != 302:
            return
        url = headers["location"]
    raise AssertionError("too many redirects")


async def fetch(url: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
    """One GET."""
    parts = urlsplit(url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    try:
        lines = {"host": parts.netloc, "connection": "close", **headers}
        text = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        writer.write(f"GET {parts.path}?{parts.query} HTTP/1.1\r\n{text}\r\n".encode())
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        told = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
        return int(head[0].split(" ")[1]), told, await reader.readexactly(int(told.get("content-length", "0")))
    finally:
        writer.transport.abort()


def plain(query: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(query, keep_blank_values=True).items()}
