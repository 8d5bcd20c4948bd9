"""What changed in what can be called: functions, tools, nodes, agents, and the operations of services and stores."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from ael.check.program import CheckedProgram
from ael.data import dataclass
from ael.project.api_level import Change, added, broken
from ael.project.api_types import reordered
from ael.types.definition import Definitions
from ael.types.relate import fits
from ael.types.signature import ParameterDef, Repeat, Signature
from ael.types.spec import ApprovalSpec, BudgetSpec, LimitSpec
from ael.types.text import show

UNCERTAIN = "Uncertain"


@dataclass(frozen=True, eq=False)
class Called:
    """Something that can be called, in one version. `permissions` are those that whoever calls it must have.

    `own`: how those permissions are said of it (`needs`, `is granted`).
    """

    signature: Signature
    permissions: frozenset[str]
    own: str
    repeat: Repeat
    tainted: bool
    doc: str = ""
    budget: BudgetSpec = BudgetSpec()
    limit: LimitSpec = LimitSpec()
    timeout: int | None = None
    approval: ApprovalSpec | None = None


def called(program: CheckedProgram, name: str) -> Called | None:
    """What of a declaration matters to its callers; None for what cannot be called."""
    signature = program.signatures.get(name)
    if signature is None:
        return None
    effects = signature.effects
    if (tool := program.tools.get(name)) is not None:
        return Called(
            signature, frozenset({tool.permission}), "needs", tool.repeat, effects.tainted, tool.doc, limit=tool.limit,
            timeout=tool.timeout, approval=tool.approval,
        )  # fmt: skip
    if (node := program.nodes.get(name)) is not None:
        return Called(signature, node.grants, "is granted", effects.repeat, effects.tainted, node.doc, node.budget)
    if (operation := program.operations.get(name)) is not None:
        needs = frozenset({operation.permission}) if operation.permission is not None else frozenset[str]()
        return Called(
            signature, needs, "needs", operation.repeat, effects.tainted, operation.doc, limit=operation.limit,
            timeout=operation.timeout,
        )  # fmt: skip
    return Called(signature, effects.permissions, "needs", effects.repeat, effects.tainted)


def callable_changes(old: Called, new: Called, name: str, program: CheckedProgram, definitions: Definitions) -> Iterator[Change]:
    """What changed; `program` is the new version, which says what its permissions include."""
    yield from _parameters(name, old.signature.parameters, new.signature.parameters, definitions)
    if len(old.signature.type_parameters) != len(new.signature.type_parameters):
        yield broken(name, "has other type parameters")
    yield from _result(name, old, new, definitions)
    yield from _errors(name, old.signature.fails, new.signature.fails)
    yield from _permissions(name, old, new, program)
    if new.repeat is not old.repeat:
        text = f"is `{new.repeat.word}`, before `{old.repeat.word}`"
        yield broken(name, text) if new.repeat < old.repeat else added(name, text)
    if new.tainted != old.tainted:
        yield broken(name, "gives outside data now") if new.tainted else added(name, "gives no outside data any more")
    yield from _amounts(name, old.budget, new.budget)
    yield from _limits(name, old.limit, new.limit)
    if old.timeout != new.timeout:
        yield added(name, f"has {_time(new.timeout)}, before {_time(old.timeout)}")
    if old.approval != new.approval:
        yield broken(name, f"{_approval(new.approval)}, before: {_approval(old.approval)}")
    if old.doc != new.doc:
        yield added(name, "is described in other words, which models read")


def _parameters(
    name: str, was: tuple[ParameterDef, ...], now: tuple[ParameterDef, ...], definitions: Definitions
) -> Iterator[Change]:
    before, after = ({one.name: one for one in parameters} for parameters in (was, now))
    for own, parameter in before.items():
        if own not in after:
            yield broken(name, f"has no parameter `{own}` any more")
        else:
            yield from _parameter(name, parameter, after[own], definitions)
    for own, parameter in after.items():
        if own not in before:
            text = f"has a parameter `{own}`"
            yield (
                broken(name, f"{text}, which must be given")
                if parameter.required
                else added(name, f"{text}, which may be left out")
            )
    if (moved := reordered(list(before), list(after))) is not None:
        yield broken(name, f"has its parameters in another order: `{moved}` moved")


def _parameter(name: str, was: ParameterDef, now: ParameterDef, definitions: Definitions) -> Iterator[Change]:
    own = f"`{now.name}`"
    if was.type != now.type:
        text = f"takes {own} as {show(now.type)}, before {show(was.type)}"
        yield added(name, text) if fits(was.type, now.type, definitions) else broken(name, text)
    if was.wire != now.wire:
        yield broken(name, f"takes {own} under the key `{now.wire}`, before `{was.wire}`")
    if now.required and not was.required:
        yield broken(name, f"must be given {own}")
    elif was.required and not now.required:
        yield added(name, f"may be called without {own}")
    elif was.optional != now.optional or was.default != now.default:
        yield added(name, f"takes something else for {own} where it is left out")
    if now.trusted and not was.trusted:
        yield broken(name, f"takes only clean values for {own}")
    elif was.trusted and not now.trusted:
        yield added(name, f"takes outside data for {own} too")


def _result(name: str, old: Called, new: Called, definitions: Definitions) -> Iterator[Change]:
    was, now = old.signature.result, new.signature.result
    if was != now:
        text = f"gives {show(now)}, before {show(was)}"
        yield added(name, text) if fits(now, was, definitions) else broken(name, text)


def _errors(name: str, was: frozenset[str], now: frozenset[str]) -> Iterator[Change]:
    for error in sorted(now - was):
        what = "may end `Uncertain`" if error == UNCERTAIN else f"may fail with `{_short(error)}`"
        yield broken(name, f"{what}, which its callers must face")
    for error in sorted(was - now):
        yield added(
            name, "never ends `Uncertain` any more" if error == UNCERTAIN else f"never fails with `{_short(error)}` any more"
        )


def _permissions(name: str, old: Called, new: Called, program: CheckedProgram) -> Iterator[Change]:
    held = set(old.permissions)
    for one in old.permissions:
        spec = program.permissions.get(one)
        held |= spec.includes if spec is not None else frozenset()
    more, less = sorted(new.permissions - old.permissions), sorted(old.permissions - new.permissions)
    for one in more:
        text = f"{new.own} `{one}`" + (f", before `{less[0]}`" if len(more) == len(less) == 1 else "")
        yield added(name, text) if one in held else broken(name, text)
    if not more:
        for one in less:
            yield added(name, f"{new.own} `{one}` no longer")


def _amounts(name: str, was: BudgetSpec, now: BudgetSpec) -> Iterator[Change]:
    """A budget that grows or goes away is more than callers reckon with: what is reserved comes out of theirs."""
    for unit in ("tokens", "cost", "time", "steps", "tool_calls"):
        before, after = getattr(was, unit), getattr(now, unit)
        if before == after:
            continue
        text = f"may spend {_amount(unit, after)}, before {_amount(unit, before)}"
        yield added(name, text) if after is not None and (before is None or after < before) else broken(name, text)


def _limits(name: str, was: LimitSpec, now: LimitSpec) -> Iterator[Change]:
    """A limit that shrinks refuses what was taken."""
    for unit, what in (("input", "input"), ("output", "result")):
        before, after = getattr(was, unit), getattr(now, unit)
        if before != after:
            text = f"has a limit of {_bytes(after)} for its {what}, before {_bytes(before)}"
            yield broken(name, text) if after is not None and (before is None or after < before) else added(name, text)


def _amount(unit: str, value: int | Decimal | None) -> str:
    if value is None:
        return f"any {unit.replace('_', ' ')}"
    return f"${value}" if unit == "cost" else f"{value} ms" if unit == "time" else f"{value:,} {unit.replace('_', ' ')}"


def _bytes(value: int | None) -> str:
    return "the default" if value is None else f"{value:,} bytes"


def _time(value: int | None) -> str:
    return "the default time limit" if value is None else "no time limit" if value < 0 else f"a time limit of {value} ms"


def _approval(approval: ApprovalSpec | None) -> str:
    if approval is None:
        return "runs without an approval"
    who = f"by `{approval.role}`" if approval.role is not None else "by anybody who may"
    return f"runs after an approval {who}" + (", under a condition" if approval.conditional else "")


def _short(name: str) -> str:
    return name.rpartition(".")[2]
