"""Who stands beside the run of a `test`: says what scripted things answer, ends the run where the test says so, knows what was called."""

from __future__ import annotations

from collections.abc import Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from ael.types.signature import Signature

if TYPE_CHECKING:
    from ael.run.run import Run
    from ael.run.step import Step


class Called(Protocol):
    """What can be called, as far as a script has to know it."""

    name: str
    short: str
    signature: Signature
    timeout: float | None


class Visited(Protocol):
    """A node, as far as a script has to know it."""

    name: str
    short: str


class Desk(Protocol):
    """One test. It outlives the executions of its run: a run that was crashed goes on beside the same desk."""

    async def script(self, run: Run, path: str, name: str, turns: Sequence[object]) -> None:
        """`script name [ … ]`, at the structural path of the statement. Raises the fault `Malformed` for what is no turn."""

    async def act(self, run: Run, path: str, what: str, target: str, given: Mapping[str, object]) -> object:
        """One of the functions of tests (`ael.check.builtin`), at the structural path of its call."""

    def called(self, target: str, arguments: Mapping[str, object]) -> None:
        """A tool, operation or store operation begins to run."""

    def refused(self, target: str) -> None:
        """A call that a model proposed was refused by a check before it."""

    def visited(self, path: str, plan: Visited, arguments: Sequence[object]) -> None:
        """A node is visited."""

    def body(self, plan: Called, path: str, step: Step) -> Coroutine[Any, Any, object] | None:
        """What stands for the body of a call, None for its own. `path` is that of the attempt."""

    def inside(self, run: Run, plan: Visited, path: str) -> Coroutine[Any, Any, object] | None:
        """What stands for a visit of a node, None for its own."""

    async def acted(self, run: Run, target: str, *, recorded: bool) -> None:
        """A call has acted, and its answer is recorded or not yet: where the test says so, the run ends here as if it were killed."""
