"""The command line, run in this process: exit code, standard output and standard error."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from ael.cli.main import main
from tests.programs import write

KEYS = (
    *("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENROUTER_API_KEY", "GROQ_API_KEY", "MISTRAL_API_KEY"),
    *("DEEPSEEK_API_KEY", "GEMINI_API_KEY", "VLLM_API_KEY", "LLAMA_API_KEY"),
)


@dataclass
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str


class Ael:
    """`ael(...)` runs the command line in a folder of its own, with no key in the environment and a cache of its own."""

    def __init__(self, folder: Path, capture: pytest.CaptureFixture[str], patch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self._capture = capture
        self._patch = patch

    def write(self, files: Mapping[str, str]) -> None:
        """Write files into the folder."""
        write(self.folder, files)

    def __call__(self, *words: str, stdin: str | bytes = b"") -> Ended:
        self._capture.readouterr()
        data = stdin.encode() if isinstance(stdin, str) else stdin
        self._patch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data), encoding="utf-8"))
        try:
            code = main(words)
        except SystemExit as left:
            code = left.code if isinstance(left.code, int) else 1
        captured = self._capture.readouterr()
        assert "Traceback" not in captured.err + captured.out
        return Ended(code, captured.out, captured.err)


@pytest.fixture
def ael(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Ael:
    """The command line in an empty folder."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("AEL_CACHE", str(tmp_path / "cache"))
    for key in KEYS:
        monkeypatch.delenv(key, raising=False)
    return Ael(folder, capsys, monkeypatch)


def clean_environment(folder: Path) -> dict[str, str]:
    """The environment of a real process: no key, a cache of its own."""
    kept = {name: value for name, value in os.environ.items() if name not in KEYS}
    return {**kept, "AEL_CACHE": str(folder / "cache"), "PYTHONIOENCODING": "utf-8", "TERM": "dumb"}


Run = Callable[..., Ended]
