"""Pages that follow the code are fresh, and every command line of the docs is one that its command takes."""

from __future__ import annotations

import ast
import contextlib
import io
import json
import re
import shlex
import subprocess
import tomllib
from collections.abc import Callable, Iterator

import pytest

from ael.cli.main import COMMANDS, parser_of, split
from ael.editor.words import words
from ael.types.fault import FaultKind
from tests.docs.pages import DOCS, PAGES
from tests.docs.test_docs import PAGES as WRITTEN
from tests.docs.test_docs import ROOT
from tests.programs import blocks

ENDS = frozenset({"|", "||", "&&", ">", ">>", "<", ";", "&"})
"""Words of a shell that end a simple command."""


@pytest.mark.parametrize("file", PAGES)
def test_a_page_that_follows_the_code_is_fresh(file: str) -> None:
    assert (DOCS / file).read_text(encoding="utf-8") == PAGES[file](), "python -m tests.docs.pages"


def test_the_language_has_no_word_that_its_page_leaves_out() -> None:
    """Words of every kind, and the faults, are named in code; the page of the grammar has each rule."""
    pages = "\n".join((DOCS / name).read_text(encoding="utf-8") for name in ("language.md", "deployment.md", "packs.md"))
    code = set(re.findall(r"[A-Za-z_]+", " ".join(re.findall(r"```.*?```|`[^`\n]+`", pages, re.DOTALL))))
    assert {word for kind in words().values() for word in kind} - code == set()
    assert {kind.value for kind in FaultKind} - code == set()
    grammar = (DOCS / "grammar.md").read_text(encoding="utf-8")
    source = (ROOT / "grammar" / "ael.lark").read_text(encoding="utf-8")
    rules = re.findall(r"^[a-z_]+(?=:)", source, re.MULTILINE)
    assert re.findall(r"^[a-z_]+(?=:)", grammar, re.MULTILINE) == rules
    assert "->" not in re.sub(r'"->"', "", grammar), "names of actions are of no use to a reader"


def typed() -> Iterator[tuple[str, list[str]]]:
    """Each command of AEL in a block `sh` of the docs: where it stands, its words."""
    for page in WRITTEN:
        for block in blocks(page.read_text(encoding="utf-8")):
            if block.language != "sh":
                continue
            lines = block.text.replace("\\\n", " ").splitlines()
            for at, line in enumerate(lines):
                lexer = shlex.shlex(re.sub(r"\s\d>", " >", line), posix=True, punctuation_chars="|&;<>")
                lexer.whitespace_split = True
                yield from ((f"{page.relative_to(ROOT)}:{block.line + at}", one) for one in _simple(list(lexer)))


def _simple(words: list[str]) -> Iterator[list[str]]:
    """The simple commands of a line that begin with `ael`, whatever folder it is in, and whatever variables stand before it."""
    command: list[str] = []
    for word in [*words, ";"]:
        if word not in ENDS:
            command.append(word)
            continue
        while command and re.match(r"[A-Z_]+=", command[0]):
            command = command[1:]
        if command and command[0].rpartition("/")[2] == "ael" and len(command) > 1 and not command[1].startswith("-"):
            yield command[1:]
        command = []


TYPED = list(typed())


def test_every_command_line_of_the_docs_is_one_that_its_command_takes() -> None:
    wrong = [f"{where}: ael {shlex.join(line)}: {problem}" for where, line in TYPED if (problem := refused(line))]
    assert wrong == []
    assert len(TYPED) > 60


def refused(words: list[str]) -> str:
    """What the command's parser says of the words; empty where it takes them."""
    if words[0] not in COMMANDS:
        return "no such command"
    parser = parser_of(words[0])
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
        try:
            parser.parse_args(split(parser, words[1:])[0])
        except SystemExit as left:
            return "" if left.code == 0 else said.getvalue().splitlines()[-1]
    return ""


@pytest.mark.feature("C11")
def test_the_table_of_exit_codes_has_every_command() -> None:
    page = (DOCS / "exit-codes.md").read_text(encoding="utf-8")
    table = page[page.index("| Command |") :]
    assert set(re.findall(r"`ael ([a-z-]+)", table)) == set(COMMANDS)
    assert [code for code in ("0", "1", "2", "3", "130", "143") if f"\n| {code} |" not in page] == []


READ: dict[str, Callable[[str], object]] = {
    "json": json.loads,
    "jsonl": lambda text: [json.loads(line) for line in text.splitlines()],
    "toml": tomllib.loads,
    "python": lambda text: compile(text, "page", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT),
}
"""Languages of blocks -> what reads one. AEL is checked by `test_docs.py`, `sh` by the tests above and by a shell."""

OTHER = frozenset({"ael", "mcp", "sh", "text", "csv", "md", "ts", "ini", "lua", "vim", "elisp"})


def test_every_block_of_the_docs_can_be_read() -> None:
    wrong, scripts = [], []
    for page in WRITTEN:
        for block in blocks(page.read_text(encoding="utf-8")):
            where = f"{page.relative_to(ROOT)}:{block.line}"
            if block.language == "sh":
                scripts.append(f"f() {{\n{block.text}\n:\n}}\n")
            elif block.language in READ:
                try:
                    READ[block.language](block.text)
                except (SyntaxError, ValueError) as problem:
                    wrong.append(f"{where}: {problem}")
            elif block.language not in OTHER:
                wrong.append(f"{where}: what is `{block.language}`?")
    assert wrong == []
    shell = subprocess.run(["sh", "-n"], input="".join(scripts), capture_output=True, text=True, check=False)
    assert (shell.returncode, shell.stderr) == (0, "")


@pytest.mark.parametrize("words", [["chek"], ["check", "--nothing"], ["runs", "nothing"], ["explain", "a", "b"]])
def test_a_wrong_command_line_would_be_noticed(words: list[str]) -> None:
    assert refused(words)


def test_every_option_that_a_sentence_names_is_one_of_its_command() -> None:
    wrong = []
    for page in WRITTEN:
        if page.parent.name in ("decisions", "news"):
            continue
        for code in re.findall(r"`ael ([a-z][a-z-]*(?: [^`\n]*)?)`", page.read_text(encoding="utf-8")):
            name, *words = code.split(" -- ")[0].split()
            if name not in COMMANDS:
                wrong.append(f"{page.name}: ael {code}")
                continue
            parser = parser_of(name)
            known = set(_options(parser))
            takes_more = parser.get_default("rest") is not None
            wrong += [
                f"{page.name}: ael {code}"
                for word in words
                if word.startswith("--") and word.partition("=")[0] not in known and not takes_more
            ]
    assert wrong == []


def _options(parser: object) -> Iterator[str]:
    for action in getattr(parser, "_actions", ()):
        yield from action.option_strings
        for inner in getattr(action, "choices", None) or () if action.nargs == "A..." else ():
            yield from _options(action.choices[inner])
