"""Which hosts a program may ask, and addresses of pages as they come: from arguments, from a search, from another page.

An endpoint is the deployment's word, an address of a page is anybody's: it is read strictly, and its host has to be allowed before
anything is looked up. What a name stands for is checked where it is connected to (`ael.net.pool`), so that no name can answer twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import quote, urljoin, urlsplit

from ael.net.address import AddressRules, Endpoint, parse_endpoint
from ael.net.failure import NetError, NetKind

MAX_URL = 4_096
"""Characters. Longer ones are of use for little but for carrying data out."""
_USUAL = frozenset({80, 443})
_KEPT = "%/:@!$&'()*+,;=-._~"
_PERCENT = re.compile("%(?![0-9A-Fa-f]{2})")


@dataclass(frozen=True, slots=True)
class Reach:
    """`exact`: hosts (`host` with any port, `host:port`); `names`: hosts; `below`: domains of which every name is allowed, but not
    themselves (`*.example.com`); `public`: every host whose addresses are public. Those but the first are for the usual ports alone:
    whoever means another port lists it.
    """

    exact: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    below: tuple[str, ...] = ()
    public: bool = False

    def allows(self, host: str, port: int) -> bool:
        """Whether a host may be asked, as far as its name says."""
        bare = host.rstrip(".")
        if bare in self.exact or f"{bare}:{port}" in self.exact or f"[{bare}]:{port}" in self.exact:
            return True
        if port not in _USUAL:
            return False
        return self.public or bare in self.names or any(bare.endswith(f".{domain}") for domain in self.below)

    def __or__(self, other: Reach) -> Reach:
        return Reach(self.exact | other.exact, self.names | other.names, self.below + other.below, self.public or other.public)


def listed_hosts(hosts: Iterable[str]) -> Reach:
    """What the `host` lines of a deployment allow: each with any port, where it names none."""
    return Reach(exact=frozenset(host.lower().rstrip(".") for host in hosts))


def reach(hosts: Iterable[str] = (), *, public: bool = False) -> Reach:
    """From a list of hosts: `api.example.com`, `api.example.com:8443`, `*.example.com`."""
    known = [host.lower().rstrip(".") for host in hosts]
    below = tuple(name[2:] for name in known if name.startswith("*."))
    plain = frozenset(name for name in known if not name.startswith("*."))
    ported = frozenset(name for name in plain if ":" in name)
    return Reach(ported, plain - ported, below, public)


@dataclass(frozen=True, slots=True)
class Place:
    """An address of a page: the server, and what it is asked for (`/a/b?c=d`)."""

    endpoint: Endpoint
    path: str

    @property
    def url(self) -> str:
        return f"{self.endpoint.origin}{self.path}"

    def __repr__(self) -> str:
        return f"Place({self.endpoint.origin})"


def read_place(url: str, listed: AddressRules, allowed: Reach, *, upgrade: bool = False) -> Place:
    """Read an address. `upgrade`: one without TLS is asked for with it, unless its host is listed.

    Raises `NetError` (address refused) for one that cannot be read in exactly one way, that holds a user, or whose host is not allowed.
    """
    if len(url) > MAX_URL:
        raise _refused(f"the address has {len(url):,} characters, more than {MAX_URL:,}")
    if any(ord(character) <= 32 or ord(character) == 127 or character == "\\" for character in url):
        raise _refused("the address holds a blank, a control character or a backslash")
    try:
        parts = urlsplit(url)
        authority, port = parts.netloc, parts.port
    except ValueError:
        raise _refused("the address cannot be read") from None
    if not authority.isascii():
        raise _refused("the host is not written in ASCII: international names are written with `xn--`")
    if "@" in authority:
        raise _refused("the address holds a user or a password")
    scheme, host = parts.scheme.lower(), (parts.hostname or "").lower()
    if scheme not in ("http", "https"):
        raise _refused("the address begins neither with https:// nor with http://")
    if upgrade and scheme == "http" and port in (None, 80) and not listed.lists(host, 80):
        scheme, authority = "https", authority.removesuffix(":80")
    usual = 443 if scheme == "https" else 80
    if not allowed.allows(host, port or usual):
        asked = host[:253] if port in (None, usual) else f"{host[:253]}:{port}"
        raise _refused(f"`{asked}` is not among the hosts that the deployment lets this program ask")
    endpoint = parse_endpoint(f"{scheme}://{authority}", listed)
    path = _encoded(parts.path or "/", _KEPT)
    return Place(endpoint, f"{path}?{_encoded(parts.query, _KEPT + '?')}" if parts.query else path)


def joined(place: Place, location: str) -> str:
    """The address that `location`, as a page or a redirect has it, means at `place`. Raises `NetError`."""
    try:
        return urljoin(place.url, location)
    except ValueError:
        raise _refused("the address cannot be read") from None


def _encoded(text: str, kept: str) -> str:
    """In printable ASCII; what is encoded already stays so, a `%` that encodes nothing is encoded itself."""
    try:
        return quote(_PERCENT.sub("%25", text), safe=kept)
    except UnicodeEncodeError:
        raise _refused("the address holds half a character") from None


def _refused(message: str) -> NetError:
    return NetError(NetKind.ADDRESS, message)
