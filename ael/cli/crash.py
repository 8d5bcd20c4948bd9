"""`ael run --crash-at N | every`: kills the process at a write boundary of its journal, resumes the run, and tells what was sent how often.

The runs are kept in a temporary folder, never in the deployment's store; stores of the program that are SQLite files are copies there.
Everything else that a program sends is sent for real, once for each crashed run.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import shutil
import signal
import sqlite3
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path

from ael.cli.approve import FixedApprover
from ael.cli.progress import clean, json_text
from ael.cli.report import tell, told
from ael.cli.whom import whom
from ael.data import dataclass, field, replace
from ael.durable.lives import Point, main
from ael.durable.proof import Crashed, Life, Proof, answered, prove
from ael.durable.sends import read
from ael.host import Host, HostError, open_host
from ael.journal.entry import Entry
from ael.journal.journal import kept
from ael.journal.sqlite import SqliteDatabase
from ael.lower.lower import lower
from ael.project.deployment import StoreBinding
from ael.project.program import Opened
from ael.run.bindings import Options, system_user

SCRIPTED = frozenset({"scripted", "replay"})
LIVES = 50
"""Processes that a run is given at most."""


class Failed(Exception):
    """A process of the proof ended in a way that proves nothing; what it printed is the message."""


def crash(opened: Opened, entry: str, values: Mapping[str, object], args: argparse.Namespace) -> int:
    """Crash, resume and report. Gives the exit code: 1 when a promise was broken."""
    if not hasattr(os, "fork") or not hasattr(signal, "SIGKILL"):
        print(told("AEL0907", "`--crash-at` kills processes, which this system has no way to do"), file=sys.stderr)
        return 2
    at = _wanted(args.crash_at)
    if at is None:
        tell("AEL0841", "`--crash-at` takes the number of a record from 1 on, or `every`")
        return 2
    try:
        options = whom(opened.deployment, args)
        open_host(opened, entry, approver=None)
    except HostError as error:
        tell(error.code, error.message, *error.notes)
        return 2
    folder = Path(tempfile.mkdtemp(prefix="ael-crash-"))
    try:
        proof = _proof(_Desk(opened, entry, values, args, folder, options), at)
    except Failed as failed:
        print(clean(told("AEL0907", f"a process of the proof failed: {failed}")), file=sys.stderr)
        return 1
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    _report(proof, args)
    return 1 if proof.problems else 0


def _wanted(text: str) -> int | None:
    """The record to crash after, 0 for every one; None for what is neither."""
    if text == "every":
        return 0
    return int(text) if text.isdecimal() and int(text) > 0 else None


def _proof(desk: _Desk, at: int) -> Proof:
    unit = lower(desk.opened.program)
    whole = desk.run(None)
    points = [Point("record", at)]
    if at == 0:
        points = [Point("record", number) for number in range(1, desk.records + 1)]
        points += [Point("send", number) for number in range(1, desk.sends + 1)]
    if not desk.records:
        points = []
    crashed = [desk.run(point) for point in points]
    return prove(unit, whole, crashed, same_models=desk.same_models, memory=desk.memory)


@dataclass
class _Desk:
    """Runs the program in processes of its own, each run in a folder of its own."""

    opened: Opened
    entry: str
    values: Mapping[str, object]
    args: argparse.Namespace
    folder: Path
    options: Options
    records: int = 0
    sends: int = 0
    _count: int = 0
    _stores: dict[Path, Path] = field(default_factory=dict)
    _run: str = field(default_factory=lambda: f"crash-{secrets.token_hex(6)}")
    """One name for all: keys, which come from it, and values made from them can be compared."""

    @property
    def same_models(self) -> bool:
        """Whether asking a model again gives the same turn."""
        bound = self.opened.deployment.models
        models = self.opened.program.models
        return all((bound[name].provider if name in bound else spec.provider) in SCRIPTED for name, spec in models.items())

    @property
    def memory(self) -> list[str]:
        """The stores that are kept in memory."""
        bound = self.opened.deployment.stores
        memory = StoreBinding("memory")
        return [name.rpartition(".")[2] for name in self.opened.program.stores if bound.get(name, memory).kind == "memory"]

    def run(self, point: Point | None) -> Crashed:
        """One run, from its start to its end, over as many processes as it takes."""
        self._count += 1
        folder = self.folder / str(self._count)
        folder.mkdir()
        opened = self._with_copies(folder)
        lives: list[Life] = []
        before: list[Entry] = []
        noted = 0
        while len(lives) < LIVES:
            ended = self._process(opened, folder, point if not lives else None)
            sends = read(folder / "sends")
            lives.append(Life(answered(before), sends[noted:]))
            noted = len(sends)
            before = _entries(folder, self._run)
            if ended is None:
                continue
            if point is None:
                self.records, self.sends = int(str(ended["records"])), int(str(ended["sends"]))
            if ended["again"] is not None:
                time.sleep(float(str(ended["again"])))
                continue
            outcome = ended["outcome"]
            assert isinstance(outcome, dict)
            return Crashed("uncrashed" if point is None else str(point), lives, before, outcome)
        raise Failed(f"the run did not end in {LIVES} processes")

    def _process(self, opened: Opened, folder: Path, point: Point | None) -> dict[str, object] | None:
        """One process of a run. None when it was killed, as it was to be."""
        ended = folder / "ended"
        ended.unlink(missing_ok=True)

        def work() -> None:
            main(lambda: self._host(opened), folder, self._run, self.entry, self.values, point, self.options)

        status = _forked(work, folder / "log")
        if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL and point is not None:
            return None
        if not ended.exists():
            said = (folder / "log").read_text(encoding="utf-8", errors="replace").strip()
            raise Failed(said.splitlines()[-1] if said else f"it ended with status {status}")
        found: dict[str, object] = json.loads(ended.read_text(encoding="utf-8"))
        return found

    def _host(self, opened: Opened) -> Host:
        decides = self.args.approve or self.args.deny
        approver = FixedApprover(self.args.approve, system_user(), opened.deployment.roles) if decides else None
        return open_host(opened, self.entry, approver=approver)

    def _with_copies(self, folder: Path) -> Opened:
        """The program with copies of its SQLite stores, as they were when the proof began."""
        deployment = self.opened.deployment
        stores: dict[str, StoreBinding] = {}
        for name, binding in deployment.stores.items():
            if binding.kind == "sqlite" and binding.path is not None:
                original = Path(deployment.folder, binding.path).resolve()
                copy = folder / self._copy(original).name
                if not copy.exists() and self._copy(original).exists():
                    shutil.copy(self._copy(original), copy)
                stores[name] = replace(binding, path=str(copy))
            else:
                stores[name] = binding
        return replace(self.opened, deployment=replace(deployment, stores=stores))

    def _copy(self, original: Path) -> Path:
        """A copy of a SQLite file, made once; no file where there is none yet."""
        found = self._stores.get(original)
        if found is None:
            found = self._stores[original] = self.folder / f"store{len(self._stores)}.db"
            if original.exists():
                with (
                    closing(sqlite3.connect(f"{original.as_uri()}?mode=ro", uri=True)) as source,
                    closing(sqlite3.connect(found)) as target,
                ):
                    source.backup(target)
        return found


def _forked(work: Callable[[], None], log: Path) -> int:
    """Do `work` in a process of its own, whose output goes to `log`; how it ended, as `os.waitpid` tells it."""
    sys.stdout.flush()
    sys.stderr.flush()
    with warnings.catch_warnings():
        # A child of a process with threads must not need what they hold: this one starts no thread before its own.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        code = 1
        try:
            number = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            os.dup2(number, 1)
            os.dup2(number, 2)
            work()
            code = 0
        except BaseException as error:
            os.write(2, f"{type(error).__name__}: {error}\n".encode(errors="backslashreplace"))
        finally:
            os._exit(code)
    return os.waitpid(child, 0)[1]


def _entries(folder: Path, run: str) -> list[Entry]:
    """The journal as it is on disk."""
    database = SqliteDatabase(folder / "runs.db")
    try:
        return [entry for _, entry in kept(database, run)]
    finally:
        database.close()


# --- the report ----------------------------------------------------------------------------------------------------------


def _report(proof: Proof, args: argparse.Namespace) -> None:
    if args.json:
        print(json_text(_plain(proof)))
        return
    if not args.quiet:
        _table(proof)
    for problem in proof.problems:
        print(clean(told("AEL0908", problem)), file=sys.stderr)


def _table(proof: Proof) -> None:
    rows = [("effect", "calls", "repeat", "key", "sent", "ended")]
    rows += [
        (one.path, one.target.partition(".")[2], one.repeat or "-", one.key[:12] or "-", _times(one.sent), _tally(one.endings))
        for one in proof.effects
    ]  # fmt: skip
    widths = [max(len(row[at]) for row in rows) for at in range(6)]
    for row in rows:
        print(clean("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()))
    runs = "1 run was" if proof.runs == 1 else f"{proof.runs} runs were"
    print(clean(f"\n{runs} crashed and resumed; ended: {_tally(proof.endings)}"))
    for path, times in proof.uncertain.items():
        print(clean(f"uncertain in {times}: {path}; it was not sent again"))
    for note in proof.notes:
        print(clean(f"  = {note}"))
    if not proof.problems:
        print("nothing was done twice, asked twice, or lost")


def _times(sent: Mapping[int, int]) -> str:
    """`once`, or how often in how many runs."""
    words = {0: "never", 1: "once", 2: "twice"}
    parts = [(words.get(times, f"{times} times"), runs) for times, runs in sorted(sent.items())]
    return parts[0][0] if len(parts) == 1 else ", ".join(f"{word} in {runs}" for word, runs in parts)


def _tally(endings: Mapping[str, int]) -> str:
    return ", ".join(f"{word} {count}" for word, count in sorted(endings.items()))


def _plain(proof: Proof) -> dict[str, object]:
    return {
        "runs": proof.runs,
        "effects": [
            {
                "path": one.path,
                "target": one.target,
                "repeat": one.repeat,
                "key": one.key,
                "sent": {str(times): runs for times, runs in sorted(one.sent.items())},
                "endings": dict(one.endings),
            }
            for one in proof.effects
        ],
        "uncertain": dict(proof.uncertain),
        "endings": dict(proof.endings),
        "problems": proof.problems,
        "notes": proof.notes,
    }
