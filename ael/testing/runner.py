"""Running the `test` blocks of a program: what is outside is scripted, stores are fresh, the clock is the test's; no key, no network."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable
from contextlib import aclosing
from functools import partial
from pathlib import Path
from random import Random

from ael.data import dataclass, replace
from ael.host import Host, HostError, open_host
from ael.hosting.masking import know_all
from ael.hosting.models import bind_model, record_model
from ael.hosting.secrets import NoSecrets, Secrets
from ael.lower.lower import lower
from ael.lower.unit import CompiledTest, CompiledUnit
from ael.models.script import Script
from ael.models.scripted import ScriptedProvider
from ael.project.knowledge import KnowledgeBinding
from ael.project.program import Opened
from ael.run.bindings import BoundModel, Options
from ael.run.outcome import DeclaredError, Faulted, Outcome, Suspended, Unsettled, Value
from ael.run.ports import ModelProvider
from ael.run.run import Run
from ael.testing.desk import TestDesk
from ael.testing.folder import with_folder
from ael.testing.servers import scripted_servers
from ael.testing.sessions import Sessions
from ael.testing.snapshot import SnapshotError, SnapshotFile, Snapshots
from ael.types.fault import FaultKind
from ael.types.spec import BudgetSpec

_NOT_ALLOWED = "std/http.NotAllowed"
"""What `std/http` and `std/web` fail with where an address may not be asked: in a test each of them."""
TIMEOUT = 60.0
"""Seconds of real time that a test may take."""
_LONG = 100 * 365 * 86_400_000
"""Milliseconds that the run of a test may take by its own clock, which it moves: as good as no limit. Nodes and tools keep theirs."""
_CRASHES = 100
"""Executions of the run of one test at most."""


@dataclass(frozen=True)
class TestResult:
    """How one test ended; `problem` is None when it passed. `seconds` of wall time. `used` and `written`: names of the snapshots that it
    compared, and the texts of those that are to be kept. `called`: the qualified names of what was called."""

    __test__ = False

    name: str
    module: str
    file: str
    line: int
    seconds: float
    problem: str | None
    used: tuple[str, ...] = ()
    written: tuple[tuple[str, str], ...] = ()
    called: frozenset[str] = frozenset()

    @property
    def id(self) -> str:
        """`main.ael::title`."""
        return f"{Path(self.file).as_posix()}::{self.name}"


@dataclass(frozen=True)
class Settings:
    """How tests are run. `timeout` in seconds of real time; `update`: snapshots are taken as they are now; `ci`: on a build machine, where
    none is made (None: the environment says); `record`: the program with its whole deployment, whose models' sessions are recorded anew."""

    timeout: float = TIMEOUT
    update: bool = False
    ci: bool | None = None
    record: Opened | None = None


DEFAULT = Settings()


def apart(opened: Opened) -> Opened:
    """The program as tests see it: nothing of the deployment that reaches outside."""
    # Nobody is asked over the network: `std/http` and `std/web` refuse every host, as without a deployment.
    natives = {topic: bound for topic, bound in opened.deployment.natives.items() if topic not in ("http", "web")}
    natives["knowledge"] = KnowledgeBinding("memory")
    # A test calls the program's own providers, wherever a deployment places them.
    inside = replace(
        opened.deployment, models={}, stores={}, natives=natives, hosts=frozenset(), tenants={}, placements={}, here=frozenset()
    )
    return replace(opened, deployment=inside)


def run_tests(
    opened: Opened,
    chosen: Callable[[str], bool] = lambda name: True,
    told: Callable[[TestResult], None] = lambda result: None,
    settings: Settings = DEFAULT,
) -> list[TestResult]:
    """Run the tests whose title is `chosen`, one after the other; `told` hears of each as it ends. No snapshot is written."""
    inside = apart(opened)
    unit: CompiledUnit | None = None
    results = []
    for index, test in enumerate(opened.program.tests):
        if chosen(test.name):
            unit = unit or lower(opened.program)
            result = run_test(inside, index, unit, settings)
            told(result)
            results.append(result)
    return results


def run_test(opened: Opened, index: int, unit: CompiledUnit, settings: Settings = DEFAULT) -> TestResult:
    """Run one test of a program that is `apart`."""
    spec = opened.program.tests[index]
    source = opened.program.modules[spec.module].tree.source
    start = time.perf_counter()
    servers = scripted_servers(opened.program.tools)
    snapshots: Snapshots | None = None
    desk: TestDesk | None = None
    try:
        if source.path is not None:
            snapshots = Snapshots(SnapshotFile(source.path, update=settings.update, ci=settings.ci), spec.name)
        sessions = Sessions(source.path, partial(_real, settings.record) if settings.record is not None else None)
        desk = TestDesk(opened.program.tools, servers, snapshots, sessions)
        with with_folder(opened) as alone:
            host = open_host(
                alone,
                models=_unscripted(alone),
                servers=servers,
                approver=desk,
                desk=desk,
                unit=unit,
                clock=desk.clock,
                # The same in every run of this test, so that identifiers can stand in snapshots and recordings.
                random=Random(spec.name).random,
                journal=desk.journal,
            )
            problem = asyncio.run(_run(host, host.unit.tests[index], desk, settings.timeout))
    except HostError as error:
        problem = f"{error.message}"
    except SnapshotError as error:
        problem = str(error)
    used: tuple[str, ...] = ()
    written: tuple[tuple[str, str], ...] = ()
    if snapshots is not None:
        used = tuple(sorted(name for _, name in snapshots.file.used))
        written = tuple(sorted((name, text) for (_, name), text in snapshots.file.written.items())) if problem is None else ()
    called = frozenset() if desk is None else desk.names
    return TestResult(spec.name, spec.module, source.name, spec.line, time.perf_counter() - start, problem, used, written, called)


async def _run(host: Host, test: CompiledTest, desk: TestDesk, timeout: float) -> str | None:
    """Execute the test's run, and again over its journal after each crash that the test asks for."""
    async with host, aclosing(desk):
        options = Options(caller="test", run="test", tenant_layer=desk.layer, budget=BudgetSpec(time=_LONG))
        for _ in range(_CRASHES):
            run = host.engine.start_test(test, options)
            late = _Late(run, timeout)
            try:
                outcome = await run.outcome()
            finally:
                late.timer.cancel()
            if late.over:
                return f"took longer than {timeout:g} s"
            if not desk.revive():
                return problem_of(outcome) or desk.unmet
        return f"was crashed more than {_CRASHES} times"


def _real(opened: Opened, model: str, path: Path) -> ModelProvider:
    """The deployment's model, recorded. Raises `HostError`."""
    secrets = Secrets(opened.deployment)
    know_all(secrets)
    return record_model(opened, opened.program.models[model], secrets, path)


class _Late:
    """Stops a run after so many seconds of real time, in pure code too."""

    def __init__(self, run: Run, seconds: float) -> None:
        self.over = False
        self._run = run
        self._loop = asyncio.get_running_loop()
        self.timer = threading.Timer(seconds, self._stop)
        self.timer.daemon = True
        self.timer.start()

    def _stop(self) -> None:
        self.over = True
        self._run.interrupt("the test took too long")
        self._loop.call_soon_threadsafe(self._run.cancel, "the test took too long")


def problem_of(outcome: Outcome) -> str | None:
    """Why a test failed, in words; None for one that passed."""
    match outcome:
        case Value():
            return None
        case DeclaredError(error=error, plain=plain):
            told = f"failed with {error.partition('.')[2] or error} {json.dumps(plain, ensure_ascii=False)}"
            return f"{told}\nnobody is asked over the network in a test" if error == _NOT_ALLOWED else told
        case Faulted(kind=FaultKind.ASSERTION_FAILED, message=message):
            return message
        case Faulted(kind=kind, message=message):
            return f"ended with the fault {kind.value}: {message}"
        case Unsettled(operation=operation):
            return f"ended Uncertain: {operation} may or may not have taken effect"
        case Suspended(waits=waits):
            return f"waits for {waits[0].kind} at {waits[0].path}"


def _unscripted(opened: Opened) -> dict[str, BoundModel]:
    """Models that nothing was scripted for: asking one ends the test with a fault that says so. One that the program itself declares to be
    a connector of its own is that connector: a test calls the program's own code."""
    empty = ScriptedProvider(Script(()))
    secrets = NoSecrets(opened.deployment)
    return {
        name: bind_model(opened, spec, secrets)
        if spec.provider in opened.program.provides
        else BoundModel(empty, spec.model or "script", {}, spec.fallback)
        for name, spec in opened.program.models.items()
    }
