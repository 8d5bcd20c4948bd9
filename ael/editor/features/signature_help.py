"""The parameters of what is being called at the cursor, also while the call is half written, and which of them is next."""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

from lsprotocol import types as lsp

from ael.check.builtin import METHODS
from ael.editor.feature import Asked
from ael.editor.features import written
from ael.editor.features.cursor import Cursor
from ael.editor.features.describe import describe
from ael.editor.features.entity import Entity
from ael.editor.features.markdown import prose
from ael.editor.snapshot import File, Snapshot
from ael.syntax import nodes as n
from ael.syntax.words import STRING, STRING_HEAD, STRING_MID, STRING_TAIL
from ael.types.definition import EnumDef, FieldDef, RecordDef
from ael.types.signature import ParameterDef
from ael.types.text import show
from ael.types.type import UnitType


class Shown(NamedTuple):
    """A signature: its text before the parameters, the parameters (name, text, what is said of it), and its text behind them."""

    lead: str
    parameters: tuple[tuple[str, str, str], ...]
    end: str
    entity: Entity | None
    active: int | None
    """The parameter that is written at the cursor."""

    @property
    def label(self) -> str:
        """The whole signature."""
        return f"{self.lead}({', '.join(text for _, text, _ in self.parameters)}){self.end}"


def signature_help(asked: Asked, params: lsp.SignatureHelpParams) -> lsp.SignatureHelp | None:
    """`textDocument/signatureHelp`."""
    found = shown_at(asked.snapshot, asked.file, asked.file.lines.offset(params.position))
    if found is None:
        return None
    told = describe(asked.snapshot, found.entity).said if found.entity is not None else ""
    places: list[lsp.ParameterInformation] = []
    at = _units(found.lead) + 1
    for _, text, doc in found.parameters:
        end = at + _units(text)
        places.append(
            lsp.ParameterInformation((at, end), lsp.MarkupContent(lsp.MarkupKind.Markdown, prose(doc)) if doc else None)
        )
        at = end + 2
    documentation = lsp.MarkupContent(lsp.MarkupKind.Markdown, told) if told else None
    active = found.active if found.active is not None else len(places)
    one = lsp.SignatureInformation(found.label, documentation, places, active)
    return lsp.SignatureHelp([one], 0, active)


def _units(text: str) -> int:
    """The length of a text as the protocol counts it."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def shown_at(snapshot: Snapshot, file: File, offset: int) -> Shown | None:
    """The signature of the innermost call around an offset; None where there is none."""
    if file.kind != "module":
        return None
    cursor = Cursor(snapshot, file, _before_text(file, offset))
    if cursor.guess is None:
        return None
    made, changed, path = cursor.guess
    start = cursor.start
    written_to = len(changed.source.text[:start].rstrip())
    closed = written_to if changed.source.text[:written_to].endswith(")") else -1
    for at in range(len(path) - 1, -1, -1):
        node = path[at]
        inside = path[at + 1] if at + 1 < len(path) else None
        if isinstance(node, n.Block | n.Arm):
            return None
        if node.span.end == closed:
            continue
        if isinstance(node, n.Call) and start > node.callee.span.end and inside is not node.callee:
            return _of_call(made, changed, node, inside)
        if isinstance(node, n.EdgeTarget) and node.arguments is not None and start > node.name.span.end:
            return _of_edge(made, changed, node, inside)
    return None


def _before_text(file: File, offset: int) -> int:
    """In a text, the place where it begins: what is called there is the same."""
    tokens = file.tokens
    index = bisect_right(tokens.starts, offset - 1) - 1
    while index >= 0 and tokens.starts[index] < offset:
        kind = tokens.kinds[index]
        if kind in (STRING, STRING_HEAD, STRING_MID, STRING_TAIL) and offset < tokens.ends[index]:
            if kind in (STRING, STRING_HEAD):
                return tokens.starts[index]
            while index > 0 and tokens.kinds[index] != STRING_HEAD:
                index -= 1
            return tokens.starts[index]
        if tokens.ends[index] <= offset:
            break
        index -= 1
    return offset


def _of_call(snapshot: Snapshot, file: File, node: n.Call, inside: n.Node | None) -> Shown | None:
    info = file.tables.calls.get(node)
    if info is None:
        return None
    collected = snapshot.collected
    name = info.name.rpartition(".")[2]
    parameters: tuple[ParameterDef | FieldDef, ...]
    entity: Entity | None = Entity("symbol", info.name)
    match info.kind:
        case "record" | "error":
            definition = collected.definitions.get(info.name)
            parameters = definition.fields if isinstance(definition, RecordDef) else ()
            end = ""
        case "variant":
            owner, _, name = info.name.rpartition(".")
            enum = collected.definitions.get(owner)
            parameters = next((v.fields for v in enum.variants if v.name == name), ()) if isinstance(enum, EnumDef) else ()
            entity, end = Entity("variant", name, owner), f" -> {owner.rpartition('.')[2]}"
        case "function" | "effect" | "builtin":
            signature = collected.signatures.get(info.name)
            if signature is None:
                return _of_language(info.name, node, inside)
            parameters = signature.parameters
            result = "" if isinstance(signature.result, UnitType) else f" -> {show(signature.result)}"
            fails = sorted(one.rpartition(".")[2] for one in signature.fails)
            end = result + (f" fails {', '.join(fails)}" if fails else "")
            if info.name not in collected.symbols:
                entity = Entity("store_operation", name, info.name.rpartition(".")[0])
        case _:
            return None
    texts = tuple((p.name, written.field(p), p.doc) for p in parameters)
    return Shown(name, texts, end, entity, _active([p.name for p in parameters], node.arguments, inside))


def _of_language(name: str, node: n.Call, inside: n.Node | None) -> Shown | None:
    one = written.builtin(name)
    if one is None:
        return None
    marks = str.maketrans({"?": None})
    texts = tuple(
        (own, f"{own}{'' if at < one.required else '?'}: {show(type).translate(marks)}", "")
        for at, (own, type) in enumerate(zip(one.names, one.parameters, strict=True))
    )
    method = one.name.partition(".")[0] in METHODS
    end = "" if isinstance(one.result, UnitType) else f" -> {written.builtin_signature(one).rpartition(' -> ')[2]}"
    entity = Entity("method" if method else "builtin", one.name)
    return Shown(one.name.rpartition(".")[2], texts, end, entity, _active(list(one.names), node.arguments, inside))


def _of_edge(snapshot: Snapshot, file: File, node: n.EdgeTarget, inside: n.Node | None) -> Shown | None:
    symbol = file.scope.names.get(node.name.text) if file.scope is not None else None
    signature = snapshot.collected.signatures.get(symbol.name) if symbol is not None else None
    if symbol is None or signature is None:
        return None
    texts = tuple((p.name, written.field(p), p.doc) for p in signature.parameters)
    active = _active([p.name for p in signature.parameters], node.arguments or (), inside)
    return Shown(node.name.text, texts, f" -> {show(signature.result)}", Entity("symbol", symbol.name), active)


def _active(names: list[str], arguments: tuple[n.Argument, ...], inside: n.Node | None) -> int | None:
    """The parameter that the argument at the cursor is for: by its name, else by its place among those without one."""
    if not isinstance(inside, n.Argument):
        return 0 if names and not arguments else None
    if inside.name is not None:
        return names.index(inside.name.text) if inside.name.text in names else None
    place = [one for one in arguments if one.name is None].index(inside)
    # After arguments with names, the first parameter that has none yet.
    given = {one.name.text for one in arguments if one.name is not None}
    if given:
        left = [at for at, name in enumerate(names) if name not in given]
        return left[place] if place < len(left) else None
    return place if place < len(names) else None
