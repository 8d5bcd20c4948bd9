"""MCP servers: what their pinned definitions make of the tools, resources and prompts that a program uses.

Runs between the names and the types of a check: it fills in signatures and definitions, which everything after it takes for those of
declared tools and records. What has no type is reported here, once, and is unknown everywhere else. The lock is never trusted further
than a stranger's word: it gives types and descriptions, no permission and no repeat safety.
"""

from __future__ import annotations

from collections.abc import Mapping

from ael.check.basis import short
from ael.check.collect import Collected, ModuleScope, Remote, Server, Symbol
from ael.check.mcp_setting import check_settings, text_of
from ael.check.suggest import did_you_mean
from ael.diagnostics.diagnostic import Bag, Label, Place
from ael.syntax import nodes as n
from ael.types.pin import Pin, Pins, ServerPins
from ael.types.signature import Repeat
from ael.types.spec import RemoteSpec

UNREADABLE = ("AEL1201", "AEL1202")
"""What the reader of the lock reports: then what is not found there may be what it could not read."""


def declare_servers(collected: Collected, bag: Bag, pins: Pins) -> None:
    """Give every tool, resource and prompt of every server what its definition says."""
    broken = any(diagnostic.code in UNREADABLE for diagnostic in bag.sorted()) if collected.servers else False
    for server in collected.servers.values():
        scope = collected.scope_of(server.symbol)
        assert isinstance(server.symbol.node, n.McpDecl)
        check_settings(server.symbol.node, scope.source, bag)
        _Block(collected, scope, bag, server, server.symbol.node, pins.get(server.symbol.name), broken).read()


class _Block:
    """One `mcp` block."""

    def __init__(
        self,
        collected: Collected,
        scope: ModuleScope,
        bag: Bag,
        server: Server,
        node: n.McpDecl,
        pins: ServerPins | None,
        broken: bool,
    ) -> None:
        self.collected = collected
        self.scope = scope
        self.bag = bag
        self.server = server
        self.node = node
        self.pins = pins
        self.broken = broken
        self.wires: dict[tuple[type, str], n.McpTool | n.McpPrompt] = {}

    def read(self) -> None:
        node, server = self.node, self.server
        server.whole = True
        if (node.tools or node.prompts) and self.pins is None:
            server.whole = False
            if not self.broken:
                self._not_pinned()
        for member in node.members:
            name = f"{server.symbol.name}.{member.name.text}"
            symbol = self.collected.symbols.get(name)
            if symbol is None or symbol.node is not member:
                continue
            match member:
                case n.McpTool() | n.McpPrompt():
                    self._read(symbol, member)
                case n.McpResource():
                    self._resource(symbol, member)
            if name not in server.remotes:
                server.whole = False

    def _not_pinned(self) -> None:
        own = short(self.server.symbol.name)
        message = f"the MCP server `{own}` is not pinned, so nothing is known of its tools"
        notes = (
            f"`ael mcp pin {own}` asks the server and writes what it offers to `ael.lock`; look at it, and keep it with the program",
        )
        self.bag.report("AEL1203", message, self.scope.source, self.node.name.span, notes=notes)

    def _read(self, symbol: Symbol, member: n.McpTool | n.McpPrompt) -> None:
        pins = self.pins
        if isinstance(member, n.McpTool):
            pin = self._pin(member, "tool", pins.tools if pins is not None else None)
        else:
            pin = self._pin(member, "prompt", pins.prompts if pins is not None else None)
        if pin is not None:
            # The reading of schemas is loaded by programs whose servers are pinned, and by no other.
            from ael.check.mcp_tool import PinReader

            PinReader(self.collected, self.scope, self.bag, self.server, symbol).read(member, pin)

    def _pin(self, member: n.McpTool | n.McpPrompt, what: str, pinned: Mapping[str, Pin] | None) -> Pin | None:
        """The pin of a tool or prompt; None where there is none, which is reported once."""
        wire, place = wire_of(member), member.wire or member.name
        first = self.wires.setdefault((type(member), wire), member)
        if first is not member:
            labels = (Label(Place(self.scope.source, (first.wire or first.name).span), "used here already"),)
            message = f"the {what} `{wire[:80]}` of `{short(self.server.symbol.name)}` is used here twice"
            self.bag.report("AEL1210", message, self.scope.source, place.span, labels=labels)
            return None
        if pinned is None:
            return None
        pin = pinned.get(wire)
        if pin is None and not self.broken:
            own = short(self.server.symbol.name)
            end, fix = did_you_mean(wire, pinned, self.scope.source, place.span)
            if member.wire is not None:
                fix = None
            if not end and 0 < len(pinned) <= 8:
                end = f"; there {'is' if len(pinned) == 1 else 'are'} {', '.join(f'`{name[:80]}`' for name in pinned)}"
            message = f"no {what} `{wire[:80]}` of `{own}` is pinned in `ael.lock`{end}"
            notes = (f"`ael mcp list {own}` shows what the server offers, `ael mcp pin {own}` pins what the program uses",)
            self.bag.report("AEL1204", message, self.scope.source, place.span, notes=notes, fix=fix)
        return pin

    def _resource(self, symbol: Symbol, member: n.McpResource) -> None:
        uri = text_of(member.uri)
        if uri is None:
            return
        # Templates are read in the few programs that use resources.
        from ael.check.mcp_resource import template

        found = template(uri)
        if found.problem:
            self.bag.report("AEL1209", f"this is no URI of a resource: {found.problem}", self.scope.source, member.uri.span)
            return
        spec = RemoteSpec(self.server.symbol.name, "resource", uri, text=member.type is None)
        doc = member.doc.text if member.doc is not None else ""
        self.server.remotes[symbol.name] = Remote(spec, None, doc)
        # Its result is a written type, which is known when it is signed: see `sign.py`.


def wire_of(member: n.McpTool | n.McpPrompt) -> str:
    """The name of a tool or a prompt on its server."""
    return (text_of(member.wire) if member.wire is not None else None) or member.name.text


def repeat_of(member: n.McpMember) -> Repeat:
    """The repeat safety of a call: `never` for a tool that says nothing, whatever its annotations say; the others only read."""
    if not isinstance(member, n.McpTool):
        return Repeat.IDEMPOTENT
    said = next((clause for clause in member.clauses if isinstance(clause, n.RepeatClause)), None)
    return Repeat[said.kind.upper()] if said is not None else Repeat.NEVER


def ends(member: n.McpMember) -> frozenset[str]:
    """What a call can fail with that code has to meet: a tool of uncertain repeat safety can end `Uncertain`, like any such tool."""
    return frozenset({"Uncertain"}) if repeat_of(member).can_be_uncertain else frozenset()
