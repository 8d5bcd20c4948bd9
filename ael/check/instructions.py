"""Instructions are trusted text: what stands in them was written by the program's author (language.md, section 5; feature A5.6).

Only literals and constants stand in place. A parameter becomes a named reference, `<input name="topic"/>`, and its value travels in the
user message as marked data; so whatever outside text says, it never becomes an instruction. Anything else is refused.
"""

from __future__ import annotations

import re

from ael.check import clause as c
from ael.check.basis import Context, short
from ael.check.collect import ModuleScope
from ael.check.module import find
from ael.check.program import Local, Meaning
from ael.syntax import nodes as n
from ael.types.text import text_of
from ael.types.type import Unknown


def text(context: Context, scope: ModuleScope, node: n.NodeDecl, template: n.StringLit) -> str:
    """The whole instructions of a node, each parameter that they name replaced by its reference."""
    parameters = {scope.tables.locals[p]: p.name.text for p in node.parameters if p in scope.tables.locals}
    names = {p.name.text for p in node.parameters}
    parts: list[str] = []
    for part in template.parts:
        if isinstance(part, n.TextPart):
            parts.append(part.text)
        else:
            parts.append(_part(context, scope, part, parameters, names))
    whole = "".join(parts).strip("\n")
    if not whole.strip():
        context.report("AEL0615", f"the instructions of `{node.name.text}` are empty", scope.name, template)
    return whole


def _part(context: Context, scope: ModuleScope, part: n.Expr, parameters: dict[Local, str], names: set[str]) -> str:
    meaning = scope.tables.resolved.get(part)
    if isinstance(meaning, Local) and meaning in parameters:
        return reference(parameters[meaning])
    if meaning is None and isinstance(part, n.Reference) and part.name.text in names:
        return reference(part.name.text)
    if isinstance(meaning, Meaning):
        if meaning.kind == "variant":
            return meaning.member
        if meaning.kind == "const" and meaning.name not in context.collected.constants:
            return ""
    value = c.constant(context, scope, part)
    if value is not c.NOTHING and value is not None and not isinstance(value, list | dict):
        return text_of(value) if not isinstance(part, n.DurationLit) else part.text_form
    if not isinstance(scope.tables.types.get(part), Unknown):
        _refuse(context, scope, part, names)
    return ""


def reference(name: str) -> str:
    """How instructions name an input whose value stands in the user message."""
    return f'<input name="{name}"/>'


def _refuse(context: Context, scope: ModuleScope, part: n.Expr, names: set[str]) -> None:
    shown = c.source_text(scope, part)
    shown = "this" if len(shown) > 40 or "\n" in shown else f"`{shown}`"
    path = c.as_path(part)
    notes = [
        "instructions are trusted: only literals and constants stand in them, so that no outside text can become an instruction",
    ]
    if path is not None and path.parts[0].text in names and len(path.parts) > 1:
        first = path.parts[0].text
        notes.append(f"name the whole parameter (`${{{first}}}`), or make `{path.parts[-1].text}` a parameter of its own")
    elif path is not None and (symbol := find(context.collected, scope, path)) is not None and symbol.kind == "unknown":
        return
    else:
        notes.append("make it a parameter of the node: its value then travels beside the instructions, as data")
    message = f"{shown} cannot stand in instructions: it is worked out while the program runs"
    context.report("AEL0616", message, scope.name, part, notes=tuple(notes))


def named_inputs(context: Context, scope: ModuleScope, node: n.NodeDecl, template: n.StringLit, given: n.Expr | None) -> None:
    """With an `input` that lists its parts, what the instructions name must be among them."""
    if not isinstance(given, n.MapLit):
        return
    keys = {c.constant_text(context, scope, entry.key) for entry in given.entries}
    if None in keys:
        return
    for part in template.parts:
        if (
            isinstance(part, n.Reference)
            and part.name.text not in keys
            and any(p.name.text == part.name.text for p in node.parameters)
        ):
            name = part.name.text
            message = f"the instructions name `{name}`, and the `input` of `{short(scope.name + '.' + node.name.text)}` does not hold it"
            labels = (context.label(scope.name, given, "all that the model is given"),)
            context.report("AEL0617", message, scope.name, part, labels=labels)


_FORBIDS = re.compile(r"\b(?:never|do not|don't|must not|mustn't|may not|are not allowed|is forbidden|unless)\b", re.IGNORECASE)


def no_boundary(context: Context, scope: ModuleScope, node: n.NodeDecl, template: n.StringLit, offered: list[str]) -> None:
    """Advice: instructions that forbid a tool are no access control (feature A4.16): a model may not follow them."""
    whole = "".join(part.text for part in template.parts if isinstance(part, n.TextPart))
    for sentence in re.split(r"[.!?\n]", whole):
        if _FORBIDS.search(sentence) is None:
            continue
        for name in offered:
            if re.search(rf"\b{re.escape(name)}\b", sentence):
                message = f"the instructions of `{node.name.text}` forbid `{name}`, and a model may do it all the same"
                notes = (
                    f"instructions are no access control: take `{name}` from the tools, or put the condition into code, "
                    "a permission or an `approval required when …`",
                )
                context.warn("AEL1126", message, scope.name, template, notes=notes)
                return
