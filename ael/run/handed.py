"""What goes with the arguments of a call that is carried out elsewhere: where they came from, and which of them are the caller's own.

Inside of the process a run knows its input, and what had a hand in each value. A call to another process begins a run there whose input
are the arguments: without a word with them they would count as what the caller of the whole said, whatever model made them up. Who calls
from outside of the fleet says nothing: its arguments are its own word.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from ael.data import dataclass
from ael.run.taint import unclean

if TYPE_CHECKING:
    from ael.run.scope import Scope

LONGEST = 4_000
"""Characters of its text, which goes in a header."""
_PARTS = 200
_MANY = "outside"
"""Stands for sources that are too many to be named."""


@dataclass(frozen=True, slots=True)
class Handed:
    """`sources`: the outside data that had a hand in the call. `clean`: the parts of the arguments that equal an input of the run that
    calls, as JSON pointers."""

    sources: tuple[str, ...]
    clean: tuple[str, ...]

    def text(self) -> str:
        """As it is sent: ASCII, of at most `LONGEST` characters. What has no room is left out of `clean`: then a person is asked."""
        sources = list(self.sources)
        if len(json.dumps(sources)) > LONGEST // 2:
            sources = [_MANY]
        clean = list(self.clean)
        while len(found := json.dumps({"sources": sources, "clean": clean}, separators=(",", ":"))) > LONGEST:
            clean = clean[: len(clean) // 2]
        return found

    def values(self, named: Mapping[str, object]) -> Iterator[object]:
        """Those parts of the arguments, by wire name."""
        for pointer in self.clean:
            value: object = named
            for part in pointer.split("/")[1:]:
                key = part.replace("~1", "/").replace("~0", "~")
                if isinstance(value, dict | Mapping) and key in value:
                    value = value[key]
                elif isinstance(value, list) and key.isascii() and key.isdigit() and int(key) < len(value):
                    value = value[int(key)]
                else:
                    break
            else:
                if pointer:
                    yield value


def handed(scope: Scope, form: object) -> Handed | None:
    """What goes with these arguments; None where no outside data had a hand in the call: then they are as good as the input of the run."""
    if not scope.seen or not isinstance(form, Mapping):
        return None
    found: list[str] = []
    for name, value in form.items():
        _clean(scope, value, f"/{_escaped(str(name))}", found)
    return Handed(tuple(sorted(scope.seen)), tuple(found))


def _clean(scope: Scope, value: object, pointer: str, found: list[str]) -> None:
    if len(found) >= _PARTS:
        return
    if not unclean(scope.run, value):
        found.append(pointer)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            _clean(scope, item, f"{pointer}/{_escaped(str(key))}", found)
    elif isinstance(value, list):
        for at, item in enumerate(value):
            _clean(scope, item, f"{pointer}/{at}", found)


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


def handed_of(text: str) -> Handed | None:
    """What `Handed.text` gave; None for "", where nothing was said. Raises `ValueError` for anything else."""
    if not text:
        return None
    if len(text) > LONGEST:
        raise ValueError("what is said of the arguments is too long")
    try:
        form = json.loads(text)
    except RecursionError:
        raise ValueError("what is said of the arguments is nested too deep") from None
    if not isinstance(form, dict):
        raise ValueError("what is said of the arguments is no object")
    return Handed(_texts(form.get("sources")), _texts(form.get("clean")))


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise ValueError("what is said of the arguments is not as it should be")
    return tuple(value)
