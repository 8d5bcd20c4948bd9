"""The content of runs that have ended, and what is left of a run without it (feature A16.6).

Content is what a run was given, asked, told and gave: its input, arguments, results, texts of models, reasons of people. The outline is the
rest: which effects there were, of what, when, how they ended, under which key, from which sources, with how many tokens, for how much. A
run that can go on needs its content; one that has ended does not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ael.journal import form
from ael.journal.entry import Ending, Entry, Kind, State
from ael.journal.journal import kept, number
from ael.journal.schema import BITS
from ael.journal.writer import Connection

FORGOTTEN = "forgotten"
"""Of what a run is pinned to: when its content was forgotten, in seconds since the epoch."""
_TURN = ("usage", "failed", "attempts", "paid", "stop", "model", "cut", "kind")
_OUTCOME = ("outcome", "spent", "kind", "error", "operation", "key", "step")
_GONE = b"null"
"""The input of a run whose content is gone: every other input is an object."""


def forget(db: Connection, before: float) -> int:
    """Forget the content of runs that ended before a time; how many. Dead runs keep theirs, since they can be revived."""
    found = db.rows("SELECT run, outcome FROM ael_run WHERE state = 'ended' AND ended < ? AND input <> ?", before, _GONE)
    for run, outcome in found:
        for seq, entry in kept(db, run):
            left = outline(entry)
            if left.value != entry.value:
                data = None if left.value is None else form.write(left.value)
                db.change("UPDATE ael_record SET value = ? WHERE place = ?", data, (number(db, run) << BITS) | seq)
        pinned = form.read(bytes(db.rows("SELECT pinned FROM ael_run WHERE run = ?", run)[0][0]))
        left_pinned = {**(pinned if isinstance(pinned, dict) else {}), FORGOTTEN: db.now()}
        fork = left_pinned.get("fork")
        if isinstance(fork, dict):
            left_pinned["fork"] = {
                **fork,
                "record": [],
                "changes": [str(one).partition("=")[0] for one in fork.get("changes", ())],
            }
        told = None if outcome is None else form.write(outcome_outline(form.read(bytes(outcome))))
        db.change(
            "UPDATE ael_run SET input = ?, pinned = ?, outcome = ? WHERE run = ?", _GONE, form.write(left_pinned), told, run
        )
    return len(found)


def outline(entry: Entry) -> Entry:
    """A record without its content."""
    return entry._replace(value=_left(entry))


def outcome_outline(outcome: object) -> object:
    """The record of an outcome without its content."""
    return {word: outcome[word] for word in _OUTCOME if word in outcome} if isinstance(outcome, Mapping) else None


def _left(entry: Entry) -> object:
    value = entry.value
    if not isinstance(value, Mapping) or (entry.state is State.PROPOSED and entry.kind is not Kind.APPROVAL):
        return None
    match entry.kind:
        case Kind.MODEL if "usage" in value:
            calls = value.get("calls")
            named = [["", call[1], None] for call in calls] if isinstance(calls, Sequence) else []
            counts = {word: value[word] for word in _TURN if word in value}
            return {**counts, "text": "", "calls": named, "final": None, "opaque": None, "detail": ""}
        case Kind.MODEL:
            return {word: value[word] for word in _TURN if word in value}
        case Kind.APPROVAL if entry.state is State.PROPOSED:
            # Why it was asked is a sentence of the run time. What a server asks is its own, and goes.
            return {word: value[word] for word in ("role", "reason") if word in value}
        case Kind.APPROVAL:
            # That a person changed the arguments is no content; what to is.
            edited: object = None if value.get("arguments") is None else {}
            return {"approved": value.get("approved"), "by": value.get("by"), "reason": "", "arguments": edited}
        case _ if entry.ending in (None, Ending.VALUE):
            # Who let a run go on under other bindings stays known.
            return {"by": value["by"]} if entry.kind is Kind.EFFECT and "by" in value else None
        case _:
            return {word: value[word] for word in ("kind", "error", "key", "operation", "step") if word in value}
