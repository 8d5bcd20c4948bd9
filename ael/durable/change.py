"""What a fork has otherwise than its original, as a person writes it: `--set WHAT=VALUE` (feature A12.16).

`WHAT` is `input` or `input.NAME`; `model.NAME` and `model.NAME.SETTING`; `budget.LIMIT`; or a step, whose answer is replaced: the
result of a tool, an operation or a store, what a model said, a time, an id, a person's decision. After a step `.fault`, `.error`,
`.uncertain` and (of a model) `.calls` replace how it ended.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ael.check.builtin import EFFECT_SIGNATURES
from ael.data import replace
from ael.durable.fork import Answer, Changes
from ael.durable.place import PlaceError, Places, answered
from ael.journal.entry import Ending, Entry, Kind
from ael.models.registry import PROVIDERS
from ael.project.deployment import ModelBinding
from ael.project.program import Opened
from ael.run.codec import written
from ael.run.service import STORE_OPERATIONS, signature_of
from ael.run.step import record_of
from ael.types.decode import decoder
from ael.types.decode_support import to_decimal
from ael.types.fault import FAULT_NAMES, Uncertain
from ael.types.json import JsonError, read
from ael.types.problem import DecodeError
from ael.types.signature import Signature
from ael.types.spec import BudgetSpec
from ael.types.type import Named

FORKER = "the fork"
"""Who made a decision that a fork was given."""
_TIME = re.compile(r"(\d{1,9})(ms|s|min|h)")
_MILLISECONDS = {"ms": 1, "s": 1_000, "min": 60_000, "h": 3_600_000}
_LIMITS = ("tokens", "cost", "time", "steps", "tool_calls")
_UNCERTAIN = "Uncertain"
_WAYS = ("fault", "error", "uncertain", "calls")
_MOST = 1 << 53


class ChangeError(Exception):
    """A change that cannot be made; `notes` say what can."""

    def __init__(self, message: str, *notes: str) -> None:
        super().__init__(message)
        self.message = message
        self.notes = notes


class Original(NamedTuple):
    """The run that is forked: its steps, its records and its input; and the program that goes on."""

    program: Opened
    places: Places
    entries: Sequence[Entry]
    input: Mapping[str, object]


def changed(original: Original, changes: Changes, what: str, text: str) -> Changes:
    """`changes` with one more. Raises `ChangeError`, and `PlaceError` for what names no step."""
    head, _, rest = what.partition(".")
    said = (*changes.said, f"{what}={text}")
    match head:
        case "input":
            return replace(changes, input=_input(original, changes, rest, what, text), said=said)
        case "model" if rest:
            name, _, setting = rest.partition(".")
            name = _model(original.program, name)
            if not setting:
                return replace(changes, models={**changes.models, name: text}, said=said)
            settings = {**changes.settings.get(name, {}), setting: _json(what, text)}
            return replace(changes, settings={**changes.settings, name: settings}, said=said)
        case "budget" if rest:
            return replace(changes, budget=_budget(changes.budget or BudgetSpec(), rest, text), said=said)
        case _:
            path, answer = _answer(original, what, text)
            return replace(changes, answers={**changes.answers, path: answer}, said=said)


# --- input, models, budget ------------------------------------------------------------------------------------------------


def _input(original: Original, changes: Changes, name: str, what: str, text: str) -> Mapping[str, object]:
    value = _json(what, text)
    if name:
        return {**(original.input if changes.input is None else changes.input), name: value}
    if not isinstance(value, dict):
        raise ChangeError(
            "the input is a JSON object with a key for each parameter", "one parameter alone: `--set input.NAME=JSON`"
        )
    return value


def _model(program: Opened, name: str) -> str:
    """The qualified name of a model. Raises `ChangeError`."""
    full = [one for one in program.program.models if name in (one, one.rpartition(".")[2])]
    if not full:
        known = ", ".join(sorted(one.rpartition(".")[2] for one in program.program.models))
        raise ChangeError(f"the program has no model `{name}`", f"it has {known or 'none'}")
    return full[0]


def rebound(program: Opened, models: Mapping[str, str], settings: Mapping[str, Mapping[str, object]]) -> Opened:
    """The program with models bound to others: to `PROVIDER:MODEL`, or to `MODEL` of the same provider; and with other settings.

    Raises `ChangeError`.
    """
    bound = dict(program.deployment.models)
    for name, text in models.items():
        full = _model(program, name)
        before = _bound(program, bound, full)
        provider, colon, model = text.partition(":")
        if not colon or provider not in PROVIDERS:
            bound[full] = replace(before, model=text)
        else:
            same = provider == before.provider
            bound[full] = ModelBinding(provider, model, before.key if same else None, before.settings if same else {})
    for name, given in settings.items():
        full = _model(program, name)
        before = _bound(program, bound, full)
        bound[full] = replace(before, settings={**before.settings, **given})
    return replace(program, deployment=replace(program.deployment, models=bound))


def _bound(program: Opened, bound: Mapping[str, ModelBinding], name: str) -> ModelBinding:
    spec = program.program.models[name]
    return bound.get(name) or ModelBinding(spec.provider or "", spec.model)


def _budget(budget: BudgetSpec, limit: str, text: str) -> BudgetSpec:
    match limit:
        case "cost":
            cost = to_decimal(text.removeprefix("$"))
            if cost is None or cost < 0:
                raise ChangeError(f"`budget.cost` is an amount of dollars, such as `0.50`, not `{text}`")
            return replace(budget, cost=cost)
        case "time":
            time = _TIME.fullmatch(text)
            if time is None:
                raise ChangeError(f"`budget.time` is a length of time, such as `30s`, not `{text}`")
            return replace(budget, time=int(time[1]) * _MILLISECONDS[time[2]])
        case "tokens" | "steps" | "tool_calls":
            number = text.replace("_", "")
            if not number.isdecimal() or int(number) > _MOST:
                raise ChangeError(f"`budget.{limit}` is a whole number, not `{text}`")
            return replace(budget, **{limit: int(number)})
        case _:
            raise ChangeError(f"a budget has no limit `{limit}`", f"it has {', '.join(_LIMITS)}")


# --- answers --------------------------------------------------------------------------------------------------------------


def _answer(original: Original, what: str, text: str) -> tuple[str, Answer]:
    """A step, and what stands in place of its answer, by the type of what was called."""
    path, way = _place(original.places, what)
    if path not in original.places.paths:
        raise ChangeError(f"`{what}` is no step, so there is nothing to replace")
    last = original.places.last(path)
    value = _json(what, text)
    if last.kind is Kind.APPROVAL and not way:
        return path, _decision(original, last, value)
    answer = answered(original.entries, path)
    if answer is None:
        raise ChangeError(f"the step {path} was not answered, so there is nothing to replace")
    match way:
        case "fault":
            return path, _fault(answer, value)
        case "error":
            return path, _error(original.program, answer, value)
        case "uncertain":
            return path, _doubt(original.program, answer, value)
        case "calls":
            return path, _turn(answer, calls=_calls(value))
        case _ if answer.kind is Kind.MODEL:
            return path, _turn(answer, final=written(value).decode())
    signature = _signature(original.program, answer)
    try:
        return path, Answer(Ending.VALUE, decoder(signature.result, original.program.program.definitions)(value))
    except DecodeError as error:
        raise ChangeError(f"this is no result of `{answer.target}`: {error.text}") from None


def _place(places: Places, what: str) -> tuple[str, str]:
    """The step that `what` names, and how it is to end: `pay.fault` is a step too, where one is called so."""
    try:
        return places.find(what), ""
    except PlaceError:
        step, dot, way = what.rpartition(".")
        if not dot or way not in _WAYS:
            raise
        return places.find(step), way


def _signature(program: Opened, answer: Entry) -> Signature:
    """Of what was called. Raises `ChangeError` for what has no answer of its own."""
    store, _, operation = answer.target.rpartition(".")
    effects = {one.name: name for name, one in EFFECT_SIGNATURES.items() if name != "log"}
    found = None
    match answer.kind:
        case Kind.TOOL | Kind.OPERATION:
            found = program.program.signatures.get(answer.target)
        case Kind.STORE if store in program.program.stores and operation in STORE_OPERATIONS:
            found = signature_of(program.program.stores[store], operation)
        case Kind.EFFECT if answer.target in effects:
            return Signature(answer.target, (), EFFECT_SIGNATURES[effects[answer.target]].result)
    if found is None:
        note = (
            "what a tool, an operation, a store, a model or a person answered can be replaced, and times, ids and random numbers"
        )
        raise ChangeError(f"the answer of `{answer.target or answer.path}` cannot be replaced", note)
    return found


def _fault(answer: Entry, value: object) -> Answer:
    """The fault of a kind: `"Timeout"`, or `{"kind": "Timeout", "message": "…"}`."""
    given = {"kind": value} if isinstance(value, str) else value
    if not isinstance(given, dict) or given.get("kind") not in FAULT_NAMES or answer.kind in (Kind.EFFECT, Kind.APPROVAL):
        raise ChangeError(f"this is no fault of `{answer.target}`", 'a fault is written `"Timeout"`, after its kind')
    message = str(given.get("message") or f"`{answer.target}` failed in this fork")
    return Answer(Ending.FAULT, {"kind": given["kind"], "message": message, "details": {}})


def _error(program: Opened, answer: Entry, value: object) -> Answer:
    """A declared error: `{"error": "SoldOut", "value": {…}}`."""
    signature = _signature(program, answer)
    known = {
        name.rpartition(".")[2]: name
        for name in sorted(signature.fails)
        if name in program.program.definitions and name != _UNCERTAIN
    }
    name = value.get("error") if isinstance(value, dict) else None
    full = known.get(str(name).rpartition(".")[2])
    if full is None or not isinstance(value, dict):
        listed = f"it has {', '.join(known)}" if known else "it declares none"
        raise ChangeError(f"this is no error of `{answer.target}`", f'{listed}: `{{"error": "NAME", "value": {{…}}}}`')
    try:
        record = decoder(Named(full), program.program.definitions)(value.get("value", {}))
    except DecodeError as error:
        raise ChangeError(f"this is no `{full}`: {error.text}") from None
    return Answer(Ending.ERROR, {"error": full, "value": record})


def _doubt(program: Opened, answer: Entry, value: object) -> Answer:
    """That nobody knows if a call took effect; the text says why."""
    if not isinstance(value, str) or answer.kind is Kind.MODEL or _UNCERTAIN not in _signature(program, answer).fails:
        note = "its outcome is known, whatever happens" if isinstance(value, str) else "it is written with a reason, as text"
        raise ChangeError(f"a call of `{answer.target}` does not end uncertain like this", note)
    return Answer(*record_of(Uncertain(answer.key, answer.target.rpartition(".")[2], answer.path, why=value)))


def _calls(value: object) -> list[list[str]]:
    """The calls of a turn as a record has them: of `[{"name": "pay", "arguments": {…}}]`."""
    made: list[list[str]] = []
    for one in value if isinstance(value, list) else [None]:
        if not isinstance(one, dict) or not isinstance(one.get("name"), str):
            raise ChangeError(
                "the calls of a turn are a list", '`[{"name": "pay", "arguments": {"n": 5}}]`, by the names that the model sees'
            )
        made.append([f"fork-{len(made) + 1}", one["name"], written(one.get("arguments", {})).decode()])
    return made


_SILENT: Mapping[str, object] = {
    "usage": [0, 0, 0, 0, 0, False], "failed": [], "attempts": [], "model": "", "detail": "", "paid": None,
}  # fmt: skip
"""Of the record of a turn what a model that failed has none of, or only in part."""


def _turn(answer: Entry, *, final: str | None = None, calls: Sequence[Sequence[str]] = ()) -> Answer:
    """A recorded turn that gives this result, or proposes these calls, instead of what it said."""
    if answer.kind is not Kind.MODEL:
        raise ChangeError(f"the step {answer.path} is no turn of a model, so there is none to replace")
    record = {**_SILENT, **(answer.value if isinstance(answer.value, Mapping) else {})}
    if answer.ending is not Ending.VALUE:
        record = {word: record[word] for word in _SILENT}
    stop = "calls" if calls else "done"
    said = {"text": "", "calls": [list(call) for call in calls], "final": final, "opaque": None, "stop": stop, "cut": False}
    return Answer(Ending.VALUE, {**record, **said})


def _decision(original: Original, asked: Entry, value: object) -> Answer:
    """A person's decision: `"approved"`, `"denied"`, or `{"approved": false, "reason": "…"}`, with `arguments` where it edits them."""
    given = {"approved": value == "approved"} if value in ("approved", "denied") else value
    if not isinstance(given, dict) or type(given.get("approved")) is not bool or not asked.path.endswith("/approval"):
        note = 'a decision is `"approved"`, `"denied"`, or `{"approved": false, "reason": "…"}`'
        raise ChangeError(f"this is no decision about `{asked.target}`", note)
    arguments = given.get("arguments")
    if arguments is not None and not isinstance(arguments, dict):
        raise ChangeError("the `arguments` of a decision are a JSON object")
    if arguments is not None:
        signature = original.program.program.signatures[asked.target]
        definitions = original.program.program.definitions
        kinds = {one.wire: one.type for one in signature.parameters}
        try:
            arguments = {
                name: decoder(kinds[name], definitions)(one) if name in kinds else one for name, one in arguments.items()
            }
        except DecodeError as error:
            raise ChangeError(f"these are no arguments of `{asked.target}`: {error.text}") from None
    decided = {"approved": given["approved"], "by": FORKER, "reason": str(given.get("reason", "")), "arguments": arguments}
    return Answer(Ending.VALUE, decided)


def _json(what: str, text: str) -> object:
    try:
        return read(text)
    except JsonError as error:
        raise ChangeError(f"`{what}`: {error.message}", "a value is JSON: text stands in quotes") from None
