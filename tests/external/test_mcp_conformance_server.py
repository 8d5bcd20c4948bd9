"""The official MCP conformance suite against `ael serve`: both eras, all server scenarios, exactly the listed ones fail.

The program under `tests/external/served` has what the suite looks for, as nodes of AEL.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.external.conformance import ROOT, run_server_suite, scenarios

PROGRAM = Path(__file__).with_name("served")
REASONS = ROOT / "docs" / "mcp-conformance.md"
ERAS = ("2025-11-25", "2026-07-28")


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """The address of the served program."""
    words = [sys.executable, "-m", "ael", "serve", str(PROGRAM), "--mcp", "--port", "0"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stderr is not None
        found = None
        while found is None:
            line = process.stderr.readline()
            assert line, "the server has ended"
            found = re.search(r"listening on (http://\S+)", line)
        yield found[1]
        process.terminate()
        _, told = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "Traceback" not in told


def expected(revision: str) -> list[str]:
    """What the baseline of an era lists: scenarios, or single checks of one."""
    lines = baseline(revision).read_text(encoding="utf-8").splitlines()
    return [line.removeprefix("  - ") for line in lines if line.startswith("  - ")]


def baseline(revision: str) -> Path:
    return PROGRAM / f"expected-failures-{revision}.yml"


@pytest.mark.feature("A10.1")
@pytest.mark.parametrize("revision", ERAS)
def test_the_suite_passes_but_for_what_a_server_of_tools_has_not(url: str, revision: str) -> None:
    done = run_server_suite(url, revision, baseline(revision))
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    # The suite ends well when it has nothing to run, too.
    ran = set(re.findall(r"^[✓✗] (\S+): \d+ passed, \d+ failed$", done.stdout, re.MULTILINE))
    assert ran == {name for name, revisions in scenarios()["server"].items() if revision in revisions}
    partly = {name.partition(":")[0] for name in expected(revision) if ":" in name}
    none = {name for name in expected(revision) if ":" not in name}
    row = f"| {revision} | {len(ran)} | {len(ran - partly - none)} | {len(partly)} | {len(none)} |"
    assert row in REASONS.read_text(encoding="utf-8")


@pytest.mark.parametrize("revision", ERAS)
def test_each_expected_failure_has_its_reason(revision: str) -> None:
    page = REASONS.read_text(encoding="utf-8")
    without = [name for name in expected(revision) if f"`{name}`" not in page]
    assert not without
