"""Events of a run as they cross to whoever follows it from elsewhere: a name and an object of JSON, and back.

Progress decides nothing: what is no event that is known here is left out, and an outcome never comes from one. Who may follow a call
hears of its structure and of its content; what is the operator's (why something failed inside, tokens and money, logs, who decided)
crosses only between the processes of one program.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, cast

from ael.data import dataclass
from ael.run import events as e
from ael.run.codec import written
from ael.run.ports import Usage
from ael.types.problem import DecodeError

MAX_EVENT = 64 * 1024
"""Bytes of one event; a larger one is left out."""
_NAME = 300
_WORDS = 2_000
"""Characters of a name or a path, and of what is said."""


@dataclass(frozen=True, slots=True)
class _Form:
    """How an event crosses: the fields that everybody hears, and those of the operator. `content`: may be left out for a slow reader."""

    kind: type
    public: tuple[str, ...]
    inside: tuple[str, ...] = ()
    hidden: bool = False
    content: bool = False


_FORMS: Mapping[str, _Form] = {
    "run_started": _Form(e.RunStarted, ("entry",)),
    "node_started": _Form(e.NodeStarted, ("path", "node")),
    "node_finished": _Form(e.NodeFinished, ("path", "node", "ending", "seconds")),
    "edge_taken": _Form(e.EdgeTaken, ("path", "agent", "edge")),
    "turn_started": _Form(e.TurnStarted, ("path", "node", "model", "turn")),
    "text": _Form(e.Text, ("path", "text", "final"), content=True),
    "partial": _Form(e.Partial, ("path", "value"), content=True),
    "turn_finished": _Form(e.TurnFinished, ("path", "node", "model", "stop", "seconds"), ("usage", "cost")),
    "tool_started": _Form(e.ToolStarted, ("path", "tool")),
    "tool_finished": _Form(e.ToolFinished, ("path", "tool", "ending", "seconds"), ("detail",)),
    "tool_progressed": _Form(e.ToolProgressed, ("path", "tool", "done", "total"), ("text",), content=True),
    "server_logged": _Form(e.ServerLogged, (), ("path", "tool", "level", "text"), hidden=True, content=True),
    "budget_reached": _Form(e.BudgetReached, (), ("path", "spender", "limit", "percent"), hidden=True),
    "approval_asked": _Form(e.ApprovalAsked, ("path", "tool", "role")),
    "approval_decided": _Form(e.ApprovalDecided, ("path", "tool", "approved"), ("by",)),
    "retried": _Form(e.Retried, ("path", "target", "attempt", "wait"), ("reason",)),
    "fell_back": _Form(e.FellBack, ("path", "model", "to"), ("reason",)),
    "store_changed": _Form(e.StoreChanged, ("path", "store", "operation"), ("key",)),
    "logged": _Form(e.Logged, (), ("path", "text"), hidden=True, content=True),
}
"""Name on the wire -> form. `run_finished` does not cross: a call ends with its ending."""
_NAMES = {form.kind: name for name, form in _FORMS.items()}


@dataclass(frozen=True, slots=True)
class Crossed:
    """An event on the wire: its name, the JSON text of its data, and whether a slow reader may miss it."""

    name: str
    data: bytes
    content: bool


def crossing(event: e.Event, mask: Callable[[object], object], *, inside: bool) -> Crossed | None:
    """An event for somebody elsewhere; `inside`: another process of the same program. None for what does not cross."""
    name = _NAMES.get(type(event))
    if name is None:
        return None
    form = _FORMS[name]
    if form.hidden and not inside:
        return None
    fields = (*form.public, *form.inside) if inside else form.public
    data: dict[str, object] = {"run": event.run} if name == "run_started" else {}
    data |= {field: getattr(event, field) for field in fields}
    if "usage" in data:
        used = cast("Usage", data["usage"])
        data["usage"] = {word: getattr(used, word) for word in _COUNTS} | {"estimated": used.estimated}
    if data.get("cost") is not None:
        data["cost"] = str(data["cost"])
    try:
        text = written(mask(data))
    except DecodeError:
        return None
    return Crossed(name, text, form.content) if len(text) <= MAX_EVENT else None


def heard(name: str, data: object, run: str, place: Callable[[str], str]) -> e.Event | None:
    """The event that somebody elsewhere tells, as one of the run `run`; `place`: its path there -> its path here. None for what is none.

    All of it is outside text: bounded, and shown as such.
    """
    form = _FORMS.get(name)
    if form is None or not isinstance(data, Mapping):
        return None
    values: dict[str, object] = {}
    for field in (*form.public, *form.inside):
        read = _READ[field]
        try:
            values[field] = read(data[field] if field in data else _ABSENT.get(field))
        except (TypeError, ValueError, InvalidOperation):
            return None
    if "path" in values:
        values["path"] = place(cast("str", values["path"]))
    if name == "run_started":
        values |= {"tenant": "", "caller": ""}
    return cast("e.Event", cast("Any", form.kind)(run=run, **values))


_COUNTS = ("input", "cache_read", "cache_write", "output", "reasoning")
_MOST = 2**53


def _name(value: object) -> str:
    if not isinstance(value, str) or len(value) > _NAME:
        raise TypeError
    return value


def _words(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value[:_WORDS]


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _count(value: object) -> int:
    if type(value) is not int or not 0 <= value <= _MOST:
        raise TypeError
    return value


def _number(value: object) -> float:
    if type(value) not in (int, float) or not 0 <= (found := cast("float", value)) <= _MOST:
        raise TypeError
    return float(found)


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError
    return value


def _usage(value: object) -> Usage:
    """Tokens; none where the other side keeps them to itself."""
    if not isinstance(value, Mapping):
        raise TypeError
    counts = {word: _count(value.get(word, 0)) for word in _COUNTS}
    return Usage(**counts, estimated=_flag(value.get("estimated", False)))


def _cost(value: object) -> Decimal | None:
    if value is None:
        return None
    found = Decimal(_name(value))
    if not found.is_finite() or found < 0:
        raise ValueError
    return found


_READ: Mapping[str, Callable[[object], object]] = {
    **dict.fromkeys(
        ("entry", "path", "node", "ending", "agent", "edge", "model", "stop", "tool", "spender", "limit", "target"), _name
    ),
    **dict.fromkeys(("to", "by", "level", "store", "operation"), _name),
    **dict.fromkeys(("detail", "reason", "key"), _words),
    "text": _text,
    **dict.fromkeys(("turn", "percent", "attempt"), _count),
    **dict.fromkeys(("seconds", "done", "wait"), _number),
    **dict.fromkeys(("final", "approved"), _flag),
    "total": lambda value: None if value is None else _number(value),
    "role": lambda value: None if value is None else _name(value),
    "value": lambda value: value,
    "usage": _usage,
    "cost": _cost,
}
_ABSENT: Mapping[str, object] = {"detail": "", "reason": "", "by": "", "text": "", "key": "", "usage": {}}
"""What stands for a field of the operator's that was kept back."""
