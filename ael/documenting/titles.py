"""What all kinds of pages call things, and the order in which they show them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ael.data import replace
from ael.documenting.item import Fact, Item, Page, Ref
from ael.documenting.names import Target
from ael.source import Source

TITLES = {
    "permission": "Permissions", "role": "Roles", "agent": "Agents", "node": "Nodes", "tool": "Tools", "skill": "Skills",
    "service": "Services", "provide": "Providers", "fn": "Functions", "type": "Types", "record": "Records", "enum": "Enums",
    "error": "Errors", "const": "Constants", "store": "Stores", "model": "Models", "mcp": "MCP servers",
}  # fmt: skip
CALLED = ("permissions", "repeat", "errors", "budget")
"""The keys of the four facts that every page has of what can be called."""
GLANCE = ("Callable", "Permissions", "Repeat", "Errors", "Budget")


def grouped(items: Sequence[Item]) -> Iterator[tuple[str, list[Item]]]:
    """The declarations by kind."""
    for kind, title in TITLES.items():
        found = [item for item in items if item.kind == kind]
        if found:
            yield title, found


def glanced(items: Iterable[tuple[Page, Item]]) -> Iterator[tuple[Ref, list[Fact]]]:
    """What can be called, with its four facts in short; operations of services and tools of servers are called too."""
    for page, item in items:
        target = Target(page.module, item.qualified, item.kind)
        if item.summary:
            yield Ref(f"{item.kind} {item.name}", target), [_short(fact) for fact in item.summary]
        for part in item.parts:
            summary = [fact for fact in part.facts if fact.key in CALLED][: len(CALLED)]
            if len(summary) == len(CALLED):
                own = replace(target, part=part.name)
                yield Ref(f"{item.kind} {item.name}.{part.name}", own), [_short(fact) for fact in summary]


def _short(fact: Fact) -> Fact:
    if fact.key != "repeat":
        return fact
    return replace(fact, values=tuple((str(value[0]).partition(":")[0],) for value in fact.values))


def place_text(source: Source, line: int) -> str:
    """`main.ael:12`."""
    return f"{source.name.replace(chr(92), '/').rpartition('/')[2]}:{line}"
