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


def test_odd_tools_are_refused_alone(ael: Ael) -> None:
    ael.write(desk(tools=[ODD, READ, WRITE]))
    assert ael("mcp", "call", "files.read_file", FILE).code == 0
