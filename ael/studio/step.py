"""One step as the page shows it: what a model was sent and said, the arguments and result of a call, who approved it (feature A16.7)."""

from __future__ import annotations

from typing import cast

from ael.durable.inspected import step_of
from ael.durable.place import Places
from ael.journal.entry import Kind
from ael.observe.prompt import prompt
from ael.studio.desk import Desk
from ael.studio.guard import Refused


async def step(desk: Desk, run: str, path: str) -> dict[str, object]:
    """The step at `path`; of the run itself (`""`) its input and how it ended. That it is read is recorded first. Raises `Refused`."""
    row = await desk.row(run)
    seen = await desk.seen(row, f"ael studio: {path}" if path else "ael studio")
    notes = list(seen.notes)
    if not seen.show:
        notes.append("the deployment lets nobody read the content of its runs: `evidence: none`")
    if not path:
        shown = None if seen.show is None else seen.show(seen.input)
        told: dict[str, object] = {"run": run, "path": "", "input": shown, "outcome": seen.row.outcome, "notes": notes}
        return cast("dict[str, object]", seen.masker.value(told))
    places = Places(run, row.header.started, seen.raw)
    if path not in places.paths:
        raise Refused(404, f"the run {run} has no record of `{path[:200]}`")
    found = {"run": run, "number": places.paths.index(path) + 1, "of": len(places.paths), **step_of(seen, path)}
    if found["kind"] == Kind.MODEL.value and seen.show is not None:
        requests, why = await desk.requests(seen)
        found["prompt"] = prompt(requests[path], seen.show) if path in requests else None
        if path not in requests and why:
            notes.append(why)
    return cast("dict[str, object]", seen.masker.value({**found, "notes": notes}))


async def readers(desk: Desk, run: str) -> list[dict[str, object]]:
    """Who has read the content of a run, and when."""
    return [{"at": one.at, "by": one.reader, "with": one.what} for one in await desk.store.readings(run)]
