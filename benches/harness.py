"""Interleaved measurements in separate processes on one core, and the line that reports a result.

Every side answers the same request in turn, round after round, so that a noisy moment of the machine falls on all of
them; the median of a side's rounds is its figure. CPU time is measured, not the clock on the wall.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from benches.envs import cache

ROOT = Path(__file__).resolve().parent.parent

UNWANTED = frozenset({"VIRTUAL_ENV", "PYTHONDONTWRITEBYTECODE"})

Goal = tuple[Literal["<=", ">="], float]


class SideFailed(Exception):
    """A side could not be started, or answered a request with an error; the text says which and why."""


@dataclass(frozen=True)
class Row:
    """One result: AEL's figure (None where it could not be measured) against one other figure of the same unit.

    ``ratio`` is AEL's figure divided by the other; ``target`` is what the ratio has to be, None for one that is only reported.
    """

    name: str
    value: float | None
    unit: str
    against: str
    against_value: float | None
    ratio: float | None
    target: str | None
    ok: bool | None

    def line(self) -> str:
        """The row as one JSON object on one line."""
        return json.dumps(asdict(self), ensure_ascii=False)


def figure(number: float) -> float:
    """The number with four significant digits: more would be noise."""
    return float(f"{number:.4g}")


def row(name: str, unit: str, ours: float | None, against: str, theirs: float | None, goal: Goal | None = None) -> Row:
    """Compare two figures; without one of them there is no ratio, and a goal is neither met nor missed."""
    ratio = None if ours is None or theirs is None or theirs == 0 else ours / theirs
    ok = None
    if goal is not None and ratio is not None:
        ok = ratio <= goal[1] if goal[0] == "<=" else ratio >= goal[1]
    return Row(
        name=name,
        value=None if ours is None else figure(ours),
        unit=unit,
        against=against,
        against_value=None if theirs is None else figure(theirs),
        ratio=None if ratio is None else figure(ratio),
        target=None if goal is None else f"{goal[0]} {goal[1]:.3g}",
        ok=ok,
    )


def medians(rounds: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """The median of each side that has a measurement."""
    return {side: statistics.median(values) for side, values in rounds.items() if values}


def cores() -> tuple[int, int]:
    """The core that is measured on, and the one for everything else (the same where there is only one)."""
    usable = sorted(os.sched_getaffinity(0))
    return usable[-1], usable[0]


def clean_environment(extra: Mapping[str, str]) -> dict[str, str]:
    """The environment of a measured process: no proxies (all traffic is on loopback), no telemetry, fixed hashing.

    Compiled bytecode is kept, as an installation has it, but outside the checkout.
    """
    kept = {name: value for name, value in os.environ.items() if "proxy" not in name.lower() and name not in UNWANTED}
    quiet = {
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": str(ROOT),
        "PYTHONPYCACHEPREFIX": str(cache() / "bytecode"),
        "NO_PROXY": "*",
        "OPENAI_API_KEY": "none",
        "OPENAI_AGENTS_DISABLE_TRACING": "1",
        "LANGSMITH_TRACING": "false",
        "BAML_LOG": "off",
        "DO_NOT_TRACK": "1",
    }
    return kept | quiet | dict(extra)


class Side:
    """A measured process: a worker of one module in one environment, pinned to the measuring core."""

    def __init__(
        self, name: str, python: Path, module: str, environment: Mapping[str, str] | None = None, slow: bool = False
    ) -> None:
        core, _ = cores()
        self.name = name
        self.slow = slow
        self.process = subprocess.Popen(
            [str(python), "-m", "benches.worker", module],
            cwd=ROOT,
            env=clean_environment(environment or {}),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: os.sched_setaffinity(0, {core}),
        )
        try:
            self._answer()
        except SideFailed:
            self.close()
            raise

    def _answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        answer: dict[str, Any] = json.loads(line) if line else {"error": "the process ended without an answer"}
        if "error" in answer:
            raise SideFailed(f"{self.name}: {str(answer['error']).strip()}")
        return answer

    def ask(self, op: str, **arguments: object) -> dict[str, Any]:
        """Have one operation done; raises `SideFailed` when it fails."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps({"op": op, **arguments}) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError as gone:
            raise SideFailed(f"{self.name}: the process has ended") from gone
        return self._answer()

    def close(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()


def interleave(
    sides: Sequence[Side], rounds: int, op: str, key: str, slow: int | None = None, **arguments: object
) -> dict[str, float]:
    """Medians of ``answer[key]`` by side. A side that fails is reported on standard error and left out from then on.

    ``slow`` is how many of the rounds the Python frameworks take part in: far behind, they need no more precision.
    """
    figures: dict[str, list[float]] = {side.name: [] for side in sides}
    failed: set[str] = set()
    for number in range(rounds):
        for side in sides:
            if side.name in failed or (side.slow and slow is not None and number >= slow):
                continue
            try:
                figures[side.name].append(float(side.ask(op, **arguments)[key]))
            except SideFailed as failure:
                failed.add(side.name)
                print(f"benches: {failure}", file=sys.stderr)
    return medians({name: values for name, values in figures.items() if name not in failed})


@contextmanager
def local_server(command: Sequence[str]) -> Iterator[str]:
    """A running server on the other core, which prints its port and ends with its standard input; its base address.

    Such as ``http://127.0.0.1:4711``.
    """
    with server_process(command) as (_, port):
        yield f"http://127.0.0.1:{port}"


@contextmanager
def server_process(command: Sequence[str]) -> Iterator[tuple[int, int]]:
    """A running server as in `local_server`: the id of its process, and its port. Raises `SideFailed` when it does not start."""
    _, other = cores()
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env=clean_environment({}),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: os.sched_setaffinity(0, {other}),
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        if not line:
            raise SideFailed(f"{' '.join(command)}: it ended before it listened")
        yield process.pid, json.loads(line)["port"]
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


def model_server() -> AbstractContextManager[str]:
    """A running model server, as `local_server` gives it."""
    return local_server((sys.executable, "-m", "benches.server"))


def command_cpu(command: Sequence[str], cwd: Path, environment: Mapping[str, str] | None = None) -> float:
    """Seconds of CPU of a whole command, pinned to the measuring core; raises `SideFailed` when its exit code is not 0."""
    core, _ = cores()
    process = subprocess.Popen(
        command,
        cwd=cwd,
        env=clean_environment(environment or {}),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: os.sched_setaffinity(0, {core}),
    )
    assert process.stderr is not None
    with process.stderr:
        said = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SideFailed(f"{' '.join(command)}: exit {process.returncode}: {said.strip()[-500:]}")
    return usage.ru_utime + usage.ru_stime


def seconds_to_answer(command: Sequence[str], cwd: Path, environment: Mapping[str, str] | None = None) -> float:
    """Seconds on the clock from the start of a command, pinned to the measuring core, to the end of its first line of output.

    Raises `SideFailed` when there is none, or its exit code is not 0.
    """
    core, _ = cores()
    start = time.perf_counter()
    with subprocess.Popen(
        command,
        cwd=cwd,
        env=clean_environment(environment or {}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        preexec_fn=lambda: os.sched_setaffinity(0, {core}),
    ) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        seconds = time.perf_counter() - start
        process.stdout.read()
    if process.returncode != 0 or not line.endswith(b"\n"):
        raise SideFailed(f"{' '.join(command)}: exit {process.returncode}, its first line is {line[:200]!r}")
    return seconds
