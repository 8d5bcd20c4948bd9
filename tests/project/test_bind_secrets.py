"""A key that somebody wrote into a deployment is refused, and no message prints it."""

from __future__ import annotations

from pathlib import Path

import pytest

from ael.cli.main import main

MAIN = 'model fast {\n  provider openai\n  name "gpt-5-mini"\n}\n\nnode main() -> Int {\n  1\n}\n'


@pytest.mark.parametrize("form", ["text", "json", "sarif", "github"])
def test_a_key_in_a_file_is_not_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "main.ael").write_text(MAIN)
    (tmp_path / "deploy.ael").write_text('model fast = openai("gpt-5-mini", key: "sk-planted-0815")\n')
    assert main(["check", ".", "--format", form]) == 2
    printed = capsys.readouterr()
    assert "AEL0815" in printed.out + printed.err
    assert "planted" not in printed.out + printed.err
