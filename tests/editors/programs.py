"""Programs that the language reads, as the tests of grammars compare them with what a grammar makes of them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator

from tree_sitter import Node

from ael.diagnostics.diagnostic import Bag
from ael.source import Source
from ael.syntax import nodes as n
from ael.syntax.parse import parse_deployment, parse_module, parse_pack
from ael.syntax.words import FileKind
from tests.editors.tools import ROOT
from tests.spec.test_spec import CASES

PARSERS = {"module": parse_module, "pack": parse_pack, "deployment": parse_deployment}
KINDS: dict[str, FileKind] = {"pack.ael": "pack", "deploy.ael": "deployment"}


def nodes(root: Node) -> Iterator[Node]:
    """A node and all below it."""
    stack = [root]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(node.children)


def parsed(text: str, kind: FileKind) -> n.Module | None:
    """The tree of the language's own parser, None where it finds an error."""
    bag = Bag()
    module = PARSERS[kind](Source("test.ael", text), bag)
    return None if bag.errors else module


def kind_of(name: str) -> FileKind:
    """What a file of this name holds."""
    return KINDS.get(name, "deployment" if re.fullmatch(r"deploy\..*\.ael", name) else "module")


def files() -> Iterator[tuple[str, str, FileKind]]:
    """Every example and module of the standard library, and every valid program of the language's pages: name, text, kind."""
    for folder in ("examples", "stdlib", "tests/syntax/programs"):
        for path in sorted((ROOT / folder).rglob("*.ael")):
            yield str(path.relative_to(ROOT)), path.read_text("utf-8"), kind_of(path.name)
    for case in CASES:
        for block in case.files:
            if block.language == "ael":
                yield (
                    f"{case.page.name}:{block.line}",
                    block.text,
                    kind_of(block.words.get("file", "main.ael").rpartition("/")[2]),
                )


def rules() -> Iterator[tuple[str, str, FileKind]]:
    """The smallest program of every rule of the grammar."""
    for path in sorted((ROOT / "grammar" / "rules").glob("*.toml")):
        for rule, entry in tomllib.loads(path.read_text("utf-8")).items():
            kind = entry.get("kind", "module")
            yield (rule, f"const x = {entry['valid']}", "module") if kind == "expression" else (rule, entry["valid"], kind)
