"""`--watch`: doing something, and again whenever a file of the program changes, until it is interrupted. One engine for every command.

A change is acted on when it has settled: an editor that writes a file in two steps, or a branch that is checked out, is one change.
"""

from __future__ import annotations

import argparse
import importlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import NoReturn

from ael.project.watched import Watched, difference

PAUSE = 0.3
"""Seconds between two looks at the files."""
SETTLE = 0.05
"""Seconds without a further change after which a change has settled."""
_MOST_SETTLING = 40
"""A file that never stops changing is acted on after so many looks."""

Act = Callable[[frozenset[Path]], Iterable[Path] | None]
"""What is done: it gets the files that changed (none of them the first time) and may give those that it wrote itself."""


def add_watch(parser: argparse.ArgumentParser, done: str) -> None:
    """The option `--watch`; `done`: what is done whenever a file changes."""
    parser.add_argument("--watch", action="store_true", help=f"{done} whenever a file of the program changes, until interrupted")


def watch(
    paths: Iterable[Path],
    act: Act,
    *,
    again: str,
    also: Iterable[Path] = (),
    ignored: Iterable[Path] = (),
    interrupts: bool = False,
) -> NoReturn:
    """Act, and again after each change of the programs at `paths`. Ends by an interrupt alone: `KeyboardInterrupt`, exit code 130.

    `again`: the word for what is done ("checking again"), said on standard error before each time but the first. `also`: files and folders
    beside the programs', whatever their names end with. `ignored`: files and folders that `act` writes and that are no reason to act.
    `interrupts`: a change while `act` is under way ends it, as an interrupt of the user does, and it is begun anew.

    Python modules of the programs that `act` loads are loaded anew the next time.
    """
    watched = Watched(paths, also=also, ignored=ignored)
    own = frozenset(sys.modules)
    do = _Interrupted(act, watched) if interrupts else act
    watched.wrote(_acted(do, frozenset()))
    while True:
        wait(PAUSE)
        changed = settled(watched)
        if changed:
            print(f"\n--- {said(changed)}, {again} ---", file=sys.stderr, flush=True)
            forget(own, watched.roots)
            watched.wrote(_acted(do, changed))


def settled(watched: Watched) -> frozenset[Path]:
    """What changed since the last time, once it has stopped changing; empty when nothing did."""
    before, changed = watched.before, watched.changed()
    for _ in range(_MOST_SETTLING if changed else 0):
        wait(SETTLE)
        if not watched.changed():
            break
    return difference(before, watched.before) if changed else changed


class _Interrupted:
    """Does something until a file changes."""

    def __init__(self, act: Act, watched: Watched) -> None:
        self._act = act
        self._watched = watched

    def __call__(self, changed: frozenset[Path]) -> Iterable[Path] | None:
        done, fired = threading.Event(), threading.Event()
        thread = threading.Thread(target=self._look, args=(done, fired), daemon=True)
        thread.start()
        try:
            written = self._act(changed)
            done.set()
            thread.join()
            # An interrupt that this thread sent last is heard here, and not later.
            time.sleep(0)
        except KeyboardInterrupt:
            done.set()
            if not fired.is_set():
                raise
            return None
        return written

    def _look(self, done: threading.Event, fired: threading.Event) -> None:
        before = self._watched.before
        while not done.wait(PAUSE):
            if difference(before, self._watched.look()) and not done.is_set():
                fired.set()
                os.kill(os.getpid(), signal.SIGINT)
                return


def forget(own: Collection[str], roots: Collection[Path]) -> None:
    """Have the Python modules below some folders loaded anew, but not those of `own`: this program's."""
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if name in own or not isinstance(file, str):
            continue
        path = Path(file).resolve()
        if any(path.is_relative_to(root) for root in roots) and "site-packages" not in path.parts:
            del sys.modules[name]
    importlib.invalidate_caches()


def wait(seconds: float) -> None:
    """Wait between two looks."""
    time.sleep(seconds)


def _acted(act: Act, changed: frozenset[Path]) -> Iterable[Path]:
    """What it wrote. A mistake of the machine (a full disk) is told, and the watching goes on."""
    try:
        return act(changed) or ()
    except OSError as error:
        where = f"`{error.filename}`: " if error.filename is not None else ""
        print(f"ael: {where}{(error.strerror or str(error)).lower()}", file=sys.stderr)
        return ()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()


def said(changed: frozenset[Path]) -> str:
    """One name for one file, else how many: a branch that is checked out may change thousands."""
    if len(changed) > 1:
        return f"{len(changed)} files changed"
    (file,) = changed
    try:
        return f"{os.path.relpath(file)} changed"
    except ValueError:
        return f"{file} changed"
