"""How a command of `ael mcp` ends that does not come to its end."""

from __future__ import annotations

from ael.cli.report import told


class Stopped(Exception):
    """A command that ends with what it has told already."""

    def __init__(self, exit_code: int) -> None:
        super().__init__(exit_code)
        self.exit_code = exit_code


class CommandError(Exception):
    """Why a command ends here: a code, a sentence, and what to do."""

    def __init__(self, code: str, message: str, *notes: str, exit_code: int = 2) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.notes = notes
        self.exit_code = exit_code

    def text(self) -> str:
        """As it is printed."""
        return told(self.code, self.message, *self.notes)

    def but(self, note: str) -> CommandError:
        """The same with one more note."""
        return CommandError(self.code, self.message, *self.notes, note, exit_code=self.exit_code)
