"""Small programs written by hand as compiled units, and how tests run them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Literal

from ael.lower.unit import (
    Code,
    CompiledNode,
    CompiledProvide,
    CompiledTool,
    CompiledUnit,
    Requirement,
)
from ael.run.bindings import Bindings, BoundModel, Options
from ael.run.engine import Engine
from ael.run.events import Event
from ael.run.outcome import DeclaredError, Faulted, Outcome, Unsettled, Value
from ael.run.ports import ModelProvider, Price
from ael.run.run import Run
from ael.types.definition import Definition, FieldDef, RecordDef
from ael.types.signature import Effects, ParameterDef, Repeat, Signature
from ael.types.spec import (
    ApprovalSpec,
    BudgetSpec,
    LimitSpec,
    ModelSpec,
    NodeSpec,
    OperationSpec,
    PermissionSpec,
    PolicySpec,
    ProvideSpec,
    RetrySpec,
    ServiceSpec,
    StoreSpec,
    ToolSpec,
)
from ael.types.type import IntType, Named, StringType, Type

TEXT = StringType()
ORDER = Named("main.Order")
NOT_FOUND = "main.NotFound"

DEFINITIONS: dict[str, Definition] = {
    "main.Order": RecordDef("main.Order", (FieldDef("id", "id", StringType(max=64)), FieldDef("total", "total", IntType(min=0)))),
    NOT_FOUND: RecordDef(NOT_FOUND, (FieldDef("id", "id", TEXT),), is_error=True),
}
PERMISSIONS = {
    "read": PermissionSpec("read", "", frozenset({"read"})),
    "write": PermissionSpec("write", "", frozenset({"write", "read"})),
    "db": PermissionSpec("db", "", frozenset({"db"})),
}
ALL = frozenset(PERMISSIONS)


def parameter(name: str, type: Type = TEXT, *, optional: bool = False, trusted: bool = False) -> ParameterDef:
    return ParameterDef(name, name, type, optional=optional, trusted=trusted)


def tool(
    name: str,
    body: Code | None,
    *parameters: ParameterDef,
    result: Type = TEXT,
    permission: str = "read",
    repeat: Repeat = Repeat.IDEMPOTENT,
    fails: frozenset[str] = frozenset(),
    timeout: int | None = None,
    limit: LimitSpec | None = None,
    approval: ApprovalSpec | None = None,
    approval_when: Code | None = None,
    key: Code | None = None,
    retry: RetrySpec | None = None,
    taints: bool = False,
    parallel: bool = False,
) -> CompiledTool:
    """A tool; without a body it is an `extern`."""
    signature = Signature(f"main.{name}", parameters, result, fails, Effects(frozenset({permission}), repeat, acts=True))
    spec = ToolSpec(
        f"main.{name}",
        signature,
        f"Use {name} when it is needed.",
        permission,
        repeat,
        timeout,
        limit or LimitSpec(),
        approval,
        retry,
        taints,
        parallel,
        None if body is not None else f"module:{name}",
    )
    return CompiledTool(spec, body, approval_when, key)


def node(
    name: str,
    *parameters: ParameterDef,
    result: Type = TEXT,
    tools: Sequence[str] = (),
    grants: frozenset[str] = ALL,
    policy: Literal["one_call", "loop"] = "loop",
    budget: BudgetSpec | None = None,
    attempts: int | None = None,
    model: str = "main.fast",
    requirements: tuple[Requirement, ...] = (),
    instructions: str = "Do it.",
    keep: int | None = None,
    choice: str = "auto",
    examples: tuple[tuple[object, object], ...] = (),
    follow_ups: tuple[str, ...] = (),
) -> CompiledNode:
    """A model-driven node."""
    spec = NodeSpec(
        f"main.{name}",
        Signature(f"main.{name}", parameters, result),
        f"The node {name}.",
        grants,
        model,
        PolicySpec(policy),
        tuple(f"main.{one}" for one in tools),
        budget or BudgetSpec(),
        attempts,
        choice,
        instructions,
        keep,
        follow_ups=follow_ups,
    )
    return CompiledNode(spec, None, None, requirements, examples)


def code(
    name: str,
    body: Code,
    *parameters: ParameterDef,
    result: Type = TEXT,
    grants: frozenset[str] = ALL,
    budget: BudgetSpec | None = None,
) -> CompiledNode:
    """A deterministic node."""
    signature = Signature(f"main.{name}", parameters, result)
    return CompiledNode(NodeSpec(f"main.{name}", signature, "", grants, budget=budget or BudgetSpec()), body)


def operation(
    name: str,
    *parameters: ParameterDef,
    result: Type = TEXT,
    permission: str | None = "read",
    repeat: Repeat = Repeat.IDEMPOTENT,
    fails: frozenset[str] = frozenset(),
    timeout: int | None = None,
    retry: RetrySpec | None = None,
) -> OperationSpec:
    """An operation of the service `Orders`."""
    qualified = f"main.Orders.{name}"
    return OperationSpec(qualified, Signature(qualified, parameters, result, fails), "", permission, repeat, timeout, retry)


def unit(
    *,
    tools: Sequence[CompiledTool] = (),
    nodes: Sequence[CompiledNode] = (),
    operations: Mapping[OperationSpec, Code] | None = None,
    provider_grants: frozenset[str] = frozenset({"db"}),
    provider_limit: LimitSpec | None = None,
    stores: Sequence[StoreSpec] = (),
    models: Sequence[ModelSpec] = (ModelSpec("main.fast", None, "fast-1"),),
    definitions: Mapping[str, Definition] | None = None,
    digest: str = "program",
) -> CompiledUnit:
    served = operations or {}
    specs = {spec.name: spec for spec in served}
    provide = CompiledProvide(
        ProvideSpec("main.Orders", "main.Orders", provider_grants, provider_limit or LimitSpec()),
        {spec.name.rpartition(".")[2]: body for spec, body in served.items()},
    )
    callables: list[ToolSpec | NodeSpec | OperationSpec] = [*(one.spec for one in tools), *(one.spec for one in nodes), *served]
    return CompiledUnit(
        digest=digest,
        definitions={**DEFINITIONS, **(definitions or {})},
        signatures={spec.name: spec.signature for spec in callables},
        permissions=PERMISSIONS,
        roles={},
        tools={one.spec.name: one for one in tools},
        nodes={one.spec.name: one for one in nodes},
        services={"main.Orders": ServiceSpec("main.Orders", "", tuple(served))} if served else {},
        operations=specs,
        provides={"main.Orders": provide} if served else {},
        stores={store.name: store for store in stores},
        models={one.name: one for one in models},
        tests=(),
        functions={},
        main="main",
    )


class FlatPrices:
    """The same price, per million tokens, for each model that is named; None for every other."""

    def __init__(self, *models: str, input: str = "1", output: str = "10") -> None:
        self._models = models
        self._price = Price(Decimal(input), Decimal(output), Decimal(input) / 10, Decimal(input) * 2, "2026-01-01")

    def price(self, provider: str, model: str) -> Price | None:
        return self._price if model in self._models else None


def engine(program: CompiledUnit, *models: ModelProvider, **bound: Any) -> Engine:
    """An engine with the models bound in the order declared."""
    declared = list(program.models)
    table = {
        name: BoundModel(provider, program.models[name].model or name) for name, provider in zip(declared, models, strict=False)
    }
    return Engine(program, Bindings(models=table, **bound))


def run(
    made: Engine,
    entry: str | None = None,
    given: Mapping[str, object] | bytes | str | None = None,
    options: Options | None = None,
    during: Callable[[Run], Any] | None = None,
) -> Outcome:
    """Run to the end in a loop of its own, and leave no task behind."""

    async def whole() -> Outcome:
        started = made.start(entry, given, options)
        if during is not None:
            result = during(started)
            if asyncio.iscoroutine(result):
                await result
        outcome = await started.outcome()
        await asyncio.sleep(0)
        left = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        assert not left, f"tasks are left: {left}"
        return outcome

    outcome = asyncio.run(whole())
    assert made.last_crash is None, f"a defect: {made.last_crash!r}"
    return outcome


def value_of(outcome: Outcome) -> object:
    assert isinstance(outcome, Value), outcome
    return outcome.value


def fault_of(outcome: Outcome) -> Faulted:
    assert isinstance(outcome, Faulted), outcome
    return outcome


def error_of(outcome: Outcome) -> DeclaredError:
    assert isinstance(outcome, DeclaredError), outcome
    return outcome


def uncertain_of(outcome: Outcome) -> Unsettled:
    assert isinstance(outcome, Unsettled), outcome
    return outcome


class Collected(list[Event]):
    """Events of a run, for `Options(on_event=…)`."""

    def __call__(self, event: Event) -> None:
        self.append(event)

    def of(self, kind: type[Event]) -> list[Any]:
        return [event for event in self if isinstance(event, kind)]
