"""Calls of an MCP server's tool: through AEL's run time, and over AEL's bare session, against the official SDK's client session.

The server is a process of its own on the SDK, the same one for every side. What is measured is the client's CPU; then the seconds from
the start of a process to its first answer, and what a run that uses no server pays for all this.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from benches.crm import NEW, OLD, Way
from benches.envs import MCP_SDK, python_of
from benches.harness import ROOT, Goal, Row, SideFailed, command_cpu, cores, interleave, local_server, row, seconds_to_answer
from benches.programs.ael_project import SMALL
from benches.sides import ael_side, peer_side

GOAL: Goal = ("<=", 1)
UNTOUCHED: Goal = ("<=", 1.1)
AT_ONCE = 20
AEL = (sys.executable, "-c", "import sys; from ael.cli.main import main; sys.exit(main())")
WITHOUT = (
    sys.executable,
    "-c",
    """
import sys
from pathlib import Path
import ael.mcp
folder = Path(ael.mcp.__file__).parent
kept = {"ael.mcp.outside"}
names = {".".join(("ael", "mcp", *path.relative_to(folder).with_suffix("").parts)) for path in folder.rglob("*.py")}
sys.modules.update(dict.fromkeys(names - kept | {"mcp", "httpx2", "jsonschema_rs"}))
from ael.cli.main import main
sys.exit(main())
""",
)
"""`ael` in a process in which nothing that speaks to a server can be imported (`ael.mcp.outside` shows outside text to people)."""
PYTHON = (sys.executable, "-c", "import asyncio, json")


@dataclass(frozen=True)
class Load:
    """Tasks at once; each makes ``calls`` calls in one run of the program, ``repeats`` times over. ``name`` ends that of the row."""

    name: str
    at_once: int
    calls: int
    repeats: int


ONE_BY_ONE = Load("", 1, 100, 1)
BESIDE = Load(f"/{AT_ONCE} at once", AT_ONCE, 10, 1)
WHOLE_RUNS = Load("/a run each", 1, 1, 50)


def deployment(way: Way) -> str:
    """The AEL deployment that binds the program to this way."""
    options = f"concurrent: {AT_ONCE}"
    if way.url:
        return f'host "127.0.0.1"\nmcp crm = http("{way.url}", {options})\n'
    words = ", ".join(f'"{word}"' for word in way.words)
    return f'command "{way.words[0]}"\nmcp crm = stdio({words}, folder: "{way.cwd}", {options})\n'


def pinned(way: Way) -> Way:
    """Write the program for this way, and pin what its server offers. Raises `SideFailed`."""
    folder = Path(way.folder)
    folder.mkdir(parents=True)
    (folder / "main.ael").write_bytes((ROOT / "benches" / "programs" / "crm.ael").read_bytes())
    (folder / "pack.ael").write_text('pack bench {\n  version "1.0.0"\n  uses std/process\n}\n', encoding="utf-8")
    (folder / "deploy.ael").write_text(deployment(way), encoding="utf-8")
    command_cpu((*AEL, "mcp", "pin", "--yes", str(folder)), folder)
    return way


@contextmanager
def ways(folder: Path, python: Path) -> Iterator[list[Way]]:
    """Both transports in both eras, with their server."""
    _, other = cores()
    command = (str(python), "-m", "benches.crm_server", str(other))
    with local_server((*command, "http")) as address:
        yield [
            pinned(Way(f"{transport}/{protocol[:4]}", protocol, words, str(ROOT), url, str(folder / transport / protocol)))
            for protocol, path in ((NEW, "new"), (OLD, "old"))
            for transport, words, url in (
                ("stdio", (*command, "stdio", protocol), ""),
                ("http", (), f"{address}/{path}"),
            )
        ]


def calls_over(way: Way, quick: bool) -> Iterator[Row]:
    """Client CPU of a call: AEL's run time and AEL's bare session, each against the SDK's."""
    rounds = 1 if quick else 7
    theirs = MCP_SDK.title
    with ExitStack() as stack:
        starting = (ael_side("mcp", way.environment()), peer_side(MCP_SDK, way.environment()))
        sides = [stack.enter_context(closing(side)) for side in starting if side]
        ours = [side for side in sides if side.name == "ael"]
        for load in (ONE_BY_ONE, BESIDE, WHOLE_RUNS):
            arguments = {"at_once": load.at_once, "calls": load.calls, "repeats": load.repeats}
            # The first round is not counted: it connects, lists the tools, and compiles what reads their results.
            interleave(sides, 1, "session", "ms", **arguments)
            interleave(ours, 1, "run", "ms", **arguments)
            runs: list[float] = []
            bare: dict[str, list[float]] = {}
            for _ in range(rounds):
                for name, figure in interleave(sides, 1, "session", "ms", **arguments).items():
                    bare.setdefault(name, []).append(figure)
                runs += interleave(ours, 1, "run", "ms", **arguments).values()
            found = {name: statistics.median(figures) for name, figures in bare.items()}
            run = statistics.median(runs) if runs else None
            # What has a run's start and end in each call does more than the other side: it is only reported.
            goal = None if load is WHOLE_RUNS else GOAL
            yield row(f"mcp/{way.name}{load.name}", "ms CPU a call", run, theirs, found.get(theirs), goal)
            if load is not WHOLE_RUNS:
                session = found.get("ael")
                yield row(f"mcp/{way.name}{load.name}/bare", "ms CPU a call", session, theirs, found.get(theirs), GOAL)


def in_turn(rounds: int, measures: Mapping[str, Callable[[], float]]) -> dict[str, float]:
    """Medians of measurements that are taken in turn, without those that fail, which standard error tells."""
    figures: dict[str, list[float]] = {name: [] for name in measures}
    for _ in range(rounds):
        for name, measure in measures.items():
            if name in figures:
                try:
                    figures[name].append(measure())
                except (SideFailed, OSError) as failure:
                    print(f"benches: {failure}", file=sys.stderr)
                    del figures[name]
    return {name: statistics.median(values) for name, values in figures.items()}


def first_answers(way: Way, python: Path, cache: Mapping[str, str], quick: bool) -> Iterator[Row]:
    """From the start of a process to the answer of its first call, and, where the server runs already, the CPU of the whole command."""
    folder = Path(way.folder)
    environment = {**cache, **way.environment()}
    ours: Sequence[str] = (*AEL, "run", "-q", str(folder))
    theirs: Sequence[str] = (str(python), "-m", "benches.peers.mcp_sdk")
    rounds = 1 if quick else 9
    spending = {
        "ael": lambda: command_cpu(ours, ROOT, environment),
        "sdk": lambda: command_cpu(theirs, ROOT, environment),
    }
    timing = {
        "ael": lambda: seconds_to_answer(ours, ROOT, environment),
        "sdk": lambda: seconds_to_answer(theirs, ROOT, environment),
    }
    # What is remembered of a program that was checked, and compiled bytecode, are there from the second time on.
    in_turn(1, spending)
    clock = in_turn(rounds, timing)
    yield row(f"mcp/first/{way.name}", "s to the answer", clock.get("ael"), MCP_SDK.title, clock.get("sdk"), GOAL)
    if way.url:
        spent = in_turn(rounds, spending)
        yield row(f"mcp/first/{way.name}", "s CPU", spent.get("ael"), MCP_SDK.title, spent.get("sdk"), GOAL)


def start_up(cache: Mapping[str, str], quick: bool) -> Iterator[Row]:
    """`ael run` of a program without servers: against the same where nothing of MCP can be imported, and against bare Python."""
    words = ("run", "-q", str(SMALL))
    found = in_turn(
        1 if quick else 15,
        {
            "ael": lambda: command_cpu((*AEL, *words), ROOT, cache),
            "without": lambda: command_cpu((*WITHOUT, *words), ROOT, cache),
            "python": lambda: command_cpu(PYTHON, ROOT),
        },
    )
    yield row("mcp/no server", "s CPU", found.get("ael"), "the same, MCP blocked", found.get("without"), UNTOUCHED)
    yield row("mcp/no server", "s CPU", found.get("ael"), "python -c 'import asyncio, json'", found.get("python"))


def rows(quick: bool) -> Iterator[Row]:
    """Calls by every way, first answers in the newer era, and start-up."""
    with tempfile.TemporaryDirectory() as name:
        cache = {"AEL_CACHE": str(Path(name) / "cache")}
        python = python_of(MCP_SDK)
        with ways(Path(name), python) as found:
            for way in found:
                yield from calls_over(way, quick)
            for way in found:
                if way.protocol == NEW:
                    yield from first_answers(way, python, cache, quick)
        yield from start_up(cache, quick)
