"""What placements have in common: their options, each in its bounds, tokens, and which `provide` runs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import timedelta
from difflib import get_close_matches
from typing import Any

from ael.project.bind_state import ProgramState
from ael.project.form import text_of
from ael.project.literal import Construct
from ael.project.wrong import Wrong, listing
from ael.syntax import nodes as n

WIRE_SERVICE = r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)+"
COMMON = ("connect", "concurrent", "failures", "cooldown")
_COUNTS: Mapping[str, tuple[int, int]] = {
    "workers": (1, 256),
    "concurrent": (1, 10_000),
    "failures": (1, 1_000),
    "room": (1, 10_000_000),
    "in_flight": (1, 100_000),
    "slots": (0, 10_000),
    "deliveries": (1, 1_000),
}
_TIMES: Mapping[str, tuple[int, int]] = {
    "connect": (1, 600_000),
    "cooldown": (1, 3_600_000),
    "lease": (1_000, 3_600_000),
    "keep": (60_000, 2_592_000_000),
}
"""Milliseconds, least and most."""


def options(found: Construct, known: Sequence[str], node: n.Expr) -> dict[str, Any]:
    """The named options of a placement, each in its bounds. Raises `Wrong`."""
    read: dict[str, Any] = {}
    for word, given in found.named.items():
        if word not in known:
            close = get_close_matches(word, known, 1)
            note = f"did you mean `{close[0]}`?" if close else listing("it has", known)
            raise Wrong("AEL0814", f"`{found.name}` has no option `{word}`", node, note)
        read[word] = _option(word, given, node)
    return read


def _option(word: str, given: object, node: n.Expr) -> object:
    if word in _COUNTS:
        low, high = _COUNTS[word]
        if not isinstance(given, int) or isinstance(given, bool) or not low <= given <= high:
            raise Wrong("AEL0814", f"`{word}` is a whole number from {low} to {high:,}", node)
    elif word in _TIMES:
        low, high = _TIMES[word]
        length = given / timedelta(milliseconds=1) if isinstance(given, timedelta) else -1
        if not low <= length <= high:
            least = f"at least {low // 1000}s and " if low > 1 else ""
            said = f"`{word}` is a duration of {least}at most {high // 60_000}min, such as `{_EXAMPLE.get(word, '20s')}`"
            raise Wrong("AEL0814", said, node)
        return int(length)
    elif word in ("authority", "certificate", "key"):
        if not isinstance(given, str) or not given or "\0" in given:
            raise Wrong("AEL0814", f'`{word}` is the path of a file: `{word}: "client.pem"`', node)
    elif word == "name" and (not isinstance(given, str) or not re.fullmatch(WIRE_SERVICE, given)):
        raise Wrong("AEL0814", '`name` is the whole name of a service: `name: "warehouse.Orders"`', node)
    return given


_EXAMPLE: Mapping[str, str] = {"keep": "24h"}


def token(state: ProgramState, read: dict[str, Any], node: n.Expr) -> str | None:
    """The name of the secret that `token` is, taken out of the options. Raises `Wrong`."""
    given = read.pop("token", None)
    if given is None:
        return None
    secret = text_of(given) if isinstance(given, Construct) and given.name == "secret" else None
    if secret is None:
        note = 'write `token: secret("NAME")`, and where it comes from: `secret NAME = env("NAME")`'
        raise Wrong("AEL0815", "a token is a named secret, never text in a file", node, note)
    state.want(secret, node)
    return secret


def certified(read: Mapping[str, Any], node: n.Expr) -> None:
    """Raise `Wrong` for a certificate without its key."""
    if ("certificate" in read) != ("key" in read):
        raise Wrong("AEL0814", "a certificate is shown with its key: say both `certificate` and `key`", node)


def provider(state: ProgramState, read: dict[str, Any], node: n.Expr, name: str, kind: str) -> str | None:
    """Which `provide` runs there (its qualified name), where `name` is a service; taken out of the options. Raises `Wrong`."""
    given = read.pop("provider", None)
    if name not in state.program.services:
        if given is not None:
            raise Wrong("AEL0814", "a node has no provider", node)
        return None
    provides = {p.rpartition(".")[2]: p for p, spec in state.program.provides.items() if spec.service == name}
    own = given.name if isinstance(given, Construct) and not given.positional and not given.named else None
    if (given is not None and own not in provides) or not provides:
        who = "processes of this program run" if kind == "process" else "a worker of this program runs"
        raise Wrong("AEL0816", f"{who} a `provide` of `{name}`", node, listing("there is", provides))
    if own is None and len(provides) > 1:
        note = f"say which: `{kind}(provider: {next(iter(provides))})`; " + listing("there is", provides)
        raise Wrong("AEL0816", f"`{name}` has more than one `provide`", node, note)
    return provides[own or next(iter(provides))]
