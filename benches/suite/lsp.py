"""The language server: from a keystroke in a file of 2,000 lines to the answer of the new version, beside a fresh check of the file.

Wall clock, as a person waits for it: the editor's message goes over the pipes of a real `ael lsp`, and what is measured ends with the
diagnostics, the hover or the completion of that version. A line is typed character by character into bodies all over the file.
"""

from __future__ import annotations

import json
import queue
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benches.harness import Goal, Row, clean_environment, row
from benches.programs import ael_file

LINES = 2_000
GOAL_MS = 50.0
GOAL: Goal = ("<=", 1)
TYPED = "  let found = 1 + 2\n"
AEL = (sys.executable, "-c", "import sys; from ael.cli.main import main; sys.exit(main())")


class Editor:
    """One connection to `ael lsp`."""

    def __init__(self, file: Path) -> None:
        self.uri = file.as_uri()
        self.version = 1
        self.process = subprocess.Popen(
            (*AEL, "lsp"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=clean_environment({})
        )
        self._messages: queue.Queue[Any] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()
        self.request("initialize", {"processId": None, "rootUri": None, "capabilities": {}})
        self.send({"method": "initialized", "params": {}})
        document = {"uri": self.uri, "languageId": "ael", "version": 1, "text": file.read_text(encoding="utf-8")}
        self.send({"method": "textDocument/didOpen", "params": {"textDocument": document}})
        self.diagnostics()

    def _listen(self) -> None:
        out = self.process.stdout
        assert out is not None
        while header := out.readline():
            length = 0
            while header.strip():
                name, _, value = header.partition(b":")
                length = int(value) if name.lower() == b"content-length" else length
                header = out.readline()
            self._messages.put(json.loads(out.read(length)))

    def send(self, message: dict[str, Any]) -> None:
        """Send a message."""
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def request(self, method: str, params: Any) -> Any:
        """Ask, and wait for the answer."""
        self.send({"id": method, "method": method, "params": params})
        while (message := self._messages.get(timeout=60)).get("id") != method:
            continue
        return message["result"]

    def diagnostics(self) -> None:
        """Wait for the diagnostics of the version that was sent last."""
        while self._messages.get(timeout=60).get("params", {}).get("version") != self.version:
            continue

    def type(self, line: int, character: int, text: str) -> None:
        """Send a keystroke."""
        self.version += 1
        place = {"line": line, "character": character}
        change = {"range": {"start": place, "end": place}, "text": text}
        document = {"uri": self.uri, "version": self.version}
        self.send({"method": "textDocument/didChange", "params": {"textDocument": document, "contentChanges": [change]}})

    def close(self) -> None:
        """End the server."""
        self.process.kill()
        self.process.communicate()


def _bodies(text: str) -> list[int]:
    """The lines behind which a statement can be typed: those that begin the body of a function."""
    lines = text.split("\n")
    return [at + 1 for at, line in enumerate(lines) if line.startswith(("fn ", "pub fn ")) and line.endswith("{")]


def _typed(editor: Editor, line: int, waits: dict[str, list[float]]) -> None:
    """Type a line; what each answer took, in ms. Every fourth keystroke is followed by a question instead."""
    at = {"textDocument": {"uri": editor.uri}, "position": {"line": line, "character": 0}}
    for column, character in enumerate(TYPED):
        begun = time.perf_counter()
        editor.type(line, column, character)
        asked = ("keystroke", "keystroke", "hover", "keystroke", "completion")[column % 5]
        if asked == "keystroke":
            editor.diagnostics()
        else:
            editor.request(f"textDocument/{asked}", {**at, "position": {"line": line, "character": column + 1}})
        waits[asked].append((time.perf_counter() - begun) * 1000)


def rows(quick: bool) -> Iterator[Row]:
    """The goal, and a fresh check of the same file in turn with it."""
    with tempfile.TemporaryDirectory() as name:
        file = Path(name).resolve() / "main.ael"
        text = ael_file.text(LINES)
        file.write_text(text, encoding="utf-8")
        (file.parent / "pack.ael").write_text(ael_file.PACK, encoding="utf-8")
        waits: dict[str, list[float]] = {"keystroke": [], "hover": [], "completion": []}
        checks: list[float] = []
        chosen = random.Random(7).sample(_bodies(text), 3 if quick else 12)
        editor = Editor(file)
        try:
            for number, line in enumerate(sorted(chosen, reverse=True)):
                if number % 3 == 0:
                    begun = time.perf_counter()
                    subprocess.run(
                        (*AEL, "check", "--no-cache", str(file)), env=clean_environment({}), capture_output=True, check=True
                    )
                    checks.append((time.perf_counter() - begun) * 1000)
                _typed(editor, line, waits)
        finally:
            editor.close()
    median = statistics.median(waits["keystroke"])
    checked = statistics.median(checks)
    yield row("lsp/keystroke", "ms", median, "goal", GOAL_MS, GOAL)
    yield row("lsp/keystroke", "ms", median, "ael check, fresh", checked)
    yield row("lsp/keystroke/p95", "ms", statistics.quantiles(waits["keystroke"], n=20)[-1], "ael check, fresh", checked)
    for asked in ("hover", "completion"):
        yield row(f"lsp/{asked}", "ms", statistics.median(waits[asked]), "ael check, fresh", checked)
