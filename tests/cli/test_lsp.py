"""`ael lsp` on the command line; what it serves is tested in `tests/lsp`."""

from __future__ import annotations

import socket

import pytest

from ael.cli.main import main


def code(*words: str) -> int:
    """The exit code of `ael lsp`."""
    try:
        return main(["lsp", *words])
    except SystemExit as ended:
        return int(ended.code or 0)


def test_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert code("--help") == 0
    assert "--tcp" in capsys.readouterr().out


@pytest.mark.parametrize("port", ["-1", "65536", "http", ""])
def test_what_is_no_port(port: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert code(f"--tcp={port}") == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert f"`{port}` is no port: a number from 0 to 65535" in said.err


def test_two_ways_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert code("--stdio", "--tcp", "0") == 2
    assert capsys.readouterr().err == "ael lsp: `--stdio` and `--tcp` are two ways; give one\n"


def test_a_port_that_is_taken(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert code("--tcp", str(port)) == 2
    assert capsys.readouterr().err.startswith(f"ael lsp: port {port} cannot be listened on: ")


def test_without_its_package(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("ael.cli.lsp.find_spec", lambda name: None)
    assert code() == 2
    assert "pip install 'ael-lang[lsp]'" in capsys.readouterr().err
