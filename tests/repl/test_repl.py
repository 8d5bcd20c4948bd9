"""`ael repl`, as it is typed: results on standard output, all else on standard error, on a real terminal and from a pipe."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.conftest import Ael, clean_environment
from tests.cli.terminal import WAIT, Terminal
from tests.repl.test_session import DESK

ASKING = """\
permission orders.refund

/// Give money back. Only when it was paid.
tool refund(id: String) -> String
  needs orders.refund
  repeat never
  approval required
{
  "refunded ${id}"
}

node endless() -> Int {
  var n = 0
  while true up to 1_000_000_000 { n = n + 1 }
  n
}

node add(a: Int, b: Int = 1) -> Int { a + b }
"""


@pytest.mark.feature("C10")
def test_inputs_from_a_pipe(ael: Ael) -> None:
    ended = ael("repl", stdin="let x = 1\nfn f(a: Int) -> Int {\n  a + x\n}\nf(\n  41\n)\nnope\n:type f(1)\n")
    assert (ended.code, ended.out) == (0, "x = 1 : Int\n42 : Int\nInt\n")
    assert "error[AEL0202]: there is no name `nope`\n  --> input 4:1:1" in ended.err
    assert "ael>" not in ended.err


def test_a_long_input_is_read_in_time(ael: Ael) -> None:
    ended = ael("repl", stdin="let x = [\n" + "1,\n" * 4_000 + "]\nx.length()\n")
    assert ended.out.endswith("4000 : Int\n") or "AEL0" in ended.err
    ended = ael("repl", "--strict", stdin="let x = " + "[\n" * 200_000)
    assert (ended.code, ended.out) == (1, "")
    assert "AEL0911" in ended.err


SCRIPTED = {
    "main.ael": "node main() -> Int {\n  1\n}\n",
    "deploy.ael": 'model clerk = scripted("script.json")\n',
    "script.json": "[]",
}


def test_an_empty_session_is_not_bound_by_the_deployment_of_the_folder(ael: Ael) -> None:
    ael.write(SCRIPTED)
    ended = ael("repl", "-e", "1 + 1")
    assert (ended.code, ended.out, ended.err) == (0, "2 : Int\n", "")


def test_a_program_whose_deployment_is_wrong_is_not_taken(ael: Ael) -> None:
    ael.write(SCRIPTED)
    ended = ael("repl", ".", "-e", "1 + 1")
    assert (ended.code, ended.out) == (2, "")
    assert "AEL0810" in ended.err
    ended = ael("repl", "-e", "let x = 1", "-e", ":load main.ael", "-e", "x")
    assert ended.out == "x = 1 : Int\n1 : Int\n", "everything stays as it was"
    assert "AEL0810" in ended.err


def test_strict_ends_at_the_first_that_fails(ael: Ael) -> None:
    ended = ael("repl", "--strict", stdin="1\n1 div 0\n2\n")
    assert (ended.code, ended.out) == (1, "1 : Int\n")
    assert "Arithmetic: division by zero\n  --> input 2:1:" in ended.err
    assert ael("repl", "--strict", stdin=":nope\n").code == 1
    assert ael("repl", "--strict", stdin="let x = [1,\n").code == 1
    assert ael("repl", "--strict", stdin="1\n").code == 0


def test_inputs_of_the_command_line(ael: Ael) -> None:
    ended = ael("repl", "-e", "1 + 1", "-e", "it * 2", "-e", ":quit", "-e", "3")
    assert (ended.code, ended.out) == (0, "2 : Int\n4 : Int\n")


@pytest.mark.parametrize("given", [b"\xff\xfe\n1\n", b"\0\n1\n", b"let x = \xc3\x28\n1\n"])
def test_bytes_that_are_no_text(ael: Ael, given: bytes) -> None:
    ended = ael("repl", stdin=given)
    assert ended.code == 0
    assert ended.err != ""


@pytest.mark.feature("C10")
def test_commands(ael: Ael) -> None:
    ael.write({"main.ael": ASKING, "deploy.eu.ael": "limit concurrent 4\n"})
    ended = ael(
        "repl",
        "main.ael",
        stdin=":run add --a 2 --b 3\n:run add --a x\n:run nope\n:doc refund\n:effects add\n:names\n:help\n:deploy\n",
    )
    assert ended.code == 0
    assert "5 : Int\n" in ended.out
    assert "tool refund(id: String) -> String\n" in ended.out
    assert "Approval: required by a person" in ended.out
    assert "Repeat: never: " in ended.out
    assert "let it : Int" in ended.out
    assert ":reload" in ended.out
    assert ended.out.endswith("the default\n")
    assert "there is no node or agent `nope`" in ended.err
    assert "`--a`" in ended.err or "`a`" in ended.err


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (":nope", "there is no command `:nope`"),
        (":tpye 1", "did you mean `:type`?"),
        (":type", "say of what"),
        (":type let x = 1", "no expression"),
        (":doc nope", "there is no `nope`"),
        (":effects Order", "nothing that can be called"),
        (":load", "say which"),
        (":load nowhere.ael", "AEL0801"),
        (":reload", ""),
        (":run 'a", "cannot be told apart"),
        (":grant nope", "no permission `nope`"),
        (":deploy nope", "there is no deployment `nope`"),
        (":revoke", "say which"),
        (":", "there is no command `:`"),
        (":type 1 +", "AEL0101"),
        (":doc", "say of what"),
        (":effects", "say of what"),
    ],
)
def test_commands_that_cannot_be_done(ael: Ael, line: str, said: str) -> None:
    ael.write(DESK)
    ended = ael("repl", "main.ael", "--strict", "-e", line)
    assert said in ended.err
    assert (ended.code, ended.out) == (1 if said else 0, "")


def test_loading(ael: Ael) -> None:
    ael.write({**DESK, "broken.ael": "fn f() -> Int {"})
    ended = ael(
        "repl",
        "-e",
        "let x = 1",
        "-e",
        ":load main.ael",
        "-e",
        "private_one()",
        "-e",
        ":load broken.ael",
        "-e",
        "private_one()",
        "-e",
        "x",
    )
    assert ended.out == "x = 1 : Int\n1 : Int\n1 : Int\n"
    assert "AEL0007" in ended.err
    assert "there is no name `x`" in ended.err


def test_grants(ael: Ael) -> None:
    ael.write(DESK)
    ended = ael(
        "repl",
        "main.ael",
        "-e",
        'put("a")',
        "-e",
        ":grant",
        "-e",
        ":grant orders.write",
        "-e",
        'put("a")',
        "-e",
        ":revoke all",
        "-e",
        'put("b")',
    )
    assert ended.out == 'none\norders.write\nOrder(id: "a") : Order\nnone\n'
    assert ended.err.count("Denied: ") == 2
    assert "`:grant PERMISSION` (or `--grant`)" in ended.err
    assert ael("repl", "main.ael", "--grant", "all", "-e", 'put("a")').out == 'Order(id: "a") : Order\n'


def test_approvals(ael: Ael) -> None:
    ael.write({"main.ael": ASKING})
    words = ("repl", "main.ael", "--grant", "all", "-e", 'try refund("A")')
    assert "nobody could be asked" in ael(*words).err
    assert ael(*words, "--approve").out == '"refunded A" : String\n'
    assert "ApprovalDenied" in ael(*words, "--deny").err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("repl", "nowhere.ael"), "AEL0801"),
        (("repl", "broken.ael"), "AEL0007"),
        (("repl", "main.ael", "--grant", "nope"), "no permission `nope`"),
        (("repl", "main.ael", "--deploy", "nope"), "there is no deployment `nope`"),
        (("repl", "--approve", "--deny"), "not allowed with"),
    ],
)
def test_bad_usage(ael: Ael, words: tuple[str, ...], said: str) -> None:
    ael.write({**DESK, "broken.ael": "fn f() -> Int {"})
    ended = ael(*words)
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err


def test_help(ael: Ael) -> None:
    ended = ael("repl", "--help")
    assert ended.code == 0
    assert "--grant" in ended.out


# --- on a terminal -------------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "main.ael").write_text(ASKING)
    return tmp_path


@pytest.mark.feature("C10")
def test_a_terminal_asks_for_more_and_for_approval(folder: Path) -> None:
    with Terminal(["repl", "main.ael", "--grant", "all"], folder) as terminal:
        terminal.until("ael> ")
        terminal.type("let x = [1,")
        terminal.until("...  ")
        terminal.type("2]")
        terminal.until("...  ")
        terminal.seen = ""
        terminal.until("ael> ")
        terminal.type('try refund("A")')
        terminal.until("run it?")
        terminal.type("y")
        terminal.seen = ""
        terminal.until("ael> ")
        os.write(terminal._near, b"\x04")
        code, out = terminal.end()
    assert (code, out) == (0, 'x = [1, 2] : List<Int>(min: 2, max: 2)\n"refunded A" : String\n')


@pytest.mark.feature("C10")
def test_an_interrupt_cancels_the_evaluation_and_not_the_session(folder: Path) -> None:
    with Terminal(["repl", "main.ael"], folder) as terminal:
        terminal.until("ael> ")
        terminal.type("endless()")
        _computing(terminal)
        terminal.signal(signal.SIGINT)
        while "cancelling" not in terminal.seen and "interrupted" not in terminal.seen:
            assert terminal._read(WAIT), terminal.seen
        terminal.seen = re.split("cancelling|interrupted", terminal.seen, maxsplit=1)[1]
        terminal.until("ael> ")
        terminal.type("1 + 1")
        terminal.type(":quit")
        code, out = terminal.end()
    assert (code, out) == (0, "2 : Int\n")


def _computing(terminal: Terminal) -> None:
    """Until the process has worked for longer than reading and checking a line takes: a signal before that is one at the prompt."""
    stat = Path(f"/proc/{terminal.process.pid}/stat")

    def used() -> int:
        return sum(map(int, stat.read_text().rpartition(")")[2].split()[11:13]))

    if not stat.exists():
        time.sleep(5)
        return
    before, end = used(), time.monotonic() + WAIT
    while used() < before + 200:
        assert time.monotonic() < end, "it does not compute"
        time.sleep(0.05)


class Whole(Terminal):
    """A terminal for all three streams, so that lines are edited."""

    def __init__(self, words: list[str], folder: Path) -> None:
        import pty

        self._near, far = pty.openpty()
        self.seen = ""
        environment = {**clean_environment(folder), "AEL_HISTORY": str(folder / "history"), "TERM": "dumb"}
        command = [sys.executable, "-m", "ael", *words]
        self.process = subprocess.Popen(  # type: ignore[assignment]
            command, cwd=folder, env=environment, stdin=far, stderr=far, stdout=far, start_new_session=True
        )
        os.close(far)

    def keys(self, text: str) -> None:
        os.write(self._near, text.encode())


@pytest.mark.feature("C10")
def test_lines_are_edited_completed_and_remembered(folder: Path) -> None:
    pytest.importorskip("readline", reason="the system has no readline")
    with Whole(["repl", "main.ael"], folder) as terminal:
        terminal.until("ael> ")
        terminal.keys("let abc = 6\n")
        terminal.until("abc = 6 : Int")
        terminal.keys("ab\t * 7\n")
        terminal.until("42 : Int")
        terminal.keys("\x1b[A\x1b[D\x1b[D\x08\x089\n")  # the last line again, with another number
        terminal.keys(":quit\n")
        assert terminal.process.wait(30) == 0
    assert (folder / "history").read_text().splitlines()[:2] == ["let abc = 6", "abc * 7"]
    assert (folder / "history").stat().st_mode & 0o077 == 0
    with Whole(["repl", "--no-history"], folder) as terminal:
        terminal.until("ael> ")
        terminal.keys("\x03")
        terminal.keys("secret_thing\n")
        terminal.until("AEL0202")
        terminal.seen = terminal.seen.rpartition("AEL0202")[2]
        terminal.until("ael> ")
        terminal.keys("\x04")
        assert terminal.process.wait(30) == 0
    assert "secret_thing" not in (folder / "history").read_text()
