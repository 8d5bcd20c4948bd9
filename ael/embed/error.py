"""What goes wrong around a run, as exceptions with a code of the catalogue. How a run itself ends is an outcome, never one of these."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ael.diagnostics.diagnostic import Diagnostic
from ael.diagnostics.render import render_all

if TYPE_CHECKING:
    from ael.embed.outcome import DeclaredError, Faulted, Suspended, Uncertain


class Error(Exception):
    """The base of all: a `code` (`AEL0890`), one sentence, and `notes` that say what to do."""

    def __init__(self, code: str, message: str, *notes: str) -> None:
        super().__init__("\n".join([f"[{code}] {message}", *(f"  = {note}" for note in notes)]))
        self.code = code
        self.message = message
        self.notes = notes


class LoadError(Error):
    """A program that does not check. `diagnostics` are the problems as data, warnings among them; the text shows each at its place."""

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        first = next(one for one in diagnostics if one.severity.value == "error")
        super().__init__(first.code, first.message)
        self.diagnostics = tuple(diagnostics)

    @property
    def rendered(self) -> str:
        """All problems, as `ael check` prints them."""
        return render_all(self.diagnostics)

    def __str__(self) -> str:
        return f"the program does not check\n{self.rendered}"


class BindError(Error):
    """A Python function, object or type that does not fit what the program declares. Told before anything runs."""


class OpenError(Error):
    """A program that cannot run here: a model without a key, a tool without an implementation."""


class RequestError(Error):
    """What was asked for cannot be done: a node that is not there, a run that cannot go on, a session that is closed."""


class ResultError(Error):
    """The run gave `value`, and the Python type that was asked for (a pydantic model's own validators) refuses it."""

    def __init__(self, message: str, run: str, value: Any) -> None:
        super().__init__("AEL0892", message)
        self.run = run
        self.value = value


class OutcomeError(Exception):
    """Raised by `unwrap()` of an outcome that is no value; `outcome` is that one."""

    def __init__(self, outcome: DeclaredError | Faulted | Uncertain | Suspended, text: str) -> None:
        super().__init__(text)
        self.outcome = outcome
