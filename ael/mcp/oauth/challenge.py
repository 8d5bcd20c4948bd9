"""What a `WWW-Authenticate` header asks for (RFC 9110, section 11.6.1; RFC 6750, section 3; RFC 9728, section 5.1)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

MAX_HEADER = 16 * 1024
"""Characters of all values together that are looked at."""
MAX_SCOPES = 64

_TOKEN = r"[A-Za-z0-9!#$%&'*+\-.^_`|~]+"
_QUOTED = r'"(?:[^"\\]|\\.)*"'
_PARAMETER = re.compile(rf"({_TOKEN})[ \t]*=[ \t]*({_QUOTED}|{_TOKEN})")
_SCHEME = re.compile(rf"({_TOKEN})(?:[ \t]+(?=[A-Za-z0-9!#$%&'*+\-.^_`|~])|(?=[ \t]*(?:,|$)))")
_TOKEN68 = re.compile(r"[A-Za-z0-9\-._~+/]+=*(?=[ \t]*(?:,|$))")
_BETWEEN = re.compile(r"[ \t,]*")
_SCOPE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]{1,256}")


@dataclass(frozen=True)
class Challenge:
    """A challenge of the scheme `bearer` or `dpop`; parameter names are lower case."""

    scheme: str
    parameters: Mapping[str, str]

    @property
    def error(self) -> str:
        return self.parameters.get("error", "")

    @property
    def resource_metadata(self) -> str | None:
        return self.parameters.get("resource_metadata")

    @property
    def scopes(self) -> tuple[str, ...] | None:
        """The scopes that are asked for; None where it does not say."""
        told = self.parameters.get("scope")
        return None if told is None else scopes_of(told)


def scopes_of(text: str) -> tuple[str, ...]:
    """The scopes of a blank-separated list, each once, in order; what is no scope (RFC 6749, section 3.3) is left out."""
    found = [scope for scope in text.split() if _SCOPE.fullmatch(scope)]
    return tuple(dict.fromkeys(found))[:MAX_SCOPES]


def challenges_of(values: Sequence[str]) -> list[Challenge]:
    """All challenges of these header values, in order. What cannot be read ends its value: never an error."""
    found: list[Challenge] = []
    room = MAX_HEADER
    for value in values:
        found += _challenges(value[:room])
        room -= min(room, len(value))
    return found


def token_challenge(values: Sequence[str]) -> Challenge | None:
    """The first challenge that a token can answer."""
    return next((one for one in challenges_of(values) if one.scheme in ("bearer", "dpop")), None)


def _challenges(value: str) -> list[Challenge]:
    found: list[Challenge] = []
    at = 0
    while True:
        at = _end(_BETWEEN.match(value, at), at)
        scheme = _SCHEME.match(value, at)
        if scheme is None:
            return found
        at = scheme.end()
        parameters: dict[str, str] = {}
        found.append(Challenge(scheme[1].lower(), parameters))
        while (parameter := _PARAMETER.match(value, _end(_BETWEEN.match(value, at), at))) is not None:
            # The first of two parameters of one name counts: what is appended later does not override it.
            parameters.setdefault(parameter[1].lower(), _plain(parameter[2]))
            at = parameter.end()
        if not parameters and (credential := _TOKEN68.match(value, at)) is not None:
            at = credential.end()


def _plain(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text[1:-1]) if text.startswith('"') else text


def _end(found: re.Match[str] | None, at: int) -> int:
    return at if found is None else found.end()
