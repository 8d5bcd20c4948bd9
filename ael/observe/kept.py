"""The trace of a kept run, from its journal: the tree that `ael run --trace` prints, made without the program, and nothing is run again.

The journal holds effects. What has none leaves no record: an edge, a visit of a node without an effect in it, and a `release`; these come
from a rehearsal of the run, where its program is here (`unrecorded`). Where a visit is known only by what happened in it, its times are
those of that.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import cast

from ael.data import dataclass, field
from ael.journal.durable import RunRow, RunState
from ael.journal.entry import Ending, Entry, Kind, State
from ael.observe.idle import Gap, gaps_of, overlap
from ael.observe.made import Made
from ael.observe.prompt import added
from ael.observe.shown import Shown
from ael.observe.turns import failed_attempts, spent, turn_attributes, turn_content
from ael.observe.unrecorded import unrecorded
from ael.run.conversation import Request
from ael.run.masker import Masker
from ael.run.ports import Span

_VISIT = re.compile(r"(?P<name>.+?)(?:@\d+(?:#\d+)?|#\d+(?:\[\d+\])?)")
"""A visit of a node: from code (`answer@2#3`: the third from this place), or of an agent (`answer#3`, `research#1[4]` for an item)."""
_ATTEMPT = re.compile(r"~(\d+)$")
_TURN = re.compile(r"turn\d+")
_INSIDE = frozenset({"node", "agent", "tool", "operation"})
"""Kinds of span that others stand below."""


@dataclass(frozen=True)
class Kept:
    """A run as its store has it. `input`, `shown` (how a value is shown) and `requests` (what its models were asked, as far as that could
    be made again) are there where content is asked for; `rehearsed` (the spans of a rehearsal) where the program is here."""

    row: RunRow
    entries: Sequence[Entry]
    now: float
    masker: Masker
    input: object = None
    shown: Shown | None = None
    requests: Mapping[str, Request] = field(default_factory=dict)
    rehearsed: Sequence[Span] = ()

    @property
    def end(self) -> float:
        """When it ended; until now, for one that has not."""
        if self.row.ended is not None:
            return self.row.ended
        last = max((entry.at for entry in self.entries), default=self.row.header.started)
        return last if self.row.state is RunState.DEAD else max(self.now, last)


def trace_of(kept: Kept) -> list[Span]:
    """The spans of a kept run, in the order in which they began; secrets masked."""
    gaps = gaps_of(kept.row, kept.entries, kept.end)
    made = _recorded(kept)
    made |= _visits(made)
    root = _root(kept, list(made.values()), gaps)
    made |= unrecorded(made, kept.rehearsed, root.start)
    for one in made.values():
        one.above = _above(one, made) or root
    ordered = sorted(made.values(), key=lambda one: (one.start, one.order, one.path.count("/")))
    return [_span(kept, one, gaps) for one in _numbered([root, *ordered])]


def _recorded(kept: Kept) -> dict[str, Made]:
    """What has records of its own, by path."""
    groups: dict[str, list[Entry]] = {}
    order: dict[str, int] = {}
    for index, entry in enumerate(kept.entries):
        if entry.kind is not Kind.CANCEL:
            groups.setdefault(entry.path, []).append(entry)
            order.setdefault(entry.path, index)
    visits = {path.rpartition("/")[0] for path in groups if _TURN.fullmatch(path.rpartition("/")[2])}
    made: dict[str, Made] = {}
    for path, records in groups.items():
        one = made[path] = _effect(kept, path, records, (1, order[path]), path in visits)
        if one.kind == "turn" and isinstance(records[-1].value, Mapping):
            for attempt in failed_attempts(records[-1].value):
                key, name = f"{path}~{attempt['attempt']}", str(attempt.pop("model"))
                made[key] = Made(key, "retry", name, one.start, one.start, one.order, "fault", frozenset(), attempt)
    return made


def _effect(kept: Kept, path: str, records: Sequence[Entry], order: tuple[int, int], is_node: bool) -> Made:
    """One effect: from its first record (a call: from where it began, after its approval) to its answer."""
    last = records[-1]
    begun = next((entry for entry in records if entry.state is State.STARTED), records[0])
    answered = last.state is State.ANSWERED
    kind, name = ("node", _short(last.target)) if is_node else (_KINDS[last.kind], last.target)
    one = Made(path, kind, name, begun.at, last.at if answered else kept.end, order)
    one.outcome = last.ending.value if answered and last.ending is not None else _open(kept.row, path)
    one.taint = frozenset(last.taint)
    if last.derived:
        one.attributes["derived"] = list(last.derived)
    asked = next((entry.value for entry in records if entry.state is State.PROPOSED), None)
    match last.kind:
        case Kind.MODEL:
            if answered and last.ending is Ending.VALUE:
                one.attributes |= turn_attributes(last.value)
            if path.endswith("/summary"):
                one.attributes["summary"] = True
        case Kind.APPROVAL:
            _approval(one, asked, last)
        case Kind.EFFECT if (attempt := _ATTEMPT.search(path)) is not None:
            one.kind, one.start = "retry", last.at
            one.attributes["attempt"] = int(attempt[1])
        case _:
            if last.key:
                one.attributes["key"] = last.key
    if answered and last.ending in (Ending.ERROR, Ending.FAULT, Ending.REFUSED):
        one.attributes["reason"] = _reason(last.value)
    if kept.shown is not None:
        one.content = _content(last, asked, kept.shown)
        if path in kept.requests:
            one.content = {**_asked(kept, path, kept.shown), **one.content}
    return one


def _asked(kept: Kept, path: str, show: Shown) -> dict[str, object]:
    """What a turn was asked: of all that the model reads, what the turn of the visit before it had not been told."""
    visit = path.rpartition("/")[0]
    turns = [other for other in kept.requests if other.rpartition("/")[0] == visit and _TURN.fullmatch(other.rpartition("/")[2])]
    turns = sorted(turns, key=lambda other: int(other.rpartition("/turn")[2])) if path in turns else [path]
    at = turns.index(path)
    request = kept.requests[path]
    fixed: dict[str, object] = {}
    if at == 0:
        fixed = {"system": show.said(request.setup.system), "tools": [offer.name for offer in request.setup.offers]}
    return {**fixed, "messages": added([kept.requests[turn] for turn in turns], at, show)}


_KINDS: Mapping[Kind, str] = {
    Kind.MODEL: "turn",
    Kind.TOOL: "tool",
    Kind.OPERATION: "operation",
    Kind.STORE: "store",
    Kind.EFFECT: "effect",
    Kind.APPROVAL: "approval",
}


def _approval(one: Made, asked: object, last: Entry) -> None:
    """Who decided, and why: of a question of a server only that it was asked, which is content."""
    if isinstance(asked, Mapping) and asked.get("role") is not None:
        one.attributes["role"] = asked["role"]
    if isinstance(asked, Mapping) and "reason" in asked:
        one.attributes["asked_because"] = asked["reason"]
    if last.state is State.ANSWERED and isinstance(last.value, Mapping):
        one.attributes |= {"by": last.value.get("by"), "reason": last.value.get("reason") or None}
        one.attributes["edited"] = last.value.get("arguments") is not None or None
        one.outcome = "value" if last.value.get("approved") else "refused"


def _content(last: Entry, asked: object, shown: Shown) -> dict[str, object]:
    """What was asked and answered."""
    found: dict[str, object] = {}
    if isinstance(asked, Mapping):
        found["arguments"] = shown(asked.get("arguments", dict(asked)) if last.kind is Kind.APPROVAL else dict(asked))
        if last.kind is Kind.APPROVAL and "preview" in asked:
            found["preview"] = shown(asked["preview"])
    if last.state is State.ANSWERED:
        if last.kind is Kind.MODEL and last.ending is Ending.VALUE:
            found |= turn_content(last.value, shown)
        elif last.kind is Kind.APPROVAL:
            changed = last.value.get("arguments") if isinstance(last.value, Mapping) else None
            found |= {} if changed is None else {"decided": shown(changed)}
        else:
            found["result" if last.ending is Ending.VALUE else "error"] = shown(last.value)
    return found


def _visits(made: Mapping[str, Made]) -> dict[str, Made]:
    """The visits of nodes from code, which the paths of what happened in them name."""
    found: dict[str, Made] = {}
    for path, one in made.items():
        parts = path.split("/")
        for depth in range(1, len(parts)):
            above = "/".join(parts[:depth])
            visit = _VISIT.fullmatch(_ATTEMPT.sub("", parts[depth - 1]))
            if _ATTEMPT.sub("", above) in made or (depth > 1 and visit is None):
                continue
            name = parts[0] if visit is None else visit["name"]
            node = found.setdefault(above, Made(above, "node", name, one.start, one.end, one.order, ""))
            node.start, node.end = min(node.start, one.start), max(node.end, one.end)
            node.taint |= one.taint
            if one.outcome in ("running", "parked", "interrupted"):
                node.outcome = one.outcome
    for path, node in found.items():
        node.attributes |= spent(one.attributes for key, one in made.items() if one.kind == "turn" and key.startswith(f"{path}/"))
    return found


def _above(one: Made, made: Mapping[str, Made]) -> Made | None:
    """What `one` stands below: the call or visit around it, at whichever attempt. An approval stands beside its call, a failed
    attempt below it."""
    path = _ATTEMPT.sub("", one.path)
    if path != one.path and path in made:
        return made[path]
    path = path.removesuffix("/approval") if one.kind == "approval" else path
    while "/" in path:
        path = path.rpartition("/")[0]
        for name in (path, _ATTEMPT.sub("", path)):
            if (found := made.get(name)) is not None and found.kind in _INSIDE:
                return found
    return None


def _root(kept: Kept, made: Sequence[Made], gaps: Sequence[Gap]) -> Made:
    """The run itself."""
    row, header = kept.row, kept.row.header
    root = Made("", "run", _short(header.entry), header.started, kept.end, (-1, 0))
    root.outcome = row.ending or ("interrupted" if row.state is RunState.READY else row.state.value)
    told = row.outcome.get("spent") if isinstance(row.outcome, Mapping) else None
    root.attributes = dict(cast("Mapping[str, object]", told)) if isinstance(told, Mapping) else {}
    if not root.attributes:
        root.attributes = spent(one.attributes for one in made if one.kind == "turn")
    root.attributes.pop("seconds", None)
    root.attributes["tenant"], root.attributes["caller"] = header.tenant, header.caller
    cancelled = [str(entry.value) for entry in kept.entries if entry.kind is Kind.CANCEL and entry.value is not None]
    if cancelled:
        root.attributes["reason"] = "; ".join(cancelled)
    if kept.shown is not None:
        root.content = {"input": kept.shown(kept.input)}
        if isinstance(row.outcome, Mapping):
            root.content["outcome"] = kept.shown({word: value for word, value in row.outcome.items() if word != "spent"})
    return root


def _numbered(ordered: Sequence[Made]) -> Sequence[Made]:
    for index, one in enumerate(ordered):
        one.sequence = index + 1
    return ordered


def _span(kept: Kept, one: Made, gaps: Sequence[Gap]) -> Span:
    """The finished span: time in which the run was parked or nobody's is told apart from its work."""
    end = max(one.start, one.end)
    parked = overlap(gaps, one.start, end)
    if parked and one.kind in ("run", "node", "agent", "tool", "operation", "approval"):
        one.attributes["parked"] = round(parked, 3)
        one.attributes["active"] = round(max(0.0, end - one.start - parked), 3)
    mask = kept.masker
    return Span(
        kept.row.header.run,
        one.sequence,
        None if one.above is None else one.above.sequence,
        one.kind,
        mask.text(one.name),
        one.path,
        one.start,
        end,
        one.outcome,
        tuple(sorted(one.taint)),
        {name: mask.value(value) for name, value in one.attributes.items() if value is not None},
        one.content,
    )


def _open(row: RunRow, path: str) -> str:
    """How far an effect without an answer came."""
    if row.state is RunState.PARKED:
        return "parked" if f" at {path}" in row.waits else "open"
    return "running" if row.state is RunState.RUNNING else "interrupted"


def _reason(value: object) -> str | None:
    """The kind of a fault, or the name of a declared error: its message is content."""
    if not isinstance(value, Mapping):
        return None
    found = value.get("kind") or value.get("error")
    return None if found is None else str(found)


def _short(name: str) -> str:
    return name.partition(".")[2] or name
