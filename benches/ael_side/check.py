"""The check inside a process: what `ael check FOLDER` does, without start-up and without a cache."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ael.diagnostics.diagnostic import Bag
from ael.project.program import check_paths
from benches.programs.ael_project import code_lines
from benches.worker import cpu_of


def check(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """Lines of code a second of CPU; the folder has to check without an error."""
    folder = Path(request["folder"])
    bag = Bag()
    seconds = cpu_of(lambda: check_paths([folder], bag))
    assert not bag.errors, [problem.message for problem in bag.sorted()[:3]]
    return {"lines_a_second": code_lines(folder) / seconds}


OPS = {"check": check}
