"""Parse and check: lines a second cold, `ael check` after an edit of one declaration, and of a small file.

The first is measured inside a new process that has loaded the checker; the others are whole commands, start-up included.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

from benches.envs import BAML, script_of
from benches.harness import Goal, Row, SideFailed, command_cpu, row
from benches.programs import ael_project, baml_project
from benches.sides import ael_side

LINES = 10_000
LINES_A_SECOND = 5_000
COLD: Goal = (">=", 1)
EDIT: Goal = ("<=", 1)
SMALL: Goal = ("<=", 3)
AEL = (sys.executable, "-c", "import sys; from ael.cli.main import main; sys.exit(main())")
PYTHON = (sys.executable, "-c", "import asyncio, json")


def median_of(rounds: int, measure: Callable[[], float]) -> float | None:
    """The median of some measurements, None when one fails, which standard error tells."""
    try:
        return statistics.median(measure() for _ in range(rounds))
    except (SideFailed, OSError) as failure:
        print(f"benches: {failure}", file=sys.stderr)
        return None


def cold(folder: Path) -> float:
    """Lines a second of CPU in a new process without a cache."""
    side = ael_side("check")
    if side is None:
        raise SideFailed("ael: cannot be measured")
    with closing(side):
        return float(side.ask("check", folder=str(folder))["lines_a_second"])


def after_edits(rounds: int, command: Sequence[str], folder: Path, edit: Callable[[Path], None], cache: Path) -> float | None:
    """A command right after an edit of one declaration. It ran once before, so that what it remembers is there."""

    def measure() -> float:
        edit(folder)
        return command_cpu(command, folder, {"AEL_CACHE": str(cache)})

    return None if median_of(1, measure) is None else median_of(rounds, measure)


def rows(quick: bool) -> Iterator[Row]:
    """The goals, and BAML's rate beside the first."""
    rounds = 1 if quick else 5
    with tempfile.TemporaryDirectory() as name:
        ours, pack, theirs, cache = (Path(name) / part for part in ("ael", "pack", "baml", "cache"))
        ael_project.write(ours, LINES)
        ael_project.write(pack, LINES, one_pack=True)
        lines = baml_project.write(theirs, LINES)
        baml = (str(script_of(BAML, "baml-cli")), "check", "--from", str(theirs / "baml_src"))
        rate = median_of(rounds, lambda: cold(ours))
        baml_seconds = after_edits(rounds, baml, theirs, baml_project.edit, cache)
        yield row("check/cold", "lines a CPU second", rate, "goal", LINES_A_SECOND, COLD)
        baml_rate = None if baml_seconds is None else lines / baml_seconds
        yield row("check/cold", "lines a CPU second", rate, BAML.title, baml_rate)
        for title, folder in (("check/edit", ours), ("check/edit/one pack", pack)):
            edited = after_edits(rounds, (*AEL, "check", str(folder)), folder, ael_project.edit, cache)
            yield row(title, "s CPU", edited, BAML.title, baml_seconds, EDIT)
        small = median_of(rounds * 3, lambda: command_cpu((*AEL, "check", "--no-cache", str(ael_project.SMALL)), ours))
        python = median_of(rounds * 3, lambda: command_cpu(PYTHON, ours))
        yield row("check/small", "s CPU", small, "python -c 'import asyncio, json'", python, SMALL)
