"""`ael mcp call`: one tool by hand."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.conftest import Ael, clean_environment
from tests.cli.mcp_desk import ODD, READ, STATE, WRITE, desk
from tests.cli.terminal import Terminal
from tests.programs import write

FILE = '{"path": "a.txt"}'
BOTH = '{"path": "a.txt", "content": "x"}'


def answering(tool: str, answer: object) -> dict[str, str]:
    """The desk, whose server answers a call of `tool` with `answer`."""
    return desk(answers={**STATE["answers"], tool: answer})


def calls(folder: Path) -> list[dict[str, object]]:
    """The parameters of the calls that the server got."""
    lines = (folder / "requests.log").read_text().splitlines()
    return [message["params"] for line in lines if (message := json.loads(line)).get("method") == "tools/call"]


@pytest.mark.feature("A9.2")
@pytest.mark.parametrize("name", ["files.read_file", "main.files.read_file"])
def test_a_call_before_anything_is_pinned(ael: Ael, name: str) -> None:
    ael.write(desk(log="requests.log"))
    ended = ael("mcp", "call", name, FILE)
    assert (ended.code, ended.out, ended.err) == (0, '{\n  "content": "hello"\n}\n', "")
    [sent] = calls(ael.folder)
    assert (sent["name"], sent["arguments"]) == ("read_file", {"path": "a.txt"})
    assert len(sent["_meta"]["idempotencyKey"]) == 32


def test_arguments_from_standard_input_and_none(ael: Ael) -> None:
    ael.write(desk(tools=[{"name": "read_file", "inputSchema": {"type": "object"}}, WRITE]))
    assert ael("mcp", "call", "files.read_file").code == 0
    assert ael("mcp", "call", "files.read_file", "-", stdin="{}").code == 0
    ael.write({f"desk/{name}": text for name, text in desk().items()})
    assert ael("mcp", "call", "files.read_file", FILE, "desk/").code == 0
    assert ael("mcp", "call", "files.read_file", "-", "desk", stdin=FILE).code == 0


@pytest.mark.feature("A9.3")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("{}", "path"),
        ('{"path": 1}', "path"),
        ('{"path": "a", "head": 0}', "head"),
        ('{"path": "a", "tail": 1}', "tail"),
        ('{"path": "a", "path": "b"}', "path"),
        ('{"path": NaN}', "the arguments are no JSON"),
        ("[]", "the arguments are an object"),
        ("path=a", "the arguments are no JSON"),
        ('{"path": "a", "head": "\\u001b[2J\u202e"}', "head"),
        ('{"path": "a", "\u202e": 1}', "202e"),
    ],
)
def test_arguments_that_do_not_fit_are_never_sent(ael: Ael, arguments: str, said: str) -> None:
    ael.write(desk(log="requests.log"))
    ended = ael("mcp", "call", "files.read_file", arguments)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("error[AEL0865]: ")
    assert said in ended.err
    assert not {c for c in ended.err if c != "\n" and not c.isprintable()}
    assert not (ael.folder / "requests.log").exists() or calls(ael.folder) == []


def test_a_tool_that_is_not_there(ael: Ael) -> None:
    ael.write(desk())
    wrong = ael("mcp", "call", "files.read_flie", FILE)
    assert (wrong.code, wrong.out) == (2, "")
    assert wrong.err == ("error[AEL0864]: `files` has no tool `read_flie`\n  = it lists `read_file`, `write-file`, `odd`\n")
    assert "has no exact type, so it is not called" in ael("mcp", "call", "files.odd", "{}").err
    assert "AEL0860" in ael("mcp", "call", "nothing.read_file", FILE).err
    assert "AEL0864" in ael("mcp", "call", "files", FILE).err
    assert "AEL0864" in ael("mcp", "call", "files.", FILE).err


@pytest.mark.feature("A9.6")
def test_what_is_not_declared_idempotent_needs_a_yes(ael: Ael) -> None:
    """The server's hints count for nothing."""
    hinted = {**WRITE, "annotations": {"readOnlyHint": True, "idempotentHint": True}}
    ael.write(desk(tools=[READ, hinted, {**READ, "name": "other"}], log="requests.log"))
    for name, arguments in (("files.write_file", BOTH), ("files.write-file", BOTH), ("files.other", FILE)):
        ended = ael("mcp", "call", name, arguments)
        assert (ended.code, ended.out) == (2, "")
        assert ended.err.startswith("error[AEL0866]: ")
        assert "--yes" in ended.err
    assert calls(ael.folder) == []
    ended = ael("mcp", "call", "files.write_file", BOTH, "--yes")
    assert (ended.code, ended.out) == (0, '"written"\n')
    assert [call["name"] for call in calls(ael.folder)] == ["write-file"]


@pytest.mark.feature("A9.5")
def test_a_changed_definition_is_not_called(ael: Ael) -> None:
    ael.write(desk(log="requests.log"))
    assert ael("mcp", "pin").code == 0
    ael.write(desk(tools=[{**READ, "description": "Read a file!"}, WRITE], log="requests.log"))
    ended = ael("mcp", "call", "files.read_file", FILE)
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith(
        "error[AEL0863]: `files.read_file` is not as it was pinned, so it is not called\n    description:\n"
    )
    assert calls(ael.folder) == []
    assert ael("mcp", "call", "files.write_file", BOTH, "--yes").code == 0


@pytest.mark.feature("A9.8")
@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (
            {"isError": True, "content": [{"type": "text", "text": "no such file\x1b[2J"}]},
            "error[AEL0902]: ToolFailed: files.read_file failed, its server says: no such file\\u{1B}[2J\n",
        ),
        ({"content": [], "structuredContent": {"content": 7}}, "error[AEL0902]: Malformed: "),
        ({"content": [{"type": "text", "text": "hello"}]}, "error[AEL0902]: Malformed: "),
        ({"content": 7}, "error[AEL0902]: Malformed: "),
        ({"error": {"code": -32000, "message": "\u202eno"}}, "error[AEL0902]: "),
        ("die", "error[AEL0902]: Disconnected: "),
    ],
)
def test_endings_that_are_no_value(ael: Ael, answer: object, said: str) -> None:
    ael.write(answering("read_file", answer))
    ended = ael("mcp", "call", "files.read_file", FILE)
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith(said)
    assert not {c for c in ended.err if c != "\n" and not c.isprintable()}
    whole = ael("mcp", "call", "files.read_file", FILE, "--json")
    assert whole.code == 1
    assert json.loads(whole.out)["outcome"] == "fault"


@pytest.mark.feature("A9.8")
@pytest.mark.parametrize("answer", ["die", {"content": 7}])
def test_a_lost_answer_of_something_that_may_act_is_uncertain(ael: Ael, answer: object) -> None:
    ael.write(answering("write-file", answer))
    ended = ael("mcp", "call", "files.write_file", BOTH, "--yes")
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith("error[AEL0903]: files.write-file may or may not have taken effect (key ")
    assert json.loads(ael("mcp", "call", "files.write_file", BOTH, "--yes", "--json").out)["outcome"] == "uncertain"


def test_the_servers_own_error_is_no_uncertainty(ael: Ael) -> None:
    ael.write(answering("write-file", {"isError": True, "content": [{"type": "text", "text": "disk full"}]}))
    ended = ael("mcp", "call", "files.write_file", BOTH, "--yes")
    assert (ended.code, ended.err) == (1, "error[AEL0902]: ToolFailed: files.write-file failed, its server says: disk full\n")


@pytest.mark.feature("A9.8")
def test_a_server_that_hangs_ends_in_time(ael: Ael) -> None:
    ael.write(answering("read_file", "hang"))
    deploy = (ael.folder / "deploy.ael").read_text().replace('"state.json")', '"state.json", timeout: 300ms)')
    ael.write({"deploy.ael": deploy})
    ended = ael("mcp", "call", "files.read_file", FILE)
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith("error[AEL0902]: Timeout: ")


def test_text_with_other_content_is_marked(ael: Ael) -> None:
    content = [{"type": "text", "text": "one"}, {"type": "image", "data": "AAAA", "mimeType": "image/png"}]
    ael.write(answering("write-file", {"content": content}))
    ended = ael("mcp", "call", "files.write_file", BOTH, "--yes")
    assert (ended.code, json.loads(ended.out)) == (0, "one\n[image image/png, 3 bytes]")


def test_the_result_is_json_that_cannot_steer_the_terminal(ael: Ael) -> None:
    ael.write(answering("write-file", {"content": [{"type": "text", "text": "\x1b[2J\u202e\u009b1m ü"}]}))
    ended = ael("mcp", "call", "files.write_file", BOTH, "--yes")
    assert json.loads(ended.out) == "\x1b[2J\u202e\u009b1m ü"
    assert not {c for c in ended.out if c != "\n" and not c.isprintable()}


def test_an_interrupted_call_ends_with_130_and_leaves_no_process(tmp_path: Path) -> None:
    """Of a real process: Ctrl-C during a call."""
    for name, text in answering("write-file", "hang").items():
        (tmp_path / name).write_text(text)
    state = json.loads((tmp_path / "state.json").read_text())
    (tmp_path / "state.json").write_text(json.dumps({**state, "log": "requests.log"}))
    started = subprocess.Popen(
        [sys.executable, "-m", "ael", "mcp", "call", "files.write_file", BOTH, "--yes"],
        cwd=tmp_path, env=clean_environment(tmp_path), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    log = tmp_path / "requests.log"
    while not (log.exists() and "tools/call" in log.read_text()):
        assert started.poll() is None
        time.sleep(0.02)
    children = [int(pid) for pid in Path(f"/proc/{started.pid}/task/{started.pid}/children").read_text().split()]
    started.send_signal(signal.SIGINT)
    out, err = started.communicate(timeout=30)
    assert (started.returncode, out) == (130, "")
    assert "files.write-file was interrupted: it may or may not have taken effect" in err
    assert "Traceback" not in err
    assert children
    for pid in children:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


ASKED = {
    "message": "Overwrite?\x1b[2J\nIt is \u202eold.",
    "requestedSchema": {
        "type": "object",
        "properties": {
            "sure": {"type": "boolean", "description": "really"},
            "why": {"type": "string"},
            "how": {"type": "string", "enum": ["soft", "hard"]},
        },
        "required": ["sure"],
    },
}


def asking(folder: Path, *, allowed: bool = True) -> None:
    """Write the desk, whose server asks something in a call of `write-file`."""
    write(folder, desk(ask=ASKED))
    if allowed:
        deploy = (folder / "deploy.ael").read_text().replace('"state.json")', '"state.json", elicitation: true)')
        write(folder, {"deploy.ael": deploy})


def test_a_question_of_the_server_is_answered_on_the_terminal(tmp_path: Path) -> None:
    asking(tmp_path)
    with Terminal(["mcp", "call", "files.write_file", BOTH], tmp_path) as terminal:
        terminal.until("call it? [y]es, [n]o: ")
        terminal.type("y")
        seen = terminal.until("answer it? [y]es, [n]o: ")
        assert "the server of files.write_file asks, in its own words:" in seen
        assert "  | Overwrite?\\u{1B}[2J" in seen
        assert "  | It is \\u{202E}old." in seen
        terminal.type("yes")
        terminal.until("sure (boolean; really): ")
        terminal.type("true")
        terminal.until("why (string, may be left empty): ")
        terminal.type("")
        terminal.until("how (soft | hard, may be left empty): ")
        terminal.type("soft")
        code, out = terminal.end()
    assert (code, json.loads(json.loads(out))) == (0, {"action": "accept", "content": {"how": "soft", "sure": True}})


def test_an_answer_that_does_not_fit_is_not_sent(tmp_path: Path) -> None:
    asking(tmp_path)
    with Terminal(["mcp", "call", "files.write_file", BOTH, "--yes"], tmp_path) as terminal:
        terminal.until("answer it? ")
        terminal.type("y")
        for field, typed in (("sure", "perhaps"), ("why", ""), ("how", "")):
            terminal.until(f"{field} (")
            terminal.type(typed)
        code, out = terminal.end()
        assert "not sent: the answer does not fit what was asked for" in terminal.seen
    assert (code, json.loads(json.loads(out))["action"]) == (0, "decline")


def test_no_is_no(tmp_path: Path) -> None:
    asking(tmp_path)
    with Terminal(["mcp", "call", "files.write_file", BOTH, "--yes"], tmp_path) as terminal:
        terminal.until("answer it? ")
        terminal.type("n")
        code, out = terminal.end()
    assert (code, json.loads(json.loads(out))) == (0, {"action": "decline"})


def test_a_question_in_a_run_is_answered_on_the_terminal(tmp_path: Path) -> None:
    asking(tmp_path)
    with Terminal(["mcp", "pin"], tmp_path) as terminal:
        assert terminal.end()[0] == 0
    with Terminal(["run", ".", "put", "-q", "--", "--path", "a.txt", "--content", "x"], tmp_path) as terminal:
        terminal.until("asks, in its own words:")
        terminal.until("answer it? ")
        terminal.type("y")
        for field, typed in (("sure", "true"), ("why", "because"), ("how", "")):
            terminal.until(f"{field} (")
            terminal.type(typed)
        code, out = terminal.end()
    assert (code, json.loads(json.loads(out))["content"]) == (0, {"sure": True, "why": "because"})


@pytest.mark.parametrize("words", [["call", "files.write_file", BOTH], ["pin"]])
def test_one_ctrl_c_at_a_question_is_enough(tmp_path: Path, words: list[str]) -> None:
    write(tmp_path, desk())
    with Terminal(["mcp", "pin"], tmp_path) as terminal:
        assert terminal.end()[0] == 0
    write(tmp_path, desk(tools=[{**READ, "title": "x"}, WRITE]))
    with Terminal(["mcp", *words], tmp_path) as terminal:
        terminal.until("[y]es, [n]o: ")
        terminal.signal(signal.SIGINT)
        assert terminal.end()[0] == 130
        assert "Traceback" not in terminal.seen


def test_a_no_at_the_terminal_calls_nothing(tmp_path: Path) -> None:
    write(tmp_path, desk(log="requests.log"))
    with Terminal(["mcp", "call", "files.write_file", BOTH], tmp_path) as terminal:
        terminal.until("files.write-file may change something:")
        terminal.until("call it? ")
        terminal.type("n")
        code, out = terminal.end()
    assert (code, out) == (1, "")
    assert calls(tmp_path) == []


@pytest.mark.parametrize("allowed", [True, False])
@pytest.mark.parametrize("words", [["list"], ["pin"], ["call", "files.write_file", BOTH, "--yes"]])
def test_a_server_is_told_what_a_run_tells_it(ael: Ael, words: list[str], allowed: bool) -> None:
    """Whoever is there to answer: some servers list other tools for a client that can be asked, and those are what a run finds."""
    asking(ael.folder, allowed=allowed)
    ael.write({"state.json": json.dumps({**STATE, "log": "requests.log"})})
    assert ael("mcp", *words).code == 0
    hello = next(line for line in (ael.folder / "requests.log").read_text().splitlines() if '"initialize"' in line)
    assert ("elicitation" in json.loads(hello)["params"]["capabilities"]) is allowed


def test_without_a_terminal_a_question_is_answered_by_nobody(ael: Ael) -> None:
    asking(ael.folder, allowed=True)
    ended = ael("mcp", "call", "files.write_file", BOTH, "--yes")
    assert (ended.code, json.loads(json.loads(ended.out))) == (0, {"action": "cancel"})
    assert "the server of files.write_file asks a question, and this is no terminal: nobody answers it" in ended.err


def test_a_pin_is_agreed_to_on_the_terminal(tmp_path: Path) -> None:
    write(tmp_path, desk())
    with Terminal(["mcp", "pin"], tmp_path) as terminal:
        assert terminal.end()[0] == 0
    write(tmp_path, desk(tools=[{**READ, "description": "Read a file!"}, WRITE]))
    before = (tmp_path / "ael.lock").read_bytes()
    with Terminal(["mcp", "pin"], tmp_path) as terminal:
        terminal.until("pin it as it is now? ")
        terminal.type("no")
        code, out = terminal.end()
    assert code == 1
    assert "  description:\n    - Read a file.\n" in out
    assert (tmp_path / "ael.lock").read_bytes() == before
    with Terminal(["mcp", "pin"], tmp_path) as terminal:
        terminal.until("pin it as it is now? ")
        terminal.type("y")
        assert terminal.end()[0] == 0
    assert "Read a file!" in (tmp_path / "ael.lock").read_text()


def test_a_secret_that_the_server_says_again_is_masked(ael: Ael, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fault kind K41."""
    token = "tok-0123456789abcdef"
    monkeypatch.setenv("DESK_TOKEN", token)
    failing = {"isError": True, "content": [{"type": "text", "text": f"bad token {token}"}]}
    said = {"content": [{"type": "text", "text": f"your token is {token}"}]}
    ael.write(
        desk(
            tools=[{**READ, "description": f"Uses {token}."}, WRITE],
            answers={"read_file": failing, "write-file": said},
        )
    )
    deploy = (ael.folder / "deploy.ael").read_text().replace('"state.json")', '"state.json", env: ["T": secret("T")])')
    ael.write({"deploy.ael": deploy + 'secret T = env("DESK_TOKEN")\n'})
    calls_ = (["call", "files.read_file", FILE], ["call", "files.write_file", BOTH, "--yes"])
    for words in (["list"], ["list", "--format", "json"], ["diff"], ["reconnect"], *calls_):
        ended = ael("mcp", *words)
        assert token not in ended.out + ended.err
    assert "your token is ***" in ended.out


def test_odd_tools_are_refused_alone(ael: Ael) -> None:
    ael.write(desk(tools=[ODD, READ, WRITE]))
    assert ael("mcp", "call", "files.read_file", FILE).code == 0


def test_the_lines_of_a_failure_stay_and_pass_for_nothing_else(ael: Ael, monkeypatch: pytest.MonkeyPatch) -> None:
    """K41 too: a secret at the edge of what is shown is masked before that is cut."""
    token = "tok-0123456789abcdef"
    monkeypatch.setenv("DESK_TOKEN", token)
    said = "no such file\nerror[AEL0000]: forged\x1b[2J\n" + "x" * 1_950 + token
    ael.write(answering("read_file", {"isError": True, "content": [{"type": "text", "text": said}]}))
    deploy = (ael.folder / "deploy.ael").read_text().replace('"state.json")', '"state.json", env: ["T": secret("T")])')
    ael.write({"deploy.ael": deploy + 'secret T = env("DESK_TOKEN")\n'})
    ended = ael("mcp", "call", "files.read_file", FILE)
    assert ended.code == 1
    shown = ended.err.splitlines()
    assert shown[0] == "error[AEL0902]: ToolFailed: files.read_file failed, its server says: no such file"
    assert shown[1] == "  | error[AEL0000]: forged\\u{1B}[2J"
    assert "tok-" not in ended.err
