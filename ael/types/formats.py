"""The formats of `String(format: …)` that are checked, each in linear time. A format that is not here is an annotation."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from types import MappingProxyType

from ael.types.times import parse_date, parse_duration, parse_timestamp

_EMAIL_LOCAL = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]{1,64}")
_LABEL = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?")
_UUID = re.compile(r"[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_URI_CHARS = re.compile(r"(?:[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*")
_TIME = re.compile(r"\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)", re.ASCII)


def is_email(text: str) -> bool:
    """A mail address without comments and quoted parts."""
    local, at, domain = text.rpartition("@")
    return (
        bool(at)
        and _EMAIL_LOCAL.fullmatch(local) is not None
        and not local.startswith(".")
        and not local.endswith(".")
        and ".." not in local
        and is_hostname(domain)
    )


def is_hostname(text: str) -> bool:
    """Labels of letters, digits and hyphens, at most 253 characters."""
    return 0 < len(text) <= 253 and all(_LABEL.fullmatch(label) for label in text.split("."))


def is_uri(text: str) -> bool:
    """An absolute URI: a scheme and what RFC 3986 allows after it."""
    scheme = _SCHEME.match(text)
    return scheme is not None and len(text) > scheme.end() and _URI_CHARS.fullmatch(text) is not None


def is_time(text: str) -> bool:
    """A time of day with an offset."""
    return _TIME.fullmatch(text) is not None and parse_timestamp(f"2000-01-02T{text}") is not None


def _address(parse: Callable[[str], object]) -> Callable[[str], bool]:
    def check(text: str) -> bool:
        try:
            parse(text)
        except ValueError:
            return False
        return "%" not in text

    return check


FORMATS = MappingProxyType(
    {
        "email": is_email,
        "hostname": is_hostname,
        "uri": is_uri,
        "uuid": lambda text: _UUID.fullmatch(text) is not None,
        "ipv4": _address(ipaddress.IPv4Address),
        "ipv6": _address(ipaddress.IPv6Address),
        "date-time": lambda text: parse_timestamp(text) is not None,
        "date": lambda text: parse_date(text) is not None,
        "time": is_time,
        "duration": lambda text: parse_duration(text) is not None,
    }
)
"""Name of a format -> whether a text has it."""
