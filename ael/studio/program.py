"""The program that the studio looks at, as its files are now: opened again when they change, and with its last deployment while it has
errors."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path

from ael.data import replace
from ael.diagnostics.diagnostic import Bag
from ael.hosting.masking import masker_of
from ael.project.deployment import Deployment
from ael.project.program import Opened, open_program, open_store
from ael.project.watched import Watched
from ael.run.masker import Masker

_AGAIN = 0.5
"""Seconds for which the files are taken to be as they were."""
_PROBLEMS = 20
"""Problems of a program that are told."""


class Program:
    """The program at `path` under the deployment `deploy`. `store`: a SQLite file of runs in place of what the deployment says."""

    def __init__(self, path: Path, deploy: str | None, store: Path | None) -> None:
        self.path = path
        self.deployment = Deployment()
        self.masker = Masker(())
        self.opened: Opened | None = None
        self.problems: Sequence[str] = ()
        self.version = 0
        """How often it was opened: what was made of an earlier one is not of this one."""
        self._deploy = deploy
        self._store = store
        self._watched = Watched([path])
        self._looked = 0.0
        self._begun = False
        self._lock = asyncio.Lock()

    def open(self, bag: Bag) -> bool:
        """Open it the first time. Problems of its deployment go to the bag, and then it is of no use: False. One whose sources have errors
        is looked at all the same: its runs are there."""
        found = open_store(self.path, bag, deploy=self._deploy)
        if found is None:
            return False
        self._take(found)
        self._open()
        self._begun = True
        return True

    async def now(self) -> Opened | None:
        """The program as its files are now; None while it has errors, which are in `problems` then."""
        async with self._lock:
            if time.monotonic() - self._looked >= _AGAIN:
                if await asyncio.to_thread(self._watched.changed):
                    await asyncio.to_thread(self._open)
                self._looked = time.monotonic()
        return self.opened

    def _open(self) -> None:
        self.version += 1
        bag = Bag()
        found = open_program(self.path, bag, deploy=self._deploy)
        told = [one for one in bag.sorted() if one.severity.value == "error"]
        self.problems = [f"{one.code}: {one.message}" for one in told[:_PROBLEMS]]
        if found is None:
            self.opened = None
            return
        self._take(found.deployment)
        self.opened = replace(found, deployment=self.deployment)

    def _take(self, deployment: Deployment) -> None:
        if self._store is not None:
            runs = replace(deployment.runs, kind="sqlite", path=str(self._store.resolve()), secret=None, said=True)
            deployment = replace(deployment, runs=runs)
        elif self._begun:
            # Where runs are kept stays as it was when the studio began: its store is open.
            kept = {word: getattr(self.deployment.runs, word) for word in ("kind", "path", "secret")}
            deployment = replace(deployment, runs=replace(deployment.runs, **kept))
        self.deployment = deployment
        self.masker = masker_of(deployment)
