"""Runs the official MCP conformance suite: its client scenarios against this client, its server scenarios against a server.

One scenario is one process of the suite, so that a crash of ours, a timeout and each scenario's checks are seen one by one (the
suite's own parallel mode does not look at how the client under test ended).
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from tests.external.node_tools import cache, node, npm_packages

PACKAGE = "@modelcontextprotocol/conformance"
VERSION = "0.2.0-alpha.12"
PART = f"the official MCP conformance suite ({PACKAGE} {VERSION})"
SCENARIO_SECONDS = 60
"""How long the suite lets one scenario run: long, because the machine may be busy; no scenario needs more than some seconds."""
ROOT = Path(__file__).resolve().parents[2]
_LISTED = re.compile(r"^  - (\S+) \[([^\]]*)\]$", re.MULTILINE)


@dataclass(frozen=True)
class Check:
    """One thing that the suite looked at. `status` is SUCCESS, FAILURE, WARNING, INFO or SKIPPED."""

    id: str
    status: str
    message: str


@dataclass(frozen=True)
class Result:
    """What a scenario came to. `passed` is the suite's own verdict: no failure, no warning, the client ended well and in time."""

    scenario: str
    passed: bool
    checks: tuple[Check, ...]
    log: str

    @property
    def bad(self) -> tuple[Check, ...]:
        """The checks that failed or warn (a warning counts as a failure)."""
        return tuple(check for check in self.checks if check.status in ("FAILURE", "WARNING"))

    def told(self) -> str:
        """What to show when it was expected to pass."""
        found = "\n".join(f"  {check.status} {check.id}: {check.message}" for check in self.bad)
        return f"{self.scenario}:\n{found}\n{self.log[-6000:]}"


@lru_cache(maxsize=1)
def suite() -> tuple[str, str]:
    """The Node and the suite's program. Installs them when they are not there yet."""
    folder = npm_packages(PART, f"{PACKAGE}@{VERSION}")
    return node(PART), str(folder / "node_modules" / PACKAGE / "dist" / "index.js")


@lru_cache(maxsize=1)
def scenarios() -> Mapping[str, Mapping[str, frozenset[str]]]:
    """By "client" and "server": each scenario of the suite with the revisions it applies to (`extension` for none)."""
    listed = run_suite("list").stdout
    parts = re.split(r"^(Server|Client|Authorization server) scenarios.*$", listed, flags=re.MULTILINE)
    by_kind = dict(zip(parts[1::2], parts[2::2], strict=True))
    return {
        kind.lower(): {name: frozenset(versions.split(",")) for name, versions in _LISTED.findall(by_kind[kind])}
        for kind in ("Server", "Client")
    }


def run_suite(*arguments: str, seconds: float = 300.0) -> subprocess.CompletedProcess[str]:
    """Run the suite's command line. Its exit status is the caller's to look at."""
    program, script = suite()
    # Compiling the suite takes longer than most scenarios.
    variables = {**os.environ, "NODE_COMPILE_CACHE": str(cache() / "node-compiled"), "NO_COLOR": "1"}
    return subprocess.run(
        [program, script, *arguments], capture_output=True, text=True, check=False, timeout=seconds, env=variables, cwd=ROOT
    )


def run_client(scenario: str, revision: str, module: str) -> Result:
    """Run a client scenario against `python -m module URL`, as the protocol `revision`, whatever the suite says it applies to."""
    command = f"{shlex.quote(sys.executable)} -m {module}"
    return _one("client", scenario, revision, "--command", command, "--force")


def run_server(url: str, scenario: str, revision: str) -> Result:
    """Run one server scenario against the server at `url`."""
    return _one("server", scenario, revision, "--url", url)


def run_server_suite(url: str, revision: str, expected_failures: Path | None = None) -> subprocess.CompletedProcess[str]:
    """All server scenarios that apply to `revision`, one after another, in one process of the suite.

    `expected_failures` is a YAML file as the suite's README describes it; with it the exit status is 0 when exactly the
    scenarios (or checks) named there fail.
    """
    arguments = ["server", "--url", url, "--suite", "all", "--spec-version", revision, "--timeout", str(SCENARIO_SECONDS * 1000)]
    if expected_failures is not None:
        arguments += ["--expected-failures", str(expected_failures)]
    return run_suite(*arguments)


def _one(kind: str, scenario: str, revision: str, *more: str) -> Result:
    with tempfile.TemporaryDirectory(prefix="ael-conformance-") as folder:
        done = run_suite(
            *(kind, "--scenario", scenario, "--spec-version", revision, "--output-dir", folder),
            *("--timeout", str(SCENARIO_SECONDS * 1000), *more),
            seconds=2 * SCENARIO_SECONDS,
        )
        found = list(Path(folder).rglob("checks.json"))
        checks = tuple(
            Check(check["id"], check["status"], str(check.get("errorMessage") or check.get("description") or ""))
            for file in found
            for check in json.loads(file.read_text(encoding="utf-8"))
        )
        log = "\n".join(
            [done.stdout, done.stderr, *(path.read_text(encoding="utf-8") for path in sorted(Path(folder).rglob("std*.txt")))]
        )
    # No checks at all is no success: the suite skips what does not apply, and says 0.
    return Result(scenario, done.returncode == 0 and bool(checks), checks, log)
