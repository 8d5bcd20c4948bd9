"""How a declaration is written, up to its body, with what its names mean: the signature on its page."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ael.documenting.item import Piece
from ael.documenting.names import Names, Target
from ael.source import Span
from ael.syntax import nodes as n

_DOC = re.compile(r"[ \t]*//[/!][^\r\n]*(?:\r\n?|\n)")


def signature(names: Names, module: str, node: n.Node) -> tuple[Piece, ...]:
    """The pieces of a declaration, without the comments in it and without its body."""
    source = names.program.modules[module].tree.source
    start, end = node.span.start, _end(node)
    end = start + len(source.text[start:end].rstrip())
    hidden = [Span(*match.span()) for match in _DOC.finditer(source.text, start, end) if _begins_line(source.text, match.start())]
    links = sorted(_links(names, module, node, Span(start, end)), key=lambda link: link[0])
    return tuple(_pieces(source.text, start, end, hidden, links))


def _begins_line(text: str, at: int) -> bool:
    return at == 0 or text[at - 1] in "\r\n"


def _pieces(text: str, start: int, end: int, hidden: list[Span], links: list[tuple[Span, Target]]) -> Iterator[Piece]:
    at = start
    for span, target in [*links, (Span(end, end), None)]:
        if span.start < at:
            continue
        yield from _plain(text, at, span.start, hidden)
        if target is not None:
            yield Piece(text[span.start : span.end], target)
        at = span.end


def _plain(text: str, start: int, end: int, hidden: list[Span]) -> Iterator[Piece]:
    shown, at = [], start
    for span in hidden:
        if span.end <= start or span.start >= end:
            continue
        shown.append(text[at : max(at, span.start)])
        at = max(at, span.end)
    shown.append(text[at : max(at, end)])
    whole = "".join(shown).replace("\r\n", "\n").replace("\r", "\n")
    if whole:
        yield Piece(whole)


def _end(node: n.Node) -> int:
    """Where that ends which others have to know: before the body."""
    match node:
        case n.FunctionDecl(body=body) | n.NodeDecl(body=body):
            return body.span.start
        case n.ToolDecl(body=body):
            return body.span.start if isinstance(body, n.Block) else node.span.end
        case n.AgentDecl() | n.SkillDecl() | n.ProvideDecl():
            body_parts = node.edges if isinstance(node, n.AgentDecl) else node.functions
            inner = {*body_parts, *([node.instructions] if isinstance(node, n.SkillDecl) else [])}
            return max(child.span.end for child in node.children() if child not in inner and not isinstance(child, n.Doc))
        case _:
            return node.span.end


def _links(names: Names, module: str, node: n.Node, whole: Span) -> Iterator[tuple[Span, Target]]:
    rights: set[n.Node] = set()
    for inner in n.walk(node):
        if not (whole.start <= inner.span.start < whole.end):
            continue
        match inner:
            case n.Needs(permissions=paths) | n.Grants(permissions=paths):
                rights.update(paths)
            case n.PermissionDecl(includes=paths):
                rights.update(paths)
            case n.Approval(role=n.Path() as role):
                rights.add(role)
            case n.StoreDecl() | n.McpTool() | n.McpResource() | n.McpPrompt():
                pass
            case n.Path():
                yield from _path(names, module, inner, right=inner in rights)
            case n.Reference(name=name):
                target = names.find(module, name.text)
                if target is not None:
                    yield name.span, target
            case _:
                pass


def _path(names: Names, module: str, path: n.Path, *, right: bool) -> Iterator[tuple[Span, Target]]:
    target = names.right(module, path.text) if right else names.find(module, path.text)
    if target is not None:
        yield path.span, target
