"""`ael studio` on the command line: where it is said, what it refuses, and how it ends."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from tests.cli.conftest import Ael, clean_environment
from tests.cli.conftest import ael as ael
from tests.studio.desk import FILES, MAIN, program


@pytest.mark.feature("B6", "C11")
def test_it_says_where_it_is_and_a_signal_ends_it(tmp_path: Path) -> None:
    folder = program(tmp_path / "desk")
    process = subprocess.Popen(
        [sys.executable, "-m", "ael", "studio", ".", "--no-open"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**clean_environment(tmp_path), "PYTHONPATH": os.getcwd()},
    )  # fmt: skip
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/\?token=[\w-]{43}", address)
        assert found is not None
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(f"http://127.0.0.1:{found[1]}/", timeout=60)
        with urllib.request.urlopen(address, timeout=60) as opened:
            assert "AEL Studio" in opened.read().decode()
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert (process.returncode, out) == (0, "")
    assert "another browser opens http://127.0.0.1" in err
    assert "ael studio: ending; once more ends at once" in err
    assert not (folder / "runs.db").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--port", "70000"], "ael studio: a port is a number up to 65535\n"),
        (["--as", ""], "ael studio: `--as` names who decides\n"),
        (["nothing.ael"], "ael studio: `nothing.ael` is not there\n"),
        (["--store", "nothing.db"], "ael studio: `nothing.db` is no file of runs\n"),
    ],
)
def test_bad_usage_is_one_sentence(ael: Ael, words: list[str], said: str) -> None:
    ael.write(FILES)
    ended = ael("studio", *words, "--no-open")
    assert (ended.code, ended.out, ended.err) == (2, "", said)


def test_runs_in_memory_are_not_found(ael: Ael) -> None:
    ael.write({**FILES, "deploy.ael": 'model fast = scripted("script.json")\nruns = memory\nrole finance = ["ann"]\n'})
    ended = ael("studio", "--no-open")
    assert ended.code == 2
    assert "error[AEL0904]: the deployment keeps runs in memory, where the studio finds none" in ended.err


def test_a_deployment_with_mistakes_is_told(ael: Ael) -> None:
    ael.write({**FILES, "deploy.ael": "runs = sqlit(3)\n"})
    ended = ael("studio", "--no-open")
    assert (ended.code, ended.out) == (2, "")
    assert "error[AEL" in ended.err
    assert ael("studio", "--deploy", "none", "--no-open").code == 2


def test_a_port_that_is_taken_is_told(ael: Ael) -> None:
    ael.write(FILES)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        ended = ael("studio", "--no-open", "--port", str(taken.getsockname()[1]))
    assert ended.code == 2
    assert "error[AEL0873]: cannot listen on 127.0.0.1" in ended.err


def test_a_file_that_is_no_store_is_told(ael: Ael) -> None:
    ael.write({**FILES, "notes.txt": "no database " * 100, "main.ael": MAIN})
    ended = ael("studio", "--no-open", "--store", "notes.txt")
    assert ended.code == 1
    assert "error[AEL0904]" in ended.err
