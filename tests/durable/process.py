"""Real processes for runs that are really killed: forked from one that has all loaded, each ends itself with SIGKILL where it is told to.

`python -m tests.durable.process` reads a request a line, and answers each when its process is gone.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any

from ael.run.outcome import Faulted, Outcome, Suspended, Value
from ael.run.stored import Origin
from ael.types.fault import FaultKind
from tests.durable.programs import program
from tests.durable.world import Life, Outside, Stage, lives
from tests.journal.places import Place

ROOT = Path(__file__).parents[2]
Plan = Sequence[tuple[str, Any]]


class Ledger(Outside):
    """An outside that outlives the processes of a run: what happens there is in a file before the process hears of it."""

    def __init__(self, stage: Stage, file: Path) -> None:
        super().__init__(stage)
        self._file = file
        self._puts: list[tuple[str, object, str, Origin | None]] = []
        for line in file.read_text(encoding="utf-8").splitlines() if file.exists() else ():
            what, *told = json.loads(line)
            if what == "put":
                self._puts.append((told[0], told[1], told[2], None if told[3] is None else Origin(tuple(told[3]), told[4])))
            else:
                super().happened(what, *told)

    async def open(self) -> None:
        """Put back what its store has taken."""
        for key, value, token, origin in self._puts:
            await super().put(key, value, token, origin)

    def happened(self, what: str, *told: Any) -> None:
        self._write(what, *told)
        super().happened(what, *told)

    async def put(self, key: str, value: object, token: str, origin: Origin | None = None) -> None:
        self._write("put", key, value, token, *((None, "") if origin is None else (list(origin.sources), origin.written)))
        await super().put(key, value, token, origin)

    def _write(self, *told: Any) -> None:
        number = os.open(self._file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(number, (json.dumps(told) + "\n").encode())
        finally:
            os.close(number)

    def death(self, life: Life) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


@cache
def stage_of(plan: str, doubt: bool) -> Stage:
    """A program is compiled once, before its processes are forked."""
    made = program([(kind, what) for kind, what in json.loads(plan)])
    return Stage(made, doubt)


def _process(asked: dict[str, Any]) -> dict[str, object]:
    """The work of one process: how it ended, if it did, and how many points it came by."""
    ledger = Ledger(stage_of(asked["plan"], asked["doubt"]), Path(asked["file"]))
    point = asked["point"]
    if point is not None:
        setattr(ledger, f"crash_{point[0]}", frozenset({point[1]}))
    place = Place(asked["kind"], Path(asked["where"]) if asked["kind"] == "sqlite" else None, asked["where"])

    async def whole() -> Outcome | None:
        await ledger.open()
        return await lives(place, ledger, asked["run"])

    outcome = asyncio.run(whole())
    told: dict[str, object] = {word: getattr(ledger, word) for word in ("records", "acts", "statements")}
    match outcome:
        case Suspended():
            return {**told, "outcome": "parked"}
        case Value(plain=plain):
            return {**told, "outcome": "value", "value": plain}
        case _:
            return {**told, "outcome": repr(outcome)}


def _serve() -> None:
    for line in sys.stdin:
        asked = json.loads(line)
        stage_of(asked["plan"], asked["doubt"])
        ended = Path(asked["file"] + ".ended")
        ended.unlink(missing_ok=True)
        child = os.fork()
        if child == 0:
            try:
                ended.write_text(json.dumps(_process(asked)), encoding="utf-8")
                os._exit(0)
            finally:
                os._exit(1)
        _, status = os.waitpid(child, 0)
        answer = {"killed": os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL, "status": status}
        if ended.exists():
            answer |= json.loads(ended.read_text(encoding="utf-8"))
        print(json.dumps(answer), flush=True)


class Forge:
    """`with Forge(place) as forge:` makes processes of runs in a place."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.killed = 0
        self._folder = tempfile.TemporaryDirectory(prefix="ael-forge-")

    def __enter__(self) -> Forge:
        command = [sys.executable, "-m", "tests.durable.process"]
        self._server = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._server.communicate(timeout=60)
        self._folder.cleanup()

    def file(self, run: str) -> Path:
        """Where what is outside of a run is kept."""
        return Path(self._folder.name, run)

    def process(self, run: str, plan: Plan, doubt: bool, point: tuple[str, int] | None) -> dict[str, Any]:
        """One process of a run: what it told, and whether it was killed."""
        where = str(self.place.path) if self.place.path is not None else self.place.address
        asked = {
            "kind": self.place.kind, "where": where, "run": run, "plan": json.dumps(plan), "doubt": doubt, "point": point,
            "file": str(self.file(run)),
        }  # fmt: skip
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.write(json.dumps(asked) + "\n")
        self._server.stdin.flush()
        told: dict[str, Any] = json.loads(self._server.stdout.readline())
        assert told["killed"] or told["status"] == 0, told
        self.killed += told["killed"]
        return told


class Killed:
    """The processes of one run, the first of which is killed at `point`: what `to_the_end` takes for a process."""

    def __init__(self, forge: Forge, plan: Plan, doubt: bool, point: tuple[str, int] | None) -> None:
        self.forge = forge
        self.plan = plan
        self.doubt = doubt
        self.point = point
        self.told: dict[str, Any] = {}

    def outside(self, run: str) -> Ledger:
        """What is outside of the run by now."""
        ledger = Ledger(stage_of(json.dumps(self.plan), self.doubt), self.forge.file(run))
        ledger.crashes = self.forge.killed
        return ledger

    def __call__(self, place: Place, outside: Outside, run: str) -> Outcome | None:
        point, self.point = self.point, None
        self.told = told = self.forge.process(run, self.plan, self.doubt, point)
        now = self.outside(run)
        # What people look at when they settle a call.
        outside.sent, outside.done, outside.by_place, outside.again = now.sent, now.done, now.by_place, now.again
        if told["killed"]:
            return None
        match told["outcome"]:
            case "parked":
                return Suspended((), None)
            case "value":
                return Value(told["value"], told["value"])
            case other:
                return Faulted(FaultKind.CRASHED, other, {}, None)  # type: ignore[arg-type]


if __name__ == "__main__":
    _serve()
