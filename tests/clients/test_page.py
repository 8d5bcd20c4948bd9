"""docs/clients.md: both programs are typed, do what the page prints, and are run as they stand there."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from ael.cli.main import main
from tests.clients.test_typescript import PART, compiled
from tests.embed.serving import served_in_a_thread
from tests.error_pages import _file
from tests.external.node_tools import node
from tests.programs import blocks, open_files

pytestmark = pytest.mark.feature("B22")
PAGE = (Path(__file__).resolve().parents[2] / "docs" / "clients.md").read_text(encoding="utf-8")
TOKEN = "reader-token-of-this-page"


def test_the_page_is_right_as_it_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = list(blocks(PAGE))
    files = dict(_file(block.text) for block in found if block.language == "ael")
    (tmp_path / "script.json").write_text(next(block.text for block in found if block.language == "json"))
    monkeypatch.setenv("READER_TOKEN", TOKEN)
    opened, bag = open_files(tmp_path, files)
    assert opened is not None, bag.sorted()
    for language, name in (("python", "library_client.py"), ("typescript", "library.ts")):
        assert main(["export", language, str(tmp_path)]) == 0
        (tmp_path / name).write_text(capsys.readouterr().out, encoding="utf-8")
    expected = {}
    for block, after in pairwise(found):
        if block.language in ("python", "ts"):
            (tmp_path / f"user.{'py' if block.language == 'python' else 'ts'}").write_text(block.text, encoding="utf-8")
            expected[block.language] = after.text
    assert compiled(tmp_path, "library.ts", "user.ts") == []
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "user.py"],
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert checked.stdout == ""
    commands = {"python": [sys.executable, "user.py"], "ts": [node(PART), "out/user.js"]}
    for language, command in commands.items():
        opened, _ = open_files(tmp_path, files)
        assert opened is not None
        with served_in_a_thread(opened) as url:
            done = subprocess.run(
                [*command, url, TOKEN],
                cwd=tmp_path,
                capture_output=True,
                text=True,
                check=False,
                timeout=100,
                env=dict(os.environ),
            )
        assert (done.stdout.strip(), done.returncode) == (expected[language].strip(), 0), done.stderr
