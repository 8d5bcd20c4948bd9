"""What the check found and the source does not say, between the code: types, effects of functions, which parameter a literal is for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

from lsprotocol import types as lsp

from ael.editor.feature import Asked
from ael.editor.features import written
from ael.editor.snapshot import File, Snapshot
from ael.source import Span
from ael.syntax import nodes as n
from ael.types.definition import EnumDef, RecordDef
from ael.types.signature import Effects
from ael.types.text import show
from ael.types.type import Never, Type, Unknown

MAX_LABEL = 60
"""Characters of a hint; more are cut."""

Group = Literal["types", "effects", "parameters"]


class Hint(NamedTuple):
    """A hint at an offset. `insert` is source that says the same, "" where source cannot."""

    offset: int
    label: str
    group: Group
    insert: str = ""


def inlay_hints(asked: Asked, params: lsp.InlayHintParams) -> list[lsp.InlayHint]:
    """`textDocument/inlayHint`."""
    file = asked.file
    wanted = groups(asked.settings)
    return [_made(file, one) for one in hints(asked.snapshot, file, file.lines.span(params.range)) if one.group in wanted]


def groups(settings: Mapping[str, object]) -> frozenset[Group]:
    """The groups of hints that the user wants: `inlayHints` is a Bool, or says it for each group."""
    said = settings.get("inlayHints", True)
    every: tuple[Group, ...] = ("types", "effects", "parameters")
    if isinstance(said, Mapping):
        return frozenset(group for group in every if said.get(group, True))
    return frozenset(every if said else ())


def _made(file: File, one: Hint) -> lsp.InlayHint:
    at = file.lines.position(one.offset)
    kind = {"types": lsp.InlayHintKind.Type, "parameters": lsp.InlayHintKind.Parameter}.get(one.group)
    edits = [lsp.TextEdit(lsp.Range(at, at), one.insert)] if one.insert else None
    right = one.group == "parameters"
    return lsp.InlayHint(at, one.label, kind, text_edits=edits, padding_left=one.group == "effects", padding_right=right)


def hints(snapshot: Snapshot, file: File, span: Span) -> list[Hint]:
    """The hints of the declarations that touch a span, within it and in order."""
    if file.kind != "module" or file.scope is None:
        return []
    found: list[Hint] = []
    for node in file.tree.declarations:
        if node.span.start <= span.end and node.span.end >= span.start:
            found += _effects(snapshot, file, node)
            for one in n.walk(node):
                found += _types(file, one)
                if isinstance(one, n.Call):
                    found += _arguments(snapshot, file, one)
    return sorted(one for one in found if span.start <= one.offset <= span.end)


# --- types -----------------------------------------------------------------------------------------------------------------

_PLAIN = (n.IntLit, n.FloatLit, n.MoneyLit, n.DurationLit, n.SizeLit, n.StringLit, n.BoolLit)


def _types(file: File, node: n.Node) -> Iterator[Hint]:
    locals = file.tables.locals
    places: list[tuple[n.Name, n.Node]] = []
    match node:
        case n.Let(type=None, name=name, value=value) if not isinstance(value, _PLAIN) and not _makes(file, value):
            places.append((name, node))
        case n.For(index=index, binder=binder):
            places += [(one, one) for one in (index, binder) if one is not None]
        case n.ParallelFor(binder=binder):
            places.append((binder, binder))
        case n.LambdaParameter(type=None, name=name):
            places.append((name, node))
        case _:
            return
    for name, key in places:
        local = locals.get(key)
        if local is None or name.text == "_" or _vague(local.type):
            continue
        text = f": {show(local.type)}"
        cut = text if len(text) <= MAX_LABEL else text[: MAX_LABEL - 1] + "…"
        writable = isinstance(node, n.Let | n.LambdaParameter) and cut == text and _written(local.type)
        yield Hint(name.span.end, cut, "types", text if writable else "")


def _makes(file: File, value: n.Expr) -> bool:
    """Whether the value says its type itself: `Order(…)`, `Shape.Circle(…)`."""
    info = file.tables.calls.get(value) if isinstance(value, n.Call) else None
    return info is not None and info.kind in ("record", "error", "variant")


def _vague(type: Type) -> bool:
    return isinstance(type, Unknown | Never)


def _written(type: Type) -> bool:
    """Whether source can write the type as it is shown."""
    shown = show(type)
    return not any(part in shown for part in ("{", "…", "unknown", "Never"))


# --- effects ---------------------------------------------------------------------------------------------------------------


def _effects(snapshot: Snapshot, file: File, node: n.Declaration) -> Iterator[Hint]:
    """Behind the head of a function that acts: what it reaches, and how it repeats."""
    facts = snapshot.facts
    if facts is None:
        return
    functions: list[tuple[str, n.FunctionDecl]] = []
    match node:
        case n.FunctionDecl():
            functions.append((f"{file.name}.{node.name.text}", node))
        case n.SkillDecl(functions=inner):
            functions += [(f"{file.name}.{node.name.text}.{one.name.text}", one) for one in inner]
        case n.ProvideDecl(functions=inner):
            own = (node.alias or node.service.parts[-1]).text
            functions += [(f"provide {file.name}.{own}.{one.name.text}", one) for one in inner]
        case _:
            return
    for key, one in functions:
        effects = facts.effects.get(key)
        if effects is not None and effects.acts:
            yield Hint(head_end(file, one), label_of(effects), "effects")


def label_of(effects: Effects) -> str:
    """What a function can do, in short."""
    reached = sorted(effects.permissions)
    parts = [f"needs {', '.join(reached[:3])}{', …' if len(reached) > 3 else ''}"] if reached else ["acts"]
    parts.append(f"repeat {effects.repeat.word}")
    if effects.tainted:
        parts.append("outside data")
    return " · ".join(parts)


def head_end(file: File, node: n.FunctionDecl) -> int:
    """Where the head of a function ends, before the blanks in front of its body."""
    end = node.body.span.start
    return end - (len(file.source.text[:end]) - len(file.source.text[:end].rstrip()))


# --- arguments ---------------------------------------------------------------------------------------------------------------


def _arguments(snapshot: Snapshot, file: File, node: n.Call) -> Iterator[Hint]:
    """In front of a literal without a name: the parameter that it is for."""
    if not any(argument.name is None and _literal(argument.value) for argument in node.arguments):
        return
    names = parameter_names(snapshot, file, node)
    if not names or (len(names) == 1 and not isinstance(node.arguments[0].value, n.BoolLit | n.NullLit)):
        return
    at = 0
    for argument in node.arguments:
        if argument.name is not None:
            continue
        if at < len(names) and _literal(argument.value):
            yield Hint(argument.span.start, f"{names[at]}:", "parameters", f"{names[at]}: ")
        at += 1


def _literal(node: n.Expr) -> bool:
    return isinstance(node, (*_PLAIN, n.NullLit)) or (isinstance(node, n.Unary) and _literal(node.operand))


def parameter_names(snapshot: Snapshot, file: File, node: n.Call) -> tuple[str, ...]:
    """The names of the parameters of what is called, in their order; none where it is not known, or where they have no names."""
    info = file.tables.calls.get(node)
    if info is None:
        return ()
    collected = snapshot.collected
    match info.kind:
        case "record" | "error":
            definition = collected.definitions.get(info.name)
            return tuple(f.name for f in definition.fields) if isinstance(definition, RecordDef) else ()
        case "variant":
            owner, _, name = info.name.rpartition(".")
            enum = collected.definitions.get(owner)
            fields = next((v.fields for v in enum.variants if v.name == name), ()) if isinstance(enum, EnumDef) else ()
            return tuple(f.name for f in fields)
        case "function" | "effect" | "builtin":
            signature = collected.signatures.get(info.name)
            if signature is not None:
                return tuple(p.name for p in signature.parameters)
            one = written.builtin(info.name)
            return one.names if one is not None else ()
        case _:
            return ()
