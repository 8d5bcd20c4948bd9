"""Declared errors as a Python function raises them. Loaded by modules of tools, so it loads nothing else of the run time."""

from __future__ import annotations

from ael.types import fault


class Failure(fault.Failure):
    """A declared error of a tool or an operation: `raise ael.Failure("NotFound", id="A-1")`.

    `error` is the name of an error that the signature lists after `fails`; a name that two modules declare is written whole
    (`orders.NotFound`). Its fields are checked against the declaration when it is raised: what does not fit is the fault `Malformed`,
    and an error that is not listed is the fault `Crashed`.
    """

    def __init__(self, error: str, /, **fields: object) -> None:
        super().__init__(error, fields)
