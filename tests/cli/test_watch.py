"""`--watch`: every command does again what it does when a file of the program changed, and goes on after any mistake."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path

import pytest

from ael.cli.watching import forget
from ael.project.watched import Watched
from tests.cli.conftest import Ael, clean_environment
from tests.cli.watched import watch_steps
from tests.programs import write

ONE = "node main() -> Int {\n  1\n}\n"
TWO = "node main() -> Int {\n  2\n}\n"
BROKEN = "node main() -> Int {\n  two\n}\n"
AGENT = """node first(n: Int) -> Int {{
  n
}}

agent desk(n: Int) -> Int {{
  edge start -> first(n)
  edge {edge} -> finish
}}
"""


@pytest.mark.feature("B24")
def test_a_run_is_made_again_and_a_program_that_does_not_check_is_told(ael: Ael, monkeypatch: pytest.MonkeyPatch) -> None:
    ael.write({"main.ael": ONE})
    steps = [lambda: None, lambda: ael.write({"main.ael": BROKEN}), lambda: ael.write({"main.ael": TWO})]
    watch_steps(monkeypatch, steps)
    ended = ael("run", "main.ael", "--watch")
    assert ended.code == 130
    assert ended.out == "1\n2\n"
    assert ended.err.count("--- main.ael changed, running again ---") == 2
    assert "there is no name `two`" in ended.err


@pytest.mark.feature("B24")
def test_a_run_sees_its_input_change(ael: Ael, monkeypatch: pytest.MonkeyPatch) -> None:
    ael.write({"main.ael": "node main(n: Int) -> Int {\n  n\n}\n", "elsewhere/in.json": '{"n": 3}'})
    watch_steps(monkeypatch, [lambda: ael.write({"elsewhere/in.json": '{"n": 40}'})])
    assert ael("run", "main.ael", "--input", "elsewhere/in.json", "--watch").out == "3\n40\n"


@pytest.mark.parametrize("words", [("--input", "-"), ("--detach",), ("--crash-at", "1")])
def test_what_can_be_done_once_only_is_not_watched(ael: Ael, words: tuple[str, ...]) -> None:
    ael.write({"main.ael": ONE})
    ended = ael("run", "main.ael", "--watch", *words)
    assert (ended.code, ended.out) == (2, "")
    assert "`--watch` runs again and again" in ended.err


@pytest.mark.feature("C10")
def test_an_agent_is_drawn_again_and_the_picture_is_no_change(ael: Ael, monkeypatch: pytest.MonkeyPatch) -> None:
    ael.write({"main.ael": AGENT.format(edge="first")})
    seen: list[str] = []
    picture = ael.folder / "desk.md"

    def change() -> None:
        seen.append(picture.read_text())
        ael.write({"main.ael": AGENT.format(edge="first").replace("first", "second")})

    watch_steps(monkeypatch, [lambda: None, change, lambda: None])
    ended = ael("graph", "main.ael", "--format", "mermaid", "--out", "desk.md", "--watch")
    assert ended.code == 130
    assert ended.err.count("drawing again") == 1
    assert "first" in seen[0]
    assert "second" in picture.read_text()


@pytest.mark.feature("B24")
def test_a_file_is_formatted_when_it_is_saved(ael: Ael, monkeypatch: pytest.MonkeyPatch) -> None:
    ael.write({"main.ael": ONE})
    watch_steps(monkeypatch, [lambda: ael.write({"main.ael": "node   main() -> Int {\n2\n}\n"}), lambda: None])
    ended = ael("fmt", "--watch")
    assert ended.code == 130
    assert ended.err.count("formatting again") == 1, "what it wrote itself is no change"
    assert "formatted main.ael" in ended.err
    assert (ael.folder / "main.ael").read_text() == TWO


def test_standard_input_is_not_watched(ael: Ael) -> None:
    ended = ael("fmt", "-", "--watch")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == "ael fmt: `--watch` is for files; standard input is read once\n"


def test_several_files_are_one_change(ael: Ael, monkeypatch: pytest.MonkeyPatch) -> None:
    ael.write({"main.ael": ONE})
    watch_steps(monkeypatch, [lambda: ael.write({"main.ael": TWO, "other.ael": ONE})])
    assert ael("check", "--watch").err.count("--- 2 files changed, checking again ---") == 1


def test_a_mistake_of_the_machine_is_told_and_the_watching_goes_on(ael: Ael, monkeypatch: pytest.MonkeyPatch) -> None:
    ael.write({"main.ael": AGENT.format(edge="first"), "out/desk.md": ""})
    folder = ael.folder / "out" / "desk.md"

    def change() -> None:
        folder.unlink()
        folder.mkdir()
        ael.write({"main.ael": AGENT.format(edge="first").replace("first", "third")})

    watch_steps(monkeypatch, [change, lambda: (ael.folder / "main.ael").unlink(), lambda: None])
    ended = ael("graph", "main.ael", "--out", "out/desk.md", "--watch")
    assert ended.code == 130
    assert "`out/desk.md` cannot be written" in ended.err
    assert ended.err.count("drawing again") == 2


SLOW = """permission world.wait

/// Wait. Call it once.
tool hold() -> String
  needs world.wait
  repeat idempotent
  timeout 60s
  extern "outside:hold"

node main() -> String
  grants world.wait
{
  hold()
}
"""
OUTSIDE = """import asyncio
from pathlib import Path


async def hold():
    Path("began").touch()
    await asyncio.sleep(SECONDS)
    return "WORD"
"""


@pytest.mark.feature("B24")
def test_a_run_under_way_is_begun_anew_with_the_python_functions_of_now(tmp_path: Path) -> None:
    write(tmp_path, {"main.ael": SLOW, "pack.ael": 'pack a {\n  version "1"\n  extern "outside"\n}\n'})
    write(tmp_path, {"outside.py": OUTSIDE.replace("SECONDS", "600").replace("WORD", "old")})
    with subprocess.Popen(
        [sys.executable, "-m", "ael", "run", ".", "--watch", "--quiet"], cwd=tmp_path, env=clean_environment(tmp_path),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as watching:  # fmt: skip
        assert watching.stdout is not None
        try:
            while not (tmp_path / "began").exists():
                assert watching.poll() is None
                time.sleep(0.02)
            write(tmp_path, {"outside.py": OUTSIDE.replace("SECONDS", "0").replace("WORD", "new")})
            assert watching.stdout.readline() == '"new"\n'
            watching.send_signal(signal.SIGINT)
            assert watching.wait(20) == 130
        finally:
            watching.kill()


def test_python_modules_of_the_program_are_loaded_anew_and_no_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, {"of_the_program.py": "word = 1\n"})
    monkeypatch.syspath_prepend(tmp_path)
    first = import_module("of_the_program")
    forget({"of_the_program"}, [tmp_path])
    assert import_module("of_the_program") is first, "what was there before is this program's own"
    forget((), [tmp_path / "elsewhere"])
    assert import_module("of_the_program") is first
    forget((), [tmp_path])
    assert import_module("of_the_program") is not first
    sys.modules.pop("of_the_program")


def test_folders_that_hold_no_sources_are_not_looked_at(tmp_path: Path) -> None:
    for where in (".hidden/a.ael", "node_modules/b/c.ael", "env/pyvenv.cfg", "env/d.md", "__snapshots__/e.txt", "own/out.md"):
        (tmp_path / where).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / where).write_text("x")
    for name in ("main.ael", "ael.lock", "cases.jsonl", "tone.md", "picture.png"):
        (tmp_path / name).write_text("x")
    watched = Watched([tmp_path], ignored=[tmp_path / "own"])
    assert {path.name for path in watched.look()} == {"main.ael", "ael.lock", "cases.jsonl", "tone.md"}
    (tmp_path / "data.json").write_text("{}")
    assert watched.changed() == frozenset()
    (tmp_path / "main.ael").write_text("other")
    assert watched.changed() == {tmp_path / "main.ael"}
    assert watched.changed() == frozenset()
    (tmp_path / "tone.md").unlink()
    assert watched.changed() == {tmp_path / "tone.md"}
