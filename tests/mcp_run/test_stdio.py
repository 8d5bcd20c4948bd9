"""Programs whose MCP server is a child process: what it is given, how it ends, what it may ask a person."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ael.diagnostics.diagnostic import Bag
from ael.project.program import open_program
from ael.run.bindings import Options
from ael.run.outcome import Outcome, Unsettled, Value
from ael.run.ports import ApprovalRequest, Decision
from ael.types.fault import FaultKind
from tests.mcp_run.programs import PACK, SOURCE, finished, lock, process, program
from tests.mcp_run.test_http import fault, unsettled, value
from tests.programs import write
from tests.run.fakes import FakeApprover

ROOT = Path(__file__).resolve().parents[2]


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def _children() -> set[int]:
    """The child processes of this one, once those that end have ended."""
    await asyncio.sleep(0)
    task = Path(f"/proc/self/task/{os.getpid()}/children")
    return {int(pid) for pid in task.read_text().split()} if task.exists() else set()


@pytest.mark.feature("A9.9", "A9.2")
def test_a_local_server_runs_under_the_package_and_the_allow_list(tmp_path: Path) -> None:
    async def test() -> None:
        before = await _children()
        async with program(tmp_path, process(), pack_ael=PACK) as made:
            assert await _children() == before, "nothing is started before it is called"
            assert value(await made.run("main.customer", {"id": "c-1"})) == "Ada 36"
            assert value(await made.run("main.ticket", {"text": "x"})) == "T-1"
        assert await _children() == before

    finished(test)


@pytest.mark.feature("A9.9")
@pytest.mark.parametrize(("pack", "command"), [("", True), (PACK, False)])
def test_without_the_package_or_the_command_nothing_is_started(tmp_path: Path, pack: str, command: bool) -> None:
    lock(tmp_path)
    deploy = process() if command else process().partition("\n")[2]
    write(tmp_path, {"main.ael": SOURCE, "deploy.ael": deploy, "pack.ael": pack or PACK.replace("uses std/process", "")})
    bag = Bag()
    assert open_program(tmp_path / "main.ael", bag) is None
    assert [one.code for one in bag.sorted()] == ["AEL0844" if pack else "AEL0845"]


@pytest.mark.feature("A9.12", "A9.11")
def test_a_child_gets_its_own_variables_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """K41: the whole environment is not handed on, and two servers have each their own."""

    async def test() -> None:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-1234567890")
        monkeypatch.setenv("CRM_TOKEN", "token-1234567890")
        deploy = 'secret CRM_TOKEN = env("CRM_TOKEN")\n' + process(
            "environment", options=', env: ["TOKEN": secret("CRM_TOKEN"), "TZ": "UTC"]'
        )
        async with program(tmp_path, deploy, pack_ael=PACK) as made:
            said = value(await made.run("main.customer", {"id": "c-1"}))
            assert isinstance(said, str)
            got: Mapping[str, str] = json.loads(said.rpartition(" ")[0])
            assert got["TZ"] == "UTC"
            assert got["TOKEN"] == "***", "the child had it, and what it gives back is masked as it comes in"
            assert "OPENAI_API_KEY" not in got
            assert "CRM_TOKEN" not in got
            spans = json.dumps([[span.attributes, span.content] for span in made.spans.spans], default=str)
            assert "token-1234567890" not in said + spans

    finished(test)


@pytest.mark.feature("A9.8", "B12")
def test_a_server_that_dies_in_the_middle_of_a_call_leaves_it_uncertain_and_is_started_again(tmp_path: Path) -> None:
    """K22."""

    async def test() -> None:
        async with program(tmp_path, process(), pack_ael=PACK) as made:
            start = time.monotonic()
            assert unsettled(await made.run("main.ticket", {"text": "die"})).operation == "crm.create_ticket"
            assert time.monotonic() - start < 15
            assert value(await made.run("main.ticket", {"text": "x"})) == "T-1"

    finished(test)


@pytest.mark.feature("B12")
def test_twenty_calls_on_a_connection_that_is_lost_are_all_woken(tmp_path: Path) -> None:
    """K22."""

    async def test() -> None:
        async with program(tmp_path, process(options=", concurrent: 32"), pack_ael=PACK) as made:
            runs = [made.start("main.ticket", {"text": "hang"}) for _ in range(20)]
            await asyncio.sleep(0.3)
            killer = made.start("main.ticket", {"text": "die"})
            outcomes = [await run.outcome() for run in [*runs, killer]]
            assert all(isinstance(outcome, Unsettled) for outcome in outcomes), outcomes

    finished(test)


def test_noise_is_skipped_and_a_flood_of_changes_does_not_stop_a_run(tmp_path: Path) -> None:
    """K22, K24."""

    async def test() -> None:
        async with program(tmp_path, process(), pack_ael=PACK) as made:
            assert value(await made.run("main.ticket", {"text": "noise"})) == "T-2"
            assert value(await made.run("main.ticket", {"text": "flood"})) == "T-3"
            assert value(await made.run("main.ticket", {"text": "x"})) == "T-1"

    finished(test)


@pytest.mark.feature("A9.18")
def test_a_server_that_is_slow_to_start_is_waited_for(tmp_path: Path) -> None:
    async def test() -> None:
        async with program(tmp_path, process("late"), pack_ael=PACK) as made:
            assert value(await made.run("main.customer", {"id": "c-1"})) == "Ada 36"

    finished(test)


@pytest.mark.feature("A9.23", "B12")
def test_a_server_that_does_not_want_to_end_is_ended(tmp_path: Path) -> None:
    async def test() -> None:
        async with program(tmp_path, process("stubborn", "environment"), pack_ael=PACK) as made:
            said = value(await made.run("main.customer", {"id": "c-1"}))
            assert isinstance(said, str)
            pid = int(said.rpartition(" ")[2])
            assert _alive(pid)
        assert not _alive(pid)

    finished(test)


@pytest.mark.feature("A9.5", "A9.25")
def test_a_changed_definition_of_a_local_server_is_refused_too(tmp_path: Path) -> None:
    async def test() -> None:
        async with program(tmp_path, process("changed"), pack_ael=PACK) as made:
            assert fault(await made.run("main.ticket", {"text": "x"})).kind is FaultKind.DEFINITION_CHANGED

    finished(test)


def test_a_program_that_cannot_be_started_is_unavailable(tmp_path: Path) -> None:
    async def test() -> None:
        deploy = 'command "no-such-program"\nmcp crm = stdio("no-such-program", retries: 0)\n'
        async with program(tmp_path, deploy, pack_ael=PACK) as made:
            outcome = fault(await made.run("main.ticket", {"text": "x"}))
            assert outcome.kind is FaultKind.UNAVAILABLE
            assert outcome.details["sent"] is False

    finished(test)


# --- questions ---------------------------------------------------------------------------------------------------------------


def _asked(
    tmp_path: Path, decision: Decision | None, options: str = ", elicitation: true"
) -> tuple[Outcome, list[ApprovalRequest]]:
    got: list[Any] = []

    async def test() -> None:
        approver = None if decision is None else FakeApprover(decision)
        async with program(tmp_path, process(options=options), pack_ael=PACK, approver=approver) as made:
            got.append(await made.run("main.ticket", {"text": "ask"}))
            got.append([] if approver is None else approver.requests)

    finished(test)
    return got[0], got[1]


@pytest.mark.parametrize(
    ("decision", "said"),
    [
        (Decision(True, "lin", "", {"urgent": True, "days": 3}), {"action": "accept", "content": {"days": 3, "urgent": True}}),
        (Decision(False, "lin", "no"), {"action": "decline"}),
        (Decision(True, "lin", "", {"urgent": "yes"}), {"action": "decline"}),
        (Decision(True, "lin", "", {"urgent": True, "days": 0}), {"action": "decline"}),
        (None, {"action": "decline"}),
    ],
)
def test_a_question_of_the_server_is_decided_by_a_person(tmp_path: Path, decision: Decision | None, said: object) -> None:
    outcome, requests = _asked(tmp_path, decision)
    assert isinstance(outcome, Value)
    assert json.loads(str(outcome.value)) == said
    if decision is not None:
        [request] = requests
        assert request.question is not None
        assert request.question.message == "Is it urgent?"
        assert request.tool == "main.crm.create_ticket"


def test_without_leave_of_the_deployment_no_question_is_asked(tmp_path: Path) -> None:
    outcome, requests = _asked(tmp_path, Decision(True, "lin", "", {"urgent": True}), "")
    assert isinstance(outcome, Value)
    assert "accept" not in str(outcome.value)
    assert requests == []


def test_cancelling_a_run_takes_its_question_back(tmp_path: Path) -> None:
    async def test() -> None:
        asked = asyncio.Event()

        async def thinks(request: ApprovalRequest) -> Decision:
            asked.set()
            await asyncio.Event().wait()
            raise AssertionError("unreachable")

        options = ", elicitation: true"
        async with program(tmp_path, process(options=options), pack_ael=PACK, approver=FakeApprover(thinks)) as made:
            run = made.start("main.ticket", {"text": "ask"}, Options(caller="lin"))
            await asked.wait()
            run.cancel()
            assert fault(await run.outcome()).kind is FaultKind.CANCELLED

    finished(test)


# --- programs without MCP ----------------------------------------------------------------------------------------------------


@pytest.mark.feature("A9.1")
@pytest.mark.parametrize(("entry", "loaded"), [("plain", False), ("customer", True)])
def test_what_speaks_to_servers_is_loaded_only_by_a_run_that_reaches_one(tmp_path: Path, entry: str, loaded: bool) -> None:
    lock(tmp_path)
    write(tmp_path, {"main.ael": SOURCE, "deploy.ael": process(), "pack.ael": PACK})
    words = ["run", str(tmp_path / "main.ael"), entry, *(["--id", "c-1"] if loaded else [])]
    code = (
        "import sys\nfrom ael.cli.main import main\n"
        f"code = main({words!r})\n"
        "print(code, any(n.startswith('ael.mcp.') and n != 'ael.mcp.outside' for n in sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-1] == f"0 {loaded}", done.stderr
