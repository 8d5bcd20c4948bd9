"""`ael up`: a whole program with one command, whose processes are kept up and end together."""

from __future__ import annotations

import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ael.cli.main import main

pytestmark = pytest.mark.feature("A17.11")
FILES = {
    "main.ael": "pub node double(number: Int) -> Int { number + number }\n",
    "pack.ael": 'pack desk {\n  version "1.0"\n  uses server/connect\n}\n',
    "deploy.ael": 'runs = sqlite("runs.db")\n',
}
LONG = 60.0


def written(folder: Path, **changed: str) -> Path:
    for name, text in (FILES | {f"{name}.ael": text for name, text in changed.items()}).items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


class Up:
    """`ael up` as a process, and what it says."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.lines: list[str] = []
        self._said: queue.Queue[str] = queue.Queue()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self._said.put(line)
        self._said.put("")

    def until(self, pattern: str) -> re.Match[str]:
        """The first line from here on that has the pattern."""
        end = time.monotonic() + LONG
        while True:
            line = self._said.get(timeout=max(0.1, end - time.monotonic()))
            assert line, "".join(self.lines)
            self.lines.append(line)
            found = re.search(pattern, line)
            if found is not None:
                return found

    def children(self) -> dict[str, int]:
        """The processes by their command."""
        found = {}
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                words = (entry / "cmdline").read_bytes().decode().split("\0")
            except OSError:
                continue
            if parent == self.process.pid:
                found[next(word for word in words if word in ("serve", "worker", "studio"))] = int(entry.name)
        return found


@contextmanager
def up(folder: Path, *words: str) -> Iterator[Up]:
    command = [sys.executable, "-m", "ael", "up", str(folder), "--port", "0", *words]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    one = Up(process)
    try:
        yield one
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        one.reader.join()
        assert process.stderr is not None
        process.stderr.close()


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return Path(f"/proc/{pid}/stat").exists() and Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"


def until_gone(pid: int) -> None:
    end = time.monotonic() + LONG
    while not gone(pid):
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.skipif(sys.platform != "linux", reason="looks at processes as Linux lists them")
def test_a_program_is_up_a_part_that_dies_comes_back_and_all_end_together(tmp_path: Path) -> None:
    with up(written(tmp_path)) as one:
        seen = {one.until(r"^(serve|worker|studio) +\| .*(?:listening on http|working on|/\?token=)")[1] for _ in range(3)}
        assert seen == {"serve", "worker", "studio"}
        before = one.children()
        os.kill(before["worker"], signal.SIGKILL)
        assert one.until(r"^worker +\| ended with the exit code (\S+); started again")[1] == "-9"
        one.until(r"^worker +\| working on")
        after = one.children()
        assert (after["worker"] != before["worker"], after["serve"], after["studio"]) == (True, before["serve"], before["studio"])
        one.process.send_signal(signal.SIGTERM)
        assert one.process.wait(LONG) == 0
        assert all(gone(pid) for pid in after.values())


@pytest.mark.skipif(sys.platform != "linux", reason="looks at processes as Linux lists them")
def test_its_processes_end_with_it_however_it_ends(tmp_path: Path) -> None:
    with up(written(tmp_path), "--no-studio", "--workers", "0") as one:
        one.until("listening on http")
        child = one.children()["serve"]
        one.process.kill()
        until_gone(child)


def test_what_cannot_begin_ends_all_of_it(tmp_path: Path) -> None:
    """A port that is taken is no reason to try for ever."""
    program = written(tmp_path)
    with up(program, "--no-studio", "--workers", "0") as first:
        port = first.until(r"listening on http://127\.0\.0\.1:(\d+)")[1]
        with up(program, "--no-studio", "--port", port) as second:
            assert second.process.wait(LONG) == 2
            second.until(r"^serve +\| cannot begin")


def test_the_plan_follows_from_the_program(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    here = str(written(tmp_path))
    assert main(["up", here, "--plan", "--workers", "2"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"serve      ael serve {here} --connect --host 127.0.0.1 --port 8000",
        f"worker 1   ael worker {here}",
        f"worker 2   ael worker {here}",
        f"studio     ael studio {here} --no-open --port 0",
    ]
    written(tmp_path, pack='pack desk {\n  version "1.0"\n}\n', deploy="runs = memory\n")
    assert main(["up", here, "--plan"]) == 0
    assert capsys.readouterr().out.splitlines() == [f"studio     ael studio {here} --no-open --port 0"]
    blank = tmp_path / "a desk"
    blank.mkdir()
    (blank / "main.ael").write_text("node main() -> Int { 1 }\n", encoding="utf-8")
    assert main(["up", str(blank), "--plan"]) == 0
    assert capsys.readouterr().out == f"studio     ael studio '{blank}' --no-open --port 0\n"
    assert main(["up", here, "--no-studio"]) == 2
    assert "nothing of this program is kept up" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--workers", "65"], "`--workers` is a number from 0 to 64"),
        (["--workers", "-1"], "`--workers` is a number from 0 to 64"),
        (["--studio-port", "70000"], "a port is a number up to 65535"),
        (["--deploy", "none"], "deploy.none.ael"),
    ],
)
def test_bad_words(tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], told: str) -> None:
    assert main(["up", str(written(tmp_path)), *words]) == 2
    assert told in capsys.readouterr().err


def test_a_program_that_does_not_check_is_not_started(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["up", str(written(tmp_path, main="pub node double(number: Int) -> Int { nothing }\n"))]) == 2
    assert "AEL0202" in capsys.readouterr().err
