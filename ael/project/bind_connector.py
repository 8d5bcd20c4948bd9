"""Connectors that a deployment puts in the place of what they need themselves: they would never come to an end."""

from __future__ import annotations

from collections.abc import Iterator

from ael.check.basis import short
from ael.project.bind_state import ProgramState
from ael.project.connectors import Connectors, declared
from ael.project.reach import models_of, reachable
from ael.syntax import nodes as n


def settle(state: ProgramState) -> None:
    """What all lines together say, and the program's own models with them."""
    program = state.program
    found = dict(declared(program))
    found.update({name: frozenset({model.provider} & program.provides.keys()) for name, model in state.models.items()})
    placed = {
        name: one.provider for name, one in state.placements.items() if one.kind == "connector" and one.provider is not None
    }
    found.update({name: frozenset({provide}) for name, provide in placed.items()})
    connected: Connectors = {name: provides for name, provides in found.items() if provides}
    for name, provides in connected.items():
        for provide in provides:
            if name in _needed(state, provide, connected):
                _report(state, name, provide)


def _needed(state: ProgramState, provide: str, connected: Connectors) -> Iterator[str]:
    """The models and services that the code of a provider asks, through any depth."""
    program = state.program
    names = reachable(program, provide, state.placements, state.here, connected)
    names |= reachable(program, f"provide {provide}", state.placements, state.here, connected)
    yield from models_of(program, names)
    yield from (name.rpartition(".")[0] for name in names if name in program.operations)


def _report(state: ProgramState, name: str, provide: str) -> None:
    kind = "model" if name in state.program.models else "service"
    message = f"`{short(provide)}` is what the {kind} `{short(name)}` goes by, and it needs `{short(name)}` itself"
    note = f"give one of the {kind}s that it asks another provider"
    line = state.seen.get((kind, f" {short(name)}")) or next(
        (one for (word, text), one in state.seen.items() if word == kind and name.endswith(f".{text.strip()}")), None
    )
    if line is not None and line.value is not None:
        state.bag.report("AEL0856", message, state.source, line.value.span, notes=(note,))
        return
    module, declaration = state.program.declarations[name]
    assert isinstance(declaration, n.ModelDecl)
    place = next((one.value for one in declaration.settings if one.name.text == "provider"), declaration.name)
    state.bag.report("AEL0856", message, state.program.modules[module].tree.source, place.span, notes=(note,))
