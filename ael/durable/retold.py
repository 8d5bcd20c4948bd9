"""What a kept run did beside what stands in its record, where its program is here. Loaded only where that is shown: it brings the run time
along."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ael.durable.rehearse import requests, way
from ael.durable.seen import forgotten
from ael.host import Host, open_preview
from ael.journal.durable import RunRow
from ael.journal.entry import Entry, Kind
from ael.project.program import Opened
from ael.run.conversation import Request
from ael.run.ports import Span
from ael.run.trace import SpanList


async def asked(
    program: Opened | None, row: RunRow, input: object, pinned: Mapping[str, object], entries: Sequence[Entry]
) -> tuple[dict[str, Request], str]:
    """What the models of a run were asked, by step; and why it is not all there, else "". `program` (None: it is not here, or has errors)
    is run over its journal: nothing is sent.
    """
    turns = {entry.path for entry in entries if entry.kind is Kind.MODEL}
    if not turns:
        return {}, ""
    if not isinstance(input, dict):
        return {}, "; ".join(forgotten(pinned))
    host = _host(program, row, "what models were asked is made again by the program")
    if isinstance(host, str):
        return {}, host
    found = await requests(host.engine, row, input, pinned, entries)
    missing = sorted(turns - found.keys())
    why = (
        f"what was asked at {', '.join(missing[:3])} could not be made again: the program is bound otherwise now"
        if missing
        else ""
    )
    return found, why


async def gone(
    program: Opened | None, row: RunRow, input: object, pinned: Mapping[str, object], entries: Sequence[Entry]
) -> tuple[Sequence[Span], str]:
    """The way that a run went, with the edges and visits that leave no record; and why it is not there, else "". Nothing is sent."""
    if not isinstance(input, dict):
        return (), "; ".join(forgotten(pinned))
    seen = SpanList()
    host = _host(program, row, "edges, and nodes that only compute, are found by the program", seen)
    if isinstance(host, str):
        return (), host
    if not await way(host.engine, row, input, pinned, entries):
        return (
            (),
            "edges, and nodes that only compute, are not shown: the program is bound otherwise now, or computes for too long",
        )
    return seen.spans, ""


def _host(program: Opened | None, row: RunRow, what: str, *sinks: SpanList) -> Host | str:
    """The program of a run over a world that sends nothing; or why it is not here. `what` it is wanted for."""
    if program is None:
        return f"{what}, which is not here, or has errors (`ael check`)"
    host = open_preview(program, frozenset(program.program.nodes), sinks)
    if host.unit.digest != row.header.program:
        return f"{what}, and it has changed: the run began with {row.header.program[:12]}, and this is {host.unit.digest[:12]}"
    return host
