"""Runs the official MCP conformance suite: its client scenarios against this client, its server scenarios against a server."""

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

from tests.external.conformance_turn import TURNS
from tests.external.node_tools import cache, node, npm_packages

PACKAGE = "@modelcontextprotocol/conformance"
VERSION = "0.2.0-alpha.12"
PART = f"the official MCP conformance suite ({PACKAGE} {VERSION})"
SCENARIO_SECONDS = 60
"""How long the suite lets one scenario run: long, because the machine may be busy; no scenario needs more than some seconds."""
ALL_SECONDS = 540
"""The same for all client scenarios of a revision, side by side."""
REQUIRED = ("2025-11-25", "2026-07-28")
"""Revisions for which the suite says what they require."""
BAD = ("FAILURE", "WARNING")
ROOT = Path(__file__).resolve().parents[2]
_STAMP = re.compile(r"-\d{4}-\d\d-\d\dT[\d-]+Z$")
_LISTED = re.compile(r"^  - (\S+) \[([^\]]*)\]$", re.MULTILINE)


@dataclass(frozen=True)
class Check:
    """One thing that the suite looked at. `status` is SUCCESS, FAILURE, WARNING, INFO or SKIPPED."""

    id: str
    status: str
    message: str


@dataclass(frozen=True)
class Result:
    """What a scenario came to. `passed`: something was seen to be good, and nothing failed or warned; `log` is what the client printed."""

    scenario: str
    passed: bool
    checks: tuple[Check, ...]
    log: str

    @property
    def bad(self) -> tuple[Check, ...]:
        """The checks that failed or warn (a warning counts as a failure)."""
        return tuple(check for check in self.checks if check.status in BAD)

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


def run_suite(
    *arguments: str, seconds: float = 300.0, variables: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the suite's command line. Its exit status is the caller's to look at."""
    program, script = suite()
    # Compiling the suite takes longer than most scenarios.
    own = {"NODE_COMPILE_CACHE": str(cache() / "node-compiled"), "NO_COLOR": "1"}
    return subprocess.run(
        [program, script, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=seconds,
        env={**os.environ, **own, **(variables or {})},
        cwd=ROOT,
    )


@lru_cache(maxsize=8)
def run_clients(revision: str, module: str) -> Mapping[str, Result]:
    """By name: all client scenarios that the suite requires or reports for a revision, against `python -m module URL`.

    One process of the suite runs them all, side by side. It does not look at how the client ended: what a client prints is in the log.
    """
    command = f"{shlex.quote(sys.executable)} -m {module}"
    which = ("--requirements", revision) if revision in REQUIRED else ("--suite", "all", "--spec-version", revision)
    with tempfile.TemporaryDirectory(prefix="ael-conformance-") as folder:
        done = run_suite(
            *("client", *which, "--command", command, "--output-dir", folder, "--timeout", str(ALL_SECONDS * 1000)),
            seconds=ALL_SECONDS + SCENARIO_SECONDS,
            variables={TURNS: folder},
        )
        found = {_scenario(file, Path(folder)): file.parent for file in Path(folder).rglob("checks.json")}
        results = {name: _read(name, place, done.stdout + done.stderr) for name, place in found.items()}
    assert results, f"the suite ran nothing:\n{done.stdout}\n{done.stderr}"
    return results


def _scenario(file: Path, folder: Path) -> str:
    """The scenario whose results are in a folder called `NAME-TIME`."""
    return _STAMP.sub("", file.parent.relative_to(folder).as_posix())


def _read(name: str, place: Path, told: str) -> Result:
    checks = _checks(place / "checks.json")
    log = "".join(path.read_text(encoding="utf-8") for path in (place / "stdout.txt", place / "stderr.txt") if path.is_file())
    good = any(check.status == "SUCCESS" for check in checks) and not any(check.status in BAD for check in checks)
    return Result(name, good, checks, log or told)


def run_server_suite(url: str, revision: str, expected_failures: Path | None = None) -> subprocess.CompletedProcess[str]:
    """All server scenarios that apply to `revision`, one after another, in one process of the suite.

    `expected_failures` is a YAML file as the suite's README describes it; with it the exit status is 0 when exactly the
    scenarios (or checks) named there fail.
    """
    arguments = ["server", "--url", url, "--suite", "all", "--spec-version", revision, "--timeout", str(SCENARIO_SECONDS * 1000)]
    if expected_failures is not None:
        arguments += ["--expected-failures", str(expected_failures)]
    return run_suite(*arguments)


def _checks(file: Path) -> tuple[Check, ...]:
    return tuple(
        Check(check["id"], check["status"], str(check.get("errorMessage") or check.get("description") or ""))
        for check in json.loads(file.read_text(encoding="utf-8"))
    )
