"""Any checked program runs, or ends in a typed outcome, formatted or not: the same one."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings

from ael.diagnostics.diagnostic import Bag, Severity
from ael.host import Host, open_host
from ael.journal.entry import Entry, State
from ael.project.program import Opened
from ael.run.bindings import Options
from ael.run.outcome import DeclaredError, Faulted, Outcome, Unsettled, Value
from ael.source import Source
from ael.syntax.format import format_module
from ael.syntax.parse import parse_module
from ael.types.fault import FaultKind
from tests.fuzz.programs import programs
from tests.programs import open_files

SETTINGS = settings(max_examples=30, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
DEFECTS = (FaultKind.CRASHED, FaultKind.INVALID_OUTPUT, FaultKind.MALFORMED, FaultKind.DENIED, FaultKind.DIVERGED)
"""What no program of these can end with by its own doing."""


def opened(text: str) -> Opened:
    """The program, which has no errors."""
    with tempfile.TemporaryDirectory() as folder:
        found, bag = open_files(Path(folder), {"main.ael": text})
        told = [f"{d.code} {d.message}" for d in bag.sorted() if d.severity is Severity.ERROR]
        assert found is not None, told
        return found


async def ran(host: Host) -> tuple[Outcome, list[Entry]]:
    async with host:
        started = host.engine.start("main.main", {}, Options(caller="c", run="r"))
        outcome = await started.outcome()
        assert host.engine.last_crash is None, repr(host.engine.last_crash)
        return outcome, list(started.journal.entries())


def formatted(text: str) -> str:
    return format_module(parse_module(Source("main.ael", text), Bag()))


@SETTINGS
@given(programs())
def test_a_checked_program_runs_or_ends_in_a_typed_outcome(text: str) -> None:
    outcome, entries = asyncio.run(ran(open_host(opened(text))))
    assert isinstance(outcome, Value | DeclaredError | Faulted | Unsettled)
    assert not (isinstance(outcome, Faulted) and outcome.kind in DEFECTS), outcome
    started = [entry.path for entry in entries if entry.state is State.STARTED]
    assert len(started) == len(set(started)), "two effects in one place"
    keys = [entry.key for entry in entries if entry.state is State.STARTED and not entry.target.endswith("main.write")]
    assert len(keys) == len(set(keys)), "two effects with one key"


@settings(SETTINGS, max_examples=15)
@given(programs())
def test_formatting_changes_nothing_that_a_program_does(text: str) -> None:
    text = text.replace("random_int(1, 6)", "random_int(4, 4)")
    made = formatted(text)
    assert formatted(made) == made
    before, after = (asyncio.run(ran(open_host(opened(one))))[0] for one in (text, made))
    assert type(before) is type(after)
    match before, after:
        case Value(value), Value(other):
            assert value == other
        case DeclaredError(error, value), DeclaredError(also, other):
            assert (error, value) == (also, other)
        case Faulted(kind, message), Faulted(also_kind, also_message):
            assert (kind, message) == (also_kind, also_message)
        case _:
            pass
