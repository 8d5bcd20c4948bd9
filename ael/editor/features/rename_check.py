"""Whether a program means the same after edits that give something another name: every name still stands for what it stood for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from ael.check.check import examine
from ael.check.collect import Collected, ModuleScope
from ael.diagnostics.diagnostic import Bag, Diagnostic, Severity
from ael.editor.feature import Refused
from ael.editor.features.entity import Entity, Occurrence
from ael.editor.features.resolve import resolved
from ael.editor.snapshot import File, Snapshot
from ael.source import Source, Span
from ael.syntax import nodes as n
from ael.syntax.parse import parse_module

Edits = dict[File, list[tuple[Span, str]]]
"""For each file, the places that change, and to what."""


def applied(text: str, edits: list[tuple[Span, str]]) -> str:
    """A text with edits, which do not overlap."""
    for span, new in sorted(edits, reverse=True):
        text = text[: span.start] + new + text[span.end :]
    return text


def verify(snapshot: Snapshot, edits: Edits, servers: Mapping[str, str] = MappingProxyType({})) -> None:
    """Raise `Refused` where the program with the edits has a mistake that it had not, or a name of it means something else.

    `servers`: the MCP servers that have another name afterwards, under which they are pinned then.
    """
    if snapshot.project is None or snapshot.examined is None:
        return
    before = snapshot.collected
    bag = Bag()
    scopes: dict[str, ModuleScope] = {}
    changed = {file.name: applied(file.source.text, many) for file, many in edits.items() if file.kind == "module"}
    for name, scope in before.modules.items():
        tree = scope.tree
        if name in changed:
            tree = parse_module(Source(tree.source.name, changed[name], tree.source.path), bag)
        scopes[name] = ModuleScope(name, tree)
    collected = Collected(
        scopes, before.main, before.extern_allowed, before.uses, packs=before.packs, texts=before.texts, given=before.given
    )
    pins = {servers.get(name, name): pinned for name, pinned in snapshot.project.pins.items()}
    examine(collected, bag, pins)
    _no_news(snapshot, bag)
    for name in scopes:
        file = snapshot.modules.get(name)
        if file is not None and file.own:
            _same(before, collected, name, file)


def _no_news(snapshot: Snapshot, bag: Bag) -> None:
    """Raise `Refused` for an error of a kind and file that there was not."""
    had: Counter[tuple[str, Path | None]] = Counter()
    for many in snapshot.diagnostics.values():
        had.update(_key(one) for one in many if one.severity is Severity.ERROR)
    for one in bag.sorted():
        if one.severity is not Severity.ERROR:
            continue
        had[_key(one)] -= 1
        if had[_key(one)] < 0:
            line = one.place.source.position(one.place.span.start).line
            raise Refused(f"the program would not check any more: {one.message} ({one.place.source.name}, line {line})")


def _key(one: Diagnostic) -> tuple[str, Path | None]:
    return one.code, one.place.source.path


def _same(before: Collected, after: Collected, name: str, file: File) -> None:
    """Raise `Refused` where a name of a module belongs together with other names than before."""
    old, new = _names(before, name), _names(after, name)
    if len(old) != len(new):
        raise Refused(f"some name in {file.path.name} would mean something else")
    there: dict[Entity, Entity] = {}
    back: dict[Entity, Entity] = {}
    for one, other in zip(old, new, strict=True):
        if there.setdefault(one.entity, other.entity) != other.entity or back.setdefault(other.entity, one.entity) != one.entity:
            line = file.source.position(one.start).line
            text = file.source.text[one.start : one.end]
            raise Refused(f"`{text}` in {file.path.name}, line {line}, would mean something else")


def _names(collected: Collected, name: str) -> list[Occurrence]:
    """The names of a module that can be compared: imports may be written in another way."""
    scope = collected.modules[name]
    found: list[Occurrence] = []
    for declaration in scope.tree.declarations:
        if not isinstance(declaration, n.Use):
            found += resolved(collected, scope, declaration).names
    return found
