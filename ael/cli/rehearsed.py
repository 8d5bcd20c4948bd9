"""What the models of a kept run were asked, where its program is here. Loaded only where that is shown: it brings the run time along."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ael.cli.seen import forgotten
from ael.diagnostics.diagnostic import Bag
from ael.durable.rehearse import requests
from ael.host import open_preview
from ael.journal.durable import RunRow
from ael.journal.entry import Entry, Kind
from ael.project.program import open_program
from ael.run.conversation import Request


async def asked(
    path: Path, deploy: str | None, row: RunRow, input: object, pinned: Mapping[str, object], entries: Sequence[Entry]
) -> tuple[dict[str, Request], str]:
    """What the models of a run were asked, by step; and why it is not all there, else "". The program is run over its journal: nothing is
    sent."""
    turns = {entry.path for entry in entries if entry.kind is Kind.MODEL}
    if not turns:
        return {}, ""
    if not isinstance(input, dict):
        return {}, "; ".join(forgotten(pinned))
    program = open_program(path, bag := Bag(), deploy=deploy)
    if program is None or bag.errors:
        return {}, "what models were asked is made again by the program, which is not here, or has errors (`ael check`)"
    host = open_preview(program, frozenset(program.program.nodes))
    if host.unit.digest != row.header.program:
        began = f"the run began with {row.header.program[:12]}, and this is {host.unit.digest[:12]}"
        return {}, f"what models were asked is made again by the program, and it has changed: {began}"
    found = await requests(host.engine, row, input, pinned, entries)
    missing = sorted(turns - found.keys())
    why = (
        f"what was asked at {', '.join(missing[:3])} could not be made again: the program is bound otherwise now"
        if missing
        else ""
    )
    return found, why
