"""`std/code`: read, edit, search, test, through a program and its model, in a real folder and the real sandbox."""

from __future__ import annotations

import asyncio
import json
import math
import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ael.natives import sandbox
from ael.natives.code import Code
from ael.natives.workspace import Workspace, version_of
from ael.natives.workspace_write import changing
from ael.natives.world import World
from ael.project.bind_files import CodeBinding, FilesBinding
from ael.project.bind_process import ProcessBinding
from ael.run.clock import SystemClock
from ael.run.ports import CallContext
from tests.programs import open_files
from tests.workspace.programs import AGENT, DEPLOY, PACK, Person, play, program


def call(name: str, **arguments: object) -> dict[str, object]:
    return {"call": name, "with": arguments}


def edit(text: str, old: str, new: str, path: str = "a.txt", **more: object) -> dict[str, object]:
    """An edit of a file that was read with this text."""
    return call("edit", path=path, version=version_of(text.encode()), old=old, new=new, **more)


def told(answer: str) -> Any:
    return json.loads(answer)


@pytest.mark.feature("A15.1", "A15.2", "A15.5")
def test_a_file_is_read_edited_and_tested(tmp_path: Path) -> None:
    """What a model reads has a version; an edit takes it, gives the new one, and brings what the tests say."""
    opened = program(tmp_path, AGENT, a_txt="one\ntwo\n", tests_sh="grep -q three a.txt || { echo 'no three in a.txt'; exit 3; }")
    first = version_of(b"one\ntwo\n")
    made = play(
        opened,
        [
            call("read_file", path="a.txt"),
            edit("one\ntwo\n", "two", "four"),
            edit("one\nfour\n", "four", "three"),
            {"final": "ok"},
        ],
    )
    assert made.value == "ok"
    read, failed, passed = map(told, made.answers)
    assert (read["version"], read["text"], read["lines"]) == (first, "     1\tone\n     2\ttwo", 2)
    assert failed["version"] == version_of(b"one\nfour\n")
    assert failed["difference"] == "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+four"
    assert failed["tests"] == {"passed": False, "exit_code": 3, "output": "no three in a.txt", "stopped": None}
    assert passed["tests"]["passed"] is True
    assert (tmp_path / "ws" / "a.txt").read_text() == "one\nthree\n"


@pytest.mark.feature("A15.2", "A15.1")
def test_a_file_that_changed_since_it_was_read_is_not_edited(tmp_path: Path) -> None:
    """Somebody writes between the reading and the edit."""
    opened = program(tmp_path, AGENT, a_txt="one\n", tests_sh="echo changed by the tests >> a.txt")
    made = play(opened, [edit("one\n", "one", "two"), edit("two\n", "two", "three"), call("run_tests"), {"final": "ok"}])
    assert told(made.answers[1])["error"] == "Stale"
    assert told(made.answers[2])["passed"] is True
    assert (tmp_path / "ws" / "a.txt").read_text().startswith("two\nchanged")


@pytest.mark.feature("A15.2", "K26")
def test_an_edit_whose_answer_was_lost_is_not_made_twice(tmp_path: Path) -> None:
    """The process was killed after the file was written and before that was recorded: the call is sent again, and is done."""
    opened = program(tmp_path, AGENT, a_txt="one\n", tests_sh="echo ran >> ran; cat a.txt")
    (tmp_path / "ws" / "a.txt").write_text("one one\n")
    again = edit("one\n", "one", "one one")
    made = play(opened, [again, again, {"final": "ok"}])
    for answer in map(told, made.answers):
        assert (answer["version"], answer["replaced"]) == (version_of(b"one one\n"), 1)
        assert answer["tests"]["output"] == "one one"
    assert (tmp_path / "ws" / "a.txt").read_text() == "one one\n"


@pytest.mark.feature("A15.2")
def test_every_refusal_is_a_typed_error_that_the_model_reads(tmp_path: Path) -> None:
    opened = program(tmp_path, AGENT, a_txt="a a\n", _env="TOKEN=x")
    (tmp_path / "ws" / "binary").write_bytes(b"\0\1")
    wrong = [
        call("read_file", path="../main.ael"), call("read_file", path=".env"), call("read_file", path="binary"),
        call("read_file", path="none"), call("read_file", path=""), edit("a a\n", "a", "b"), edit("b\n", "a", "b"),
        call("write_file", path="a.txt", text="x"), call("write_file", path=".git/hooks/pre-commit", text="x"),
        call("grep", pattern="(?=x)y"), call("glob", pattern="../*"), call("shell", command="cat .env"),
    ]  # fmt: skip
    made = play(opened, [{"calls": wrong}, {"final": "ok"}])
    assert [told(answer)["error"] for answer in made.answers] == [
        "OutsideWorkspace", "OutsideWorkspace", "NotText", "NotFound", "NotFile", "NotOnce", "Stale", "Exists", "OutsideWorkspace",
        "BadPattern", "BadPattern", "UseTool",
    ]  # fmt: skip


@pytest.mark.feature("A15.3")
def test_searches_find_in_order_and_within_bounds(tmp_path: Path) -> None:
    opened = program(tmp_path, AGENT)
    root = tmp_path / "ws"
    for name in ("b/x.py", "a/y.py", "a/z.txt", "node_modules/m.py", "built/o.py"):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text("def f(total):\r\n    return TOTAL\n")
    (root / "a" / "binary.py").write_bytes(b"TOTAL\0")
    (root / ".gitignore").write_text("built/\n")
    made = play(
        opened,
        [
            {"calls": [
                call("glob", pattern="**/*.py"), call("glob", pattern="*.py", path="a"), call("grep", pattern="TOTAL"),
                call("grep", pattern="^def \\w+\\(", files="**/*.py"), call("grep", pattern="TOTAL", path="a/z.txt"),
                call("grep", pattern="(a*)*$b", path="a"), call("grep", pattern="TOTAL", most=1),
            ]},
            {"final": "ok"},
        ],
    )  # fmt: skip
    found = [told(answer) for answer in made.answers]
    assert found[0] == {"paths": ["a/binary.py", "a/y.py", "b/x.py"], "cut": False}
    assert found[1]["paths"] == ["a/binary.py", "a/y.py"]
    assert [(one["path"], one["line"], one["text"]) for one in found[2]["matches"]] == [
        ("a/y.py", 2, "return TOTAL"), ("a/z.txt", 2, "return TOTAL"), ("b/x.py", 2, "return TOTAL"),
    ]  # fmt: skip
    assert [one["path"] for one in found[3]["matches"]] == ["a/y.py", "b/x.py"]
    assert [one["path"] for one in found[4]["matches"]] == ["a/z.txt"]
    assert found[5]["matches"] == []
    assert (len(found[6]["matches"]), found[6]["cut"]) == (1, True)


@pytest.mark.feature("A15.3")
def test_reading_runs_beside_reading_and_writing_does_not(tmp_path: Path) -> None:
    opened = program(tmp_path, AGENT)
    tools = {name.rpartition(".")[2]: spec for name, spec in opened.program.tools.items() if name.startswith("std/code.")}
    assert {name for name, spec in tools.items() if spec.parallel} == {"read_file", "glob", "grep"}
    assert {name for name, spec in tools.items() if spec.permission == "std.code.read"} == {"read_file", "glob", "grep"}
    assert {name for name, spec in tools.items() if spec.permission == "std.code.write"} == {"edit", "write_file", "delete_file"}


@pytest.mark.feature("A15.3")
def test_a_parallel_loop_of_code_fans_searches_out(tmp_path: Path) -> None:
    main = """
use std/code.{BadPattern, grep}
use std/files.{NotFile, NotFound, OutsideWorkspace}

node main() -> List<Int> fails OutsideWorkspace, NotFound, NotFile, BadPattern
  grants std.code.read
{
  parallel word in ["one", "two", "none"] up to 3 {
    (try grep(word)).matches.length()
  }
}
"""
    assert play(program(tmp_path, main, a_txt="one\ntwo\none\n")).value == [2, 1, 0]


@pytest.mark.feature("A15.8")
def test_who_explores_cannot_write(tmp_path: Path) -> None:
    """The grants of the node say so, and the check holds it to them."""
    text = AGENT.replace("grants std.code.write, std.code.shell", "grants std.code.read")
    opened, bag = open_files(tmp_path, {"main.ael": text, "pack.ael": PACK, "deploy.ael": DEPLOY})
    assert opened is None
    found = {(d.code, d.message) for d in bag.sorted()}
    for permission in ("write", "shell"):
        assert any(code.startswith("AEL05") and f"std.code.{permission}" in text for code, text in found), found
    assert not any("`grep`" in text or "`read_file`" in text for _, text in found)


@pytest.mark.feature("A15.8")
def test_a_scout_on_another_model_reads_and_the_main_agent_writes(tmp_path: Path) -> None:
    main = (
        AGENT.replace("tools read_file,", "tools scout, read_file,")
        + """
model cheap { provider scripted }

/// Look around. Call this before anything is changed.
node scout(what: String) -> String
  model cheap
  policy loop(steps: 4, tool_calls: 8)
  grants std.code.read
  tools read_file, glob, grep
{
  instructions "Look."
}
"""
    )
    opened = program(tmp_path, main, a_txt="one\n")
    turns = [
        call("delegate__scout", what="one"), {"calls": [call("grep", pattern="one"), edit("one\n", "one", "two")]}, {"final": "a.txt"},
        edit("one\n", "one", "two"), {"final": "ok"},
    ]  # fmt: skip
    made = play(opened, turns)
    assert made.value == "ok"
    assert any(answer.startswith('no tool "edit"') for answer in made.answers)
    assert (tmp_path / "ws" / "a.txt").read_text() == "two\n"


@pytest.mark.feature("A15.4", "A15.7")
def test_the_shell_is_sandboxed_and_asks_where_nothing_can_be_brought_back(tmp_path: Path) -> None:
    opened = program(tmp_path, AGENT)
    outside = tmp_path / "outside.txt"
    person = Person()
    made = play(
        opened,
        [
            call("shell", command="echo hello"), call("shell", command=f"echo x > {outside}; echo y > inside.txt; ls /work 2>&1"),
            call("shell", command="rm -rf ."), {"final": "ok"},
        ],
        approver=person,
    )  # fmt: skip
    assert made.value == "ok"
    assert told(made.answers[0]) == {"exit_code": 0, "output": "hello", "stopped": None}
    assert not outside.exists()
    assert (tmp_path / "ws" / "inside.txt").read_text() == "y\n"
    assert [request.arguments["command"] for request in person.asked] == [
        f"echo x > {outside}; echo y > inside.txt; ls /work 2>&1"
    ]
    assert told(made.answers[2])["tool"] == "delete_file"


@pytest.mark.feature("A15.4")
def test_the_shell_and_the_tests_reach_no_network_and_no_process_of_ours(tmp_path: Path) -> None:
    opened = program(tmp_path, AGENT)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        connect = f"import socket; socket.create_connection(('127.0.0.1', {port}), 2)"
        (tmp_path / "ws" / "tests.sh").write_text(f'python3 -c "{connect}"')
        lines = [
            f'python3 -c "{connect}"; echo ended $?',
            f"kill -0 {os.getpid()} && echo alive; cat /proc/{os.getpid()}/environ",
        ]
        made = play(
            opened, [*(call("shell", command=line) for line in lines), call("run_tests"), {"final": "ok"}], approver=Person()
        )
    connected, killed, tests = map(told, made.answers)
    assert connected["output"].startswith("ended 1")
    assert "Error" in connected["output"]
    assert "alive" not in killed["output"]
    assert killed["exit_code"] != 0
    assert tests["passed"] is False


@pytest.mark.feature("A4.9")
def test_a_person_who_says_no_keeps_it_from_running(tmp_path: Path) -> None:
    opened = program(tmp_path, AGENT, a_txt="one\n")
    person = Person(False)
    made = play(
        opened,
        [
            call("shell", command="echo gone > a.txt"), call("delete_file", path="a.txt", version=version_of(b"one\n")),
            call("shell", command="git push"), call("grep", pattern="one"), edit("one\n", "one", "two"), {"final": "ok"},
        ],
        approver=person,
    )  # fmt: skip
    assert made.value == "ok"
    assert [request.tool.rpartition(".")[2] for request in person.asked] == ["shell", "delete_file", "shell"]
    assert [answer.startswith("ann did not approve") for answer in made.answers] == [True, True, True, False, False]
    assert (tmp_path / "ws" / "a.txt").read_text() == "two\n"


@pytest.mark.feature("A15.5")
def test_without_a_word_of_the_deployment_nothing_is_run(tmp_path: Path) -> None:
    opened = program(tmp_path, AGENT, 'files = folder("./ws", write: true)\n', a_txt="one\n", tests_sh="touch ran")
    made = play(opened, [call("run_tests"), call("shell", command="echo x"), edit("one\n", "one", "two"), {"final": "ok"}])
    assert made.answers[0].startswith("Unavailable: the deployment has no command for the tests")
    assert made.answers[1].startswith("Unavailable: the deployment gives no shell")
    assert "tests" not in told(made.answers[2])
    assert not (tmp_path / "ws" / "ran").exists()


def test_the_program_of_the_tests_is_none_that_an_agent_wrote(tmp_path: Path) -> None:
    folder = tmp_path / "ws"
    folder.mkdir()
    (folder / "mine").write_text("#!/bin/sh\ntouch ran\n")
    (folder / "mine").chmod(0o755)
    deploy = f'files = folder("./ws", write: true)\ncode = commands(test: ["{folder}/mine"])\n'
    made = play(program(tmp_path, AGENT, deploy), [call("run_tests"), {"final": "ok"}])
    assert "outside of the workspace" in made.answers[0]


@pytest.mark.feature("A4.9", "A15.4")
@pytest.mark.parametrize("process", ["", 'process = unsandboxed(commands: ["git"])\n'])
@pytest.mark.parametrize("repository", [False, True])
def test_no_file_that_an_agent_writes_is_a_setting_of_git(tmp_path: Path, process: str, repository: bool) -> None:
    """Git takes a folder with these four for a repository, and a `.gitconfig` at home for the user's: both may name programs."""
    config = '[core]\n\trepositoryformatversion = 0\n\tworktree = .\n\tfsmonitor = "touch owned; true"\n'
    written = {"HEAD": "ref: refs/heads/main\n", "config": config, "objects/x": "", "refs/x": "", ".gitconfig": config}
    opened = program(tmp_path, AGENT, f"{DEPLOY}{process}", tests_sh="true\n")
    if repository:
        subprocess.run(["git", "init", "-q"], cwd=tmp_path / "ws", check=True)
    writes = [call("write_file", path=path, text=text) for path, text in written.items()]
    person = Person()
    made = play(opened, [*writes, call("shell", command="git status"), {"final": "ok"}], approver=person)
    assert person.asked == []
    assert not (tmp_path / "ws" / "owned").exists()
    assert ("Untracked files" if repository else "cannot use bare repository") in told(made.answers[-1])["output"]


@pytest.mark.feature("A15.4")
def test_no_more_commands_run_beside_each_other_than_the_deployment_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    beside: list[int] = []
    running = 0

    async def ran(command: sandbox.Command) -> sandbox.Finished:
        nonlocal running
        running += 1
        beside.append(running)
        await asyncio.sleep(0)
        running -= 1
        return sandbox.Finished(0, None, "", "", False, False, None, 0.0)

    async def all_at_once() -> None:
        bindings = {"files": FilesBinding("."), "code": CodeBinding(shell=True), "process": ProcessBinding(concurrent=2)}
        code = Code(World(tmp_path, tmp_path, bindings, frozenset(), {}, None, SystemClock()))  # type: ignore[arg-type]
        context = CallContext("run", "step", "key", "local", "tester", "", math.inf, "")
        await asyncio.gather(*(code.shell("echo", call=context) for _ in range(6)))

    monkeypatch.setattr("ael.natives.code.finished", ran)
    asyncio.run(all_at_once())
    assert len(beside) == 6
    assert max(beside) == 2


def test_what_comes_in_the_place_of_a_file_is_not_deleted_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was approved is what was shown: the look and the deletion are one step."""

    @contextmanager
    def then_another(space: Workspace, path: str) -> Iterator[object]:
        with changing(space, path) as found:
            yield found
        (space.root / path).write_text("new")

    monkeypatch.setattr("ael.natives.code.changing", then_another)
    opened = program(tmp_path, AGENT, a_txt="one\n")
    made = play(opened, [call("delete_file", path="a.txt", version=version_of(b"one\n")), {"final": "ok"}], approver=Person())
    assert made.answers == ["true"]
    assert (tmp_path / "ws" / "a.txt").read_text() == "new"


@pytest.mark.feature("A15.4")
def test_tests_change_nothing_of_version_control(tmp_path: Path) -> None:
    """An agent writes them and nobody is asked: a hook or a setting would be run by git later, outside of the sandbox."""
    script = "cat .git/config; echo x > .git/hooks/pre-commit; mv .git gone; rm -rf .git; echo made > b.txt\n"
    opened = program(tmp_path, AGENT, tests_sh=script)
    (tmp_path / "ws" / ".git" / "hooks").mkdir(parents=True)
    (tmp_path / "ws" / ".git" / "config").write_text("[core]\n")
    made = play(opened, [call("run_tests"), {"final": "ok"}])
    assert "[core]" in made.answers[0]
    assert [one.name for one in sorted((tmp_path / "ws").rglob("*"))] == [".git", "config", "hooks", "b.txt", "tests.sh"]


def test_a_new_file_comes_with_its_folders_and_a_deletion_needs_the_version(tmp_path: Path) -> None:
    opened = program(tmp_path, AGENT)
    made = play(
        opened,
        [
            call("write_file", path="a/b/c.md", text="# C\n"), call("delete_file", path="a/b/c.md", version="4-0"),
            call("delete_file", path="a/b/c.md", version=version_of(b"# C\n")),
            call("delete_file", path="a/b/c.md", version=version_of(b"# C\n")), {"final": "ok"},
        ],
        approver=Person(),
    )  # fmt: skip
    assert told(made.answers[0])["difference"] == "--- /dev/null\n+++ b/a/b/c.md\n@@ -0,0 +1 @@\n+# C"
    assert told(made.answers[1])["error"] == "Stale"
    assert made.answers[2:] == ["true", "false"]


def test_std_code_exists_only_where_the_pack_says_so(tmp_path: Path) -> None:
    opened, bag = open_files(tmp_path, {"main.ael": "use std/code.{grep}\n", "pack.ael": "pack p {\n}\n"})
    assert opened is None
    assert any("std/code" in d.message for d in bag.sorted())
