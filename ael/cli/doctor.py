"""Say what this installation has and lacks: versions, optional parts, the sandbox for commands, keys, the program here."""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import sqlite3
import sys
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from ael import __version__
from ael.diagnostics.diagnostic import Bag
from ael.models.registry import PROVIDERS
from ael.natives.sandbox import layers
from ael.project.load import entry_file
from ael.project.pack import find_root
from ael.project.program import check_paths
from ael.project.servers import DeclaredServer, Servers, open_servers
from ael.project.shipped import shipped

_OK, _NO = "ok", "--"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `ael doctor`."""
    parser.add_argument("path", nargs="?", type=Path, default=Path(), help="a program to look at (default: here)")


def run(args: argparse.Namespace) -> int:
    """Look, and print a line for each finding. Exit code 1 when something that AEL needs is missing."""
    lines = [*_installation(), *_optional(), *_sandbox(), *_keys(), *_program(args.path), *_servers(args.path)]
    for mark, text in lines:
        print(f"{mark:>4}  {text}")
    return 1 if any(mark == "FAIL" for mark, _ in lines) else 0


def _installation() -> list[tuple[str, str]]:
    python = platform.python_version()
    found = [
        (_OK, f"ael {__version__}, from {Path(__file__).resolve().parent.parent}"),
        (_OK if sys.version_info >= (3, 11) else "FAIL", f"Python {python} ({platform.system()} {platform.machine()})"),
        (_OK, f"SQLite {sqlite3.sqlite_version}"),
    ]
    for what in ("stdlib", "grammar", "errors"):
        there = shipped(what).is_dir()
        found.append((_OK if there else "FAIL", f"{what}: {shipped(what)}"))
    for package in ("httptools", "jiter", "json-repair", "pygments"):
        try:
            found.append((_OK, f"{package} {version(package)}"))
        except PackageNotFoundError:
            found.append(("FAIL", f"{package} is missing: `pip install ael-lang` brings it"))
    return found


_EXTRAS = {
    "doc": ("`ael doc`", ("markdown_it",)),
    "lsp": ("`ael lsp`", ("pygls",)),
    "serve": ("`ael serve` and processes", ("mcp", "uvicorn")),
    "grpc": ("gRPC", ("grpc", "grpc_health", "grpc_reflection")),
    "postgres": ("PostgreSQL", ("psycopg",)),
    "nats": ("NATS", ("nats",)),
    "otel": ("OpenTelemetry", ("opentelemetry",)),
    "oauth": ("private keys for MCP servers", ("jwt", "cryptography")),
    "keyring": ("the keyring of the system", ("keyring",)),
    "local": ("local models", ("xllamacpp",)),
}
"""By the extra of the package, what it is for and the modules that it brings."""


def _optional() -> list[tuple[str, str]]:
    found = []
    for extra, (what, modules) in _EXTRAS.items():
        there = all(find_spec(module) is not None for module in modules)
        found.append((_OK, f"{what}: there") if there else (_NO, f"{what}: `pip install 'ael-lang[{extra}]'` brings it"))
    return found


def _sandbox() -> list[tuple[str, str]]:
    """The walls around commands: one is built, and nothing is run in it."""
    found = layers()
    if found.missing:
        return [(_NO, f"{found.missing}; `process = unsandboxed(…)` in a deployment does without one")]
    landlock = f", Landlock {found.landlock}" if found.landlock else ""
    counted = "by the kernel" if found.pids else "by counting"
    proc = "" if found.proc else ", no /proc"
    walls = f"namespaces, system calls filtered{landlock}{proc}, number of processes bounded {counted}"
    return [(_OK, f"sandbox for commands: {walls}")]


def _keys() -> list[tuple[str, str]]:
    variables = sorted({(p.key_variable, p.name) for p in PROVIDERS.values() if p.key_variable})
    return [
        (_OK if os.environ.get(key) else _NO, f"{key} is {'set' if os.environ.get(key) else 'not set'} (models of {name})")
        for key, name in variables
    ]


def _program(path: Path) -> list[tuple[str, str]]:
    if path.is_dir() and not any(path.glob("*.ael")) and find_root(path.resolve()) is None:
        # Not looked for below: this may be a whole disk.
        return [(_NO, f"no AEL program in {path.resolve()}")]
    bag = Bag()
    modules = check_paths([path], bag)
    if not modules and not bag.errors:
        return [(_NO, f"no AEL program in {path.resolve()}")]
    if bag.errors:
        shows = "1 error: `ael check` shows it" if bag.errors == 1 else f"{bag.errors} errors: `ael check` shows them"
        return [(_NO, f"the program here has {shows}")]
    return [(_OK, f"the program here checks ({modules} {'module' if modules == 1 else 'modules'})")]


def _servers(path: Path) -> list[tuple[str, str]]:
    """The MCP servers of the program here: bound, startable, pinned. Nothing is connected: `ael mcp reconnect` does that."""
    if not entry_file(path).is_file():
        return []
    found = open_servers(path, Bag())
    return [_server(found, server) for server in found.servers] if found is not None else []


def _server(found: Servers, server: DeclaredServer) -> tuple[str, str]:
    name, binding = f"MCP server {server.own}", server.binding
    if binding is None:
        return _NO, f"{name}: the deployment does not say where it is"
    if binding.kind == "stdio" and shutil.which(binding.command) is None:
        return _NO, f"{name}: there is no program `{binding.command}` on the PATH"
    pins = found.pins.get(server.name)
    pinned = frozenset() if pins is None else pins.tools.keys() | pins.prompts.keys()
    missing = [wire for wire in (*server.tools.values(), *server.prompts.values()) if wire not in pinned]
    if missing:
        return _NO, f"{name}: {len(missing)} of what is used is not pinned: `ael mcp pin` does it"
    return _OK, f"{name}: bound and pinned; `ael mcp reconnect {server.own}` sees if it answers"
