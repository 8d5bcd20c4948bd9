"""Modules: what `use` brings into a module, and what the names that are written there mean.

Modules may use each other in a circle: what they declare has no order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ael.check.collect import Collected, Kind, ModuleScope, Symbol
from ael.check.declare import LANGUAGE, WORDS, name_of
from ael.check.packs import absent, apart, pack_of, private, resolve, spelled
from ael.check.suggest import did_you_mean
from ael.diagnostics.diagnostic import Bag, Edit, Fix, Label, Place, Severity
from ael.source import Span
from ael.syntax import nodes as n

NOTHING_KNOWN = Symbol("unknown", "")
"""What a name means after a mistake that was reported where it was made."""


def link(collected: Collected, bag: Bag, scopes: Iterable[ModuleScope] | None = None) -> None:
    """Bring what is imported into every module scope, or into some."""
    for scope in collected.modules.values() if scopes is None else scopes:
        for node in scope.tree.declarations:
            if isinstance(node, n.Use):
                _use(node, scope, collected, bag)


def _use(use: n.Use, scope: ModuleScope, collected: Collected, bag: Bag) -> None:
    name = resolve(use.module, scope.name, collected.packs)
    target = collected.modules.get(name) if name is not None else None
    if target is not None and bag.told(scope.source, use.module_span):
        target = None  # the loader has told why it cannot be used
    elif target is not None and private(target.name) and apart(collected.packs, scope.name, target.name):
        _kept(use, scope, target, bag)
        target = None
    elif target is None and not _told(use, scope, collected, bag):
        # the loader has told it when it looked for a file
        bag.report("AEL0802", f"there is no module `{use.module}`", scope.source, use.module_span)
    if not use.names:
        alias = use.alias.text if use.alias else use.module.rpartition("/")[2]
        _bring(alias, use, Symbol("module", target.name, target.name) if target else NOTHING_KNOWN, scope, bag)
        return
    for item in use.names:
        symbol = NOTHING_KNOWN if target is None else _imported(item, use, target, scope, collected, bag)
        _bring((item.alias or item.name).text, item, symbol, scope, bag)


def _told(use: n.Use, scope: ModuleScope, collected: Collected, bag: Bag) -> bool:
    packs = collected.packs
    return absent(packs, pack_of(packs, scope.name), use.module.partition("/")[0]) or bag.told(scope.source, use.module_span)


def _kept(use: n.Use, scope: ModuleScope, target: ModuleScope, bag: Bag) -> None:
    """A module that its pack keeps to itself is not there for other packs."""
    pack = target.name.partition("/")[0]
    labels = (Label(Place(target.source, Span(0, 0)), "this module"),)
    message = f"the module `{target.name}` is for the pack `{pack}` alone: its name has a part that begins with `_`"
    bag.report("AEL0823", message, scope.source, use.module_span, labels=labels)


def _imported(item: n.UseName, use: n.Use, target: ModuleScope, scope: ModuleScope, collected: Collected, bag: Bag) -> Symbol:
    text = item.name.text
    symbol = target.names.get(text)
    if symbol is None or text in target.imports:
        if not broken(target, text):
            inside = not apart(collected.packs, scope.name, target.name)
            known = [k for k, s in target.names.items() if k not in target.imports and (s.public or inside)]
            end, fix = did_you_mean(text, known, scope.source, item.name.span)
            bag.report("AEL0205", f"the module `{use.module}` has no `{text}`{end}", scope.source, item.name.span, fix=fix)
        return NOTHING_KNOWN
    if not symbol.public and symbol.node is not None:
        place = Place(target.source, name_of(symbol.node).span)
        label = Label(place, f"declared here, for `{target.name}` alone")
        start = symbol.node.span.start
        doc = getattr(symbol.node, "doc", None)
        if isinstance(doc, n.Doc):
            start = doc.span.end + re.match(r"\s*", target.source.text[doc.span.end :]).end()  # type: ignore[union-attr]
        # What another pack shows is its own matter.
        edit = Edit(Place(target.source, Span(start, start)), "pub ")
        fix = None if apart(collected.packs, scope.name, target.name) else Fix("make it `pub`", (edit,))
        message = f"`{text}` is not `pub`, so only `{target.name}` sees it"
        bag.report("AEL0206", message, scope.source, item.name.span, labels=(label,), fix=fix)
    return symbol


def _bring(name: str, at: n.UseName | n.Use, symbol: Symbol, scope: ModuleScope, bag: Bag) -> None:
    first = scope.names.get(name)
    span = name_of(at).span if not isinstance(at, n.Use) or at.alias else at.module_span
    if first is not None or name in LANGUAGE:
        if first is symbol:
            return
        node = scope.imports.get(name) or (first.node if first else None)
        labels = (Label(Place(scope.source, name_of(node).span), "first here"),) if node is not None else ()
        if name in LANGUAGE:
            message = f"`{name}` belongs to the language: import it under another name, `{name} as …`"
            bag.report("AEL0204", message, scope.source, span)
        else:
            bag.report("AEL0201", f"`{name}` is declared twice in this module", scope.source, span, labels=labels)
        return
    scope.names[name] = symbol
    scope.imports[name] = at


_DECLARES = "record|enum|error|type|const|fn|tool|node|agent|skill|service|mcp|model|store|provide"


def broken(scope: ModuleScope, name: str, words: str = _DECLARES) -> bool:
    """Whether a declaration of this name, by one of the `words`, stands in the module and did not parse: then it was reported there.

    It stands where the tree has nothing: neither a declaration, nor a comment or a text that speaks of one.
    """
    if name in scope.names and words == _DECLARES:
        return False
    tree = scope.tree
    docs = [doc for one in (tree, *tree.declarations) if isinstance(doc := getattr(one, "doc", None), n.Doc)]
    read = [node.span for node in (*tree.declarations, *tree.comments, *docs)]
    found = re.finditer(rf"\b(?:{words})\s+{re.escape(name)}(?![\w.])", scope.source.text)
    return any(not any(span.start <= match.start() < span.end for span in read) for match in found)


# --- what a name means ---------------------------------------------------------------------------------------------------


def seen(scope: ModuleScope, name: str) -> Symbol | None:
    """The meaning of a single name in a module, the language's own names included. An import counts as used."""
    symbol = scope.names.get(name)
    if symbol is None:
        return LANGUAGE.get(name)
    if name in scope.imports:
        scope.used.add(name)
    return symbol


def member(collected: Collected, module: Symbol, name: str) -> Symbol | None:
    """What a module declares under a name, if it is for others to see."""
    target = collected.modules.get(module.name)
    if target is None:
        return None
    symbol = target.names.get(name)
    return symbol if symbol is not None and symbol.public and name not in target.imports else None


def find(collected: Collected, scope: ModuleScope, path: n.Path) -> Symbol | None:
    """The meaning of a dotted name: `Order`, `orders.Order`, `Orders.get`, `orders.Orders.get`. None when a part is not known."""
    symbol = seen(scope, path.parts[0].text)
    for part in path.parts[1:]:
        if symbol is None or symbol.kind == "unknown":
            return symbol
        match symbol.kind:
            case "module":
                symbol = member(collected, symbol, part.text)
            case "mcp":
                symbol = server_member(collected, symbol, part.text)
            case _:
                symbol = collected.symbols.get(f"{symbol.name}.{part.text}")
    return symbol


def far_service(collected: Collected, scope: ModuleScope, node: n.ProvideDecl) -> Symbol | None:
    """What `provide refunds/orders.Orders` names, if another module shows it."""
    name = resolve(node.module or "", scope.name, collected.packs)
    symbol = collected.symbols.get(f"{name}.{node.service.text}")
    if symbol is None or name is None or name == scope.name:
        return symbol
    hidden = private(name) and apart(collected.packs, scope.name, name)
    return symbol if symbol.public and not hidden else None


def server_member(collected: Collected, owner: Symbol, name: str) -> Symbol | None:
    """What an MCP server has under a name: a tool, resource or prompt that its block uses, or a type of theirs.

    None where that is a mistake; where the server is not known well enough to say, it may be anything.
    """
    found = collected.symbols.get(f"{owner.name}.{name}")
    server = collected.servers.get(owner.name)
    return found if found is not None or server is None or server.whole else NOTHING_KNOWN


def visible(scope: ModuleScope, *kinds: Kind) -> Iterator[str]:
    """The names that are seen in a module, of some kinds or of all."""
    for name, symbol in scope.names.items():
        if not kinds or symbol.kind in kinds or symbol.kind == "module":
            yield name
    for name, symbol in LANGUAGE.items():
        if not kinds or symbol.kind in kinds:
            yield name


def report_unknown(
    collected: Collected,
    scope: ModuleScope,
    name: n.Name,
    what: str,
    code: str,
    bag: Bag,
    known: Iterable[str],
    wanted: frozenset[Kind],
) -> None:
    """Report a name that nothing declares, once for a module, and remember it so that its other uses are silent."""
    text = name.text
    if text in scope.names:
        return
    scope.names[text] = NOTHING_KNOWN
    if broken(ModuleScope(scope.name, scope.tree), text):
        return
    fix: Fix | None = None
    notes: tuple[str, ...] = ()
    importable = _importable(collected, scope, text, wanted)
    if importable is not None:
        path, edit = importable
        end, fix = "", Fix(f"import it from `{path}`", (edit,))
        notes = (f"`{path}` declares it: `use {path}.{{{text}}}`",)
    else:
        end, fix = did_you_mean(text, known, scope.source, name.span)
    bag.report(code, f"there is no {what} `{text}`{end}", scope.source, name.span, notes=notes, fix=fix)


def _importable(collected: Collected, scope: ModuleScope, text: str, wanted: frozenset[Kind]) -> tuple[str, Edit] | None:
    """The module that declares a name for others, as a `use` writes it, and the edit that imports it."""
    for other in collected.modules.values():
        symbol = other.names.get(text)
        if other is scope or symbol is None or not symbol.public or symbol.kind not in wanted or text in other.imports:
            continue
        for node in scope.tree.declarations:
            if isinstance(node, n.Use) and resolve(node.module, scope.name, collected.packs) == other.name and node.names:
                last = node.names[-1].span.end
                return node.module, Edit(Place(scope.source, Span(last, last)), f", {text}")
        path = spelled(other.name, scope.name, collected.packs)
        if path is None:
            continue
        first = next((d for d in scope.tree.declarations if isinstance(d, n.Use)), None)
        start = first.span.start if first else (scope.tree.doc.span.end + 1 if scope.tree.doc else 0)
        start = min(start, len(scope.source.text))
        return path, Edit(Place(scope.source, Span(start, start)), f"use {path}.{{{text}}}\n")
    return None


def warn_unused(scope: ModuleScope, collected: Collected, bag: Bag) -> None:
    """Report imports that nothing mentions. A module that provides something is used by being there."""
    for name, at in scope.imports.items():
        if name in scope.used or name not in scope.names or scope.names[name].kind == "unknown":
            continue
        if isinstance(at, n.Use) and _provides(collected, scope.names[name]):
            continue
        use = next(d for d in scope.tree.declarations if isinstance(d, n.Use) and (d is at or at in d.names))
        fix = Fix("remove the import", (_removal(scope, use, at),))
        span = at.module_span if isinstance(at, n.Use) else at.span
        bag.report("AEL1102", f"`{name}` is imported and never used", scope.source, span, fix=fix, severity=Severity.WARNING)


def _provides(collected: Collected, module: Symbol) -> bool:
    """Whether a module that is imported whole provides a service."""
    target = collected.modules.get(module.name)
    return target is not None and any(isinstance(one, n.ProvideDecl) for one in target.tree.declarations)


def _removal(scope: ModuleScope, use: n.Use, at: n.Node) -> Edit:
    text = scope.source.text
    if at is use or len(use.names) == 1:
        end = use.span.end
        while end < len(text) and text[end] in " \t\r":
            end += 1
        return Edit(Place(scope.source, Span(use.span.start, end + 1 if text[end : end + 1] == "\n" else use.span.end)), "")
    index = use.names.index(at)
    if index + 1 < len(use.names):
        return Edit(Place(scope.source, Span(at.span.start, use.names[index + 1].span.start)), "")
    return Edit(Place(scope.source, Span(use.names[index - 1].span.end, at.span.end)), "")


def kind_text(symbol: Symbol) -> str:
    """`a record`, `an enum`."""
    word = WORDS[symbol.kind]
    return f"{'an' if word[0] in 'aeiou' or word.startswith('MCP') else 'a'} {word}"
