"""The servers of a program for `ael mcp`: declared and bound without a check, connected, listed."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Literal

from ael.cli.mcp_error import CommandError, Stopped
from ael.cli.mcp_listener import Silent
from ael.cli.mcp_offer import Offer, offer, type_prefix
from ael.cli.report import report
from ael.diagnostics.diagnostic import Bag, Severity
from ael.hosting.failure import HostError
from ael.hosting.masking import know_all
from ael.hosting.secrets import Secrets
from ael.hosting.servers import endpoint_of
from ael.mcp.failure import McpError
from ael.mcp.listener import Listener
from ael.mcp.listing import Listing, What
from ael.mcp.outside import visible
from ael.mcp.session import Session, open_session
from ael.project.deployment import McpBinding
from ael.project.servers import DeclaredServer, Servers, open_servers
from ael.run.masker import Masker
from ael.syntax import nodes as n
from ael.types.pin import Pins
from ael.types.signature import Repeat

LISTING = 60.0
"""Seconds for all pages of one listing."""
CALL = 30.0
"""Seconds for a call, where the deployment says nothing."""
_NO_METHOD = -32_601
"""JSON-RPC: the method does not exist."""
_AT_ONCE = 4
_LOCK_CODES = frozenset({"AEL1201", "AEL1202"})
"""What is wrong with a lock, which pinning anew repairs."""

Kind = Literal["tool", "prompt", "resource"]


@dataclass(frozen=True)
class Wanted:
    """Something of a server that the program uses: its own name, and its name (or URI) there."""

    kind: Kind
    name: str
    wire: str
    repeat: Repeat = Repeat.IDEMPOTENT


@dataclass(frozen=True)
class Server:
    """A server that the program declares, and how the deployment reaches it."""

    name: str
    short: str
    wanted: tuple[Wanted, ...]
    binding: McpBinding

    @property
    def where(self) -> str:
        """Where it is, without anything secret (a URL holds no credentials, an environment is not told)."""
        binding = self.binding
        if binding.kind == "stdio":
            return visible(f"stdio {' '.join([binding.command, *binding.arguments])}")
        return visible(f"{binding.kind} {binding.url.partition('?')[0]}")

    def uses(self, kind: str, wire: str) -> bool:
        """Whether the program uses what the server calls `wire`."""
        return any(want.kind == kind and want.wire == wire for want in self.wanted)


@dataclass(frozen=True)
class Listed:
    """What a server said: who it is, and raw definitions. `offers` are its tools by name, `times` seconds."""

    server: Server
    protocol: str
    info: Mapping[str, object]
    capabilities: Mapping[str, object]
    client_capabilities: Mapping[str, object]
    tools: tuple[Mapping[str, object], ...] = ()
    resources: tuple[Mapping[str, object], ...] = ()
    templates: tuple[Mapping[str, object], ...] = ()
    prompts: tuple[Mapping[str, object], ...] = ()
    times: Mapping[str, float] = field(default_factory=dict)
    offers: Mapping[str, Offer] = field(default_factory=dict)
    broken: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """Tools and prompts of the listing that nobody can use, (kind, name) -> why: listed twice with different definitions."""
    nameless: int = 0
    """Definitions without a name."""

    @property
    def described(self) -> str:
        """The server's name and version, in its own words, and the protocol."""
        said = " ".join(visible(v, 64) for key in ("name", "version") if isinstance(v := self.info.get(key), str))
        return f"{said or 'a server without a name'}, MCP {visible(self.protocol, 32)}"


@dataclass(frozen=True)
class Program:
    """A program's servers, its lock, and how to reach them."""

    found: Servers
    secrets: Secrets
    lock_is_broken: bool = False

    def out(self, text: str) -> None:
        """Print a result, without the secrets that are known."""
        print(self.masked(text))

    def tell(self, text: str) -> None:
        """Print everything else."""
        print(self.masked(text), file=sys.stderr)

    def masked(self, text: str) -> str:
        """`text` without the secrets that are known: a server may say them again."""
        return self.masker().text(text)

    def masker(self) -> Masker:
        """What hides the secrets of the deployment that are on this machine."""
        know_all(self.secrets)
        return Masker(self.secrets.known.values())

    @property
    def servers(self) -> tuple[DeclaredServer, ...]:
        return self.found.servers

    @property
    def pins(self) -> Pins:
        return self.found.pins

    @property
    def lock(self) -> Path:
        return self.found.lock

    def chosen(self, names: Sequence[str]) -> list[Server]:
        """The servers that are named, each once; all of them where none is. Raises `CommandError`."""
        if not self.servers:
            note = "a program declares one with `mcp NAME { tool … }`; see docs/mcp.md"
            raise CommandError("AEL0860", "this program declares no MCP server", note)
        if not names:
            return [self._bound(server) for server in self.servers]
        return list({server.name: server for server in map(self._named, names)}.values())

    def _named(self, name: str) -> Server:
        found = self.found.find(name)
        if found is not None:
            return self._bound(found)
        known = [server.own for server in self.servers]
        close = get_close_matches(name, known, 1)
        hint = f"did you mean `{close[0]}`?" if close else f"it declares {', '.join(f'`{one}`' for one in known)}"
        raise CommandError("AEL0860", f"this program declares no MCP server `{visible(name, 64)}`", hint)

    def _bound(self, server: DeclaredServer) -> Server:
        if server.binding is None:
            bag = Bag()
            file = "deploy.ael" if self.found.deployment.name == "default" else f"deploy.{self.found.deployment.name}.ael"
            note = f'add a line to {file}: `mcp {server.own} = http("https://…")`, or `stdio("program", …)`'
            message = f"the deployment does not say where the MCP server `{server.own}` is"
            bag.report("AEL0842", message, server.source, server.span, notes=(note,))
            raise Stopped(report(bag))
        repeats = _repeats(self.found, server)
        wanted = (
            *(Wanted("tool", name, wire, repeats.get(name, Repeat.NEVER)) for name, wire in server.tools.items()),
            *(Wanted("prompt", name, wire) for name, wire in server.prompts.items()),
            *(Wanted("resource", name, uri) for name, uri in server.resources.items()),
        )
        return Server(server.name, server.own, wanted, server.binding)

    def timeout(self, server: Server) -> float:
        """Seconds for one call."""
        return server.binding.timeout / 1000 if server.binding.timeout is not None else CALL

    def idle(self, server: Server) -> float | None:
        """Seconds of a call without a sign of life; None: no limit but its own."""
        return server.binding.idle / 1000 if server.binding.idle is not None else None

    def _unreachable(self, server: Server, error: McpError, what: str = "cannot be reached") -> CommandError:
        """A server that gives no answer of use, in one error."""
        said = visible(self.masked(error.message), 500)
        message = f"the MCP server `{server.short}` {what} ({server.where}): {error.kind.value}: {said}"
        return CommandError("AEL0861", message, exit_code=1)

    @asynccontextmanager
    async def connected(self, server: Server, listener: Listener) -> AsyncIterator[Session]:
        """A session with a server, closed at the end. Raises `CommandError`."""
        session = await self._connect(server, listener)
        try:
            yield session
        finally:
            await session.close()

    async def _connect(self, server: Server, listener: Listener) -> Session:
        try:
            endpoint = endpoint_of(server.binding, self.found.deployment, self.secrets)
        except HostError as error:
            raise CommandError(error.code, error.message, *error.notes) from None
        try:
            # As a run does, whoever is there to answer: what a server lists can depend on it.
            asks = server.binding.elicitation
            return await open_session(endpoint, listener, connect=server.binding.connect / 1000, elicitation=asks)
        except McpError as error:
            raise self._unreachable(server, error) from None

    async def listed(self, server: Server, session: Session, *, everything: bool = False) -> Listed:
        """What a server lists: tools, and prompts or all where they are asked for. Raises `CommandError`."""
        said = session.capabilities
        nothing = Listing()
        whole = everything or any(want.kind == "prompt" for want in server.wanted)
        start = time.perf_counter()
        try:
            tools = await session.listing("tools", deadline=LISTING)
            took = time.perf_counter() - start
            prompts = await session.listing("prompts", deadline=LISTING) if whole else nothing
            resources = await _some(session, "resources") if everything else nothing
            templates = await _some(session, "resourceTemplates") if everything else nothing
        except McpError as error:
            raise self._unreachable(server, error, "cannot be listed") from None
        own = {want.wire: want.name for want in server.wanted if want.kind == "tool"}
        named = {str(tool["name"]): tool for tool in tools}
        offers = {wire: offer(tool, type_prefix(server.name, own.get(wire, wire))) for wire, tool in named.items()}
        return Listed(
            server, session.protocol, session.server, said, session.client_capabilities, tools, resources, templates, prompts,
            {"listed in": took}, offers, {**_broken("tool", tools), **_broken("prompt", prompts)}, tools.nameless + prompts.nameless,
        )  # fmt: skip

    async def list(
        self, servers: Sequence[Server], *, everything: bool = False, ping: bool = False
    ) -> tuple[list[Listed], list[CommandError]]:
        """What each server lists, in their order, and why others could not be asked. A few are asked at once."""
        room = asyncio.Semaphore(_AT_ONCE)

        async def one(server: Server) -> Listed | CommandError:
            async with room:
                try:
                    return await self._list_one(server, everything, ping)
                except CommandError as error:
                    return error

        found = await asyncio.gather(*map(one, servers))
        return [f for f in found if isinstance(f, Listed)], [f for f in found if isinstance(f, CommandError)]

    async def _list_one(self, server: Server, everything: bool, ping: bool) -> Listed:
        start = time.perf_counter()
        async with self.connected(server, Silent(self.tell)) as session:
            times = {"connected in": time.perf_counter() - start}
            listed = await self.listed(server, session, everything=everything)
            if ping:
                start = time.perf_counter()
                try:
                    await session.ping(LISTING)
                except McpError as error:
                    raise self._unreachable(server, error, "does not answer") from None
                times |= {"answered in": time.perf_counter() - start}
            return Listed(**{**vars(listed), "times": {**times, **listed.times}})


def _repeats(found: Servers, server: DeclaredServer) -> dict[str, Repeat]:
    """The declared repeat safety of a server's tools, as written."""
    module, _, own = server.name.rpartition(".")
    repeats: dict[str, Repeat] = {}
    for node in found.project.modules[module].declarations:
        if isinstance(node, n.McpDecl) and node.name.text == own:
            for tool in node.tools:
                for clause in tool.clauses:
                    if isinstance(clause, n.RepeatClause):
                        repeats[tool.name.text] = Repeat[clause.kind.upper()]
    return repeats


async def _some(session: Session, what: What) -> Listing:
    """A listing that a server may be without although it says that it has the kind: some have resources and no templates."""
    try:
        return await session.listing(what, deadline=LISTING)
    except McpError as error:
        if error.code != _NO_METHOD:
            raise
        return Listing()


def _broken(kind: str, listing: Listing) -> dict[tuple[str, str], str]:
    return {(kind, name): reason for name, reason in listing.refused.items()}


def open_program(path: Path, deploy: str | None, *, repairs_lock: bool = False) -> Program:
    """The servers of the program at `path`. What is wrong with its files is printed, and ends the command with exit code 2."""
    bag = Bag()
    found = open_servers(path, bag, deploy=deploy)
    errors = {d.code for d in bag.sorted() if d.severity is Severity.ERROR}
    code = report(bag)
    if found is None or (code and not (repairs_lock and errors <= _LOCK_CODES)):
        raise Stopped(code or 2)
    return Program(found, Secrets(found.deployment), lock_is_broken=bool(errors))


def report_failures(failed: Sequence[CommandError]) -> int:
    """Print why servers could not be asked. Gives the exit code that this leads to."""
    for error in failed:
        print(error.text(), file=sys.stderr)
    return max((error.exit_code for error in failed), default=0)
