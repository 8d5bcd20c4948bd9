"""Runs, and what they wait for, as JSON: what `ael runs --format json` and the studio show."""

from __future__ import annotations

from ael.durable.decide import Open, asked_json
from ael.journal.content import outcome_outline
from ael.journal.durable import RunRow

LATE = 0.75
"""The part of its time after which an approval is marked as late."""


def late(one: Open, now: float) -> bool:
    """Whether an approval needs somebody now: most of its time has gone."""
    return one.due is not None and now >= one.asked + LATE * (one.due - one.asked)


def open_json(one: Open, now: float) -> dict[str, object]:
    """What a run waits for, with everything that a person needs to decide, as JSON. `now` in seconds since the epoch."""
    return {
        "run": one.run,
        "kind": one.kind,
        "step": one.step,
        "target": one.target,
        "role": one.role,
        "reason": one.reason,
        "arguments": one.arguments,
        "preview": one.preview or None,
        "question": asked_json(one),
        "key": one.key,
        "asked": one.asked,
        "due": one.due,
        "late": late(one, now),
        "tenant": one.row.header.tenant,
    }


def row_json(row: RunRow) -> dict[str, object]:
    """A run as JSON, without its content. Times in seconds since the epoch."""
    header = row.header
    return {
        "run": header.run,
        "state": row.state.value,
        "entry": header.entry,
        "program": header.program,
        "tenant": header.tenant,
        "caller": header.caller,
        "started": header.started,
        "deadline": header.deadline,
        "owner": row.owner or None,
        "waits": row.waiting or None,
        "wake": row.wake,
        "ending": row.ending or None,
        "outcome": outcome_outline(row.outcome),
        "ended": row.ended,
        "active": row.active,
    }
