"""Watching in tests: at each look something is done, and after the last the user interrupts. No time passes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from ael.cli import watching


def watch_steps(monkeypatch: pytest.MonkeyPatch, steps: Sequence[Callable[[], object]]) -> None:
    """Each step is done before one look at the files; then it is interrupted."""
    left = iter(steps)

    def instead_of_waiting(seconds: float) -> None:
        if seconds == watching.SETTLE:
            return
        step = next(left, None)
        if step is None:
            raise KeyboardInterrupt
        step()

    monkeypatch.setattr(watching, "wait", instead_of_waiting)
