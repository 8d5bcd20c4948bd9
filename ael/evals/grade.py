"""The built-in grades of one observed run: data in, a score and a reason out. No model and no code of the program takes part."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from ael.data import dataclass
from ael.evals.cases import ABSENT, Case
from ael.evals.observe import Observation
from ael.evals.plan import (
    Called,
    Check,
    Code,
    Contains,
    Exact,
    Grader,
    Judge,
    Kept,
    Matches,
    Schema,
    Status,
    Visited,
    Within,
)
from ael.types.canonical import encode
from ael.types.pattern import matches

MAX_REASON = 600


@dataclass(frozen=True)
class Grade:
    """What one grader says of one run. `score` from 0 to 1; None: it could not be judged, which is never a pass. `cost` in US dollars
    (None: unknown price)."""

    name: str
    score: float | None
    passed: bool
    reason: str = ""
    cost: Decimal | None = Decimal(0)

    def plain(self) -> dict[str, object]:
        """As JSON."""
        cost = None if self.cost is None else str(self.cost)
        return {"name": self.name, "score": self.score, "passed": self.passed, "reason": self.reason, "cost": cost}


def graded(grader: Grader, score: float | None, reason: str = "", cost: Decimal | None = Decimal(0)) -> Grade:
    """A grade by the measure of its grader."""
    passed = score is not None and score >= grader.least - 1e-9
    return Grade(grader.name, score, passed, reason[:MAX_REASON], cost)


def yes(grader: Grader, held: bool, reason: str) -> Grade:
    """A grade of something that is so or not; the reason is told where it is not."""
    return graded(grader, 1.0 if held else 0.0, "" if held else reason)


def built_in(grader: Grader, case: Case, seen: Observation) -> Grade:
    """The grade of a built-in check."""
    match grader.check:
        case Code() | Judge():
            raise AssertionError("these are graded by running them")
        case check:
            held, reason = _held(check, case, seen)
            return yes(grader, held, reason)


def _held(check: Check, case: Case, seen: Observation) -> tuple[bool, str]:
    match check:
        case Exact(fields=fields):
            return _exact(fields, case, seen)
        case Schema(text=text, file=file):
            from ael.evals.schema import problems

            found = list(problems(text, seen.output))
            return not found, f"does not fit {file}: {'; '.join(found)}"
        case Contains(text=wanted, ignore_case=ignore):
            return _contains(wanted, ignore, case, seen)
        case Matches(pattern=pattern):
            return matches(pattern, text_of(seen.output)), f"{short(seen.output)} does not match {pattern}"
        case Status():
            return _status(check, seen)
        case Visited(nodes=nodes, how=how):
            return _visited(nodes, how, seen)
        case Called():
            return _called(check, seen)
        case Kept():
            return _kept(check, seen)
        case Within():
            return _within(check, seen)
        case _:
            raise AssertionError(check)


def text_of(value: object) -> str:
    """A text as it is, any other JSON as its text."""
    return value if isinstance(value, str) else encode(value).decode()


def short(value: object, most: int = 160) -> str:
    """A value in a message."""
    text = encode(value).decode()
    return text if len(text) <= most else f"{text[:most]}…"


def same(left: object, right: object) -> bool:
    """Whether two JSON values are equal, whatever the order of their keys; `1` and `1.0` are, `true` and `1` are not."""
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(same(value, right[key]) for key, value in left.items())
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if (isinstance(left, Decimal) and isinstance(right, float)) or (isinstance(left, float) and isinstance(right, Decimal)):
        return str(left) == str(right) or float(left) == float(right)
    return left == right


def _exact(fields: tuple[str, ...], case: Case, seen: Observation) -> tuple[bool, str]:
    wanted, found = case.expected, seen.output
    if wanted is ABSENT:
        return False, "the case does not say what is expected"
    if not fields:
        return same(wanted, found), f"expected {short(wanted)}, got {short(found)}"
    for one in fields:
        left = wanted.get(one) if isinstance(wanted, Mapping) else None
        right = found.get(one) if isinstance(found, Mapping) else None
        if not same(left, right):
            return False, f"`{one}`: expected {short(left)}, got {short(right)}"
    return True, ""


def _contains(wanted: str | None, ignore: bool, case: Case, seen: Observation) -> tuple[bool, str]:
    if wanted is None:
        if case.expected is ABSENT:
            return False, "the case does not say what is expected"
        wanted = text_of(case.expected)
    text = text_of(seen.output)
    held = wanted.casefold() in text.casefold() if ignore else wanted in text
    return held, f"{short(seen.output)} has no {short(wanted)} in it"


def _status(check: Status, seen: Observation) -> tuple[bool, str]:
    held = seen.status == check.word and (check.name is None or check.name == seen.name)
    wanted = check.word + (f" {check.name.rpartition('.')[2]}" if check.name else "")
    return held, f"expected the run to end as {wanted}; it ended as {seen.told}"


def _visited(nodes: tuple[str, ...], how: str, seen: Observation) -> tuple[bool, str]:
    names = [one.rpartition(".")[2] for one in nodes]
    way = " -> ".join(seen.visited[:40]) or "nothing"
    if how == "none":
        met = [name for name in names if name in seen.visited]
        return not met, f"{', '.join(met)} was visited: {way}"
    missing = [name for name in names if name not in seen.visited]
    if missing:
        return False, f"{', '.join(missing)} was not visited: {way}"
    if how == "order":
        at = -1
        for name in names:
            try:
                at = seen.visited.index(name, at + 1)
            except ValueError:
                return False, f"not visited in the order {' -> '.join(names)}: {way}"
    return True, ""


def _called(check: Called, seen: Observation) -> tuple[bool, str]:
    name = check.tool.rpartition(".")[2]
    made = [one for one in seen.calls if one.tool == check.tool]
    fitting = [one for one in made if check.arguments is None or _has(one.arguments, check.arguments)]
    told = f"`{name}` was called {_times(len(made))}"
    if check.arguments is not None:
        told = f"{told}, {len(fitting)} of them with {short(dict(check.arguments))}"
    if check.times is None:
        return bool(fitting), told
    return len(fitting) == check.times, f"{told}; expected {_times(check.times)}"


def _times(count: int) -> str:
    return "never" if count == 0 else "once" if count == 1 else f"{count} times"


def _has(given: Mapping[str, object] | None, wanted: Mapping[str, object]) -> bool:
    return given is not None and all(key in given and same(given[key], value) for key, value in wanted.items())


def _kept(check: Kept, seen: Observation) -> tuple[bool, str]:
    store = seen.stores.get(check.store, {})
    there, value = check.key in store, store.get(check.key)
    what = f"{check.store.rpartition('.')[2]}[{short(check.key)}]"
    if not there:
        return check.how == "absent", f"{what} is not there"
    match check.how:
        case "absent":
            return False, f"{what} is {short(value)}"
        case "there":
            return True, ""
        case "equals":
            return same(value, check.value), f"{what} is {short(value)}, expected {short(check.value)}"
        case "contains":
            return str(check.value) in text_of(value), f"{what} is {short(value)}, without {short(check.value)}"
        case _:
            return matches(str(check.value), text_of(value)), f"{what} is {short(value)}, which does not match {check.value}"


def _within(check: Within, seen: Observation) -> tuple[bool, str]:
    limit = check.limit
    if limit.cost is not None and seen.cost is None:
        return False, "what it cost is not known: the model has no price"
    spent: list[tuple[str, float | Decimal | None, float | Decimal | None]] = [
        ("tokens", seen.tokens, limit.tokens),
        ("dollars", seen.cost, limit.cost),
        ("seconds", seen.seconds, None if limit.time is None else limit.time / 1000),
        ("model steps", seen.steps, limit.steps),
        ("tool calls", seen.tool_calls, limit.tool_calls),
    ]
    over = [f"{used} of {most} {what}" for what, used, most in spent if used is not None and most is not None and used > most]
    return not over, f"it spent {', '.join(over)}"
