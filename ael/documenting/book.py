"""From a checked pack to what its pages say."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ael.check.packs import STANDARD
from ael.check.program import CheckedModule
from ael.data import replace
from ael.diagnostics.diagnostic import Bag, Place
from ael.documenting.comment import Comment, comment_of
from ael.documenting.facts import Facts, merged
from ael.documenting.item import Book, Fact, Item, Page, Part
from ael.documenting.names import KINDS, Names, Target, parts, right_name, shown_name
from ael.documenting.pack import Documented
from ael.documenting.signature import signature
from ael.documenting.titles import CALLED, TITLES
from ael.drawing.picture import picture
from ael.drawing.svg import svg
from ael.project.pack import FILE
from ael.project.shown import shown
from ael.source import SourceError, read
from ael.syntax import nodes as n
from ael.syntax.parse import parse_pack
from ael.types.reach import reachable
from ael.types.type import Named, Type

_ORDER = tuple(TITLES)


def book_of(documented: Documented, *, private: bool = False) -> tuple[Book, Names]:
    """The pages. `private`: also of what is not shown otherwise."""
    names = Names(documented.program)
    facts = Facts(names)
    reached = _reached(documented)
    pages = tuple(
        _page(names, facts, module, lambda name, node: private or name in reached or _shown(documented, node))
        for module in documented.modules
    )
    pages = tuple(page for page in pages if page.items or page.comment is not None)
    intro, module = _intro(documented, pages)
    all_facts = tuple(merged(fact for page in pages for fact in page.facts).values())
    return Book(documented.title, documented.version, intro, module, pages, all_facts), names


def _intro(documented: Documented, pages: tuple[Page, ...]) -> tuple[Comment | None, str]:
    main = documented.project.main
    pack = documented.project.pack
    if pack is not None:
        try:
            source = read(pack.root / FILE, shown(pack.root / FILE))
        except SourceError:
            return None, main
        tree = parse_pack(source, Bag())
        docs = [tree.doc, *(one.doc for one in tree.declarations if isinstance(one, n.PackDecl))]
        found = next((comment for doc in docs if (comment := comment_of(source, doc)) is not None), None)
        if found is not None:
            return found, main
    return next((page.comment for page in pages if page.module == main), None), main


def _page(names: Names, facts: Facts, module: CheckedModule, shows: Callable[[str, n.Node], bool]) -> Page:
    tree = module.tree
    items = [
        _item(names, facts, module, node)
        for node in tree.declarations
        if type(node) in KINDS and shows(f"{module.name}.{shown_name(node)}", node)
    ]
    items.sort(key=lambda item: _ORDER.index(item.kind))
    place = Place(tree.source, tree.span if tree.doc is None else tree.doc.span)
    return Page(module.name, comment_of(tree.source, tree.doc), place, tuple(items), tuple(_of_all(facts, items)))


def _of_all(facts: Facts, items: list[Item]) -> Iterator[Fact]:
    """What a module as a whole needs, can fail with, and spends; the MCP servers that it uses."""
    called = [fact for item in items for fact in item.summary]
    called += [fact for item in items for part in item.parts for fact in part.facts if fact.key in CALLED]
    whole = merged(replace(fact, label="Permissions") if fact.key == "permissions" else fact for fact in called)
    for key in ("permissions", "errors"):  # repeat safety and budgets are told of each, in a table
        if key in whole:
            several = [value for value in whole[key].values if value != ("none",)] or [("none",)]
            yield replace(whole[key], values=tuple(several))
    servers = merged(fact for item in items for fact in item.facts if fact.key in ("server", "servers"))
    used = [value for fact in servers.values() for value in fact.values]
    used += [facts.ref(item.qualified) for item in items if item.kind == "mcp"]
    if used:
        yield Fact("servers", "MCP servers", tuple(dict.fromkeys(used)))


_ACTS = (
    n.ToolDecl, n.NodeDecl, n.AgentDecl, n.SkillDecl, n.ServiceDecl, n.ProvideDecl, n.McpDecl, n.ModelDecl, n.StoreDecl, n.PermissionDecl,
    n.RoleDecl,
)  # fmt: skip
"""What an operator has to know of a pack, whoever else sees it."""


def _shown(documented: Documented, node: n.Node) -> bool:
    """What is `pub`; of a program of one's own also whatever acts, and all of one without a pack. The library keeps its means to itself."""
    if getattr(node, "public", False) or isinstance(node, n.PermissionDecl | n.RoleDecl):
        return True
    if documented.project.main.startswith(f"{STANDARD}/"):
        return False
    return documented.project.pack is None or isinstance(node, _ACTS)


def _reached(documented: Documented) -> frozenset[str]:
    """The types and errors that what is shown is made of, whether they are `pub` or not."""
    program = documented.program
    roots: list[Type] = []
    for name, (module, node) in program.declarations.items():
        if any(module == one.name for one in documented.modules) and _shown(documented, node):
            roots += [Named(name)] if name in program.definitions else []
            own = [name, *(f"{name}.{operation.name.text}" for operation in getattr(node, "operations", ()))]
            for signature in (program.signatures[one] for one in own if one in program.signatures):
                roots += [signature.result, *(parameter.type for parameter in signature.parameters)]
                roots += [Named(error) for error in signature.fails if error in program.definitions]
            roots += [program.stores[name].value] if name in program.stores else []
    return frozenset(part.name for root in roots for part in reachable(root, program.definitions) if isinstance(part, Named))


def _item(names: Names, facts: Facts, module: CheckedModule, node: n.Node) -> Item:
    source = module.tree.source
    kind, own = KINDS[type(node)], shown_name(node)
    qualified = f"{module.name}.{own}"
    doc: n.Doc | None = node.doc  # type: ignore[attr-defined]
    target = Target(module.name, qualified, kind)
    made = Item(
        kind, own, qualified, target.anchor, bool(getattr(node, "public", True)), Place(source, node.span),
        signature(names, module.name, node), comment_of(source, doc),
        facts=tuple(_facts(facts, module.name, node, qualified)),
        summary=facts.summary(qualified) if isinstance(node, _CALLABLE) else (),
        parts=tuple(_part(names, facts, module, target, name, part) for name, part in parts(node)),
    )  # fmt: skip
    if isinstance(node, n.AgentDecl):
        return replace(made, picture=svg(picture(names.program, qualified)))
    return made


_CALLABLE = (n.FunctionDecl, n.ToolDecl, n.NodeDecl, n.AgentDecl)


def _facts(facts: Facts, module: str, node: n.Node, qualified: str) -> Iterator[Fact]:
    match node:
        case n.FunctionDecl() | n.ToolDecl() | n.NodeDecl() | n.AgentDecl():
            yield from facts.of(qualified)
        case n.ErrorDecl():
            yield from facts.error_facts(qualified)
        case n.PermissionDecl(path=path) | n.RoleDecl(path=path):
            yield from facts.right_facts(right_name(facts.program, module, path.text))
        case n.ModelDecl():
            yield from facts.model_facts(qualified)
        case n.McpDecl():
            yield from facts.server_facts(qualified)
        case n.StoreDecl():
            yield from facts.store_facts(qualified)
        case n.SkillDecl():
            yield from facts.skill_facts(qualified)
        case n.ServiceDecl():
            yield from facts.service_facts(qualified)
        case n.ProvideDecl():
            yield from facts.provide_facts(qualified)
            yield from facts.calls(qualified)
        case _:
            pass


def _part(names: Names, facts: Facts, module: CheckedModule, owner: Target, name: str, node: n.Node) -> Part:
    source = module.tree.source
    target = Target(owner.module, owner.qualified, owner.kind, name)
    qualified = f"{owner.qualified}.{name}"
    known = isinstance(node, n.Operation | n.McpTool | n.McpResource | n.McpPrompt) or (
        isinstance(node, n.FunctionDecl) and owner.kind == "skill"
    )
    found = (*facts.summary(qualified), *facts.of(qualified)) if known else ()
    doc: n.Doc | None = node.doc  # type: ignore[attr-defined]
    return Part(
        name, target.anchor, signature(names, module.name, node), comment_of(source, doc), Place(source, node.span), found
    )
