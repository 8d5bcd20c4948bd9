"""The content of runs that have ended, and what is left of a run without it (feature A16.6).

Content is what a run was given, asked, told and gave: its input, arguments, results, texts of models, reasons of people. The outline is the
rest: which effects there were, of what, when, how they ended, under which key, from which sources, with how many tokens, for how much. A
run that can go on needs its content; one that has ended does not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ael.journal import form
from ael.journal.durable import StoreError
from ael.journal.entry import Ending, Entry, Kind, State
from ael.journal.journal import COLUMNS, from_row
from ael.journal.schema import BITS
from ael.journal.writer import Connection

FORGOTTEN = "forgotten"
"""Of what a run is pinned to: when its content was forgotten, in seconds since the epoch."""
AT_ONCE = 50
"""Runs whose content is forgotten in one transaction: no run waits long for it."""
_TURN = ("usage", "failed", "attempts", "paid", "stop", "model", "cut", "kind")
_OUTCOME = ("outcome", "spent", "kind", "error", "operation", "key", "step")
_GONE = b"null"
"""The input of a run whose content is gone: every other input is an object."""


def forget(db: Connection, before: float) -> int:
    """Forget the content of some runs that ended before a time; how many, 0 when none is left.

    Dead runs keep theirs, since they can be revived.
    """
    query = "SELECT run, number, outcome, pinned FROM ael_run WHERE state = 'ended' AND ended < ? AND input <> ? ORDER BY ended LIMIT ?"
    found = db.rows(query, before, _GONE, AT_ONCE)
    for run, number, outcome, pinned in found:
        for seq, *row in db.rows(_CONTENT, run):
            left = _outline_of(tuple(row))
            data = None if left is None else form.write(left)
            db.change("UPDATE ael_record SET value = ? WHERE place = ?", data, (int(number) << BITS) | int(seq))
        # A decision that came too late was never read.
        db.change("DELETE FROM ael_signal WHERE run = ?", run)
        told = None if outcome is None else form.write(outcome_outline(_read(outcome)))
        kept = {**_without_record(_read(pinned)), FORGOTTEN: db.now()}
        change = "UPDATE ael_run SET input = ?, pinned = ?, outcome = ?, cancel = NULL WHERE run = ?"
        db.change(change, _GONE, form.write(kept), told, run)
    return len(found)


_CONTENT = f"SELECT seq, {COLUMNS} FROM ael_entry WHERE run = ? AND value IS NOT NULL"


def _outline_of(row: tuple[Any, ...]) -> object:
    """What is left of the value of a record; of one that cannot be read, nothing."""
    try:
        return _left(from_row(row))
    except StoreError:
        return None


def _read(data: Any) -> object:
    try:
        return form.read(bytes(data))
    except form.FormError:
        return None


def _without_record(pinned: object) -> dict[str, object]:
    """What a run is pinned to, without the calls of its original that a fork serves, and what was changed in it."""
    kept = dict(pinned) if isinstance(pinned, dict) else {}
    fork = kept.get("fork")
    if isinstance(fork, dict):
        kept["fork"] = {**fork, "record": [], "changes": [str(one).partition("=")[0] for one in fork.get("changes", ())]}
    return kept


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
