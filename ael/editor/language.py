"""The language as data: its words, declarations with their clauses, built-in functions, faults, diagnostics, and the forms of its tree.

One document, which `ael language` prints and the language server answers `ael/language` with, made from what the compiler itself goes by.
Editors' files are made from it, and its types in TypeScript are those of whoever reads it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from functools import cache

from ael import __version__
from ael.check import clause
from ael.check.builtin import EFFECT_SIGNATURES, FUNCTIONS, IN_TESTS, METHODS, Builtin
from ael.diagnostics.codes import AREAS
from ael.editor.word_help import KNOWN, WORDS
from ael.editor.words import words
from ael.project.pack import OPTIONAL_PACKAGES
from ael.project.shipped import shipped
from ael.syntax import nodes as n
from ael.syntax.tree import Node
from ael.types.fault import FaultKind
from ael.types.text import show
from ael.types.type import Type

FORM = 1
"""The document's form. It changes only when a field changes its meaning or goes away."""
_CLAUSES: dict[str, tuple[type[n.Clause], ...]] = {
    "tool": clause.TOOL,
    "node": clause.MODEL_NODE,
    "agent": clause.AGENT,
    "skill": clause.SKILL,
    "operation": clause.OPERATION,
    "provide": clause.PROVIDE,
    "store": clause.STORE,
    "mcp tool": clause.SERVER_TOOL,
    "mcp resource": clause.SERVER_READ,
    "table": (n.Policy,),
}
"""What may stand between the head and the body of a declaration, by its word."""


@cache
def language() -> dict[str, object]:
    """The document, the same for the same version. Every value is JSON."""
    listed = words()
    declarations = [*listed["declaration"], "model", "table"]
    return {
        "form": FORM,
        "ael": __version__,
        "words": {kind: list(found) for kind, found in listed.items()},
        "help": {word: text for word, (text, _) in sorted({**KNOWN, **WORDS}.items())},
        "declarations": [
            {"word": word, "help": WORDS[word][0], "clauses": [clause.WORDS[kind] for kind in _CLAUSES.get(word, ())]}
            for word in sorted(declarations)
            if word not in ("pub", "use")
        ],
        "clauses": {place: [clause.WORDS[kind] for kind in kinds] for place, kinds in sorted(_CLAUSES.items())},
        "functions": _functions("function", FUNCTIONS) + _functions("effect", EFFECT_SIGNATURES) + _functions("test", IN_TESTS),
        "methods": {receiver: _functions("method", found) for receiver, found in sorted(METHODS.items())},
        "faults": [kind.value for kind in FaultKind],
        "diagnostics": [
            {"code": code, "title": title, "area": (area.__doc__ or "").partition(" (")[0]}
            for area in AREAS
            for code, title in sorted(area.CODES.items())
        ],
        "modules": [
            {"name": f"std/{file.stem}", "optional": f"std/{file.stem}" in OPTIONAL_PACKAGES}
            for file in sorted((shipped("stdlib") / "std").glob("*.ael"))
        ],
        "tree": {name: _fields(node) for name, node in sorted(_nodes())},
    }


def text() -> str:
    """The document as JSON, a line for each leaf."""
    return json.dumps(language(), ensure_ascii=False, indent=1) + "\n"


def typescript() -> str:
    """Its types for TypeScript: what it holds is a literal type wherever it is one of a known set."""
    made = language()
    listed = words()
    unions = {
        "ReservedWord": [word for kind in ("declaration", "statement", "operator", "literal") for word in listed[kind]],
        "SoftWord": [*listed["soft"], *listed["clause"]],
        "TypeName": listed["type"],
        "Fault": [kind.value for kind in FaultKind],
        "DiagnosticCode": [code for area in AREAS for code in sorted(area.CODES)],
        "NodeName": [name for name, _ in sorted(_nodes())],
    }
    lines = [
        f"// The language of AEL {__version__} as data, made by `ael language --format typescript`: change nothing here.",
        "",
    ]
    for name, members in unions.items():
        lines += [f"export type {name} =", *_wrapped(json.dumps(member) for member in dict.fromkeys(members)), ""]
    lines += _INTERFACES.strip().splitlines()
    assert set(re.findall(r"^  readonly (\w+)\??:", _INTERFACES.partition("interface Language ")[2], re.MULTILINE)) == set(made)
    return "\n".join(lines) + "\n"


_INTERFACES = """
export interface Declaration { readonly word: string; readonly help: string; readonly clauses: readonly string[] }
export interface BuiltIn {
  readonly kind: "function" | "effect" | "test" | "method"; readonly name: string; readonly signature: string; readonly required: number;
}
export interface Diagnostic { readonly code: DiagnosticCode; readonly title: string; readonly area: string }
export interface Module { readonly name: string; readonly optional: boolean }
export interface NodeField { readonly name: string; readonly type: string }

/** What `ael language` prints, and the language server answers `ael/language` with. */
export interface Language {
  readonly form: number;
  readonly ael: string;
  readonly words: { readonly [kind: string]: readonly string[] };
  readonly help: { readonly [word: string]: string };
  readonly declarations: readonly Declaration[];
  readonly clauses: { readonly [place: string]: readonly string[] };
  readonly functions: readonly BuiltIn[];
  readonly methods: { readonly [receiver: string]: readonly BuiltIn[] };
  readonly faults: readonly Fault[];
  readonly diagnostics: readonly Diagnostic[];
  readonly modules: readonly Module[];
  readonly tree: { readonly [node in NodeName]: readonly NodeField[] };
}
"""


def _wrapped(members: Iterable[str]) -> Iterator[str]:
    """A union over as few lines as are needed; the last one ends it."""
    lines, line = [], " "
    for member in members:
        if len(line) + len(member) > 128:
            lines.append(line)
            line = " "
        line += f" | {member}"
    lines.append(f"{line};")
    yield from lines


def _functions(kind: str, found: dict[str, Builtin]) -> list[dict[str, object]]:
    return [
        {"kind": kind, "name": name, "signature": _signature(one), "required": one.required}
        for name, one in sorted(found.items())
    ]


def _signature(one: Builtin) -> str:
    parameters = [
        f"{name}{'' if at < one.required else '?'}: {_shown(type)}"
        for at, (name, type) in enumerate(zip(one.names, one.parameters, strict=False))
    ]
    return f"{one.name.rpartition('.')[2]}({', '.join(parameters)}) -> {_shown(one.result)}"


def _shown(type: Type) -> str:
    """A type as the documentation writes it: what is found from the arguments is a letter."""
    return re.sub(r"\?(?=[TUKN]\b)", "", show(type))


def _nodes() -> Iterator[tuple[str, type[Node]]]:
    for name, found in vars(n).items():
        if isinstance(found, type) and issubclass(found, Node) and found is not Node:
            yield name, found


def _fields(node: type[Node]) -> list[dict[str, str]]:
    """The fields of a form of the tree with their types, in order, as the parser makes them."""
    found: dict[str, str] = {}
    for one in reversed(node.__mro__):
        found |= {name: str(type) for name, type in vars(one).get("__annotations__", {}).items()}
    return [{"name": name, "type": type} for name, type in found.items() if name != "span"]
