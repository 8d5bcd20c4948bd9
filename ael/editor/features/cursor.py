"""The place where somebody writes: what stands before it, what can follow, and the tree that it would be in.

The text is cut after the cursor up to the next declaration, a name is put where the cursor is, and what is open is closed. So there is a
tree with types for code that is half written, at the cost of one declaration.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from functools import cached_property
from typing import cast

from ael.diagnostics.diagnostic import Bag
from ael.editor.features.machine import Machine
from ael.editor.fork import fork
from ael.editor.snapshot import File, Snapshot
from ael.source import Source
from ael.syntax import nodes as n
from ael.syntax.lexer import lex
from ael.syntax.tokens import Tokens
from ael.syntax.words import ANY_WORD, CONTINUES, CONTINUES_IN_BODY, END, NAME, NEWLINE, STARTERS, WORDS, FileKind

MARK = "ael_cursor"
"""The name that stands where the cursor is."""

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_REST = re.compile(r"[A-Za-z0-9_]*")
_FIRST = sorted(word for word, kind in WORDS.items() if kind in STARTERS["module"] | STARTERS["pack"] or word == "tenant")
_STARTS = re.compile(rf"^(?:pub[ \t]+|open[ \t]+)*(?:{'|'.join(_FIRST)})\b|^///", re.MULTILINE)
_LINES = re.compile(r"^(?=[A-Za-z_/])", re.MULTILINE)


class Cursor:
    """A place in a file where a name may be written. `start` to `end` is the word that is there, `word` the part before the cursor."""

    def __init__(self, snapshot: Snapshot, file: File, offset: int) -> None:
        self.snapshot = snapshot
        self.file = file
        self.offset = offset
        text = file.source.text
        found = _WORD.search(text, max(0, offset - 200), offset)
        self.start = found.start() if found else offset
        self.word = text[self.start : offset]
        rest = _REST.match(text, offset)
        self.end = rest.end() if rest is not None else offset
        self.first, self.last = _around(file, self.start)

    @property
    def kind(self) -> FileKind:
        """The grammar of the file."""
        return cast(FileKind, self.file.kind)

    @cached_property
    def lead(self) -> str:
        """The text from the start of the declaration to the word at the cursor."""
        return self.file.source.text[self.first : self.start]

    @cached_property
    def tokens(self) -> Tokens:
        """The tokens of the declaration up to the cursor, and the mark."""
        return lex(Source(self.file.source.name, self.lead + MARK), Bag(), self.kind)

    @cached_property
    def at(self) -> int | None:
        """The index of the mark among the tokens; None where the cursor is in a comment or a text."""
        tokens = self.tokens
        index = bisect_left(tokens.starts, len(self.lead))
        while index < len(tokens.starts) and tokens.starts[index] == len(self.lead):
            if tokens.texts[index] == MARK and tokens.kinds[index] in ANY_WORD:
                return index
            index += 1
        return None

    @cached_property
    def before(self) -> list[str]:
        """The texts of the tokens before the cursor, newlines left out."""
        index = self.at
        tokens = self.tokens
        return [tokens.texts[i] for i in range(index or 0) if tokens.kinds[i] != NEWLINE and tokens.texts[i]]

    @property
    def previous(self) -> str:
        """The text of the token before the cursor, "" at the start of the file."""
        return self.before[-1] if self.before else ""

    @cached_property
    def _first_token(self) -> int:
        """The first token of the piece that the mark is in: what came before it in the text is another declaration."""
        index = self.at or 0
        return max((piece.first for piece in self.tokens.pieces if piece.first <= index), default=0)

    @cached_property
    def machine(self) -> Machine | None:
        """The parser before the mark, a newline before it left out; None where it cannot say anything."""
        index = self.at
        if index is None:
            return None
        made = Machine(self.tokens, self.kind, self._first_token)
        end = index - 1 if index > self._first_token and self.tokens.kinds[index - 1] == NEWLINE else index
        return made if made.read(self._first_token, end) else None

    @cached_property
    def after_newline(self) -> Machine | None:
        """The parser before the mark, where a newline that ends something stands before it; None where there is no such."""
        index = self.at
        if index is None or self.machine is None or index == 0 or self.tokens.kinds[index - 1] != NEWLINE:
            return None
        made = self.machine.copy()
        return made if made.take(NEWLINE) else None

    @cached_property
    def line_start(self) -> bool:
        """Whether nothing stands before the word in its line."""
        return not self.file.source.text[: self.start].rpartition("\n")[2].strip()

    @cached_property
    def viable(self) -> frozenset[int]:
        """The kinds of tokens that can stand at the cursor."""
        machine, index = self.machine, self.at
        if machine is None or index is None:
            return frozenset()
        if self.after_newline is None:
            found = machine.viable()
            return found | STARTERS[self.kind] if self.begins and self.line_start else found
        word = self.tokens.kinds[self._word()] if index else -1
        goes_on = CONTINUES | (CONTINUES_IN_BODY.get(word, frozenset()) if len(machine.brackets) == 1 else frozenset())
        return (machine.viable() & goes_on) | self.after_newline.viable()

    def _word(self) -> int:
        """The token of the word that the declaration begins with."""
        for index in range(self._first_token, len(self.tokens.kinds)):
            if self.tokens.texts[index] not in ("pub", "open") and self.tokens.starts[index] != self.tokens.ends[index]:
                return index
        return self._first_token

    @property
    def begins(self) -> bool:
        """Whether a declaration can begin at the cursor."""
        machine = self.machine
        if self.previous in ("pub", "open"):
            return True
        return self.line_start and machine is not None and not machine.brackets and (not self.before or machine.fits(END))

    @property
    def takes_name(self) -> bool:
        """Whether a name can stand at the cursor."""
        return NAME in self.viable

    # --- the tree -----------------------------------------------------------------------------------------------------------

    @cached_property
    def guess(self) -> tuple[Snapshot, File, tuple[n.Node, ...]] | None:
        """The program with the text that parses, and the nodes around the mark (or, where no name fits, around the place before it)."""
        machine = self.after_newline or self.machine
        if machine is None:
            return None
        made = machine.copy()
        named = made.take(NAME)
        if not named and self.after_newline is not None and self.machine is not None:
            made = self.machine.copy()
            named = made.take(NAME)
        closing = made.closing()
        if closing is None:
            return None
        ends = " ".join(closing)
        text = self.file.source.text
        lead = self.lead
        for start, end in made.bad:
            lead = lead[:start] + re.sub(r"[^\r\n]", " ", lead[start:end]) + lead[end:]
        whole = f"{text[: self.first]}{lead}{MARK if named else ''} {ends}\n{text[self.last :]}"
        snapshot, file = fork(self.snapshot, self.file, whole)
        at = self.start if named else self.first + len(self.lead.rstrip())
        return snapshot, file, file.nodes_at(at)

    @property
    def path(self) -> tuple[n.Node, ...]:
        """The nodes around the cursor, outermost first; none where the text could not be ended."""
        return self.guess[2] if self.guess is not None else ()


def _around(file: File, offset: int) -> tuple[int, int]:
    """Where the declaration around an offset begins, and where the next one does: by words in the first column, outside of texts."""
    text = file.source.text
    tokens = file.tokens
    comments = {start for start, _ in tokens.doc_lines}
    pattern = _LINES if file.kind == "deployment" else _STARTS

    def real(start: int) -> bool:
        index = bisect_left(tokens.starts, start)
        return start in comments or (index < len(tokens.starts) and tokens.starts[index] == start)

    first, last = 0, len(text)
    # The line of the cursor may itself begin a declaration: its first word is then before the cursor.
    for match in pattern.finditer(text):
        start = match.start()
        if start >= offset and not (start == offset and file.kind != "deployment"):
            if real(start) and start > offset:
                last = start
                break
        elif start < offset and real(start):
            first = start
    first = _with_doc(text, first)
    return first, max(last, offset)


def _with_doc(text: str, first: int) -> int:
    """The start of the doc comment in front of a declaration, which belongs to it."""
    while first > 0:
        line = text.rfind("\n", 0, first - 1) + 1
        if not text.startswith("///", line):
            break
        first = line
    return first
