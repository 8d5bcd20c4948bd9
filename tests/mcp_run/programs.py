"""A program with an MCP server, and real servers for it: over HTTP on the loopback address, or as a child process."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ael.diagnostics.diagnostic import Bag
from ael.host import Host, open_host
from ael.models.script import parse_script
from ael.models.scripted import ScriptedProvider
from ael.project.lock import write_lock
from ael.project.program import Opened, open_program
from ael.run.bindings import BoundModel, Options
from ael.run.outcome import Outcome
from ael.run.ports import Approver, Span
from ael.run.run import Run
from ael.run.trace import SpanList
from ael.types.pin import ServerPins, pin
from tests.mcp.http_peer import Asked, HttpPeer, Out
from tests.mcp.mcp_peer import OLD, McpPeer, params, result
from tests.programs import write

GET_CUSTOMER: dict[str, object] = {
    "name": "get_customer",
    "description": "Find a customer.",
    "inputSchema": {
        "type": "object",
        "properties": {"id": {"type": "string", "maxLength": 64}, "note": {"type": "string"}},
        "required": ["id"],
        "additionalProperties": False,
    },
    "outputSchema": {
        "type": "object",
        "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0}},
        "required": ["name", "age"],
        "additionalProperties": False,
    },
}
CREATE_TICKET: dict[str, object] = {
    "name": "create_ticket",
    "description": "Create a ticket.",
    "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
    "annotations": {"idempotentHint": True},
}
TOOLS = [GET_CUSTOMER, CREATE_TICKET]
ADA = {"name": "Ada", "age": 36}

SOURCE = """
permission crm.read
permission crm.write includes crm.read

mcp crm {
  tool get_customer   needs crm.read   repeat idempotent
  tool create_ticket  needs crm.write  repeat reconcile
}

model fast {
  provider openai
  name "gpt-5-mini"
}

node look(id: String(max: 64)) -> String
  model fast
  policy loop(steps: 4, tool_calls: 6)
  grants crm.read
  tools crm.get_customer
{
  instructions "Look the customer up."
}

node customer(id: String(max: 64)) -> String
  grants crm.read
{
  let found = crm.get_customer(id: id)
  "${found.name} ${found.age}"
}

node ticket(text: String(max: 200)) -> String fails Uncertain
  grants crm.write
{
  try crm.create_ticket(text: text)
}

node plain() -> Int {
  1
}
"""

Doing = Callable[[Asked, Out], Awaitable[None]]


class Crm(McpPeer):
    """The customers' server. `doing[tool]` answers a call in another way than well; `called` are the calls that came in."""

    def __init__(self, version: str = OLD, *, session: str = "", tools: Sequence[dict[str, object]] = TOOLS) -> None:
        super().__init__(version, session=session, tools=list(tools))
        self.doing: dict[str, Doing] = {}
        self.called: list[tuple[str, dict[str, Any], dict[str, Any]]] = []
        self.on["tools/call"] = self._call

    async def _call(self, asked: Asked, out: Out) -> None:
        given = params(asked)
        name = str(given["name"])
        self.called.append((name, given.get("arguments", {}), given.get("_meta", {})))
        if name in self.doing:
            await self.doing[name](asked, out)
        elif name == "get_customer":
            await out.reply(200, result(asked, {**self.complete, "content": [], "structuredContent": ADA}))
        else:
            await out.reply(200, result(asked, {**self.complete, "content": [{"type": "text", "text": "T-1"}]}))

    @property
    def complete(self) -> dict[str, object]:
        """What every result of the stateless era says."""
        return {} if self.version == OLD else {"resultType": "complete"}


@dataclass
class Program:
    """A program that is open, and what its runs told."""

    host: Host
    spans: SpanList
    provider: ScriptedProvider

    @property
    def asked(self) -> int:
        """How often a model was asked."""
        return self.provider.asked

    @property
    def said(self) -> str:
        """All that models were told."""
        return repr([(one.spec, one.messages) for one in self.provider.requests or ()])

    def start(self, entry: str, given: Mapping[str, object] | None = None, options: Options | None = None) -> Run:
        return self.host.engine.start(entry, given or {}, options or Options(caller="tester", content=True))

    async def run(self, entry: str, given: Mapping[str, object] | None = None, options: Options | None = None) -> Outcome:
        """Run an entry to its end."""
        return await self.start(entry, given, options).outcome()

    def tool_spans(self) -> list[Span]:
        return [span for span in self.spans.spans if span.kind == "tool"]


def lock(folder: Path, tools: Sequence[Mapping[str, object]] = TOOLS, prompts: Sequence[Mapping[str, object]] = ()) -> None:
    """Pin definitions of `crm`."""
    kept = ServerPins(
        OLD, {}, {"name": "crm"}, {str(one["name"]): pin(one) for one in tools}, {str(one["name"]): pin(one) for one in prompts}
    )
    write_lock(folder / "ael.lock", {"main.crm": kept})


def open_at(folder: Path, deploy: str, source: str = SOURCE, **files: str) -> Opened:
    """A program in a folder whose lock is there already."""
    write(folder, {"main.ael": source, "deploy.ael": deploy, **{name.replace("_", "."): text for name, text in files.items()}})
    bag = Bag()
    opened = open_program(folder / "main.ael", bag)
    assert opened is not None, [(one.code, one.message) for one in bag.sorted()]
    return opened


@asynccontextmanager
async def program(
    folder: Path,
    deploy: str,
    *,
    source: str = SOURCE,
    script: object = None,
    approver: Approver | None = None,
    entry: str | None = None,
    pinned: Sequence[Mapping[str, object]] = TOOLS,
    prompts: Sequence[Mapping[str, object]] = (),
    **files: str,
) -> AsyncIterator[Program]:
    """A program, its models played from `script`; closed at the end."""
    lock(folder, pinned, prompts)
    opened = open_at(folder, deploy, source, **files)
    provider = ScriptedProvider(parse_script(script or []), keep_requests=True)
    spans = SpanList()
    models = {name: BoundModel(provider, "script") for name in opened.program.models}
    host = open_host(opened, entry, models=models, approver=approver, sinks=[spans])
    async with host:
        yield Program(host, spans, provider)


def network(peer: HttpPeer, options: str = "") -> str:
    """The deployment of a program whose server is that peer."""
    return f'host "127.0.0.1"\nmcp crm = http("{peer.url}"{options})\n'


@asynccontextmanager
async def served(crm: Crm, folder: Path, options: str = "", **more: Any) -> AsyncIterator[tuple[Program, HttpPeer]]:
    """A program and its server over HTTP."""
    async with HttpPeer(crm) as peer, program(folder, network(peer, options), **more) as made:
        yield made, peer


def process(*how: str, options: str = "") -> str:
    """The deployment of a program whose server is `server.py`, a child process."""
    words = ", ".join(f'"{word}"' for word in (sys.executable, "-S", "-E", str(Path(__file__).with_name("server.py")), *how))
    return f'command "{sys.executable}"\nmcp crm = stdio({words}{options})\n'


PACK = """
pack tests {
  version "0.1.0"
  uses std/process
}
"""


def finished(test: Callable[[], Awaitable[None]]) -> None:
    """Run a test in a loop of its own that has no task left at its end."""

    async def whole() -> None:
        await test()
        for _ in range(50):
            left = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            if not left:
                return
            await asyncio.sleep(0.01)
        raise AssertionError(f"tasks are left: {left}")

    asyncio.run(whole())
