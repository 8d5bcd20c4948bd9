"""Which addresses may be reached.

An endpoint comes from the deployment. Its host is a name or an address in its one canonical form; the forms that only some
libraries
read as an address (`2130706433`, `0177.0.0.1`, `127.1`, `0x7f.1`) are refused, and so are user parts. What a name resolves to is
checked for every address before connecting, and exactly the checked addresses are connected to. Only a host that the deployment
lists
may be private or loopback; link-local and metadata addresses need to be listed by address (fault kind K42).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from urllib.parse import SplitResult, urlsplit

from ael.net.failure import NetError, NetKind

Address = IPv4Address | IPv6Address

_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(r"(0x[0-9a-f]*|[0-9]+)")
_PATH = re.compile(r"[A-Za-z0-9\-._~!$&'()*+,;=:@%/]*")
_DEFAULT_PORT = {"http": 80, "https": 443}

METADATA = frozenset(
    map(ip_address, ("169.254.169.254", "169.254.170.2", "168.63.129.16", "100.100.100.200", "192.0.0.192", "fd00:ec2::254"))
)
"""Addresses where clouds hand out credentials (AWS, GCP, Azure, Alibaba, Oracle): refused although some are no private addresses by
their range.
"""

_NAT64 = (ip_network("64:ff9b::/96"), ip_network("64:ff9b:1::/48"))
_COMPATIBLE = ip_network("::/96")
_TRANSLATED = ip_network("::ffff:0:0:0/96")
_GLOBAL = ip_network("2000::/3")
"""What of IPv6 is given out at all (https://www.iana.org/assignments/ipv6-address-space)."""
_RESERVED = (ip_network("192.0.0.0/24"), ip_network("3fff::/20"))
"""Special registries, of which not every Python knows."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A base URL that is allowed in form. `host` is lower case; an IPv6 address has no brackets; `path` has no slash at its
    end. `unix`: the socket on this machine where it is, instead of an address; it comes from the program itself, never from a URL.
    """

    scheme: str
    host: str
    port: int
    path: str
    query: str = ""
    unix: str = ""

    @property
    def tls(self) -> bool:
        return self.scheme == "https"

    @property
    def authority(self) -> str:
        """The value of the `Host` header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _DEFAULT_PORT[self.scheme] else f"{host}:{self.port}"

    @property
    def origin(self) -> str:
        """What may be shown: no path and no query, which can hold credentials."""
        return f"{self.scheme}://{self.authority}"

    def __repr__(self) -> str:
        return f"Endpoint({self.origin})"


@dataclass(frozen=True, slots=True)
class AddressRules:
    """`listed`: hosts (`host` or `host:port`) that the deployment lists as reachable although they are private or without TLS."""

    listed: frozenset[str] = frozenset()

    def lists(self, host: str, port: int) -> bool:
        return host in self.listed or f"{host}:{port}" in self.listed or f"[{host}]:{port}" in self.listed


def rules(hosts: Iterable[str]) -> AddressRules:
    """Rules from the deployment's list of hosts."""
    return AddressRules(frozenset(host.lower().rstrip(".") for host in hosts))


def parse_endpoint(url: str, allowed: AddressRules) -> Endpoint:
    """Read a base URL. Raises `NetError` (address refused) with a sentence that shows none of its credentials."""
    if any(ord(character) <= 32 or ord(character) >= 127 or character == "\\" for character in url):
        raise _refused("the endpoint's URL holds a blank, a backslash or a character outside ASCII")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise _refused("the endpoint's URL cannot be read") from None
    return _checked(parts, port, allowed)


def _checked(parts: SplitResult, port: int | None, allowed: AddressRules) -> Endpoint:
    scheme, host = parts.scheme, (parts.hostname or "").lower()
    if scheme not in _DEFAULT_PORT:
        raise _refused("an endpoint's URL begins with https:// (or http:// where the host is listed)")
    if "@" in parts.netloc:
        raise _refused("an endpoint's URL holds no user or password; give the credential as a secret")
    if parts.fragment:
        raise _refused("an endpoint's URL has no part after `#`")
    literal = parse_host(host, bracketed="[" in parts.netloc)
    number = _DEFAULT_PORT[scheme] if port is None else port
    if number == 0:
        raise _refused("an endpoint's port is 1 to 65535")
    if literal is not None:
        check_address(literal, host, number, allowed)
    if scheme == "http" and not (allowed.lists(host, number) or (literal is not None and literal.is_loopback)):
        raise _refused(f"`{host}` is reached without TLS: use https://, or allow it with a `host` line of the deployment")
    path = parts.path.rstrip("/")
    if not _PATH.fullmatch(path) or not _PATH.fullmatch(parts.query.replace("?", "")) or ".." in path.split("/"):
        raise _refused("the endpoint's path or query holds a character that must be percent-encoded")
    return Endpoint(scheme, host, number, path, parts.query)


def parse_host(host: str, *, bracketed: bool = False) -> Address | None:
    """The address that a host is, or None for a name. Raises `NetError` for anything else."""
    if bracketed:
        try:
            return IPv6Address(host)
        except ValueError:
            raise _refused("the address in brackets is no IPv6 address") from None
    if not host or len(host) > 253:
        raise _refused("the endpoint's URL names no host")
    labels = host.rstrip(".").split(".")
    if _NUMBER.fullmatch(labels[-1]):
        # A name cannot end in a number; only the dotted quad without leading zeros has one reading.
        try:
            address = IPv4Address(host)
        except ValueError:
            raise _refused(
                "the host is a number that only some programs read as an address; write it as four decimal numbers"
            ) from None
        return address
    if not all(_LABEL.fullmatch(label) for label in labels):
        raise _refused("the host is no valid name")
    return None


def embedded(address: Address) -> tuple[Address, ...]:
    """The address and every IPv4 address that it carries inside (mapped, translated, compatible, 6to4, Teredo, NAT64)."""
    if isinstance(address, IPv4Address):
        return (address,)
    inner: list[Address] = [address]
    if address.ipv4_mapped is not None:
        inner.append(address.ipv4_mapped)
    if address.sixtofour is not None:
        inner.append(address.sixtofour)
    if address.teredo is not None:
        inner.extend(address.teredo)
    if (
        any(isinstance(network, IPv6Network) and address in network for network in (*_NAT64, _COMPATIBLE, _TRANSLATED))
        and int(address) > 0xFFFF
    ):
        inner.append(IPv4Address(int(address) & 0xFFFFFFFF))
    return tuple(inner)


def check_address(address: Address, host: str, port: int, allowed: AddressRules) -> None:
    """Raises `NetError` when connecting to `address`, which `host` stands for, is not allowed."""
    by_address = allowed.lists(str(address), port)
    by_host = by_address or allowed.lists(host, port)
    for part in embedded(address):
        if part in METADATA or part.is_link_local or part.is_multicast or part.is_unspecified:
            if not by_address:
                raise _refused(f"`{host}` stands for a link-local, metadata or multicast address, which is not reachable")
        elif not _public(part) and not by_host:
            raise _refused(f"`{host}` stands for a private or loopback address: a `host` line of the deployment allows it")


def _public(address: Address) -> bool:
    given = isinstance(address, IPv4Address) or address in _GLOBAL or address in _NAT64[0]
    return given and address.is_global and not any(address in network for network in _RESERVED)


def _refused(message: str) -> NetError:
    return NetError(NetKind.ADDRESS, message)
