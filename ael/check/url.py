"""Addresses of servers as a program or a deployment may write them. What a name resolves to is looked at when it is reached."""

from __future__ import annotations

import re
from collections.abc import Collection

from ael.data import dataclass

_FORM = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/?#]*)([^?#]*)(?:\?([^#]*))?(#.*)?")
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?\.?)(?::([0-9]{1,5}))?")
_NUMBERS = re.compile(r"(?:0[xX][0-9A-Fa-f]+|[0-9]+)(?:\.(?:0[xX][0-9A-Fa-f]+|[0-9]+))*")
_DOTTED = re.compile(r"(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)\.){3}(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)")
_PRIVATE = re.compile(
    r"0\.|10\.|127\.|169\.254\.|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7])\."
)
_PRIVATE_6 = re.compile(r"\[(?:::1?|[fF][cCdD].*|[fF][eE][89abAB].*|::[fF]{4}:.*)\]")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_CREDENTIALS = frozenset(
    {
        "key", "token", "secret", "password", "passwd", "credential", "auth", "authorization", "cookie", "bearer", "signature",
        "apikey", "accesstoken", "authtoken",
    }
)  # fmt: skip


@dataclass(frozen=True)
class UrlProblem:
    """What is wrong with an address, and what to do. `secret`: it holds one, so it is not to be shown."""

    message: str
    note: str
    secret: bool = False


def names_credential(name: str) -> bool:
    """Whether what is called so (a header, a variable, a parameter of a URL) is a credential: `X-Api-Key`, `GITHUB_TOKEN`."""
    words = [word.lower() for word in _WORD.findall(name)]
    return any(word in _CREDENTIALS or word.removesuffix("s") in _CREDENTIALS for word in words)


def url_problem(url: str, hosts: Collection[str] | None, what: str = "an MCP server") -> UrlProblem | None:
    """What keeps `url` from being the address of a server; None when nothing does.

    `hosts` are those that the deployment lists as private (`localhost`, `localhost:8080`); None where that is not known yet, and then
    only the form is looked at. `what` is there. Rules: mcp.md ("URLs are guarded") and feature A9.17.
    """
    if any(not 32 < ord(c) < 127 or c in '\\"<>^`{|}' for c in url):
        return UrlProblem("an address holds printable ASCII alone, without blanks", "write other characters as `%XX`")
    form = _FORM.fullmatch(url)
    if form is None:
        return UrlProblem("this is no address of a server", "it is written `https://host/path`")
    scheme, authority, _, query, fragment = form.groups()
    if scheme.lower() not in ("http", "https"):
        return UrlProblem(f"{what} is reached by `https`, not by `{scheme}`", "it is written `https://host/path`")
    if "@" in authority:
        note = 'name the credential instead: `bearer: secret("NAME")` in the deployment'
        return UrlProblem("an address holds no user and no password", note, secret=True)
    if fragment is not None:
        return UrlProblem("an address of a server has no `#`", "leave it out")
    host = _HOST.fullmatch(authority)
    if host is None or (host[2] and not 0 < int(host[2]) < 65_536):
        return UrlProblem(f"`{authority[:60]}` is no host", "it is a name or an address, and a port: `example.com:8443`")
    for part in (query or "").split("&"):
        name, given, _ = part.partition("=")
        if given and names_credential(name):
            note = 'send it as a header: `headers: ["X-Api-Key": secret("NAME")]`'
            return UrlProblem(f"`{name[:60]}` in an address is a credential written in a file", note, secret=True)
    return _reach(scheme.lower(), host[1].lower().rstrip("."), host[2], hosts)


def _reach(scheme: str, host: str, port: str | None, hosts: Collection[str] | None) -> UrlProblem | None:
    if _NUMBERS.fullmatch(host) and not _DOTTED.fullmatch(host):
        return UrlProblem(f"`{host}` is read as an address by some programs and as a name by others", "write it as `127.0.0.1`")
    if hosts is None or host in hosts or f"{host}:{port or (443 if scheme == 'https' else 80)}" in hosts:
        return None
    if host.strip("[]") in hosts:
        return None
    private = host == "localhost" or host.endswith(".localhost") or _PRIVATE.match(host) or _PRIVATE_6.fullmatch(host)
    if private:
        return UrlProblem(f"`{host}` is a private address", f'where it is meant, list it: `host "{host}"`')
    if scheme == "http":
        note = f'write `https://`; for a server in your own network, list it: `host "{host}"`'
        return UrlProblem(f"`{host}` would be asked without encryption", note)
    return None
