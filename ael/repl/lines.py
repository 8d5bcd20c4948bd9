"""Where inputs come from: a terminal, with history and completion, or a file or pipe, line by line."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TextIO

from ael.repl.reading import MAX_INPUT, wants

PROMPT, MORE = "ael> ", "...  "
_CLOSERS = frozenset(')]}"')
_KEPT = 2_000
"""Inputs of the history."""

Complete = Callable[[str], list[str]]


class Ended(Exception):
    """There is no more input. `left`: what was begun and never closed."""

    def __init__(self, left: str = "") -> None:
        super().__init__(left)
        self.left = left


class Interrupted(Exception):
    """Ctrl-C at the prompt: what was begun is dropped."""


class Lines:
    """Gives whole inputs. `interactive`: somebody types."""

    def __init__(self, source: TextIO, out: TextIO, prompts: TextIO) -> None:
        self._source = source
        self.interactive = source.isatty()
        # `input` edits lines only where it also writes to the terminal; elsewhere the prompt is no result.
        self._edits = self.interactive and out.isatty() and source is sys.stdin
        self._prompts = prompts

    def next(self) -> str:
        """The next whole input. Raises `Ended` and `Interrupted`."""
        text, missing = "", "more"
        while True:
            try:
                line = self._line(MORE if text else PROMPT)
            except KeyboardInterrupt:
                if self.interactive:
                    print(file=self._prompts)
                raise Interrupted from None
            except UnicodeDecodeError:
                # What is no UTF-8 is no source; the rest of the input may be.
                return "\N{REPLACEMENT CHARACTER}"
            if line is None:
                raise Ended(text)
            text = f"{text}\n{line}" if text else line
            if missing == "a closer" and not _CLOSERS.intersection(line) and len(text) <= MAX_INPUT:
                # Nothing in this line closes what is open: the whole need not be read again.
                continue
            missing = wants(text)
            if missing == "nothing" or len(text) > MAX_INPUT:
                return text

    def _line(self, prompt: str) -> str | None:
        if self._edits:
            try:
                return input(prompt)
            except EOFError:
                print(file=self._prompts)
                return None
        if self.interactive:
            print(prompt, end="", file=self._prompts, flush=True)
        line = self._source.readline(MAX_INPUT + 1)
        return line.rstrip("\r\n") if line else None


def history_file() -> Path:
    """Where inputs are kept from one session to the next: `AEL_HISTORY`, else in the user's state."""
    chosen = os.environ.get("AEL_HISTORY")
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(chosen) if chosen else Path(state, "ael", "history")


def edited(complete: Complete, *, history: bool = True) -> Iterator[None]:
    """Line editing while this is open, where the system has it: history in a file of one's own, completion by Tab."""
    try:
        import readline
    except ImportError:
        # Windows has none; lines are read as they come.
        yield
        return
    file = history_file()
    if history:
        _quietly(lambda: readline.read_history_file(file))
    readline.set_history_length(_KEPT)
    readline.set_completer_delims(" \t\n()[]{},:=<>+-*/%|\"'")
    found: list[str] = []

    def completer(text: str, state: int) -> str | None:
        if state == 0:
            line = readline.get_line_buffer()[: readline.get_endidx()]
            try:
                found[:] = complete(line)
            except Exception:  # whatever happens here, the line stays
                found.clear()
            if line.lstrip().startswith(":") and " " not in line.lstrip():
                found[:] = [one[1:] for one in found]
        return found[state] if state < len(found) else None

    readline.set_completer(completer)
    readline.parse_and_bind("bind ^I rl_complete" if "libedit" in (readline.__doc__ or "") else "tab: complete")
    try:
        yield
    finally:
        readline.set_completer(None)
        if history:
            _quietly(lambda: _kept(readline.write_history_file, file))


def _kept(write: Callable[[Path], None], file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    write(file)
    file.chmod(0o600)


def _quietly(act: Callable[[], None]) -> None:
    try:
        act()
    except OSError:
        # A history that cannot be read or kept is none.
        return
