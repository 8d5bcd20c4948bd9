"""Names that an MCP server does not have, and what was most likely meant."""

from __future__ import annotations

from ael.check.basis import short
from ael.check.collect import Collected, Symbol
from ael.check.suggest import did_you_mean
from ael.diagnostics.diagnostic import Bag, Label, Place
from ael.source import Source
from ael.syntax import nodes as n


def unknown_member(collected: Collected, owner: Symbol, name: n.Name, source: Source, bag: Bag) -> None:
    """Report `crm.nothing`: nothing that the block uses is called so, and no type of theirs."""
    prefix = f"{owner.name}."
    known = [key[len(prefix) :] for key in collected.symbols if key.startswith(prefix)]
    end, fix = did_you_mean(name.text, known, source, name.span)
    tools = [key[len(prefix) :] for key in collected.servers[owner.name].spec.uses]
    if not end and 0 < len(tools) <= 12:
        end = f"; it uses {', '.join(f'`{tool}`' for tool in tools)}"
    labels: tuple[Label, ...] = ()
    if isinstance(owner.node, n.McpDecl):
        labels = (Label(Place(collected.scope_of(owner).source, owner.node.name.span), "declared here"),)
    notes = ("an `mcp` block lists the tools that a program uses: `tool NAME needs PERMISSION`",)
    message = f"`{short(owner.name)}` has no `{name.text}`{end}"
    bag.report("AEL1211", message, source, name.span, labels=labels, notes=notes, fix=fix)
