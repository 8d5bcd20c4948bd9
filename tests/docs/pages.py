"""The pages of `docs/` that follow the code: commands from their parsers, diagnostics from the catalogue, built-in functions.

`python -m tests.docs.pages` writes them. A test compares.
"""

from __future__ import annotations

import argparse
import inspect
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from ael.check.builtin import EFFECT_SIGNATURES, FUNCTIONS, METHODS, TEST_FUNCTIONS, Builtin
from ael.cli.main import COMMANDS, parser_of
from ael.diagnostics.codes import AREAS
from ael.editor.words import words
from ael.types.fault import FaultKind
from ael.types.text import show
from ael.types.type import Type

DOCS = Path(__file__).resolve().parents[2] / "docs"


def errors() -> str:
    """The index of the diagnostics: a section for each area, a line for each code."""
    parts = [
        "# Diagnostics\n\nEvery problem that AEL tells has a code, and every code a page: what it means, a program that has it with"
        " the exact message, and one that has not. `ael explain CODE` prints the page. A code is never used again for something else.\n"
    ]
    for area in AREAS:
        name = (area.__doc__ or "").partition(":")[0]
        rows = "".join(f"| [{code}]({code}.md) | {title} |\n" for code, title in sorted(area.CODES.items()))
        parts.append(f"## {name}\n\n| Code | Meaning |\n| --- | --- |\n{rows}")
    return "\n".join(parts)


def commands() -> str:
    """The reference of the command line: a section for each command, with its actions."""
    listed = "".join(f"| [`ael {name}`](#ael-{name}) | {text} |\n" for name, text in COMMANDS.items())
    parts = [
        "# Commands\n\nResults go to standard output, everything else to standard error; what the exit codes mean has"
        " [a page of its own](exit-codes.md). `ael --help` lists the commands, `ael COMMAND --help` explains one, `ael --version` says"
        f" which AEL it is.\n\n| Command | What it does |\n| --- | --- |\n{listed}"
    ]
    parts += [_command(parser_of(name), f"ael {name}", "##") for name in COMMANDS]
    return "\n".join(parts)


def _command(parser: argparse.ArgumentParser, name: str, level: str) -> str:
    actions = _actions(parser)
    own = [action for action in parser._actions if not isinstance(action, argparse._SubParsersAction)]
    own = [action for action in own if action.dest != "help" and action.help != argparse.SUPPRESS]
    said = _prose(inspect.cleandoc(parser.description or ""))
    usage = " ".join([name, *_usage(own), *(["ACTION"] if actions else [])])
    rows = "".join(f"| {_shown(action)} | {_help(action)} |\n" for action in own)
    table = f"\n| Argument | Meaning |\n| --- | --- |\n{rows}" if rows else ""
    parts = [f"{level} {name}\n\n```text\n{usage}\n```\n\n{said}\n{table}"]
    parts += [_command(inner, f"{name} {action}", f"{level}#") for action, inner in actions.items()]
    return "\n".join(parts)


def _prose(text: str) -> str:
    """A description: lines that are indented are an example of what to type, everything else is prose."""
    out: list[str] = []
    for paragraph in text.split("\n\n"):
        lines = paragraph.split("\n")
        while lines:
            deep = lines[0].startswith("  ")
            same = list(_while(lines, deep))
            lines = lines[len(same) :]
            out.append("```text\n" + inspect.cleandoc("\n" + "\n".join(same)) + "\n```" if deep else "\n".join(same))
    return "\n\n".join(out)


def _while(lines: list[str], deep: bool) -> Iterator[str]:
    for line in lines:
        if line.startswith("  ") != deep:
            return
        yield line


def _usage(own: list[argparse.Action]) -> Iterator[str]:
    for action in sorted(own, key=lambda a: not a.option_strings):
        if action.option_strings:
            yield f"[{max(action.option_strings, key=len)}{_value(action)}]"
        elif action.nargs in ("?", "*"):
            yield f"[{_place(action)}]" if action.nargs == "?" else f"[{_place(action)} …]"
        elif action.nargs == argparse.REMAINDER:
            yield "[…]"
        else:
            yield _place(action) + (" …" if action.nargs == "+" else "")


def _place(action: argparse.Action) -> str:
    return str(action.metavar or _choices(action) or action.dest.upper())


def _choices(action: argparse.Action) -> str:
    return "|".join(map(str, action.choices)) if action.choices is not None else ""


def _value(action: argparse.Action) -> str:
    if action.nargs == 0:
        return ""
    word = str(action.metavar or _choices(action) or action.dest.upper())
    return f" [{word}]" if action.nargs == "?" else f" {word}"


def _shown(action: argparse.Action) -> str:
    if not action.option_strings:
        return f"`{_cell(_place(action))}`"
    return ", ".join(f"`{_cell(option + _value(action))}`" for option in action.option_strings)


def _help(action: argparse.Action) -> str:
    text = (action.help or "").replace("%%", "%")
    return re.sub(r"\s+", " ", _cell(text))


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _actions(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    found = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    return dict(found[0].choices) if found else {}


RECEIVERS = {
    "String": "string", "`List<T>`": "list", "`Map<String, T>`": "map", "Int, Float, Decimal": "int", "Timestamp": "timestamp",
    "Date": "date", "Duration": "duration", "Json": "json", "Bytes": "bytes",
}  # fmt: skip
"""Types as a heading names them -> where their methods are."""


def builtins() -> str:
    """What the language brings without a `use`: functions, effects, methods, faults."""
    parts = [
        "# Built-in functions\n\nWhat every module has without a `use`. `T` is the item of a list or the value of a map, `U` and `K` are"
        " found from the arguments, `N` is the receiver's own type. An argument with `?` may be left out. More is in"
        " [the standard library](stdlib/README.md).\n",
        "## Functions\n\n" + _signatures(FUNCTIONS),
        "## Effects\n\nEach is kept in the journal, so that a run that goes on sees what it saw.\n\n"
        + _signatures(EFFECT_SIGNATURES),
    ]
    for title, kind in RECEIVERS.items():
        parts.append(f"## {title}\n\n{_signatures(METHODS[kind])}")
    faults = ", ".join(f"`{kind.value}`" for kind in FaultKind)
    parts.append(
        f"## Faults\n\n{faults}. A `catch` binds a value with `kind`, `message` and `details`; `Fault` meets all but `Cancelled`.\n"
    )
    parts.append("## In tests\n\nTurns of a scripted model, in `script NAME [...]`.\n\n" + _signatures(TEST_FUNCTIONS))
    return "\n".join(parts)


def _signatures(table: Mapping[str, Builtin]) -> str:
    rows = []
    for name, one in table.items():
        given = (
            f"{own}{'' if at < one.required else '?'}: {_type(type)}"
            for at, (own, type) in enumerate(zip(one.names, one.parameters, strict=True))
        )
        rows.append(f"{name}({', '.join(given)}) -> {_type(one.result)}\n")
    return f"```text\n{''.join(rows)}```\n"


def _type(type: Type) -> str:
    return re.sub(r"\?([TUKN])\b", r"\1", show(type))


def recipes() -> str:
    """The index of the cookbook: a line for each recipe."""
    rows = []
    for page in sorted((DOCS / "cookbook").glob("[a-z]*.md")):
        title, lead = page.read_text(encoding="utf-8").split("\n\n")[:2]
        rows.append(f"| [{title.removeprefix('# ')}]({page.name}) | {' '.join(lead.split())} |\n")
    return (
        "# Cookbook\n\nEach recipe is a problem, a whole program, how to try it, and why it is so. Every program is checked, its tests are"
        f" run, and every command is typed as it stands, by the project's own tests.\n\n| Recipe | |\n| --- | --- |\n{''.join(rows)}"
    )


def grammar() -> str:
    """The grammar as it is read by people: without the names of the parser's actions."""
    parts = [
        "# The grammar\n\nHow AEL is written: `grammar/ael.lark` without the names of its actions. `[x]` may be left out, words in"
        " quotes stand as they are. A `NEWLINE` is one that ends something: [the language](language.md#text) says when. `NAME` is a"
        " name, `FIELD_WORD` a reserved word where only the name of a field can stand, `STRING_HEAD`, `STRING_MID` and `STRING_TAIL`"
        " are the parts of a text around `${…}`.\n"
    ]
    kinds = [("Reserved", ("declaration", "statement", "operator", "literal")), ("Words only in their place", ("soft", "clause"))]
    for title, names in kinds:
        found = [f"`{word}`" for name in names for word in words()[name]]
        parts.append(f"**{title}**: {' '.join(found)}\n")
    text = (DOCS.parent / "grammar" / "ael.lark").read_text(encoding="utf-8")
    for section in re.split(r"^// --- (.+?) -+\n", text, flags=re.MULTILINE)[1:]:
        if "\n" not in section:
            parts.append(f"## {section[0].upper()}{section[1:]}\n")
        else:
            rules = re.sub(r" *-> \w+$", "", section, flags=re.MULTILINE)
            parts.append(f"```text\n{rules.strip()}\n```\n")
    return "\n".join(parts)


PAGES = {
    "grammar.md": grammar,
    "builtins.md": builtins,
    "cli.md": commands,
    "cookbook/README.md": recipes,
    "errors/README.md": errors,
}

if __name__ == "__main__":
    for file, made in PAGES.items():
        (DOCS / file).write_text(made(), encoding="utf-8")
