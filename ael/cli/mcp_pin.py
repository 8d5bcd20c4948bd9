"""`ael mcp pin`: write the definitions of what the program uses into `ael.lock`; nothing that was pinned changes unseen."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from ael.cli.approve import TerminalApprover
from ael.cli.mcp import split_words
from ael.cli.mcp_compare import Compared, compare
from ael.cli.mcp_error import CommandError
from ael.cli.mcp_offer import lock_text, offer, type_prefix
from ael.cli.mcp_open import Listed, Program, open_program
from ael.cli.question import said_yes
from ael.mcp.outside import visible
from ael.project.load import shown
from ael.project.lock import lock_bytes, sections, write_lock
from ael.run.bindings import system_user
from ael.run.masker import Masker
from ael.types.pin import Pin, ServerPins


@dataclass(frozen=True)
class _Plan:
    """The lock as it would be, its texts for people, and what would be told."""

    pins: Mapping[str, ServerPins]
    types: Mapping[tuple[str, str], str]
    told: tuple[str, ...]
    changed: tuple[str, ...] = field(default=())


async def act(args: argparse.Namespace) -> int:
    """Pin. Exit code 1 when something that is used is missing or refused, or when a change was not agreed to; nothing is written then."""
    names, path = split_words(args.words)
    program = open_program(path, args.deploy, repairs_lock=True)
    chosen = program.chosen(names)
    listed, failed = await program.list(chosen, everything=args.all)
    if failed:
        raise failed[0].but("nothing was written")
    plan = _plan(program, listed, everything=args.all, only=bool(names))
    for line in plan.changed:
        program.out(line)
    if program.lock_is_broken:
        program.tell("the lock could not be read whole, so what changed since then cannot be shown")
    if (plan.changed or program.lock_is_broken) and not args.yes and not await _agreed():
        note = "look at it, and say `ael mcp pin --yes` to take it as it is now"
        raise CommandError("AEL0863", "a pinned definition changed, and nothing was written", note, exit_code=1)
    _write(program, plan)
    return 0


def _write(program: Program, plan: _Plan) -> None:
    where = shown(program.lock)
    before = program.lock.read_bytes() if program.lock.is_file() else None
    for line in plan.told:
        program.tell(line)
    if before == lock_bytes(plan.pins, plan.types, sections(program.lock).get("packs")):
        program.tell(f"{where} is up to date")
    else:
        write_lock(program.lock, plan.pins, plan.types)
        program.tell(f"wrote {where}")


async def _agreed() -> bool:
    terminal = TerminalApprover(system_user(), {})
    return terminal.source.isatty() and await said_yes(terminal.line, "pin it as it is now?")


def _plan(program: Program, listed: Sequence[Listed], *, everything: bool, only: bool) -> _Plan:
    """The new lock. Raises `CommandError` for something that is used and cannot be pinned; all of it is told at once."""
    declared = {server.name for server in program.servers}
    pins = {name: server for name, server in program.pins.items() if only or name in declared}
    told: list[str] = []
    changed: list[str] = []
    wrong: list[str] = []
    masker = program.masker()
    for one in listed:
        name = one.server.name
        old = program.pins.get(name)
        compared = compare(one, old, everything=everything)
        wrong += [f"{name}: {_wrong(c)}" for c in compared if c.used and c.now is None]
        wrong += [f"{name}: {c.title} repeats a secret that its server is sent" for c in compared if _repeats(masker, c)]
        for c in compared:
            if c.state == "changed":
                changed += [f"{name}, {c.title} changed since it was pinned:", *(f"  {line}" for line in c.lines)]
        pins[name] = _pins(one, compared, masker)
        told += _told(name, compared, old)
    if wrong:
        raise CommandError("AEL0862", "what the program uses cannot be pinned, and nothing was written", *wrong, exit_code=1)
    offers = {
        (name, wire): offer(pin.definition, type_prefix(name, wire)) for name, s in pins.items() for wire, pin in s.tools.items()
    }
    types = {key: lock_text(one.types) for key, one in offers.items() if one.types is not None}
    return _Plan(pins, types, tuple(told), tuple(changed))


def _repeats(masker: Masker, one: Compared) -> bool:
    """Whether a definition holds a secret, which would then stand in the lock."""
    return one.now is not None and masker.value(one.now.definition) is not one.now.definition


def _pins(listed: Listed, compared: Sequence[Compared], masker: Masker) -> ServerPins:
    def of(kind: str) -> dict[str, Pin]:
        return {c.wire: c.now for c in compared if c.kind == kind and c.now is not None}

    info = cast("Mapping[str, object]", masker.value(listed.info))
    return ServerPins(listed.protocol, listed.client_capabilities, info, of("tool"), of("prompt"))


def _wrong(one: Compared) -> str:
    if one.state == "missing":
        return f"there is no {one.title}; {one.lines[0]}"
    return f"{one.title} has no exact type: {one.lines[0]}"


def _told(name: str, compared: Sequence[Compared], old: ServerPins | None) -> list[str]:
    """What happens to the pins of one server, in a few lines."""
    words = {"new": "new", "changed": "changed", "same": "as it was", "refused": "left out, it has no exact type"}
    lines = [f"{name}: {one.title}: {words[one.state]}" for one in compared if one.state in words]
    now = {(one.kind, one.wire) for one in compared}
    before = [] if old is None else [*(("tool", wire) for wire in old.tools), *(("prompt", wire) for wire in old.prompts)]
    gone = [(kind, wire) for kind, wire in before if (kind, wire) not in now]
    return lines + [f"{name}: {kind} {visible(wire, 128)}: pinned no more, the program does not use it" for kind, wire in gone]
