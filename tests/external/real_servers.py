"""Public MCP servers from the registries, installed outside of the checkout, and a small AEL program that uses each."""

from __future__ import annotations

import json
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.external.node_tools import cache, node, npm_packages
from tests.public_servers import python_packages

NPM = {
    "everything": "@modelcontextprotocol/server-everything@2026.8.31",
    "filesystem": "@modelcontextprotocol/server-filesystem@2026.8.31",
    "memory": "@modelcontextprotocol/server-memory@2026.8.31",
    "sequential-thinking": "@modelcontextprotocol/server-sequential-thinking@2026.8.31",
    "pdf": "@modelcontextprotocol/server-pdf@2.0.4",
    "playwright": "@playwright/mcp@0.0.83",
}
BIN = {
    "everything": "mcp-server-everything",
    "filesystem": "mcp-server-filesystem",
    "memory": "mcp-server-memory",
    "sequential-thinking": "mcp-server-sequential-thinking",
    "pdf": "mcp-pdf-server",
    "playwright": "playwright-mcp",
}
PYPI: Mapping[str, Sequence[str]] = {
    "time": ("mcp-server-time==2026.10.19",),
    "git": ("mcp-server-git==2026.10.19",),
    "fetch": ("mcp-server-fetch==2026.10.24",),
    # Written for the first generation of the SDK, and without an upper bound of its own.
    "sqlite": ("mcp-server-sqlite==2025.4.25", "mcp<2"),
}


@dataclass(frozen=True)
class Use:
    """A tool of a server as a program uses it: the words of its declaration, what a model says to call it, and a piece of what it gives.

    `fails`: its server says that it failed, with `expected` in its words.
    """

    declared: str
    offered: str
    arguments: Mapping[str, object]
    expected: str
    fails: bool = False


@dataclass(frozen=True)
class RealServer:
    """`words` follow the program; `{folder}` is an empty folder, `{page}` the address of a page on this machine."""

    name: str
    words: Sequence[str]
    uses: Sequence[Use]
    environment: Mapping[str, str] = field(default_factory=dict)


SERVERS = (
    RealServer(
        "everything",
        (),
        (
            Use("tool echo needs s.use repeat idempotent", "s__echo", {"message": "hello"}, "Echo: hello"),
            Use('tool sum as "get-sum" needs s.use repeat idempotent', "s__sum", {"a": 2, "b": 3}, "5"),
            Use(
                'tool weather as "get-structured-content" needs s.use repeat idempotent',
                "s__weather",
                {"location": "New York"},
                '"temperature"',
            ),
        ),
    ),
    RealServer(
        "filesystem",
        ("{folder}",),
        (
            Use(
                "tool write_file needs s.use repeat idempotent",
                "s__write_file",
                {"path": "{folder}/a.txt", "content": "written"},
                "wrote",
            ),
            Use("tool read_text_file needs s.use repeat idempotent", "s__read_text_file", {"path": "{folder}/a.txt"}, "written"),
        ),
    ),
    RealServer(
        "memory",
        (),
        (
            Use(
                "tool create_entities needs s.use",
                "s__create_entities",
                {"entities": [{"name": "Ada", "entityType": "person", "observations": ["writes programs"]}]},
                "Ada",
            ),
            Use("tool read_graph needs s.use repeat idempotent", "s__read_graph", {}, "writes programs"),
        ),
        {"MEMORY_FILE_PATH": "{folder}/memory.json"},
    ),
    RealServer(
        "sequential-thinking",
        (),
        (
            Use(
                "tool sequentialthinking needs s.use repeat idempotent",
                "s__sequentialthinking",
                {"thought": "first", "nextThoughtNeeded": False, "thoughtNumber": 1, "totalThoughts": 1},
                "thoughtHistoryLength",
            ),
        ),
    ),
    RealServer("pdf", ("--stdio",), (Use("tool list_pdfs needs s.use repeat idempotent", "s__list_pdfs", {}, ""),)),
    RealServer(
        "playwright",
        ("--headless", "--isolated", "--executable-path", "{folder}/no-browser"),
        (Use("tool browser_close needs s.use repeat never", "s__browser_close", {}, "no-browser", fails=True),),
    ),
    RealServer(
        "time",
        (),
        (
            Use(
                "tool convert_time needs s.use repeat idempotent",
                "s__convert_time",
                {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"},
                "21:00",
            ),
        ),
    ),
    RealServer(
        "git",
        ("--repository", "{folder}"),
        (Use("tool git_status needs s.use repeat idempotent", "s__git_status", {"repo_path": "{folder}"}, "branch"),),
    ),
    RealServer(
        "fetch",
        ("--ignore-robots-txt", "--allow-private-ips"),
        (Use("tool fetch needs s.use repeat idempotent", "s__fetch", {"url": "{page}"}, "a page of this machine"),),
    ),
    RealServer(
        "sqlite",
        ("--db-path", "{folder}/test.db"),
        (
            Use("tool create_table needs s.use", "s__create_table", {"query": "CREATE TABLE t (a INTEGER)"}, "successfully"),
            Use("tool list_tables needs s.use repeat idempotent", "s__list_tables", {}, "'t'"),
        ),
    ),
)


def program_of(name: str) -> tuple[str, ...]:
    """The words that start a server of this name. It is installed when it is not there yet."""
    part = f"the public MCP servers ({', '.join(NPM)})"
    if name in NPM:
        folder = npm_packages(part, *NPM.values())
        return node(part), str(folder / "node_modules" / ".bin" / BIN[name])
    return (str(python_packages(*PYPI[name]) / "bin" / f"mcp-server-{name}"),)


class Listening:
    """A server of the registries that listens on a port, until the `with` ends."""

    def __init__(self, name: str, words: Sequence[str], port: int) -> None:
        self.port = port
        environment = {"PATH": "/usr/bin:/bin", "PORT": str(port), "HOME": str(cache())}
        self._process = subprocess.Popen(
            [*program_of(name), *words],
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def __enter__(self) -> Listening:
        end = time.monotonic() + 60
        while True:
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return self
            if self._process.poll() is not None or time.monotonic() > end:
                raise AssertionError("the server does not listen")
            time.sleep(0.05)

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(5)


def pack(folder: Path, server: RealServer, binding: str, lines: Sequence[str] = (), page: str = "") -> None:
    """A pack in `folder` that uses the tools of a server, once from a node with a scripted model. `{folder}` becomes its folder `data`."""
    data = folder / "data"
    data.mkdir(exist_ok=True)

    def filled(value: object) -> object:
        text = json.dumps(value).replace("{folder}", str(data)).replace("{page}", page)
        return json.loads(text)

    names = [use.declared.split()[1] for use in server.uses]
    # A server may finish its own installation in its first call.
    tools = "\n".join(f"  {use.declared} timeout 2min" for use in server.uses)
    (folder / "pack.ael").write_text('pack real {\n  version "1.0.0"\n  uses std/process\n}\n')
    (folder / "main.ael").write_text(
        f"""/// Use the server.
permission s.use

mcp s {{
{tools}
}}

model fast {{
  provider anthropic
  name "claude-haiku-4-5"
}}

node main() -> String fails Uncertain
  model fast
  policy loop(steps: 4, tool_calls: 4)
  grants s.use
  tools {", ".join(f"s.{name}" for name in names)}
{{
  instructions "Use the tools."
}}
"""
    )
    calls = [{"call": use.offered, "with": filled(use.arguments)} for use in server.uses]
    (folder / "script.json").write_text(json.dumps([*calls[:3], {"text": "done"}]))
    said = "\n".join(lines)
    (folder / "deploy.ael").write_text(f'model fast = scripted("script.json")\n{said}\nmcp s = {binding}\n')


def over_stdio(folder: Path, server: RealServer) -> tuple[str, list[str]]:
    """How a deployment starts the server, and the lines that this takes."""
    words = [str(word).replace("{folder}", str(folder / "data")) for word in (*program_of(server.name), *server.words)]
    environment = {key: value.replace("{folder}", str(folder / "data")) for key, value in server.environment.items()}
    given = ", ".join(json.dumps(word) for word in words)
    pairs = ", ".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in environment.items())
    env = f", env: [{pairs}]" if pairs else ""
    return f"stdio({given}{env})", [f"command {json.dumps(words[0])}"]
