"""`ael serve` before it serves: what it needs, and that nothing of a server is there without it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ael.cli.main import main
from tests.programs import write
from tests.server.support import opened
from tests.server.test_calls import MAIN


@pytest.mark.feature("A10.1", "A10.2")
def test_without_the_package_in_the_pack_no_server_is_loaded(tmp_path: Path) -> None:
    write(tmp_path, {"main.ael": "pub node main() -> Int {\n  1\n}\n", "pack.ael": 'pack small {\n  version "1"\n}\n'})
    code = (
        "import sys; from ael.cli.main import main\n"
        f"code = main(['serve', {str(tmp_path)!r}, '--mcp'])\n"
        "print(code, sorted(m for m in sys.modules if m.split('.')[0] in ('mcp', 'uvicorn', 'starlette') or m.startswith('ael.server')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "2 []\n"
    assert done.stderr.startswith("error[AEL0870]: this program does not use `server/mcp`, so it is not served\n")
    assert "pack.ael" in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--stdio", "--port", "80"], "`--stdio` has neither a host nor a port"),
        (["--port", "70000"], "a port is a number up to 65535"),
        (["--node", "nope"], "error[AEL0871]: there is no node or agent `nope`"),
        (["--host", "0.0.0.0"], "error[AEL0872]: a server on 0.0.0.0 is open to others, and no caller is named"),
        (["--host", "no such host"], "error[AEL0873]: cannot listen on no such host"),
    ],
)
def test_what_cannot_be_served_is_said(tmp_path: Path, words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    opened(tmp_path, MAIN)
    if words[1] == "no such host":
        write(tmp_path, {"deploy.ael": 'secret T = file("token")\ncaller a = bearer(secret("T"))\n', "token": "t" * 20})
    assert main(["serve", str(tmp_path), "--mcp", *words]) == 2
    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.out == ""


def test_a_program_that_does_not_check_is_not_served(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, {"main.ael": "pub node main() -> Int {\n  nope\n}\n", "pack.ael": "pack p {\n  uses server/mcp\n}\n"})
    assert main(["serve", str(tmp_path), "--mcp"]) == 2
    assert "AEL0202" in capsys.readouterr().err


def test_a_port_that_is_taken_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import socket

    opened(tmp_path, MAIN)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert main(["serve", str(tmp_path), "--mcp", "--port", str(port)]) == 2
    assert f"error[AEL0873]: cannot listen on 127.0.0.1, port {port}: address already in use" in capsys.readouterr().err
