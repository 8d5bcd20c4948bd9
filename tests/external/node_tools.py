"""Node and npm packages for tests, in a folder of their own outside of the checkout: made once for each set of versions."""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import cache as cached
from pathlib import Path

import pytest

if sys.platform != "win32":
    import fcntl

NODE_MAJOR = 22
"""What the suites need at least: Node 20 lacks `fs.globSync`."""
INSTALL_SECONDS = 300


def cache() -> Path:
    """Where the installed packages are kept: `AEL_TEST_CACHE`, else `~/.cache/ael-tests`."""
    named = os.environ.get("AEL_TEST_CACHE")
    folder = Path(named) if named else Path.home() / ".cache" / "ael-tests"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def npm_or_explain(part: str) -> str:
    """The path of `npm`. Where there is none, `part` is not run: a skip that says so, and in CI (the variable `CI`) a failure."""
    found = shutil.which("npm")
    if found is not None:
        return found
    reason = f"not run: {part}, because there is no `npm` on the PATH to install it with (install Node.js {NODE_MAJOR} or newer)"
    if os.environ.get("CI", "").lower() not in ("", "0", "false"):
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


@cached
def node(part: str) -> str:
    """A Node of at least `NODE_MAJOR`: the one on the PATH, else npm's binary package for this machine."""
    found = shutil.which("node")
    if found is not None and _major(found) >= NODE_MAJOR:
        return found
    machine = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64", "arm64": "arm64"}[platform.machine().lower()]
    system = {"linux": "linux", "darwin": "darwin", "win32": "win"}[sys.platform]
    # The package `node` fetches this one in an install script, which newer versions of npm do not run.
    package = f"node-{system}-{machine}"
    folder = npm_packages(part, f"{package}@{NODE_MAJOR}") / "node_modules" / package / "bin"
    return str(folder / ("node.exe" if system == "win" else "node"))


def npm_packages(part: str, *packages: str) -> Path:
    """A folder whose `node_modules` holds the packages (`name@version`). No install scripts run.

    `part` says what is not tested when there is no npm. Several processes may ask at once: one installs, the others wait.
    """
    npm = npm_or_explain(part)
    first = re.sub(r"[^a-z0-9.]+", "-", packages[0].lower()).strip("-")
    key = hashlib.sha256("\n".join(sorted(packages)).encode()).hexdigest()[:12]
    folder = cache() / f"{first}-{key}"
    with _locked(folder):
        if not folder.is_dir():
            _install(npm, packages, folder)
    return folder


def _install(npm: str, packages: tuple[str, ...], folder: Path) -> None:
    """Into a folder beside it first: a folder that is there is whole."""
    with tempfile.TemporaryDirectory(prefix=f"{folder.name}.", dir=folder.parent) as made:
        command = [npm, "install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", "--prefix", made, *packages]
        try:
            done = subprocess.run(command, cwd=made, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False)
        except subprocess.TimeoutExpired:
            pytest.fail(f"npm did not install {', '.join(packages)} within {INSTALL_SECONDS} s", pytrace=False)
        if done.returncode != 0:
            pytest.fail(f"npm cannot install {', '.join(packages)}:\n{done.stderr[-2000:]}", pytrace=False)
        Path(made).rename(folder)
        # The context removes the folder at its end and wants to find one.
        Path(made).mkdir()


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    if sys.platform == "win32":
        yield
        return
    with folder.with_name(folder.name + ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(lock, fcntl.LOCK_UN)


def _major(program: str) -> int:
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False, timeout=30)
    found = re.match(r"v(\d+)\.", done.stdout)
    return int(found[1]) if found else 0
