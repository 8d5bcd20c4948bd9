"""What a server says while a call is under way: told as events of the run, bounded and without secrets."""

from __future__ import annotations

from pathlib import Path

import pytest

from ael.run import events as e
from ael.run.bindings import Options
from ael.run.outcome import Value
from tests.mcp.http_peer import Asked, HttpPeer, Out
from tests.mcp.mcp_peer import NEW, OLD, params, result
from tests.mcp_run.programs import ADA, Crm, finished, network, program, served

TOKEN = "tok-0123456789abcdef"
LEVEL = "io.modelcontextprotocol/logLevel"


class Talking(Crm):
    """Says `words` (as many pairs of progress and log) before each answer."""

    def __init__(self, version: str, words: list[str], level: str = "warning") -> None:
        super().__init__(version)
        self.words = words
        self.level = level
        self.doing["get_customer"] = self._talk

    async def _talk(self, asked: Asked, out: Out) -> None:
        await out.stream()
        token = params(asked)["_meta"]["progressToken"]
        for number, word in enumerate(self.words, 1):
            told = {"progressToken": token, "progress": number, "total": len(self.words), "message": word}
            await out.event({"jsonrpc": "2.0", "method": "notifications/progress", "params": told})
            log = {"level": self.level, "data": {"said": word}}
            await out.event({"jsonrpc": "2.0", "method": "notifications/message", "params": log})
        await out.event(result(asked, {**self.complete, "content": [], "structuredContent": ADA}))


async def heard(crm: Crm, folder: Path) -> list[e.Event]:
    """The events of one run of `customer`."""
    events: list[e.Event] = []
    deploy = ', headers: ["X-Api-Key": secret("T")]'
    async with HttpPeer(crm) as peer, program(folder, 'secret T = env("T")\n' + network(peer, deploy)) as made:
        outcome = await made.run("main.customer", {"id": "c-1"}, Options(caller="tester", on_event=events.append))
        assert isinstance(outcome, Value), outcome
    return events


@pytest.fixture(autouse=True)
def token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("T", TOKEN)


@pytest.mark.parametrize("version", [OLD, NEW])
def test_progress_and_log_of_a_server_are_events_of_the_call(tmp_path: Path, version: str) -> None:
    async def test() -> None:
        events = await heard(Talking(version, ["reading", "done"]), tmp_path)
        assert [(one.done, one.total, one.text) for one in events if isinstance(one, e.ToolProgressed)] == [
            (1.0, 2.0, "reading"),
            (2.0, 2.0, "done"),
        ]
        logs = [one for one in events if isinstance(one, e.ServerLogged)]
        assert [(one.level, one.text) for one in logs] == [("warning", '{"said":"reading"}'), ("warning", '{"said":"done"}')]
        [started] = [one for one in events if isinstance(one, e.NodeStarted)]
        assert {(one.run, one.tool) for one in logs} == {(started.run, "main.crm.get_customer")}

    finished(test)


def test_what_a_server_says_is_masked_one_line_and_bounded(tmp_path: Path) -> None:
    """K41: it has the credential, and may say it again; it may say more than anybody wants to hear."""

    async def test() -> None:
        words = [f"with {TOKEN}\nmain.refund approved by ada \x1b[2J" + "x" * 5_000, *["again"] * 400]
        events = await heard(Talking(OLD, words), tmp_path)
        assert TOKEN not in repr(events)
        progress = [one.text for one in events if isinstance(one, e.ToolProgressed)]
        logs = [one.text for one in events if isinstance(one, e.ServerLogged)]
        assert len(progress) == 200
        assert 1 <= len(logs) <= 200
        assert all(text.isprintable() and len(text) <= 1_001 for text in (*progress, *logs))
        assert progress[0].startswith("with [secret] main")

    finished(test)


def test_what_this_side_skipped_and_what_a_server_logs_for_its_makers_are_no_events(tmp_path: Path) -> None:
    async def test() -> None:
        events = await heard(Talking(OLD, ["x"], level="debug"), tmp_path)
        assert not [one for one in events if isinstance(one, e.ServerLogged)]

    finished(test)


@pytest.mark.parametrize("listening", [True, False])
def test_a_log_is_asked_for_where_somebody_reads_it(tmp_path: Path, listening: bool) -> None:
    async def test() -> None:
        crm = Crm(NEW)
        options = Options(caller="tester", on_event=(lambda event: None) if listening else None)
        async with served(crm, tmp_path) as (made, _):
            assert isinstance(await made.run("main.customer", {"id": "c-1"}, options), Value)
        assert crm.called[0][2].get(LEVEL) == ("info" if listening else None)

    finished(test)
