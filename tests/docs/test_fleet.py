"""The commands of the fleet in the page of operations, run in their order in a copy of the example."""

from __future__ import annotations

import re
import shlex
import shutil
import signal
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.cli.conftest import clean_environment
from tests.ports import free_port
from tests.programs import blocks

ROOT = Path(__file__).resolve().parents[2]
LONG = 300
"""Seconds for one command."""


@contextmanager
def kept(words: list[str], folder: Path, environment: dict[str, str], says: str) -> Iterator[None]:
    """A process that stays until the block ends; it ends in order when it is told to."""
    with subprocess.Popen(
        words, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        try:
            said = []
            while says not in (line := process.stdout.readline()):
                assert line, said
                said.append(line)
            yield
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=LONG)
    assert process.returncode == 0


@pytest.mark.timeout(900)
@pytest.mark.feature("A11.1", "A11.2")
def test_the_commands_of_a_fleet(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    section = text[text.index("## A fleet of machines") : text.index("## Upgrades")]
    ports = {port: str(free_port()) for port in ("28443", "25051")}
    folder = tmp_path / "support-fleet"
    left = shutil.ignore_patterns("*.db", "*.db-*", "__pycache__", "out", "certs", ".ael")
    shutil.copytree(ROOT / "examples" / "support-fleet", folder, ignore=left)
    for file in folder.glob("deploy.*.ael"):
        file.write_text(_moved(file.read_text(encoding="utf-8"), ports), encoding="utf-8")
    lines = [line for block in blocks(section) if block.language == "sh" for line in block.text.splitlines()]
    [token, certificates, *rest] = [_words(_moved(line, ports)) for line in lines]
    environment = clean_environment(tmp_path)
    environment["DESK_TOKEN"] = subprocess.run(token, capture_output=True, text=True, check=True).stdout.strip()
    subprocess.run(certificates, cwd=folder, check=True)
    stay = [words for words in rest if words[3:4] in (["serve"], ["worker"])]
    assert [words[3] for words in stay] == ["serve", "worker"]
    before = rest[: rest.index(stay[0])]
    after = rest[rest.index(stay[1]) + 1 :]
    assert len(before) == len(after) == 3
    for words in before:
        _done(words, folder, environment)
    with kept(stay[0], folder, environment, "listening on"), kept(stay[1], folder, environment, "working on"):
        for words in after:
            _done(words, folder, environment)


def test_the_unit_of_the_page_starts_what_the_page_says() -> None:
    """Its command is that of the commands below it, but for the address."""
    text = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    unit = re.search(r"^ExecStart=\S+/(ael serve .*)$", text, re.MULTILINE)
    assert unit is not None
    assert unit[1].replace(" --host 0.0.0.0", "") in text[unit.end() :].splitlines()


def _moved(text: str, ports: dict[str, str]) -> str:
    for port, free in ports.items():
        text = text.replace(port, free)
    return text


def _words(line: str) -> list[str]:
    words = shlex.split(line)
    own = {"ael": [sys.executable, "-m", "ael"], "python3": [sys.executable]}
    return [*own.get(words[0], words[:1]), *words[1:]]


def _done(words: list[str], folder: Path, environment: dict[str, str]) -> None:
    if words[0] == "curl":
        # Not every machine has it; what it asks for is asked for.
        assert words[1] == "--cacert"
        with urlopen(words[3], context=ssl.create_default_context(cafile=str(folder / words[2])), timeout=LONG) as answer:
            assert answer.status == 200
        return
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, timeout=LONG)
    assert done.returncode == 0, (words, done.stderr)
