"""Calls of tools as runs: what holds for all of them, wherever their runs are kept (`ael.server.memory`, `ael.server.kept`)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

from ael.host import Host
from ael.project.serving import Listen
from ael.project.tenants import at_once
from ael.run import events as e
from ael.run.entry import decoded
from ael.server.answer import failed
from ael.server.exposure import ExposedTool
from ael.server.flight import Request
from ael.server.gate import Full, Gate
from ael.types.fault import FaultKind
from ael.types.problem import DecodeError

APPROVAL = "approval"
"""The key of the one question that an `input_required` answer holds."""
ENDING = "the server is shutting down"
RETRY_AFTER = 1
"""Seconds after which a client that found no room may try again."""
LAST_REPORT = 1.0
"""Seconds for which an answer waits until the client has what was told before it."""


class StaleState(Exception):
    """A `requestState` that is not of a call that waits, or of another call than this."""


@dataclass(frozen=True)
class InputRequired:
    """The call waits for a person: the client asks, and calls again with the answer and the state."""

    message: str
    schema: Mapping[str, object]
    state: str


Answered = dict[str, object] | InputRequired


class Calls(ABC):
    """All calls of one server, between `open` and `close`."""

    def __init__(self, host: Host, listen: Listen) -> None:
        self._host = host
        self._listen = listen
        self.gate = Gate(listen.concurrent, listen.queue, at_once(host.opened.deployment.tenants))
        self.draining = False

    @property
    @abstractmethod
    def in_flight(self) -> int:
        """Runs of calls that this process executes."""

    @abstractmethod
    async def call(self, request: Request) -> Answered:
        """Run the tool. Never raises for what a run does."""

    @abstractmethod
    async def go_on(self, state: str, request: Request, response: object) -> Answered:
        """The client calls again about a question. Raises `StaleState`: only the same caller, tool and arguments fit."""

    @abstractmethod
    async def open(self) -> None:
        """Begin to take calls."""

    @abstractmethod
    def leave(self) -> None:
        """The only client that there is went away."""

    @abstractmethod
    async def close(self) -> None:
        """Take no more calls, and let those in flight end by themselves for the drain's time."""

    def ending(self) -> bool:
        """Whether no more calls are taken."""
        return self.draining

    def misfit(self, tool: ExposedTool, arguments: Mapping[str, object]) -> str | None:
        """What is wrong with arguments, in words that a model can act on; None when they fit."""
        try:
            decoded(self._host.engine.input(tool.node), arguments)
        except DecodeError as error:
            return error.text
        return None

    def _misfitting(self, request: Request) -> dict[str, object] | None:
        """The answer to arguments that do not fit."""
        problem = self.misfit(request.tool, request.arguments)
        return None if problem is None else failed(FaultKind.BAD_ARGUMENTS, f"the arguments do not fit: {problem}")

    async def _enter(self, request: Request) -> dict[str, object] | None:
        """Take a place among the calls at once; the refusal where there is none."""
        if self.draining:
            return ending()
        try:
            await self.gate.enter(request.caller)
        except Full as full:
            return failed(FaultKind.UNAVAILABLE, full.message, None, {"retry_after": RETRY_AFTER})
        if request.presence.gone or self.ending():
            self.gate.leave(request.caller)
            return ending()
        return None


def ending() -> dict[str, object]:
    """The answer of a server that takes nothing more."""
    return failed(FaultKind.UNAVAILABLE, ENDING, None, {"retry_after": RETRY_AFTER})


def another_call() -> dict[str, object]:
    """The answer to a key that was used for something else."""
    return failed(FaultKind.BAD_ARGUMENTS, "this key names another call: a key is for one tool with the same arguments")


def words(event: e.Event) -> str | None:
    """An event as progress, None for what is nobody's but the operator's."""
    match event:
        case e.NodeStarted(node=node):
            return f"node {_short(node)}"
        case e.NodeFinished(node=node, ending=ended):
            return f"node {_short(node)}: {ended}"
        case e.TurnStarted(node=node, turn=turn):
            return f"node {_short(node)}: model turn {turn}"
        case e.ToolStarted(tool=tool):
            return f"tool {_short(tool)}"
        case e.ToolFinished(tool=tool, ending=ended):
            return f"tool {_short(tool)}: {ended}"
        case e.ApprovalAsked(tool=tool):
            return f"tool {_short(tool)}: waits for an approval"
        case _:
            return None


def _short(name: str) -> str:
    return name.rpartition(".")[2]
