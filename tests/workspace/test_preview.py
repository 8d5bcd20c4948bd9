"""What a person is shown of a call before it is approved: the difference that an edit makes, wherever that person sits."""

from __future__ import annotations

import asyncio
import io
import json
import os
import pty
from decimal import Decimal
from pathlib import Path
from typing import TextIO

import pytest

import ael
from ael.cli.approve import TerminalApprover
from ael.natives.workspace import version_of
from ael.run.ports import ApprovalRequest, CallContext, Decision
from ael.run.preview import MOST, previewed
from ael.server.approval import question
from tests.cli.conftest import Ael
from tests.cli.conftest import ael as command_line  # noqa: F401
from tests.programs import open_files, write
from tests.workspace.programs import AGENT, DEPLOY, PACK, Person, play, program

ASKING = f"{DEPLOY}tool edit approval required\ntool write_file approval required\n"
SHOWN = "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+three"
EDIT = {"call": "edit", "with": {"path": "a.txt", "version": version_of(b"one\ntwo\n"), "old": "two", "new": "three"}}


@pytest.mark.feature("A15.2")
def test_a_person_sees_the_difference_before_anything_is_written(tmp_path: Path) -> None:
    opened = program(tmp_path, AGENT, ASKING, a_txt="one\ntwo\n", tests_sh="true")
    there: list[str] = []
    person = Person(before=lambda: there.append((tmp_path / "ws" / "a.txt").read_text()))
    new = {"call": "write_file", "with": {"path": "b.txt", "text": "new\n"}}
    gone = {"call": "delete_file", "with": {"path": "b.txt", "version": version_of(b"new\n")}}
    made = play(opened, [EDIT, new, gone, {"final": "ok"}], approver=person)
    assert made.value == "ok"
    assert [request.preview for request in person.asked] == [
        SHOWN, "--- /dev/null\n+++ b/b.txt\n@@ -0,0 +1 @@\n+new", "--- a/b.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-new",
    ]  # fmt: skip
    assert there[0] == "one\ntwo\n"
    assert (tmp_path / "ws" / "a.txt").read_text() == "one\nthree\n"
    assert not (tmp_path / "ws" / "b.txt").exists()


@pytest.mark.feature("A15.2")
def test_nobody_is_asked_about_an_edit_that_could_not_be_made(tmp_path: Path) -> None:
    opened = program(tmp_path, AGENT, ASKING, a_txt="one\ntwo\n", tests_sh="true")
    person = Person()
    wrong = [
        {"call": "edit", "with": {**EDIT["with"], "version": "8-0"}}, {"call": "edit", "with": {**EDIT["with"], "old": "x"}},
        {"call": "write_file", "with": {"path": "a.txt", "text": "x"}}, {"call": "edit", "with": {**EDIT["with"], "path": "../x"}},
    ]  # fmt: skip
    made = play(opened, [*wrong, {"final": "ok"}], approver=person)
    assert [json.loads(answer)["error"] for answer in made.answers] == ["Stale", "NotOnce", "Exists", "OutsideWorkspace"]
    assert person.asked == []


@pytest.mark.feature("A15.1", "A15.2")
def test_a_file_that_changes_while_a_person_looks_is_not_edited(tmp_path: Path) -> None:
    """What was approved is the difference that was shown, and no other."""
    opened = program(tmp_path, AGENT, ASKING, a_txt="one\ntwo\n", tests_sh="true")
    file = tmp_path / "ws" / "a.txt"
    made = play(opened, [EDIT, {"final": "ok"}], approver=Person(before=lambda: file.write_text("another\ntwo\n")))
    assert json.loads(made.answers[0])["error"] == "Stale"
    assert file.read_text() == "another\ntwo\n"


@pytest.mark.feature("A15.2")
def test_a_run_that_waits_shows_the_difference_to_whoever_looks(command_line: Ael) -> None:  # noqa: F811
    here = command_line
    write(here.folder, {
        "main.ael": AGENT, "pack.ael": PACK, "deploy.ael": f'{ASKING}model m = scripted("script.json")\nruns = sqlite("runs.db")\n',
        "script.json": json.dumps([EDIT, {"final": "ok"}]), "ws/a.txt": "one\ntwo\n", "ws/tests.sh": "true",
    })  # fmt: skip
    assert here("run", ".", "--task", "x").code == 3
    [waiting] = json.loads(here("runs", "approvals", "--format", "json").out)
    assert waiting["preview"] == SHOWN
    for shown in (here("runs", "approvals").out, here("runs", "show", waiting["run"]).out):
        assert "             | -two\n             | +three\n" in shown
    # What it said when it was asked stays what was asked, and the edit checks again for itself.
    assert here("runs", "approve", waiting["run"], "--resume").code == 0
    assert (here.folder / "ws" / "a.txt").read_text() == "one\nthree\n"


@pytest.mark.feature("A15.1", "K27")
def test_a_run_that_goes_on_edits_with_the_version_that_it_read_before(command_line: Ael) -> None:  # noqa: F811
    """The version is in the journaled result of the reading: nothing in the process has to remember it."""
    here = command_line
    read = {"call": "read_file", "with": {"path": "a.txt"}}
    write(here.folder, {
        "main.ael": AGENT, "pack.ael": PACK, "deploy.ael": f'{ASKING}model m = scripted("script.json")\nruns = sqlite("runs.db")\n',
        "script.json": json.dumps([read, EDIT, {"final": "ok"}]), "ws/a.txt": "one\ntwo\n", "ws/tests.sh": "true",
    })  # fmt: skip
    assert here("run", ".", "--task", "x").code == 3
    [waiting] = json.loads(here("runs", "approvals", "--format", "json").out)
    (here.folder / "ws" / "a.txt").write_text("somebody else\ntwo\n")
    ended = here("runs", "approve", waiting["run"], "--resume")
    assert ended.code == 0
    assert (here.folder / "ws" / "a.txt").read_text() == "somebody else\ntwo\n"
    assert "Stale" in here("runs", "show", waiting["run"]).out


@pytest.mark.feature("K27", "K28")
def test_a_run_does_not_go_on_in_another_folder_unawares(command_line: Ael) -> None:  # noqa: F811
    here = command_line
    deploy = f'{ASKING}model m = scripted("script.json")\nruns = sqlite("runs.db")\n'
    write(here.folder, {
        "main.ael": AGENT, "pack.ael": PACK, "deploy.ael": deploy, "script.json": json.dumps([EDIT, {"final": "ok"}]),
        "ws/a.txt": "one\ntwo\n", "ws/tests.sh": "true", "other/a.txt": "one\ntwo\n",
    })  # fmt: skip
    assert here("run", ".", "--task", "x").code == 3
    write(here.folder, {"deploy.ael": deploy.replace("./ws", "./other")})
    [waiting] = json.loads(here("runs", "approvals", "--format", "json").out)
    assert here("runs", "approve", waiting["run"]).code == 0
    refused = here("runs", "resume", waiting["run"])
    assert (refused.code, "AEL0906" in refused.err, "the folder ./other" in refused.err) == (2, True, True)
    assert (here.folder / "other" / "a.txt").read_text() == "one\ntwo\n"


REQUEST = ApprovalRequest(
    "r1", "main/1", "local", "std/code.edit", None, {"path": "a"}, "digest", "", preview="-a\x1b[2K\n+b\u202e"
)


@pytest.mark.feature("A15.2", "K41")
def test_the_terminal_shows_it_line_by_line_and_is_not_steered(tmp_path: Path) -> None:
    near, far = pty.openpty()
    out = io.StringIO()

    async def ask(source: TextIO) -> Decision | None:
        return await asyncio.wait_for(TerminalApprover("ada", {}, source, out).decide(REQUEST), 20)

    with os.fdopen(far, encoding="utf-8") as source:
        os.write(near, b"y\n")
        try:
            assert asyncio.run(ask(source)) == Decision(True, "ada")
        finally:
            os.close(near)
    assert "what it would do:\n  | -a\\u{1B}[2K\n  | +b\\u{202E}\n" in out.getvalue()


@pytest.mark.feature("A15.2")
def test_a_served_program_asks_with_it_too() -> None:
    assert "What it would do:\n| -a\\u{1B}[2K\n| +b\\u{202E}\n" in question(REQUEST)


@pytest.mark.feature("A4.9", "K30")
def test_arguments_that_a_model_wrote_are_shown_as_what_they_are() -> None:
    asked = ApprovalRequest(
        "r1", "main/1", "local", "std/code.shell", None, {"command": "ls \u202e x\u200b" + "a" * 9_000}, "digest", ""
    )
    told = question(asked)
    assert "ls \\u{202E} x\\u{200B}a" in told
    assert "more characters of the arguments are not shown" in told


@pytest.mark.feature("A15.2")
def test_an_embedding_host_gets_it(tmp_path: Path) -> None:
    write(tmp_path, {
        "main.ael": AGENT, "pack.ael": PACK, "deploy.ael": f'{ASKING}model m = scripted("script.json")\n',
        "script.json": json.dumps([EDIT, {"final": "ok"}]), "ws/a.txt": "one\ntwo\n", "ws/tests.sh": "true",
    })  # fmt: skip
    seen: list[str] = []

    def approve(request: ApprovalRequest) -> bool:
        seen.append(request.preview)
        return True

    async def go() -> object:
        return await ael.load(tmp_path).run("main", {"task": "x"}, approve=approve)

    asyncio.run(go())
    assert seen == [SHOWN]


EXTERN = """
permission a.b

/// Send. Call it first.
tool send(text: String) -> String
  needs a.b
  repeat idempotent
  approval required
extern "outside:send"

node main(text: String) -> String
  grants a.b
{
  send(text) catch { Fault f => f.message }
}
"""


@pytest.mark.parametrize(
    ("name", "shown", "value"),
    [
        ("shows", "it would send hi", "sent hi"),
        ("long", "x" * MOST + "\n… (5 more characters)", "sent hi"),
        ("fails", None, "`send` failed: ValueError: no"),
        ("number", None, "`send` said what it would do with a int"),
    ],
)
def test_a_function_of_a_host_may_show_what_it_would_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, shown: str | None, value: str
) -> None:
    def shows(text: str, *, call: CallContext) -> str:
        assert call.run == "test"
        return f"it would send {text}"

    async def long(text: str) -> str:
        return "x" * (MOST + 5)

    def fails(text: str) -> str:
        raise ValueError("no")

    def number(text: str) -> int:
        return 5

    def send(text: str) -> str:
        return f"sent {text}"

    (tmp_path / "outside.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    opened, bag = open_files(tmp_path, {"main.ael": EXTERN, "pack.ael": 'pack p {\n  extern "outside"\n}\n'})
    assert opened is not None, [d.message for d in bag.sorted()]
    person = Person()
    previews = {"shows": shows, "long": long, "fails": fails, "number": number}
    functions = {"main.send": previewed(send, previews[name])}
    made = play(opened, values={"text": "hi"}, approver=person, functions=functions)
    assert made.value == value
    assert [request.preview for request in person.asked] == ([] if shown is None else [shown])


@pytest.mark.feature("B22")
def test_a_bound_function_of_a_host_shows_its_calls_with_the_values_that_it_gets(tmp_path: Path) -> None:
    main = EXTERN.replace("text: String", "text: String, amount: Decimal").replace("send(text)", "send(text, amount)")
    write(tmp_path, {"main.ael": main, "pack.ael": 'pack p {\n  extern "outside"\n}\n'})
    program = ael.load(tmp_path)

    def shows(text: str, amount: Decimal, *, ctx: ael.CallContext) -> str:
        assert ctx.permission == "a.b"
        return f"{amount * 2} to {text}"

    def really(text: str, amount: Decimal) -> str:
        return f"sent {amount}"

    program.bind("send", ael.previewed(really, shows))
    seen: list[str] = []

    async def approve(request: ApprovalRequest) -> bool:
        seen.append(request.preview)
        return True

    outcome = asyncio.run(program.run("main", {"text": "Ada", "amount": Decimal("1.5")}, approve=approve))
    assert (outcome.unwrap(), seen) == ("sent 1.5", ["3.0 to Ada"])
