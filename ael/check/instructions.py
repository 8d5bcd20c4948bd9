"""Instructions are trusted text: what stands in them was written by the program's author (language.md, section 5; feature A5.6).

Only literals and constants stand in place. A parameter becomes a named reference, `<input name="topic"/>`, and its value travels in the
user message as marked data; so whatever outside text says, it never becomes an instruction. Anything else is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from ael.check import clause as c
from ael.check.basis import Context, short
from ael.check.collect import ModuleScope
from ael.check.module import find
from ael.check.program import Local, Meaning
from ael.syntax import nodes as n
from ael.types.text import text_of
from ael.types.type import Unknown


def text(
    context: Context, scope: ModuleScope, what: str, said: n.Instructions, parameters: tuple[n.Parameter, ...] | None = None
) -> str:
    """The whole instructions of a node or, without `parameters`, of a skill (`what`), each parameter that they name replaced by its
    reference."""
    whole = _of_file(context, scope, said) if said.from_file else _inline(context, scope, said.template, parameters)
    if whole is not None and not whole.strip():
        context.report("AEL0615", f"the instructions of {what} are empty", scope.name, said.template)
    return (whole or "").strip("\n")


def follow_up(context: Context, scope: ModuleScope, what: str, said: n.FollowUp, parameters: tuple[n.Parameter, ...]) -> str:
    """What the model of a node is told after a result: trusted text, as the instructions are."""
    whole = _inline(context, scope, said.template, parameters)
    if not whole.strip():
        context.report("AEL0615", f"a follow-up of {what} is empty", scope.name, said.template)
    return whole.strip("\n")


def _inline(context: Context, scope: ModuleScope, template: n.StringLit, parameters: tuple[n.Parameter, ...] | None) -> str:
    references = {scope.tables.locals[p]: p.name.text for p in parameters or () if p in scope.tables.locals}
    names = None if parameters is None else {p.name.text for p in parameters}
    return "".join(
        part.text if isinstance(part, n.TextPart) else _part(context, scope, part, references, names) for part in template.parts
    )


def file_path(said: n.Instructions) -> str | None:
    """The path of the file that instructions are read from, as written; None where they are inline, or where something is worked out
    in the path."""
    if not said.from_file or not all(isinstance(part, n.TextPart) for part in said.template.parts):
        return None
    return "".join(part.text for part in said.template.parts if isinstance(part, n.TextPart))


def _of_file(context: Context, scope: ModuleScope, said: n.Instructions) -> str | None:
    """The text of the file, as it is (feature A6.3); None when there is none, which is reported."""
    path = file_path(said)
    if path is None:
        context.report("AEL0646", "the path of a file is plain text: nothing is worked out in it", scope.name, said.template)
        return None
    source = context.collected.texts.get((scope.name, path))
    if source is None:
        if not context.bag.told(scope.source, said.template.span):
            # The loader has told it when it looked for the file.
            context.report("AEL0646", f"there is no file `{path}`", scope.name, said.template)
        return None
    if "${" in source.text:
        message = f"`{path}` has a `${{` in it, and a file is read as it stands: no parameter or constant is put in its place"
        context.warn(
            "AEL1128", message, scope.name, said.template, notes=("what names parameters or constants is written inline",)
        )
    return source.text.replace("\r\n", "\n")


def _part(context: Context, scope: ModuleScope, part: n.Expr, references: dict[Local, str], names: set[str] | None) -> str:
    meaning = scope.tables.resolved.get(part)
    if isinstance(meaning, Local) and meaning in references:
        return reference(references[meaning])
    if meaning is None and isinstance(part, n.Reference) and part.name.text in (names or ()):
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


def _refuse(context: Context, scope: ModuleScope, part: n.Expr, names: set[str] | None) -> None:
    shown = c.source_text(scope, part)
    shown = "this" if len(shown) > 40 or "\n" in shown else f"`{shown}`"
    path = c.as_path(part)
    notes = [
        "instructions are trusted: only literals and constants stand in them, so that no outside text can become an instruction",
    ]
    if path is not None and path.parts[0].text in (names or ()) and len(path.parts) > 1:
        first = path.parts[0].text
        notes.append(f"name the whole parameter (`${{{first}}}`), or make `{path.parts[-1].text}` a parameter of its own")
    elif path is not None and (symbol := find(context.collected, scope, path)) is not None and symbol.kind == "unknown":
        return
    elif names is None:
        notes.append("make it a `const`; what is known when a node is called is named in the instructions of that node")
    else:
        notes.append("make it a parameter of the node: its value then travels beside the instructions, as data")
    message = f"{shown} cannot stand in instructions: it is worked out while the program runs"
    context.report("AEL0616", message, scope.name, part, notes=tuple(notes))


def named_inputs(
    context: Context, scope: ModuleScope, node: n.NodeDecl, said: n.Instructions | n.FollowUp, given: n.Expr | None
) -> None:
    """With an `input` that lists its parts, what the instructions and follow-ups name must be among them."""
    if not isinstance(given, n.MapLit):
        return
    keys = {c.constant_text(context, scope, entry.key) for entry in given.entries}
    if None in keys:
        return
    for part in said.template.parts:
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


def no_boundary(context: Context, scope: ModuleScope, what: str, said: n.Instructions, offered: Iterable[str]) -> None:
    """Advice: instructions that forbid a tool are no access control (feature A4.16): a model may not follow them."""
    for sentence in re.split(r"[.!?\n]", _written(context, scope, said)):
        if _FORBIDS.search(sentence) is None:
            continue
        for name in offered:
            if re.search(rf"\b{re.escape(name)}\b", sentence):
                message = f"the instructions of {what} forbid `{name}`, and a model may do it all the same"
                notes = (
                    f"instructions are no access control: take `{name}` from the tools, or put the condition into code, "
                    "a permission or an `approval required when …`",
                )
                context.warn("AEL1126", message, scope.name, said.template, notes=notes)
                return


def _written(context: Context, scope: ModuleScope, said: n.Instructions) -> str:
    """What the author wrote: the text of the file, or of the template without its parts."""
    if not said.from_file:
        return "".join(part.text for part in said.template.parts if isinstance(part, n.TextPart))
    source = context.collected.texts.get((scope.name, file_path(said) or ""))
    return source.text if source is not None else ""
