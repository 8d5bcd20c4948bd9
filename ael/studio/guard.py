"""Who may talk to the studio: whoever opened the address that it printed, from its own page, in one browser.

The address carries a token that counts once. It is changed for a cookie that no script reads, that no other site's page sends along, and
that is sent below one path alone: that path has a part nobody can guess, so another server on this machine, which a browser sends
cookies of the same host to, never sees it. A request names a host of this machine (no page of a name that was bound anew comes in), and one
that changes anything names the page's own origin.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from ael.data import dataclass, field

_TOKEN = 32
_LOCAL = frozenset({"127.0.0.1", "localhost", "[::1]"})
HEADERS = (
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none';"
        " frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
    ),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cache-control", "no-store"),
)
"""Of every answer: only the page's own files, no script in a text, in nobody's frame."""


class Refused(Exception):
    """A request that is not let in, or cannot be answered: the status and a sentence; `notes` say what would be, `more` is data."""

    def __init__(self, status: int, message: str, *notes: str, more: Mapping[str, object] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.notes = notes
        self.more = more or {}


def secret() -> str:
    """Something nobody can guess."""
    return secrets.token_urlsafe(_TOKEN)


@dataclass(eq=False)
class Guard:
    """`told` is called with each new token: the one before it was used."""

    told: Callable[[str], None]
    space: str = field(default_factory=lambda: secrets.token_urlsafe(18))
    token: str = field(default_factory=secret)
    _cookie: str = field(default_factory=secret)

    @property
    def base(self) -> str:
        """The path below which everything is."""
        return f"/{self.space}/"

    def enter(self, token: str) -> str | None:
        """Change the token for a cookie; None for one that does not count, or not any more."""
        if not hmac.compare_digest(token.encode("utf-8", "replace"), self.token.encode()):
            return None
        self.token = secret()
        self.told(self.token)
        return f"ael_studio={self._cookie}; Path={self.base}; HttpOnly; SameSite=Strict"

    def known(self, headers: Mapping[str, list[str]]) -> bool:
        """Whether a request has the cookie."""
        for line in headers.get("cookie", []):
            for part in line.split(";"):
                name, _, value = part.strip().partition("=")
                if name == "ael_studio" and hmac.compare_digest(value.encode("utf-8", "replace"), self._cookie.encode()):
                    return True
        return False

    def host(self, headers: Mapping[str, list[str]]) -> str:
        """The host that is asked, with its port. Raises `Refused` for one that is not this machine's."""
        hosts = headers.get("host", [])
        if len(hosts) != 1 or _bare(hosts[0]) not in _LOCAL:
            raise Refused(403, "the studio answers under the names of this machine alone")
        return hosts[0].lower()

    def own(self, headers: Mapping[str, list[str]], *, change: bool) -> None:
        """Let in what the studio's own page asks, which has the cookie. `change`: something is to be done. Raises `Refused`."""
        host = self.host(headers)
        site = headers.get("sec-fetch-site", [])
        if any(one not in ("same-origin", "none") for one in site):
            raise Refused(403, "only the studio's own page may ask")
        origins = headers.get("origin", [])
        if any(one.lower() != f"http://{host}" for one in origins) or (change and len(origins) != 1):
            raise Refused(403, "only the studio's own page may ask")
        if not self.known(headers):
            raise Refused(401, "open the address that `ael studio` printed")
        if change:
            kind = headers.get("content-type", [""])[0].partition(";")[0].strip().lower()
            if kind != "application/json":
                raise Refused(415, "a request body is `application/json`")


def _bare(host: str) -> str:
    """A host without its port."""
    try:
        found = urlsplit(f"http://{host}")
        name = found.hostname or ""
    except ValueError:
        return ""
    if found.username is not None or found.path or found.query or found.fragment:
        return ""
    return f"[{name}]" if ":" in name else name
