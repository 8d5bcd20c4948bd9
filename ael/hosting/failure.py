"""Why a program cannot be started here."""

from __future__ import annotations


class HostError(Exception):
    """A program that cannot be started here: a model without a key, a missing file. `notes` say what to do."""

    def __init__(self, code: str, message: str, *notes: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.notes = notes
