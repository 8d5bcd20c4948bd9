"""What a command gets of the environment: named variables, none of AEL's. A secret that AEL has is nowhere to be found (K41)."""

from __future__ import annotations

import os

import pytest

from ael.natives.sandbox import NotStarted
from tests.sandbox.box import SECRET, Box

pytestmark = pytest.mark.feature("A15.4", "K41")


def test_a_command_without_walls_has_an_empty_home_that_goes_with_it(box: Box) -> None:
    """In the workspace a `.gitconfig` would be read, which may name programs; in the user's own home there are secrets."""
    home = box.says("import os; print(os.environ['HOME'], os.listdir(os.environ['HOME']))", sandboxed=False)
    path, listed = home.split(" ", 1)
    assert listed.strip() == "[]"
    assert not path.startswith(str(box.root))
    assert not os.path.exists(path)


@pytest.mark.parametrize("sandboxed", [True, False])
def test_the_environment_is_clean(box: Box, monkeypatch: pytest.MonkeyPatch, sandboxed: bool) -> None:
    monkeypatch.setenv("API_TOKEN", SECRET)
    monkeypatch.setenv("LD_PRELOAD_FAKE", SECRET)
    told = box.says("import os; print(sorted(os.environ)); print(os.environ.values())", env={"CI": "1"}, sandboxed=sandboxed)
    names = set(eval(told.splitlines()[0]))
    assert names - {"TMPDIR"} == {"CI", "HOME", "LANG", "LC_CTYPE", "LOGNAME", "NO_COLOR", "PATH", "TERM", "USER"} - (
        {"LC_CTYPE"} if "LC_CTYPE" not in names else set()
    )
    assert SECRET not in told


def test_a_secret_of_the_parent_is_in_no_process(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not in the environment of a process, not in its arguments, not in its memory as far as it can be read."""
    monkeypatch.setenv("API_TOKEN", SECRET)
    told = box.says(
        """
        import os
        for pid in [n for n in os.listdir("/proc") if n.isdigit()] + ["self", "thread-self", os.environ.get("X", "")]:
            for name in ("environ", "cmdline", "maps", "stack", "auxv"):
                try:
                    print(open(f"/proc/{pid}/{name}", "rb").read())
                except OSError:
                    pass
        """,
        env={"X": str(os.getpid())},
    )
    assert SECRET not in told


def test_a_variable_may_be_given_and_goes_before(box: Box) -> None:
    told = box.says("import os; print(os.environ['LANG'], os.environ['MINE'])", env={"LANG": "C", "MINE": "a b\n"})
    assert told == "C a b"


@pytest.mark.parametrize("env", [{"A": "x\0y"}, {"A=B": "x"}, {"A\0": "x"}])
def test_a_variable_that_is_none_is_refused(box: Box, env: dict[str, str]) -> None:
    with pytest.raises(NotStarted, match="variable"):
        box.py("print(1)", env=env)


def test_arguments_arrive_as_they_are(box: Box) -> None:
    """Nothing takes them apart: no shell, no pattern, no variable."""
    words = ["", " ", "a b", "'", '"', "$HOME", "`id`", "$(id)", "*", "; id", "--", "-x", "\n", "ü€😀", "\\", "a" * 30_000]
    assert eval(box.says("import sys; print(ascii(sys.argv[1:]))", *words, output=200_000)) == words


def test_an_argument_that_runs_something_else_is_behind_the_same_walls(box: Box) -> None:
    """Many programs start others when an argument says so: the list of commands is no wall, the sandbox is."""
    (box.root / "a").write_text("")
    steal = f"cat ../{box.outside.name} {box.outside} /etc/shadow; echo ran"
    for words in (
        ["/usr/bin/env", "-S", f"sh -c '{steal}'"],
        ["/usr/bin/find", ".", "-name", "a", "-exec", "sh", "-c", steal, ";"],
        ["/usr/bin/xargs", "-I", "{}", "sh", "-c", steal],
        ["/bin/sh", "-c", f"exec /bin/sh -c '{steal}'"],
    ):
        done = box.run(*words, stdin=b"x\n")
        assert "ran" in done.stdout
        assert SECRET not in done.stdout + done.stderr
        assert "root:" not in done.stdout


def test_arguments_that_cannot_be_are_refused(box: Box) -> None:
    with pytest.raises(NotStarted, match="zero byte"):
        box.py("print(1)", "a\0b")
    with pytest.raises(NotStarted, match="too long"):
        box.py("print(1)", "a" * 200_000)
