"""Which entry a run starts, and its input: decoded like everything that enters (language.md, section 6)."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import cast

from ael.data import dataclass
from ael.lower.unit import CompiledUnit
from ael.run.codec import InputCodec, digest


@dataclass(frozen=True, slots=True)
class EntryProblem(Exception):
    """There is no such entry, or it is not said which; `entries` are those that there are."""

    message: str
    entries: tuple[str, ...]

    def __str__(self) -> str:
        return self.message


def entries(unit: CompiledUnit) -> tuple[str, ...]:
    """Everything that can be run: nodes and agents, those of the main module by their own names, those of others qualified."""
    own = f"{unit.main}."
    return tuple(sorted(name.removeprefix(own) for name in unit.nodes))


def choose(unit: CompiledUnit, name: str | None) -> str:
    """The qualified name of the entry: the one that is named, else the node `main`, else the only node. Raises `EntryProblem`.

    An operation is named whole: it is the entry of a run that is a call from outside.
    """
    if name is not None:
        if name in unit.operations:
            return name
        for qualified in (name, f"{unit.main}.{name}"):
            if qualified in unit.nodes:
                return qualified
    known = entries(unit)
    if name is not None:
        near = get_close_matches(name, known, 1)
        hint = f"; did you mean `{near[0]}`?" if near else ""
        raise EntryProblem(f"there is no node or agent `{name}`{hint}", known)
    own = f"{unit.main}."
    agents = [one for one, node in unit.nodes.items() if one.startswith(own) and node.spec.agent is not None]
    if len(agents) == 1:
        return agents[0]
    main = f"{unit.main}.main"
    if main in unit.nodes:
        return main
    if len(unit.nodes) == 1:
        return next(iter(unit.nodes))
    raise EntryProblem("say which node to run" if known else "there is no node to run", known)


class Input:
    """The input of an entry, decoded: the arguments by their wire names."""

    __slots__ = ("_digest", "named")

    def __init__(self, named: dict[str, object]) -> None:
        self.named = named
        self._digest = ""

    @property
    def digest(self) -> str:
        """What tells it from every other input: it is pinned with a run that is kept, and with a key."""
        if not self._digest:
            self._digest = digest(self.named)
        return self._digest


Given = Mapping[str, object] | bytes | str | Input | None
"""An input as it is given: JSON text, an object that was read already, or decoded before."""


def decoded(codec: InputCodec, given: Given) -> Input:
    """The entry's input. Raises `DecodeError`."""
    if isinstance(given, Input):
        return given
    if isinstance(given, bytes | str):
        text = cast("bytes | str", codec.incoming(given if given.strip() else "{}"))
        return Input(cast("dict[str, object]", codec.value.read(text)))
    return Input(cast("dict[str, object]", codec.value.decode(codec.incoming({} if given is None else dict(given)))))
