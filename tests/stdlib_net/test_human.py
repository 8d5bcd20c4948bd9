"""`std/human`: a question parks the run where approvals wait, and the answer lets the loop go on (A15.6, K30)."""

from __future__ import annotations

import asyncio
import json
import signal
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import ael as library
from tests.cli.conftest import Ael
from tests.cli.conftest import ael as ael
from tests.cli.terminal import Terminal
from tests.cli.test_worker_decide import CALLERS, TOKENS, deciding
from tests.programs import write
from tests.server.support import modern_meta, opened, serving
from tests.server.test_approval import FORM, go_on
from tests.server.test_calls import result

MAIN = """\
use std/human.{ask, confirm, NoAnswer}

model clerk {
  provider openai
  name "gpt-5-mini"
}

/// Book a journey.
node main() -> String(max: 400)
  model clerk
  policy loop(steps: 4, tool_calls: 6)
  grants std.human.ask
  tools ask, confirm
  budget tokens 20_000
{
  instructions "Book the journey. Ask where it goes."
}

pub node colour() -> String fails NoAnswer
  grants std.human.ask
{
  let answer = try ask("Which colour?", ["red", "blue"])
  "${answer.text} says ${answer.by}"
}

node sure() -> String
  grants std.human.ask
{
  let said = confirm("Really?") catch {
    NoAnswer none => { return "none: ${none.reason} (${none.by})" }
  }
  if said.yes { "yes" } else { "no: ${said.reason}" }
}

node hurried() -> String
  grants std.human.ask
{
  let said = ask("Quick?", within: 0s) catch {
    NoAnswer none => { return "${none.by}: ${none.reason}" }
  }
  said.text
}

node both() -> List<String> fails NoAnswer
  grants std.human.ask
{
  parallel question in ["First?", "Second?"] up to 2 {
    let answer = try ask(question)
    answer.text
  }
}
"""
SEND = """\
use std/human.{ask, NoAnswer}

pub node send(amount: Int) -> String fails NoAnswer
  grants std.human.ask
{
  let answer = try ask("Which colour?", ["red", "blue"])
  answer.text
}
"""
SCRIPT = json.dumps([{"call": "ask", "with": {"question": "Where to?", "choices": ["Rome", "Oslo"]}}, {"final": "booked"}])
DEPLOY = 'model clerk = scripted("s.json")\nruns = sqlite("runs.db")\n'
FILES = {"main.ael": MAIN, "deploy.ael": DEPLOY, "s.json": SCRIPT}


@pytest.fixture
def desk(ael: Ael) -> Ael:
    ael.write(FILES)
    return ael


def parked(desk: Ael, entry: str = "main") -> str:
    before = {row["run"] for row in json.loads(desk("runs", "list", "--format", "json").out or "[]")}
    ended = desk("run", ".", entry)
    assert ended.code == 3, ended.err
    [run] = {row["run"] for row in json.loads(desk("runs", "list", "--format", "json").out)} - before
    return str(run)


def waiting(desk: Ael) -> list[Any]:
    found: list[Any] = json.loads(desk("runs", "approvals", "--format", "json").out)
    return found


@pytest.mark.feature("A15.6", "A4.5")
def test_a_model_asks_the_run_parks_and_the_answer_goes_on_with_the_loop(desk: Ael) -> None:
    run = parked(desk)
    [asked] = waiting(desk)
    assert (asked["target"], asked["question"]["message"]) == ("std/human.ask", "Where to?")
    assert asked["question"]["schema"]["properties"]["answer"]["enum"] == ["Rome", "Oslo"]
    shown = desk("runs", "approvals").out
    assert "waits for an answer" in shown
    assert "| Where to?" in shown
    assert "Rome | Oslo" in shown
    assert f'ael runs answer {run} --text "…"' in desk("runs", "show", run).out
    no = desk("runs", "answer", run, "--text", "Paris")
    assert no.code == 2
    assert "does not fit" in no.err
    answered = desk("runs", "answer", run, "--text", "Oslo", "--as", "ann")
    assert (answered.code, answered.out) == (0, "")
    again = desk("runs", "answer", run, "--text", "Rome")
    assert again.code == 2, "it is answered once"
    resumed = desk("runs", "resume", run, "-q")
    assert (resumed.code, json.loads(resumed.out)) == (0, "booked")
    told = desk("runs", "show", run, "--step", "turn2").out
    assert "Oslo" in told
    assert "ann" in told
    assert waiting(desk) == []


@pytest.mark.feature("A15.6")
def test_a_run_that_asks_waits_for_an_answer_and_not_for_an_approval(desk: Ael) -> None:
    ended = desk("run", ".", "colour")
    assert ended.code == 3
    assert "parked: ask waits for an answer\n" in ended.err


@pytest.mark.feature("A15.6", "K30")
def test_a_question_steers_no_terminal_when_its_answer_does_not_fit(ael: Ael) -> None:
    """What is asked may be a model's: it is shown on one line, and its escapes stand as text."""
    asked = r'"Sure?\u{1B}[2J\nerror[AEL0905]: forged"'
    main = f"""
use std/human.{{ask, confirm, NoAnswer}}
node yes() -> Bool fails NoAnswer grants std.human.ask {{ (try confirm({asked})).yes }}
node one() -> String fails NoAnswer grants std.human.ask {{ (try ask({asked}, ["red"])).text }}
"""
    ael.write({"main.ael": main, "deploy.ael": 'runs = sqlite("runs.db")\n'})
    for entry in ("yes", "one"):
        run = parked(ael, entry)
        for action in (("answer", run, "--text", "x"), ("approve", run, "--arguments", '{"answer": "x"}')):
            no = ael("runs", *action)
            assert no.code == 2
            assert r"Sure?\u{1B}[2J\u{A}error" in no.err
            assert "\x1b" not in no.err
            assert "\nerror[AEL0905]: forged" not in no.err


@pytest.mark.feature("A15.6")
def test_a_person_declines_and_the_program_has_the_reason(desk: Ael) -> None:
    run = parked(desk, "sure")
    assert desk("runs", "deny", run).code == 2, "a no has a reason"
    ended = desk("runs", "deny", run, "--reason", "not before noon", "--resume")
    assert (ended.code, json.loads(ended.out)) == (0, "no: not before noon")
    run = parked(desk, "sure")
    no = desk("runs", "answer", run, "--text", "perhaps")
    assert no.code == 2
    assert "say `yes` or `no`" in no.err
    ended = desk("runs", "answer", run, "--text", "No", "--resume")
    assert json.loads(ended.out) == "no: "
    run = parked(desk, "colour")
    ended = desk("runs", "deny", run, "--reason", "neither", "--resume")
    assert ended.code == 1
    assert "NoAnswer" in ended.err
    assert "neither" in ended.err + ended.out


@pytest.mark.feature("K30")
def test_what_answers_a_question_approves_nothing_and_the_other_way_round(desk: Ael) -> None:
    run = parked(desk, "colour")
    assert desk("runs", "approve", run).code == 2, "a bare yes is no colour"
    assert desk("runs", "approve", run, "--arguments", '{"answer": "green"}').code == 2
    assert desk("runs", "approve", run, "--arguments", '{"answer": "red", "question": "Which?"}').code == 2
    assert desk("runs", "settle", run, "--failed").code == 2
    ended = desk("runs", "approve", run, "--arguments", '{"answer": "red"}', "--as", "ann", "--resume")
    assert (ended.code, json.loads(ended.out)) == (0, "red says ann")
    approval = """
permission a.b
tool act() -> Int needs a.b repeat idempotent approval required { 1 }
node main() -> Int grants a.b { act() }
"""
    desk.write({"main.ael": approval, "deploy.ael": 'runs = sqlite("runs.db")\n'})
    run = parked(desk)
    no = desk("runs", "answer", run, "--text", "yes")
    assert no.code == 2
    assert "waits for an approval" in no.err


@pytest.mark.feature("A15.6", "K30")
def test_several_questions_wait_at_once_and_each_gets_its_own_answer(desk: Ael) -> None:
    run = parked(desk, "both")
    first, second = waiting(desk)
    assert {first["question"]["message"], second["question"]["message"]} == {"First?", "Second?"}
    which = desk("runs", "answer", run, "--text", "x")
    assert which.code == 2
    assert "waits for an answer at 2 steps" in which.err
    assert all(one["step"] in which.err for one in (first, second))
    for one in (second, first):
        said = one["question"]["message"].lower()
        assert desk("runs", "answer", run, "--text", said, "--step", one["step"]).code == 0
    ended = desk("runs", "resume", run, "-q")
    assert json.loads(ended.out) == ["first?", "second?"]


@pytest.mark.feature("A15.6")
def test_a_question_has_its_time(desk: Ael) -> None:
    ended = desk("run", ".", "hurried")
    assert (ended.code, json.loads(ended.out)) == (0, "nobody: there was no decision within 0 s")
    desk.write({"deploy.ael": DEPLOY.replace('sqlite("runs.db")', 'sqlite("runs.db", approval: 1h)')})
    parked(desk, "colour")
    [asked] = waiting(desk)
    assert asked["due"] == pytest.approx(asked["asked"] + 3_600)


@pytest.mark.feature("A15.6")
def test_yes_and_no_on_the_command_line_answer_what_they_can(desk: Ael) -> None:
    assert json.loads(desk("run", ".", "sure", "--approve").out) == "yes"
    assert json.loads(desk("run", ".", "sure", "--deny").out) == "no: denied on the command line"
    bare = desk("run", ".", "colour", "--approve")
    assert bare.code == 1, "a bare yes is no colour"
    assert "`--approve` says yes, which answers no such question" in bare.err


@pytest.mark.feature("A15.6")
def test_where_nobody_can_be_asked_nobody_has_said_no(desk: Ael) -> None:
    desk.write({"deploy.ael": DEPLOY.replace('sqlite("runs.db")', "memory")})
    ended = desk("run", ".", "sure")
    assert json.loads(ended.out).startswith("none: nobody could be asked")
    assert json.loads(ended.out).endswith("(nobody)")


@pytest.mark.feature("A15.6")
def test_a_person_at_the_terminal_answers(tmp_path: Path) -> None:
    write(tmp_path, FILES)
    with Terminal(["run", ".", "colour"], tmp_path) as terminal:
        seen = terminal.until("red | blue (empty: later")
        assert "| Which colour?" in seen
        assert "1. red" in seen
        terminal.type("green")
        terminal.until("does not fit")
        terminal.type("2")
        code, out = terminal.end()
        assert (code, json.loads(out).partition(" says ")[0]) == (0, "blue")
        assert "ask answered by" in terminal.seen
    with Terminal(["run", ".", "sure"], tmp_path) as terminal:
        terminal.until("yes | no (empty: later")
        terminal.type("/no")
        terminal.until("the reason")
        terminal.type("too late")
        assert terminal.end() == (0, '"no: too late"\n')


@pytest.mark.feature("A15.6", "A4.6")
def test_a_question_outlives_its_process(ael: Ael) -> None:
    """Killed while the person reads: another process asks again, and a third takes the answer."""
    ael.write(FILES)
    with Terminal(["run", ".", "colour"], ael.folder) as terminal:
        terminal.until("red | blue (empty: later")
        terminal.signal(signal.SIGKILL)
        terminal.process.wait()
    [row] = json.loads(ael("runs", "list", "--format", "json").out)
    with closing(sqlite3.connect(ael.folder / "runs.db")) as db, db:
        # Nobody extends the lease of the one that was killed: its time passes here at once.
        db.execute("UPDATE ael_run SET lease = 0")
    resumed = ael("runs", "resume", row["run"])
    assert resumed.code == 3, resumed.err
    ended = ael("runs", "answer", row["run"], "--text", "2", "--as", "ann", "--resume")
    assert (ended.code, json.loads(ended.out)) == (0, "blue says ann")
    [asked] = [line for line in ael("runs", "show", row["run"]).out.splitlines() if "/question" in line]
    assert "approval" in asked


@pytest.mark.feature("A15.6", "B9")
def test_the_desk_shows_the_question_and_takes_the_answer(ael: Ael) -> None:
    ael.write({**FILES, "deploy.ael": DEPLOY + CALLERS})
    for name, token in TOKENS.items():
        ael._patch.setenv(name, token)
    run = parked(ael, "colour")
    with deciding(ael) as (ask, terminal):
        status, [asked] = ask("GET", "/approvals")
        assert (status, asked["question"]["message"]) == (200, "Which colour?")
        where = f"/runs/{run}/decision"
        status, told = ask("POST", where, {"approved": True, "arguments": {"answer": "green"}})
        assert status == 409
        assert "does not fit" in told["error"]
        assert ask("POST", where, {"approved": True, "arguments": {"answer": "blue"}})[0] == 200
        terminal.until("ended")
    [row] = json.loads(ael("runs", "list", "--format", "json").out)
    assert (row["state"], row["ending"]) == ("ended", "value")


@pytest.mark.feature("A15.6")
@pytest.mark.parametrize("kept", [False, True])
def test_the_person_behind_a_client_is_asked_in_the_form_of_the_question(tmp_path: Path, kept: bool) -> None:
    kept_there = 'runs = sqlite("runs.db")\n' if kept else ""
    deploy = f"{kept_there}serve = [send]\n"
    write(tmp_path, {"s.json": SCRIPT})

    async def scenario() -> None:
        async with serving(opened(tmp_path, SEND, deploy)) as served:
            meta = {**modern_meta(**FORM), **({"idempotencyKey": "k1"} if kept else {})}
            asked: Any = result(await served.call("send", {"amount": 5}, None, meta))
            assert asked["resultType"] == "input_required"
            params = asked["inputRequests"]["approval"]["params"]
            assert "| Which colour?" in params["message"]
            assert params["requestedSchema"]["properties"]["answer"]["enum"] == ["red", "blue"]
            done = (await go_on(served, asked["requestState"], {"answer": "blue"}))["result"]
            assert done["structuredContent"] == {"result": "blue"}

    asyncio.run(scenario())


@pytest.mark.feature("A15.6")
def test_a_host_answers_with_a_function(tmp_path: Path) -> None:
    write(tmp_path, {**FILES, "deploy.ael": DEPLOY.replace('sqlite("runs.db")', "memory")})
    program = library.load(tmp_path / "main.ael")
    seen: list[library.ApprovalRequest] = []

    def answer(request: library.ApprovalRequest) -> library.Decision:
        seen.append(request)
        return library.Decision(True, "ann", arguments={"answer": "red"})

    outcome = asyncio.run(program.run("colour", approve=answer))
    assert isinstance(outcome, library.Value)
    assert outcome.value == "red says ann"
    assert seen[0].question is not None
    assert seen[0].question.message == "Which colour?"
    assert isinstance(asyncio.run(program.run("sure", approve=lambda request: True)), library.Value)
    nobody = asyncio.run(program.run("colour"))
    assert isinstance(nobody, library.DeclaredError)
    assert nobody.fields["by"] == "nobody"


@pytest.mark.feature("A14.1")
def test_an_answer_is_outside_data(ael: Ael) -> None:
    """A model that was talked into asking "which account?" gets no account that a trusted parameter takes."""
    ael.write(
        {
            "main.ael": """
use std/human.{ask, NoAnswer}
permission pay
tool send(trusted account: String) -> Int needs pay repeat idempotent { 1 }
node main() -> Int fails NoAnswer grants pay, std.human.ask {
  let answer = try ask("Which account?")
  send(answer.text)
}
"""
        }
    )
    checked = ael("check")
    assert checked.code != 0
    assert "AEL0701" in checked.err + checked.out


@pytest.mark.feature("A15.6")
def test_a_question_is_asked_and_answered_once_wherever_the_process_dies(desk: Ael) -> None:
    ended = desk("run", ".", "sure", "--approve", "--crash-at", "every")
    assert ended.code == 0, ended.err
    assert "nothing was done twice, asked twice, or lost" in ended.out
