"""A small editor for tests: it speaks the protocol with `ael lsp` as a process, over its pipes, byte by byte as the standard says."""

from __future__ import annotations

import contextlib
import json
import queue
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

WAIT = 120.0
"""Seconds after which an answer that does not come is a failure."""

Json = dict[str, Any]


class Failed(Exception):
    """The server answered a request with an error."""

    def __init__(self, error: Json) -> None:
        super().__init__(error.get("message"))
        self.code: int = error["code"]


class Editor:
    """One connection. `notes` are the notifications that came, `asked` the methods of the server's own requests."""

    def __init__(self, command: tuple[str, ...] = (sys.executable, "-m", "ael", "lsp"), cwd: Path | None = None) -> None:
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=cwd)
        self.errors: list[bytes] = []
        self.notes: list[Json] = []
        self.asked: list[str] = []
        self.settings: Any = {}
        self.texts: dict[str, str] = {}
        self.versions: dict[str, int] = {}
        self._answers: dict[int | str, Json] = {}
        self._next = 0
        self._messages: queue.Queue[Json | None] = queue.Queue()
        self._threads = [threading.Thread(target=work, daemon=True) for work in (self._listen, self._hear)]
        for thread in self._threads:
            thread.start()

    # --- bytes ---------------------------------------------------------------------------------------------------------------

    def _listen(self) -> None:
        out = self.process.stdout
        assert out is not None
        while header := out.readline():
            length = 0
            while header.strip():
                name, _, value = header.partition(b":")
                if name.lower() == b"content-length":
                    length = int(value)
                header = out.readline()
            self._messages.put(json.loads(out.read(length)))
        self._messages.put(None)

    def _hear(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.errors.append(line)

    def send_bytes(self, data: bytes) -> None:
        """Send bytes as they are."""
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message: Any) -> None:
        """Send a message."""
        body = json.dumps(message).encode()
        self.send_bytes(b"Content-Length: %d\r\n\r\n" % len(body) + body)

    def message(self) -> Json:
        """The next message of the server; its requests are answered here."""
        message = self._messages.get(timeout=WAIT)
        if message is None:
            raise EOFError(b"".join(self.errors).decode())
        if "method" in message and "id" in message:
            self.asked.append(message["method"])
            many = len(message.get("params", {}).get("items", ())) if message["method"] == "workspace/configuration" else 0
            self.send({"jsonrpc": "2.0", "id": message["id"], "result": [self.settings] * many if many else None})
        elif "method" in message:
            self.notes.append(message)
        elif message["id"] is not None:
            self._answers[message["id"]] = message
        return message

    # --- requests ------------------------------------------------------------------------------------------------------------

    def begin(self, method: str, params: Any = None) -> int:
        """Send a request; its number."""
        self._next += 1
        self.send({"jsonrpc": "2.0", "id": self._next, "method": method, "params": params})
        return self._next

    def answer(self, number: int) -> Any:
        """The result of a request. Raises `Failed`."""
        while number not in self._answers:
            self.message()
        found = self._answers.pop(number)
        if "error" in found:
            raise Failed(found["error"])
        return found["result"]

    def error(self, number: int | str) -> int | None:
        """The code of the error that a request is answered with, None for a result."""
        while number not in self._answers:
            self.message()
        found = self._answers.pop(number)
        return found["error"]["code"] if "error" in found else None

    def ask(self, method: str, params: Any = None) -> Any:
        """Send a request and wait for its result."""
        return self.answer(self.begin(method, params))

    def tell(self, method: str, params: Any = None) -> None:
        """Send a notification."""
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def start(self, *folders: Path, capabilities: Json | None = None, process: int | None = None) -> Json:
        """`initialize` and `initialized`; the server's capabilities."""
        named = [{"uri": folder.as_uri(), "name": folder.name} for folder in folders]
        params = {"processId": process, "rootUri": None, "capabilities": capabilities or {}, "workspaceFolders": named}
        found: Json = self.ask("initialize", params)["capabilities"]
        self.tell("initialized", {})
        return found

    def stop(self) -> int:
        """`shutdown` and `exit`; the exit code."""
        self.ask("shutdown")
        self.tell("exit")
        return self.process.wait(WAIT)

    def kill(self) -> None:
        """End the process, whatever it is at."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(WAIT)
        for thread in self._threads:
            thread.join(WAIT)
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert pipe is not None
            with contextlib.suppress(OSError):
                pipe.close()

    def at_once(self, *messages: Json) -> None:
        """Send several messages so that they come together."""
        bodies = [json.dumps({"jsonrpc": "2.0", **message}).encode() for message in messages]
        self.send_bytes(b"".join(b"Content-Length: %d\r\n\r\n" % len(body) + body for body in bodies))

    # --- documents -----------------------------------------------------------------------------------------------------------

    def open(self, path: Path | str, text: str, version: int = 1) -> str:
        """Open a document; its URI."""
        uri = path if isinstance(path, str) else path.as_uri()
        self.texts[uri], self.versions[uri] = text, version
        self.tell("textDocument/didOpen", {"textDocument": {"uri": uri, "languageId": "ael", "version": version, "text": text}})
        return uri

    def change(self, uri: str, *changes: Json) -> int:
        """Send changes in one notification; the new version."""
        self.versions[uri] += 1
        document = {"uri": uri, "version": self.versions[uri]}
        self.tell("textDocument/didChange", {"textDocument": document, "contentChanges": list(changes)})
        return self.versions[uri]

    def replace(self, uri: str, text: str) -> int:
        """Give a document another text; the new version."""
        self.texts[uri] = text
        return self.change(uri, {"text": text})

    def close(self, uri: str) -> None:
        """Close a document."""
        self.tell("textDocument/didClose", {"textDocument": {"uri": uri}})

    def published(self, uri: str, version: int | None = None) -> list[Json]:
        """The diagnostics that are published of a document, of this version where one is given."""
        while True:
            for note in reversed(self.notes):
                params = note.get("params") or {}
                if note["method"] == "textDocument/publishDiagnostics" and params["uri"] == uri:
                    if version is None or params.get("version") == version:
                        found: list[Json] = params["diagnostics"]
                        return found
                    break
            self.message()

    def at(self, method: str, uri: str, line: int, character: int, **more: Any) -> Any:
        """Ask about a place."""
        return self.ask(method, {"textDocument": {"uri": uri}, "position": {"line": line, "character": character}, **more})
