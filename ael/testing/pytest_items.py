"""The items of the pytest plugin: a file of AEL, and each of its tests. Loaded when pytest meets such a file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ael.diagnostics.diagnostic import Bag
from ael.diagnostics.render import render_all
from ael.project.pack import find_root
from ael.testing.runner import Settings
from ael.testing.session import Suite, Test, keep_snapshots

_SUITES = pytest.StashKey[dict[Path, tuple[Suite, str]]]()


class AelFailure(Exception):
    """A test failed; the text is what AEL tells of it."""


class AelFile(pytest.File):
    """A module with tests."""

    def collect(self) -> Iterator[pytest.Item]:
        """An item for each test of this file. Raises `CollectError` with the diagnostics of a program that does not check."""
        suite, problem = self._suite()
        if problem:
            raise self.CollectError(problem)
        own = [test for test in suite.tests() if suite.path(test) == self.path]
        for test in own:
            yield AelItem.from_parent(self, name=test.name, suite=suite, test=test)

    def _suite(self) -> tuple[Suite, str]:
        """The program of this file, loaded once for all files of its pack, and what is wrong with it."""
        loaded = self.session.stash.setdefault(_SUITES, {})
        root = find_root(self.path.parent)
        whole = root or self.path
        if whole not in loaded:
            bag = Bag()
            suite = Suite([whole], bag)
            loaded[whole] = suite, render_all(bag.sorted(), colour=False) if bag.errors else ""
        return loaded[whole]


class AelItem(pytest.Item):
    """One `test` block."""

    def __init__(self, *, suite: Suite, test: Test, **words: Any) -> None:
        super().__init__(**words)
        self.suite = suite
        self.test = test
        self.add_marker(pytest.mark.ael)

    def runtest(self) -> None:
        """Run it. Raises `AelFailure`."""
        update = bool(self.config.getoption("--ael-update-snapshots"))
        settings = Settings(timeout=float(self.config.getini("ael_timeout")), update=update)
        result = self.suite.run(self.test, settings)
        if result.problem is not None:
            raise AelFailure(result.problem)
        keep_snapshots(self.path, [result])

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """What AEL tells, with the place of the test, and no frames of Python."""
        if isinstance(excinfo.value, AelFailure):
            return f"{excinfo.value}\n\n{self.test.file}:{self.test.line}: test failed"
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Where it stands; lines from 0, as pytest counts."""
        return self.path, self.test.line - 1, self.test.name
