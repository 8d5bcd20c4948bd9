"""The assertions of one case, as JSON: `{"status": {"error": "NotFound"}, "visited": ["answer"], "called": {"tool": "lookup"}}`.

The same checks as the built-in graders of the `eval.ael`, by the same names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation

from ael.evals.checks import STATUSES, Known, pattern, status
from ael.evals.plan import Called, Check, Contains, Grader, Kept, Matches, Status, Visited, Within
from ael.project.wrong import Wrong
from ael.source import Span
from ael.syntax import nodes as n
from ael.types.canonical import encode
from ael.types.spec import BudgetSpec

_NOWHERE = n.Name(Span(0, 0), "")
_MOST = 50
_UNITS = {"ms": 1, "s": 1_000, "min": 60_000, "h": 3_600_000}
_DURATION = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,3})?)(ms|s|min|h)")


class Refused(ValueError):
    """An assertion that means nothing; the message says where in the case, and what may stand there."""


def assertions(value: object, known: Known) -> tuple[Grader, ...]:
    """The graders that a case's `assert` is. Raises `Refused`."""
    if not isinstance(value, dict):
        raise Refused(f"`assert` is an object with some of {_listed(KINDS)}")
    made: list[Grader] = []
    for kind, said in value.items():
        if kind not in KINDS:
            raise Refused(f"there is no assertion `{str(kind)[:60]}`; there is {_listed(KINDS)}")
        many = said if kind in ("called", "kept") and isinstance(said, list) else [said]
        if len(many) > _MOST:
            raise Refused(f"`assert.{kind}` has more than {_MOST} entries")
        for index, one in enumerate(many, start=1):
            try:
                check = KINDS[kind](one, known)
            except Wrong as wrong:
                raise Refused(f"`assert.{kind}`: {wrong.message}" + "".join(f"; {note}" for note in wrong.notes)) from None
            except Refused as refused:
                raise Refused(f"`assert.{kind}`: {refused}") from None
            name = kind if len(many) == 1 else f"{kind} {index}"
            made.append(Grader(name, check, 1.0, f"{kind} {encode(one).decode()}"))
    return tuple(made)


def _listed(words: Mapping[str, object]) -> str:
    return ", ".join(f"`{word}`" for word in words)


def _names(value: object, what: str) -> list[str]:
    found = [value] if isinstance(value, str) else value
    if not isinstance(found, list) or not found or not all(isinstance(one, str) for one in found):
        raise Refused(f"this takes names of {what}")
    return found


def _status(value: object, known: Known) -> Check:
    if isinstance(value, str) and value in STATUSES:
        return Status(value)
    if isinstance(value, dict) and len(value) == 1:
        how, name = next(iter(value.items()))
        if how in ("error", "fault", "parked") and isinstance(name, str):
            return status(how, name, known, _NOWHERE)
    raise Refused(f'this takes one of {", ".join(STATUSES)}, or such as {{"error": "NotFound"}}')


def _visited(how: str) -> Callable[[object, Known], Check]:
    def read(value: object, known: Known) -> Check:
        return Visited(tuple([known.node(one, _NOWHERE) for one in _names(value, "nodes")]), how)  # type: ignore[arg-type]

    return read


def _object(value: object, keys: tuple[str, ...], needed: tuple[str, ...]) -> dict[str, object]:
    if not isinstance(value, dict):
        raise Refused(f"this takes an object with {', '.join(f'`{key}`' for key in keys)}")
    for key in value:
        if key not in keys:
            raise Refused(f"there is no `{str(key)[:60]}` here; there is {', '.join(f'`{one}`' for one in keys)}")
    for key in needed:
        if not isinstance(value.get(key), str):
            raise Refused(f"`{key}` is missing, or no text")
    return value


def _called(value: object, known: Known) -> Check:
    said = _object({"tool": value} if isinstance(value, str) else value, ("tool", "args", "times"), ("tool",))
    arguments, times = said.get("args"), said.get("times")
    if arguments is not None and not isinstance(arguments, dict):
        raise Refused("`args` is an object")
    if times is not None and (isinstance(times, bool) or not isinstance(times, int) or times < 0):
        raise Refused("`times` is a whole number")
    return Called(known.tool(str(said["tool"]), _NOWHERE), arguments, times)


def _not_called(value: object, known: Known) -> Check:
    names = _names(value, "tools")
    if len(names) != 1:
        raise Refused("this takes the name of one tool")
    return Called(known.tool(names[0], _NOWHERE), None, 0)


def _kept(value: object, known: Known) -> Check:
    said = _object(value, ("store", "key", "absent", "equals", "contains", "matches"), ("store", "key"))
    store, key = known.store(str(said["store"]), _NOWHERE), str(said["key"])
    ways = [way for way in ("absent", "equals", "contains", "matches") if way in said]
    if len(ways) > 1:
        raise Refused("this looks at one thing: `absent`, `equals`, `contains` or `matches`")
    match ways:
        case ["absent"]:
            return Kept(store, key, "absent" if said["absent"] is True else "there")
        case ["equals"]:
            return Kept(store, key, "equals", said["equals"])
        case ["contains"]:
            return Kept(store, key, "contains", _text(said["contains"]))
        case ["matches"]:
            return Kept(store, key, "matches", _pattern(said["matches"]))
        case _:
            return Kept(store, key)


def _text(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise Refused("this takes a text")
    return value


def _pattern(value: object) -> str:
    return pattern(_text(value), lambda why: Refused(f"this is no pattern: {why}"))


def _contains(value: object, known: Known) -> Check:
    return Contains(_text(value))


def _matches(value: object, known: Known) -> Check:
    return Matches(_pattern(value))


def _within(value: object, known: Known) -> Check:
    words = ("tokens", "cost", "time", "steps", "tool_calls")
    said = _object(value, words, ())
    found: dict[str, object] = {}
    for word, amount in said.items():
        found[word] = _amount(word, amount)
    if not found:
        raise Refused(f"this takes some of {', '.join(f'`{word}`' for word in words)}")
    return Within(BudgetSpec(**found))  # type: ignore[arg-type]


def _amount(word: str, amount: object) -> object:
    match word, amount:
        case "cost", int() | float() | str() if not isinstance(amount, bool):
            try:
                money = Decimal(str(amount).removeprefix("$"))
            except InvalidOperation:
                money = Decimal(-1)
            if money.is_finite() and money >= 0:
                return money
            raise Refused("`cost` is money in dollars, such as 0.05")
        case "time", str():
            found = _DURATION.fullmatch(amount)
            if found is None:
                raise Refused('`time` is a duration, such as "30s"')
            return round(float(found[1]) * _UNITS[found[2]])
        case "tokens" | "steps" | "tool_calls", int() if not isinstance(amount, bool) and amount >= 0:
            return amount
        case _:
            raise Refused(f"`{word}` is " + ('a duration, such as "30s"' if word == "time" else "a whole number"))


KINDS: Mapping[str, Callable[[object, Known], Check]] = {
    "status": _status,
    "visited": _visited("all"),
    "not_visited": _visited("none"),
    "order": _visited("order"),
    "called": _called,
    "not_called": _not_called,
    "kept": _kept,
    "within": _within,
    "contains": _contains,
    "matches": _matches,
}
"""The words of a case's assertions."""
