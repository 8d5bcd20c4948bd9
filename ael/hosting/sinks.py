"""Log sinks that are AEL code: a `provide std/log.Sink` that the deployment names, fed by a thread of its own.

Nothing of it is the business of the runs that it hears of. It has its own event loop, its own copy of the program, its own connections
and its own limits, and draws from nobody's budget: a sink that is slow, fails or computes without end loses entries and holds up no run.
It acts for the tenant whose entries it gets, under the grants of its provider. It hears nothing of itself.
"""

from __future__ import annotations

import asyncio
from typing import Protocol, cast

from ael.data import replace
from ael.hosting.logs import Exporter
from ael.hosting.models import short_name
from ael.observe.entry import Entry
from ael.observe.waiting import Undelivered, WaitingSink
from ael.project.deployment import SizeLimits
from ael.project.logs import SINK, SinkBinding
from ael.project.program import Opened
from ael.project.tenants import DEFAULT_TENANT
from ael.run.bindings import Options
from ael.run.engine import Engine
from ael.run.outcome import DeclaredError, Faulted, Outcome, Value, word_of
from ael.run.run import Run
from ael.types.spec import BudgetSpec

ENTRY = f"{SINK}.write"
TIME, TOOL_CALLS = 10_000, 1_000
"""Milliseconds that a sink has for what it gets at once, and the calls of tools that it may make with that. It asks no model."""


class Host(Protocol):
    """A program that is ready to run, as `ael.host` makes it."""

    engine: Engine

    async def close(self) -> None: ...


def alone(opened: Opened, binding: SinkBinding) -> Opened:
    """The program as a sink runs it: provided by what the line names, with no sinks, no tenants' accounts and limits of its own."""
    deployment = opened.deployment
    mine = replace(
        deployment,
        services={**deployment.services, SINK: binding.provide},
        placements={name: place for name, place in deployment.placements.items() if name != SINK},
        logs=(),
        tenants={},
        serving=replace(deployment.serving, callers={}),
        limits=SizeLimits(),
        run_budget=BudgetSpec(tokens=0, time=TIME, tool_calls=TOOL_CALLS),
    )
    return replace(opened, deployment=mine)


def program_sink(binding: SinkBinding, host: Host) -> Exporter:
    """The sink of a line, whose code runs in `host`."""
    name = binding.provide.rpartition(".")[2]
    return cast(Exporter, WaitingSink(_Runs(f"the sink `{name}`", host), level=binding.level, content=binding.content))


class _Runs:
    """A run of the sink's code for each delivery."""

    def __init__(self, name: str, host: Host) -> None:
        self.name = name
        self._host = host
        self._runner: asyncio.Runner | None = None
        self._run: Run | None = None

    def deliver(self, entries: list[Entry]) -> None:
        """Raises `Undelivered` when the run ends with anything but a value."""
        if self._runner is None:
            self._runner = asyncio.Runner()
        self._runner.run(self._write(entries))

    def give_up(self) -> None:
        run, runner = self._run, self._runner
        if run is not None and runner is not None:
            runner.get_loop().call_soon_threadsafe(run.cancel, "the program ends")
            run.interrupt("the program ends")

    def close(self) -> None:
        runner = self._runner or asyncio.Runner()
        with runner:
            runner.run(self._host.close())

    async def _write(self, entries: list[Entry]) -> None:
        tenant = str(entries[0]["tenant"]) or DEFAULT_TENANT
        self._run = self._host.engine.start(ENTRY, {"entries": entries}, Options(tenant=tenant, caller="log"))
        try:
            outcome = await self._run.outcome()
        finally:
            self._run = None
        if not isinstance(outcome, Value):
            raise Undelivered(_ending(outcome))


def _ending(outcome: Outcome) -> str:
    match outcome:
        case Faulted(kind=kind, message=message):
            return f"{kind.value}: {message}"
        case DeclaredError(error=error):
            return f"it failed with `{short_name(error)}`"
        case _:
            return f"it ended with {word_of(outcome)}"
