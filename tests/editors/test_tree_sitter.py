"""The tree-sitter grammar reads what the language's own parser reads, and sees the same in it; no text takes more than linear time."""

from __future__ import annotations

import json
import re
import subprocess
import time
from pathlib import Path

import pytest
from tree_sitter import Language, Parser, Query, QueryCursor

from ael.editor.words import words
from ael.syntax import nodes as n
from ael.syntax.tree import walk
from ael.syntax.words import FileKind
from editors import parser as making
from tests.editors.hostile import HOSTILE
from tests.editors.programs import PARSERS, files, nodes, parsed, rules
from tests.editors.tools import GRAMMAR, ROOT, language
from tests.syntax.generate import program

pytestmark = [pytest.mark.feature("C12"), pytest.mark.xdist_group("tree-sitter")]

SAME: dict[str, type[n.Node]] = {
    "call_expression": n.Call,
    "index_expression": n.Index,
    "member_expression": n.FieldAccess,
    "binary_expression": n.Binary,
    "if_expression": n.If,
    "match_expression": n.Match,
    "catch_expression": n.Catch,
    "lambda": n.Lambda,
    "assignment": n.Assign,
    "let_statement": n.Let,
    "edge": n.Edge,
    "setting": n.Setting,
}
"""What both parsers see, with the same extent: where a newline ended a statement, and what binds closer than what."""


@pytest.fixture(scope="module")
def grammar(tmp_path_factory: pytest.TempPathFactory) -> Language:
    return language(tmp_path_factory.mktemp("tree-sitter"))


@pytest.fixture(scope="module")
def parser(grammar: Language) -> Parser:
    return Parser(grammar)


def wrong(parser: Parser, text: str) -> list[str]:
    """Where it found an error."""
    root = parser.parse(text.encode()).root_node
    if not root.has_error:
        return []
    return [
        f"{node.start_point.row + 1}:{node.start_point.column + 1} {node.type}"
        for node in nodes(root)
        if node.is_error or node.is_missing
    ]


def extents(parser: Parser, text: str) -> set[tuple[str, int, int]]:
    """What tree-sitter sees: type, first and last character."""
    data = text.encode()
    found = set()
    for node in nodes(parser.parse(data).root_node):
        seen = "let_statement" if node.type == "var_statement" else node.type
        if seen == "option" and node.children[-1].type == "arguments":
            seen = "call_expression"
        if node.is_named and seen in SAME:
            start = len(data[: node.start_byte].decode())
            found.add((seen, start, start + len(data[node.start_byte : node.end_byte].decode())))
    return found


def test_it_reads_every_file_that_the_language_reads_and_sees_the_same(parser: Parser) -> None:
    compared = 0
    for name, text, kind in (*files(), *rules()):
        module = parsed(text, kind)
        if module is None:
            continue
        assert wrong(parser, text) == [], name
        if re.search(r"^(pub )?table ", text, re.MULTILINE):
            continue  # the language's own parser makes a `match` of a table, which nobody wrote
        names = {cls: kind for kind, cls in SAME.items()}
        expected = {(names[type(node)], *node.span) for node in walk(module) if type(node) in names}
        assert extents(parser, text) == expected, name
        compared += len(expected)
    assert compared > 10_000


@pytest.mark.parametrize("kind", list(PARSERS))
def test_it_reads_what_the_grammar_of_the_language_makes(parser: Parser, kind: FileKind) -> None:
    read = 0
    for seed in range(300):
        text = program(seed, kind)
        if parsed(text, kind) is not None:
            assert wrong(parser, text) == [], text
            read += 1
    assert read > 150


@pytest.mark.parametrize(
    "text",
    [
        "fn f() {\n  let a = 1 let b = 2\n}\n",
        "fn f( {\n}\n",
        "edges {\n",
        'const x = "open\n',
        "fn f() {\n  a b\n}\n",
        "record R { a }\n",
    ],
)
def test_what_is_wrong_is_seen(parser: Parser, text: str) -> None:
    assert wrong(parser, text)


def test_a_broken_declaration_leaves_the_others(parser: Parser) -> None:
    text = "fn a() -> Int {\n  1 +\n}\n\nfn b() -> Int {\n  2\n}\n"
    root = parser.parse(text.encode()).root_node
    assert "b" in [node.text.decode() for node in nodes(root) if node.type == "identifier" and node.text]
    assert root.children[-1].type == "function_declaration"


def test_every_word_is_in_the_grammar(grammar: Language) -> None:
    known = {
        grammar.node_kind_for_id(number) for number in range(grammar.node_kind_count) if not grammar.node_kind_is_named(number)
    }
    listed = {word for name in ("declaration", "statement", "operator", "literal", "soft", "clause") for word in words()[name]}
    assert listed <= known
    terminals = set(re.findall(r'"([a-z_]+)"', (ROOT / "grammar/ael.lark").read_text("utf-8")))
    assert terminals <= known


def test_the_parser_is_made_from_this_grammar() -> None:
    """Without the program that makes it: what it was made from is written down. Where there is the program, it is made again."""
    assert json.loads(making.STAMP.read_text("utf-8")) == making.stamp(), "run `python -m editors.parser`"
    found = making.program()
    if found is not None:
        kept = (GRAMMAR / "src/parser.c").read_bytes()
        subprocess.run(
            [found, "generate", "--no-bindings", "--abi", "14"], cwd=GRAMMAR, check=True, capture_output=True, timeout=110
        )
        assert (GRAMMAR / "src/parser.c").read_bytes() == kept


@pytest.mark.parametrize("path", sorted((GRAMMAR / "test/corpus").glob("*.txt")), ids=lambda path: path.stem)
def test_the_corpus(parser: Parser, path: Path) -> None:
    parts = re.split(r"^={3,}\n(.*)\n={3,}\n", path.read_text("utf-8"), flags=re.MULTILINE)
    assert len(parts) > 1
    for title, body in zip(parts[1::2], parts[2::2], strict=True):
        text, _, expected = body.partition("\n---\n")
        found = str(parser.parse(text.lstrip("\n").encode()).root_node)
        assert found == re.sub(r"\s+", " ", expected).replace("( ", "(").replace(" )", ")").strip(), title


QUERIES = sorted((GRAMMAR / "queries").glob("*.scm"))


def captured(grammar: Language, parser: Parser, name: str, text: str) -> list[tuple[str, str]]:
    """What a query captures in a text: name and text, in the order of the text."""
    # What a directive (`#set! …`) says is for editors. The binding counts the references of its values wrongly and crashes.
    source = re.sub(r"\(#[a-z]+! [^()]*\)", "", (GRAMMAR / "queries" / f"{name}.scm").read_text("utf-8"))
    query = Query(grammar, source)
    # Both are kept while their nodes are looked at: the binding does not hold them itself.
    cursor, tree = QueryCursor(query), parser.parse(text.encode())
    found = cursor.captures(tree.root_node)
    pairs = [(node.start_byte, kind, (node.text or b"").decode()) for kind, group in found.items() for node in group]
    return [(kind, text) for _, kind, text in sorted(pairs)]


@pytest.mark.parametrize("name", [path.stem for path in QUERIES])
def test_a_query_is_right_and_finds_something(grammar: Language, parser: Parser, name: str) -> None:
    support = (ROOT / "tests/syntax/programs/support.ael").read_text("utf-8")
    assert captured(grammar, parser, name, support)


def test_every_token_of_the_examples_has_a_colour(grammar: Language, parser: Parser) -> None:
    for path in sorted((ROOT / "examples").rglob("*.ael")):
        text = path.read_text("utf-8")
        coloured = {text for _, text in captured(grammar, parser, "highlights", text)}
        leaves = [node for node in nodes(parser.parse(text.encode()).root_node) if not node.children and node.text]
        bare = {
            text
            for node in leaves
            if (text := (node.text or b"").decode()) not in coloured and node.type not in ("string_content", '"', '"""')
        }
        assert not bare, path


def test_a_word_is_coloured_as_a_word_only_where_it_is_one(grammar: Language, parser: Parser) -> None:
    text = 'node f(input: String) -> Int {\n  input "x"\n  require output.type\n}\nfn g(model: Int) -> Int {\n  model + input.error\n}\n'
    keywords = [text for kind, text in captured(grammar, parser, "highlights", text) if kind.startswith("keyword")]
    assert keywords == ["node", "input", "require", "fn"]


def test_tags_have_the_doc_comment(grammar: Language, parser: Parser) -> None:
    text = "/// Reads.\n/// Much.\ntool read(id: Int) -> Int\n  repeat idempotent\n{\n  other(id)\n}\n"
    found = captured(grammar, parser, "tags", text)
    assert ("doc", "/// Reads.") in found
    assert ("name", "read") in found
    assert ("reference.call", "other(id)") in found


def test_an_edit_gives_the_tree_of_a_fresh_parse(parser: Parser) -> None:
    """Deleting and putting back every line of a program, read anew from the edited tree."""
    lines = (ROOT / "tests/syntax/programs/support.ael").read_bytes().splitlines(keepends=True)
    for row in range(0, len(lines), 3):
        before, after = b"".join(lines), b"".join(lines[:row] + lines[row + 1 :])
        start = sum(map(len, lines[:row]))
        tree = parser.parse(before)
        end = start + len(lines[row])
        tree.edit(start, end, start, (row, 0), (row + 1, 0), (row, 0))
        assert str(parser.parse(after, tree).root_node) == str(parser.parse(after).root_node)


@pytest.mark.parametrize("name", HOSTILE)
def test_k52_it_is_linear_on_hostile_text(parser: Parser, name: str) -> None:
    """Measured as a ratio, not in seconds: four times the text takes less than eight times the work; sixteen would be quadratic."""

    def cost(text: str) -> float:
        start = time.process_time()
        parser.parse(text.encode())
        return time.process_time() - start

    text = HOSTILE[name]
    whole = cost(text)
    assert whole < 0.5 or whole < 8 * cost(text[: len(text) // 4]) + 0.5
