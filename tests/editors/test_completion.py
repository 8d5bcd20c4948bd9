"""Completion of the `ael` command: what stands at a place comes from the parsers and the program, in real shells."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ael.cli.completing import actions, answer
from ael.cli.main import COMMANDS, main, parser_of
from tests.editors.tools import ROOT, SCRIPTS, environment, system

pytestmark = pytest.mark.feature("C11")

SUPPORT = str(ROOT / "examples" / "support")


def at_end(line: str, shell: str = "fish") -> tuple[str, dict[str, str]]:
    """What can stand at the end of a line, whose words blanks part: the kind, and the candidates with what they mean."""
    words = line.split(" ")
    kind, *found = answer(words, len(words) - 1, shell)
    return kind, dict((*one.split("\t", 1), "")[:2] for one in found)


def test_the_commands_with_what_they_do() -> None:
    assert at_end("ael ") == ("words", COMMANDS)
    assert set(at_end("ael ex")[1]) == {"explain", "explain-access", "export"}
    assert set(at_end("ael --")[1]) == {"--help", "--version"}
    assert at_end("ael nothing ") == ("words", {})


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_and_choice_of_a_command_comes_from_its_parser(command: str) -> None:
    parser = parser_of(command)
    own = {
        option
        for action in parser._actions
        for option in action.option_strings
        if option.startswith("--") and action.help != "==SUPPRESS=="
    }
    assert set(at_end(f"ael {command} --")[1]) == own
    for name, (inner, _) in actions(parser).items():
        assert name in at_end(f"ael {command} ")[1]
        assert {o for a in inner._actions for o in a.option_strings if o.startswith("--")} <= set(
            at_end(f"ael {command} {name} --")[1]
        )
    for action in parser._actions:
        if action.choices is not None and action.option_strings:
            assert set(at_end(f"ael {command} {action.option_strings[-1]} ")[1]) == {str(choice) for choice in action.choices}


def test_names_of_the_program() -> None:
    found = at_end(f"ael run {SUPPORT} ")[1]
    assert found["classify"] == "Sort a ticket into one topic."
    assert "support" in found
    assert list(at_end(f"ael graph {SUPPORT} ")[1]) == ["support"]
    assert at_end(f"ael run {SUPPORT} --deploy ") == ("words", {"real": "deploy.real.ael"})
    assert "--ticket" in at_end(f"ael run {SUPPORT} --")[1]
    assert "--topic" in at_end(f"ael run {SUPPORT} answer --t")[1]
    assert "a refund is booked once" in at_end(f"ael test {SUPPORT} --filter ")[1]
    assert "AEL0203" in at_end("ael explain ael02")[1]


def test_titles_are_the_pattern_of_themselves(tmp_path: Path) -> None:
    (tmp_path / "main.ael").write_text('test "1 + 1 (is) 2" {\n  assert 1 + 1 == 2\n}\n', encoding="utf-8")
    assert list(at_end(f"ael test {tmp_path} --filter ")[1]) == [r"1 \+ 1 \(is\) 2"]


def test_no_name_of_a_program_steers_the_terminal(tmp_path: Path) -> None:
    """K44: what a program says is shown, nothing more."""
    text = 'test "a\\u{1b}[2J" {\n}\ntest "b\\nc" {\n}\ntest "d" {\n}\n/// \x1b[31mRed.\nnode main() -> Int {\n  1\n}\n'
    (tmp_path / "main.ael").write_text(text, encoding="utf-8")
    assert list(at_end(f"ael test {tmp_path} --filter ")[1]) == ["d"]
    assert "\x1b" not in "".join(at_end(f"ael run {tmp_path} ")[1].values())


def test_files_and_folders() -> None:
    assert at_end("ael run ") == ("files", {})
    assert at_end("ael check a.ael b") == ("files", {})
    assert at_end("ael doc --out ") == ("folders", {})


def test_an_option_is_offered_once_and_ends_at_two_dashes() -> None:
    assert "--format" not in at_end("ael graph x --format svg --")[1]
    assert at_end("ael run a.ael -- --fo")[1] == {}
    assert set(at_end("ael graph --format=s")[1]) == {"--format=svg"}
    assert list(answer(["ael", "graph", "--format", "=", "s"], 4, "bash")) == ["words", "svg"]


def test_broken_programs_and_lines_give_no_answer_and_no_trace(tmp_path: Path) -> None:
    (tmp_path / "main.ael").write_bytes(b"node main( {\n\xff\n")
    assert at_end(f"ael run {tmp_path} ")[1] == {}
    assert at_end("ael run /nowhere ")[1] == {}
    assert next(answer(["ael"], 99, "zsh")) == "words"
    assert next(answer(["ael", "runs", "show", ""], -5, "zsh")) == "words"


def test_ids_of_kept_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "main.ael").write_text('node main() -> String {\n  "a"\n}\n', encoding="utf-8")
    (tmp_path / "deploy.ael").write_text('runs = sqlite("runs.db")\n', encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert at_end("ael runs show ") == ("words", {})
    assert main(["run", ".", "--detach", "--run-id", "r-completed"]) == 0
    kind, found = at_end("ael runs show r-")
    assert kind == "words"
    assert list(found) == ["r-completed"]


def test_each_script_is_printed_and_its_shell_is_one_of_three(capsys: pytest.CaptureFixture[str]) -> None:
    for shell in ("bash", "zsh", "fish"):
        assert main(["completion", shell]) == 0
        assert f"completion {shell} --at" in capsys.readouterr().out
    with pytest.raises(SystemExit) as ended:
        main(["completion", "tcsh"])
    assert ended.value.code == 2
    with pytest.raises(SystemExit):
        main(["completion", "--help"])
    assert "--at" not in capsys.readouterr().out


# --- real shells -------------------------------------------------------------------------------------------------------


def shell_says(words: list[str], script: str, folder: Path) -> list[str]:
    """The lines that a script prints, run by a shell in `folder`."""
    done = subprocess.run(
        [*words, script], cwd=folder, env=environment(), capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def bash(line: str, folder: Path) -> list[str]:
    """What bash offers at the end of a line."""
    script = f"""
    eval "$({SCRIPTS}/ael completion bash)"
    eval "COMP_WORDS=({line})"
    COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 ))
    _ael
    printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    return shell_says([system("bash", "completion in bash"), "--norc", "-c"], script, folder)


def test_bash(tmp_path: Path) -> None:
    (tmp_path / "a b.ael").touch()
    (tmp_path / "main.ael").write_text('test "one two" {\n  assert true\n}\n', encoding="utf-8")
    assert bash("ael che", tmp_path) == ["check"]
    assert "lsp" in bash("ael ''", tmp_path)
    assert bash("ael graph --format = m", tmp_path) == ["mermaid"]
    assert sorted(bash("ael check ''", tmp_path)) == ["a b.ael", "main.ael"]
    assert bash("ael test --filter o", tmp_path) == ["one\\ two"]


def test_zsh(tmp_path: Path) -> None:
    zsh = system("zsh", "completion in zsh")
    (tmp_path / "main.ael").write_text('test "one: two" {\n  assert true\n}\n', encoding="utf-8")

    def offered(line: str) -> list[str]:
        script = f"""
        compdef() {{ }}
        _describe() {{ [[ $1 = -V ]] && shift; print -rl -- "${{(@P)2}}" }}
        _files() {{ print -r -- "files $1" }}
        eval "$({SCRIPTS}/ael completion zsh)"
        words=({line}); CURRENT=$#words
        _ael
        """
        return shell_says([zsh, "-f", "-c"], script, tmp_path)

    assert offered("ael che") == [f"check:{COMMANDS['check']}"]
    assert offered("ael check ''") == ["files "]
    assert offered("ael doc --out ''") == ["files -/"]
    assert offered("ael test --filter o") == ["one\\: two"]


def test_fish(tmp_path: Path) -> None:
    fish = system("fish", "completion in fish")
    (tmp_path / "main.ael").write_text('test "one two" {\n  assert true\n}\n', encoding="utf-8")

    def offered(line: str) -> list[str]:
        return shell_says([fish, "--no-config", "-c"], f"{SCRIPTS}/ael completion fish | source; complete -C '{line}'", tmp_path)

    assert offered("ael che") == [f"check\t{COMMANDS['check']}"]
    assert "main.ael" in offered("ael check ")
    assert [line.split("\t")[0] for line in offered("ael test --filter o")] == ["one two"]
