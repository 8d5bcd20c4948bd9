"""A node that calls a server's tool from code (`run`), and AEL's own session with the server without a run time (`session`)."""

from __future__ import annotations

from pathlib import Path

from ael.diagnostics.diagnostic import Bag
from ael.host import open_host
from ael.mcp.endpoint import Endpoint, HttpEndpoint, StdioEndpoint
from ael.mcp.session import Elicitation, ElicitationReply, Session, open_session
from ael.project.program import open_program
from benches.ael_side.program import value_of
from benches.crm import TOOL, customer, way
from benches.peers.scenario import calls_op

WAY = way()


class Deaf:
    """Nothing that the server says by itself matters here."""

    def changed(self, what: str) -> None:
        """Nothing is kept of a listing."""

    async def elicit(self, elicitation: Elicitation) -> ElicitationReply:
        return ElicitationReply("decline", None)

    def log(self, level: str, text: str) -> None:
        """Not shown."""


class Bare:
    """Calls on a session, which looks at the shape of an answer, not at its type."""

    def __init__(self) -> None:
        self.session: Session | None = None

    async def open(self) -> None:
        endpoint: Endpoint = (
            HttpEndpoint(WAY.url, hosts=frozenset({"127.0.0.1"}))
            if WAY.url
            else StdioEndpoint(WAY.words[0], WAY.words[1:], folder=Path(WAY.cwd))
        )
        self.session = await open_session(endpoint, Deaf())
        assert self.session.protocol == WAY.protocol

    async def __call__(self, calls: int) -> None:
        assert self.session is not None
        for number in range(calls):
            answer = await self.session.call(TOOL["name"], {"id": f"c-{number + 1}"}, meta={}, deadline=60)
        assert answer.structured == customer(f"c-{calls}")


class Runs:
    """Runs of the program, in a host that stays: the first of them connects and compares the tool with its pin."""

    def __init__(self) -> None:
        bag = Bag()
        opened = open_program(Path(WAY.folder) / "main.ael", bag)
        assert opened is not None, [problem.message for problem in bag.sorted()]
        self.host = open_host(opened, "main.main")

    async def open(self) -> None:
        await self(1)

    async def __call__(self, calls: int) -> None:
        assert await value_of(self.host, "main.main", {"calls": calls}) == customer(f"c-{calls}")


BARE, RUNS = Bare(), Runs()
OPS = {"session": calls_op(BARE.open, BARE), "run": calls_op(RUNS.open, RUNS)}
