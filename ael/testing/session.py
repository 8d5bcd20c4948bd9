"""One run of the tests of programs: which of them, in which order, in how many processes, and what is kept of it."""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import nullcontext
from multiprocessing import get_context
from pathlib import Path

from ael.data import dataclass, field, replace
from ael.diagnostics.diagnostic import Bag
from ael.lower.lower import lower
from ael.lower.unit import CompiledUnit
from ael.project.program import programs
from ael.project.shipped import cache_folder
from ael.testing.coverage import Hits, Measured, Module, Tracer, joined, measured, modules_of, relative
from ael.testing.runner import Settings, TestResult, apart, run_test
from ael.testing.snapshot import SnapshotError, SnapshotFile

_MOST = 64
"""Processes at most."""
_DIED = "the process that ran it, or another test beside it, died"


@dataclass(frozen=True)
class Plan:
    """What is to be done. `pattern` is looked for in the titles; `only` are ids (`main.ael::title`); `seed` mixes the order; `jobs` is how
    many processes run tests at the same time; `record` records the sessions of real models anew."""

    paths: tuple[Path, ...]
    pattern: str = ""
    only: frozenset[str] | None = None
    jobs: int = 1
    fail_fast: bool = False
    seed: int | None = None
    coverage: bool = False
    record: bool = False
    deploy: str | None = None
    settings: Settings = field(default_factory=Settings)


@dataclass(frozen=True)
class Test:
    """A test that can be run: which of the programs, and which of its tests."""

    __test__ = False

    program: int
    index: int
    id: str
    name: str
    file: str
    line: int


class Suite:
    """The programs at some paths, loaded and compiled once. `opened` are those that check; a bag tells what is wrong."""

    def __init__(self, paths: Sequence[Path], bag: Bag, deploy: str | None = None) -> None:
        self.opened = list(programs(list(paths), bag, deploy))
        self._inside = [apart(one) for one in self.opened]
        self._units: dict[int, CompiledUnit] = {}

    def tests(self) -> list[Test]:
        """All tests, in the order of their files."""
        found = []
        for at, opened in enumerate(self.opened):
            for index, spec in enumerate(opened.program.tests):
                file = opened.program.modules[spec.module].tree.source.name
                found.append(Test(at, index, f"{Path(file).as_posix()}::{spec.name}", spec.name, file, spec.line))
        return found

    def run(self, test: Test, settings: Settings, *, record: bool = False) -> TestResult:
        """Run one test here."""
        unit = self._units.get(test.program)
        if unit is None:
            unit = self._units[test.program] = lower(self.opened[test.program].program)
        if record:
            settings = replace(settings, record=self.opened[test.program])
        return run_test(self._inside[test.program], test.index, unit, settings)

    def uses(self, test: Test, changed: frozenset[Path]) -> bool:
        """Whether a change of these files may change how a test ends: those that its program was read from, and what stands beside them."""
        project = self.opened[test.program].project
        modules = project.modules.values()
        files = {tree.source.path.resolve() for tree in modules if tree.source.path is not None}
        files |= {text.path.resolve() for text in project.texts.values() if text.path is not None}
        if project.lock is not None:
            files.add(project.lock.resolve())
        root = project.root.resolve()
        beside = {
            path for path in changed if path.parent == root and (path.name == "pack.ael" or path.name.startswith("deploy."))
        }
        beside |= {path for path in changed if path.suffix == ".py" and path.is_relative_to(root)}
        return bool(changed & files) or bool(beside)

    def path(self, test: Test) -> Path | None:
        """The file of a test."""
        program = self.opened[test.program].program
        path = program.modules[program.tests[test.index].module].tree.source.path
        return None if path is None else path.resolve()

    def modules(self) -> list[Module]:
        """What coverage is measured of. A file that several programs use is there for each: code of each has its own name of it."""
        found = [module for opened in self.opened for module in modules_of(opened)]
        return sorted(found, key=lambda module: relative(module.file))


@dataclass(frozen=True)
class Ended:
    """What came of it. `orphans`: snapshots (file, test, name) that no test asked for; `chosen`: how many tests were to run."""

    results: tuple[TestResult, ...]
    chosen: int
    orphans: tuple[tuple[str, str, str], ...] = ()
    coverage: tuple[Measured, ...] = ()

    @property
    def failed(self) -> list[TestResult]:
        """Those that failed."""
        return [one for one in self.results if one.problem is not None]


def choose(suite: Suite, plan: Plan) -> list[Test]:
    """The tests of a plan, in its order."""
    wanted = re.compile(plan.pattern)
    found = [test for test in suite.tests() if wanted.search(test.name) is not None]
    if plan.only is not None:
        found = [test for test in found if test.id in plan.only]
    if plan.seed is not None:
        random.Random(plan.seed).shuffle(found)
    return found


def run_session(suite: Suite, plan: Plan, told: Callable[[TestResult], None]) -> Ended:
    """Run the tests of a plan; `told` hears of each in their order. Snapshots are written; raises `SnapshotError`."""
    tests = choose(suite, plan)
    modules = suite.modules() if plan.coverage else []
    results: list[TestResult] = []
    hits: list[Hits] = []
    for result, found in _each(suite, tests, plan, frozenset(module.called for module in modules)):
        told(result)
        results.append(result)
        hits.append(found)
        if plan.fail_fast and result.problem is not None:
            break
    orphans = _snapshots(suite, results, plan)
    _remember(results)
    called = frozenset(name for one in results for name in one.called)
    once = {module.file: module for module in modules}
    return Ended(tuple(results), len(tests), orphans, tuple(measured(list(once.values()), joined(hits), called)))


def _each(suite: Suite, tests: Sequence[Test], plan: Plan, files: frozenset[str]) -> Iterator[tuple[TestResult, Hits]]:
    jobs = min(plan.jobs, len(tests), _MOST)
    # What is recorded is paid for: one session after the other.
    if jobs <= 1 or plan.record:
        tracer = Tracer(files) if files else None
        for test in tests:
            with nullcontext() if tracer is None else tracer.on():
                result = suite.run(test, plan.settings, record=plan.record)
            yield result, {} if tracer is None else tracer.hits
        return
    # New processes, never a copy of this one: what a program loads may have threads of its own.
    with ProcessPoolExecutor(jobs, get_context("spawn"), _begin, (plan.paths, plan.deploy, files)) as pool:
        waiting = [pool.submit(_in_process, test.id, test.program, test.index, plan.settings) for test in tests]
        try:
            for test, one in zip(tests, waiting, strict=True):
                try:
                    yield one.result()
                except BrokenProcessPool:
                    yield (
                        TestResult(
                            test.name, "", test.file, test.line, 0.0, "the process that ran it, or another test beside it, died"
                        ),
                        {},
                    )
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


# --- in a process of its own -------------------------------------------------------------------------------------------------

_suite: list[tuple[Suite, Tracer | None]] = []


def _begin(paths: tuple[Path, ...], deploy: str | None, files: frozenset[str]) -> None:
    """A process begins: it loads what the first one has checked."""
    _suite.append((Suite(paths, Bag(), deploy), Tracer(files) if files else None))


def _in_process(name: str, program: int, index: int, settings: Settings) -> tuple[TestResult, Hits]:
    suite, tracer = _suite[0]
    test = next((one for one in suite.tests() if (one.program, one.index, one.id) == (program, index, name)), None)
    if test is None:
        file, _, title = name.partition("::")
        return TestResult(title, "", file, 0, 0.0, "its file changed while the tests ran"), {}
    with nullcontext() if tracer is None else tracer.on():
        result = suite.run(test, settings)
    return result, {} if tracer is None else tracer.hits


# --- what is kept ------------------------------------------------------------------------------------------------------------


def _snapshots(suite: Suite, results: Sequence[TestResult], plan: Plan) -> tuple[tuple[str, str, str], ...]:
    """Write what is new, and with an update take away what nobody asks for; gives what nobody asked for."""
    orphans: list[tuple[str, str, str]] = []
    for opened in suite.opened:
        for name, module in opened.program.modules.items():
            source = module.tree.source
            if source.path is None or not opened.project.own(name):
                continue
            own = [one for one in results if one.module == name and one.file == source.name]
            titles = frozenset(test.name for test in opened.program.tests if test.module == name)
            if not own and not (source.path.parent / "__snapshots__").is_dir():
                continue
            try:
                file = SnapshotFile(source.path)
            except SnapshotError:
                continue  # each of its tests has told
            for one in own:
                file.used |= {(one.name, key) for key in one.used}
                file.written.update({(one.name, key): text for key, text in one.written})
            # A test that failed may not have come to its snapshots.
            unused = file.orphans(titles, frozenset(one.name for one in own if one.problem is None))
            file.save(drop=frozenset(unused) if plan.settings.update else frozenset())
            orphans += [] if plan.settings.update else [(str(file.path), *key) for key in unused]
    return tuple(orphans)


def keep_snapshots(source: Path, results: Sequence[TestResult]) -> None:
    """Write the snapshots that tests of the module at `source` made anew. Raises `SnapshotError`."""
    if any(one.written for one in results):
        file = SnapshotFile(source)
        for one in results:
            file.written.update({(one.name, key): text for key, text in one.written})
        file.save()


def _kept() -> Path:
    here = hashlib.sha256(str(Path.cwd().resolve()).encode()).hexdigest()[:16]
    return cache_folder() / "tests" / f"{here}.json"


def _remember(results: Sequence[TestResult]) -> None:
    """Keep which tests failed, with those of before that did not run now. Where nothing can be kept, nothing is."""
    ran = {one.id for one in results}
    failed = sorted((last_failed() - ran) | {one.id for one in results if one.problem is not None})
    path = _kept()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(failed), encoding="utf-8")
    except OSError:
        return


def last_failed() -> frozenset[str]:
    """The ids of the tests that failed when they last ran from this folder."""
    try:
        found = json.loads(_kept().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return frozenset()
    return frozenset(one for one in found if isinstance(one, str)) if isinstance(found, list) else frozenset()
