"""Runs tests over mutated modules, each in a fork of a process that has loaded pytest and what the tests need of others, but not AEL.

`python -m tests.mutation.server` reads requests, a JSON object a line (`module`, `text`, `tests`), and answers each with one
(`code`, pytest's exit code; `output`). Nothing is written into the checkout: caches and examples of Hypothesis go to a folder of
the server's own. The mutated text takes the place of its module when that is imported; no copy of the package is needed.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import importlib
import importlib.machinery
import json
import os
import signal
import sqlite3
import ssl
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import hypothesis.strategies
import jiter
import json_repair
import pytest
from hypothesis import Phase, settings

PRELOADED = (asyncio, concurrent.futures, sqlite3, ssl, hypothesis.strategies, jiter, json_repair)
SECONDS = 75
"""After so long a run is given up, before whoever asked for it is. Each single test has 30 s."""


class Changed(MetaPathFinder, Loader):
    """Gives the module `name` the code of a changed text."""

    def __init__(self, name: str, code: CodeType, path: str) -> None:
        self._name = name
        self._code = code
        self._path = path

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self._name:
            return None
        spec = importlib.machinery.ModuleSpec(fullname, self, origin=self._path)
        spec.has_location = True
        return spec

    def exec_module(self, module: ModuleType) -> None:
        exec(self._code, module.__dict__)


def child(request: dict[str, Any], folder: str) -> int:
    """In the fork: put the mutation in place and run the tests. Gives pytest's exit code."""
    name, path = request["module"], request["module"].replace(".", "/") + ".py"
    if name.endswith(".ts"):
        return _beside(request, folder)
    sys.meta_path.insert(0, Changed(name, compile(request["text"], path, "exec"), os.path.abspath(path)))
    return _tested(request, folder)


def _beside(request: dict[str, Any], folder: str) -> int:
    """The same for the run time of TypeScript clients, which is a file that is read."""
    file = Path(folder, "runtime.ts")
    file.write_text(request["text"], encoding="utf-8")
    importlib.import_module("ael.clients.typescript")._RUNTIME = file  # type: ignore[attr-defined]
    return _tested(request, folder)


def _tested(request: dict[str, Any], folder: str) -> int:
    os.environ["AEL_CACHE"] = os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = folder
    # What is found is enough: it is not made smaller. The same examples each time.
    settings.register_profile("mutation", phases=[Phase.explicit, Phase.generate], derandomize=True, database=None)
    settings.load_profile("mutation")
    options = [
        "-x",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "-W",
        "ignore::pytest.PytestAssertRewriteWarning",
        "--timeout",
        "30",
        "--basetemp",
        f"{folder}/tmp",
    ]
    return int(pytest.main([*options, *request["tests"]]))


def run(request: dict[str, Any]) -> dict[str, object]:
    """Run one request in a fork, with its output in a file. A run that does not end is ended, with the code -1."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder, "output")
        sys.stdout.flush()
        process = os.fork()
        if process == 0:
            code = 70
            try:
                os.setpgid(0, 0)
                to = os.open(output, os.O_CREAT | os.O_WRONLY, 0o600)
                os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
                os.dup2(to, 1)
                os.dup2(to, 2)
                code = child(request, folder)
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
        return {"code": waited(process), "output": output.read_text(encoding="utf-8", errors="replace")}


def waited(process: int) -> int:
    """The exit code of a fork, -1 when it had to be ended."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        found, status = os.waitpid(process, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.killpg(process, signal.SIGKILL)
    os.waitpid(process, 0)
    return -1


def main() -> None:
    """Serve until the input ends."""
    with tempfile.TemporaryDirectory() as folder:
        if sys.dont_write_bytecode:
            sys.dont_write_bytecode = False
            sys.pycache_prefix = folder
        for line in sys.stdin:
            print(json.dumps(run(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
