"""What the grammar takes at the cursor, and what closes an unfinished text: the parser's tables, run over the tokens before it.

An editor asks about code that does not parse. Up to the cursor it usually does, so the tables say exactly which words can follow, and
one way to end what is open. With that way the text parses, and the tree says where the cursor is.
"""

from __future__ import annotations

from typing import Any

from ael.syntax.tables import ACTION, GOTO, LEFT, LENGTH, NONTERMINALS, STARTS, SYMBOLS, TERMINALS
from ael.syntax.tokens import Tokens
from ael.syntax.words import DOC, END, INT, IS_SOFT, NAME, NEWLINE, STRING, STRING_HEAD, STRING_TAIL, WORDS, FileKind

MAX_CLOSING = 60
"""Tokens that may be needed to end a text."""

_CLOSER = {"(": SYMBOLS[")"], "[": SYMBOLS["]"], "{": SYMBOLS["}"]}
_TEXT = {NAME: "ael_rest", STRING: '""', INT: "1", NEWLINE: "\n"}
_SPELLED = {number: text for text, number in (*SYMBOLS.items(), *WORDS.items())}
ITEMS = tuple(
    NONTERMINALS.index(name)
    for name in (
        "statements", "fields", "arms", "operations", "edges", "settings", "mcp_items", "functions", "model_items", "skill_items",
        "variants", "pack_items", "field_values",
    )
)  # fmt: skip
"""Lists whose members stand on lines of their own."""
_ORDER = (
    *(SYMBOLS[text] for text in ("=>", "=", ":", "{", "->", ">")), WORDS["in"], NAME, STRING, SYMBOLS["("], SYMBOLS["["], INT,
    *(number for number in range(len(TERMINALS)) if number in _SPELLED),
)  # fmt: skip
"""What is tried to go on with, where nothing can be closed."""


class Machine:
    """The parser after some tokens. `states` and what belongs to them are the parser's stack."""

    def __init__(self, tokens: Tokens, kind: FileKind, first: int) -> None:
        self.tokens = tokens
        self.states = [STARTS[kind]]
        self.values: list[Any] = [None]
        self.begins = [first]
        self.brackets: list[str] = []
        """What is open: brackets, and the quotes of strings whose `${` is."""
        self.bad: list[tuple[int, int]] = []
        """The places that were left out."""

    def copy(self) -> Machine:
        """Another one in the same state."""
        made = object.__new__(Machine)
        made.tokens = self.tokens
        made.states, made.values, made.begins = list(self.states), list(self.values), list(self.begins)
        made.brackets, made.bad = list(self.brackets), list(self.bad)
        return made

    def read(self, first: int, end: int) -> bool:
        """Take the tokens from `first` up to `end`. A member of a list that does not fit is left out: its text goes to `bad`.

        False: what does not fit is in no list, so that nothing can be said.
        """
        kinds, texts = self.tokens.kinds, self.tokens.texts
        at = first
        while at < end:
            kind = kinds[at]
            if self.take(kind, at):
                self._bracket(kind, texts[at])
                at += 1
            elif kind == DOC:
                at += 1
            else:
                following = self._leave_out(at, end)
                if following < 0:
                    return False
                at = following
        return True

    def _leave_out(self, at: int, end: int) -> int:
        """Cut the stack back to the innermost list of members on lines of their own; the token to go on with, -1 without a list."""
        tokens, size = self.tokens, len(self.states)
        opened, index = -1, size - 1
        closed = 0
        while index > 0:
            value = self.values[index]
            text = tokens.texts[value] if isinstance(value, int) else ""
            if text in (")", "]", "}"):
                closed += 1
            elif text in _CLOSER and closed:
                closed -= 1
            elif text == "{" and any(item in GOTO[self.states[index]] for item in ITEMS):
                opened = index
                break
            index -= 1
        if opened < 0:
            return -1
        row = GOTO[self.states[opened]]
        has_list = opened + 1 < size and any(row.get(item) == self.states[opened + 1] for item in ITEMS)
        keep = opened + 2 if has_list else opened + 1
        member = keep + 1 if has_list else keep
        start = tokens.starts[self.begins[member] if member < size else at]
        del self.states[keep:], self.values[keep:], self.begins[keep:]
        self.brackets = [tokens.texts[v] if tokens.texts[v] in _CLOSER else _quotes(tokens.texts[v]) for v in self._open()]
        following = self._next_line(at, end)
        if following == at and start == tokens.starts[at]:
            following = self._next_line(at + 1, end)  # nothing was left out: then the token itself is
        self.bad.append((start, tokens.ends[following - 1] if following > 0 else start))
        if has_list and (following >= end or (tokens.kinds[following] != NEWLINE and tokens.texts[following] != "}")):
            self.take(NEWLINE)
        return following

    def _next_line(self, at: int, end: int) -> int:
        """The first token from `at` on that begins a line, or closes what is open around it."""
        tokens, depth = self.tokens, 0
        for index in range(at, end):
            text = tokens.texts[index]
            if depth == 0 and tokens.starts[index] < tokens.ends[index] and (text == "}" or self._begins_line(index)):
                return index
            if text in _CLOSER:
                depth += 1
            elif text in (")", "]", "}"):
                depth -= 1
        return end

    def _begins_line(self, index: int) -> bool:
        start = self.tokens.starts[index]
        return not self.tokens.source.text[:start].rpartition("\n")[2].strip()

    def _open(self) -> list[int]:
        """The tokens on the stack that open something which is not closed."""
        found: list[int] = []
        for value in self.values:
            if isinstance(value, int):
                text, kind = self.tokens.texts[value], self.tokens.kinds[value]
                if text in _CLOSER or kind == STRING_HEAD:
                    found.append(value)
                elif (text in ")]}" or kind == STRING_TAIL) and found:
                    found.pop()
        return found

    def _bracket(self, kind: int, text: str) -> None:
        if kind == STRING_HEAD:
            self.brackets.append(_quotes(text))
        elif kind == STRING_TAIL or text in (")", "]", "}"):
            if self.brackets:
                self.brackets.pop()
        elif text in _CLOSER:
            self.brackets.append(text)

    def take(self, kind: int, at: int = -1) -> bool:
        """Shift a token, with the reductions that it asks for; False, and nothing is changed, where it does not fit."""
        if not self.fits(kind):
            return False
        while True:
            do = self._action(self.states[-1], kind)
            assert do is not None, "it fits"
            if do >= 0:
                self.states.append(do)
                self.values.append(at if at >= 0 else None)
                self.begins.append(at if at >= 0 else self.begins[-1])
                return True
            size = LENGTH[-1 - do]
            begin = self.begins[len(self.begins) - size] if size else at
            if size:
                del self.states[len(self.states) - size :], self.values[len(self.values) - size :]
                del self.begins[len(self.begins) - size :]
            self.states.append(GOTO[self.states[-1]][LEFT[-1 - do]])
            self.values.append(None)
            self.begins.append(begin)

    def _action(self, state: int, kind: int) -> int | None:
        do = ACTION[state].get(kind)
        return ACTION[state].get(NAME) if do is None and kind in IS_SOFT else do

    def fits(self, kind: int, *, soft: bool = True) -> bool:
        """Whether the grammar takes a token here. `soft`: a word that may be a name counts as one."""
        stack = list(self.states)
        while True:
            do = self._action(stack[-1], kind) if soft else ACTION[stack[-1]].get(kind)
            if do is None:
                return kind == END and not ACTION[stack[-1]]
            if do >= 0:
                return True
            size = LENGTH[-1 - do]
            if size:
                del stack[len(stack) - size :]
            stack.append(GOTO[stack[-1]][LEFT[-1 - do]])

    def viable(self) -> frozenset[int]:
        """The kinds of tokens that the grammar takes here."""
        return frozenset(kind for kind in range(len(TERMINALS)) if self.fits(kind, soft=False))

    def closing(self) -> list[str] | None:
        """The texts of tokens that end what is open. None where none was found."""
        texts: list[str] = []
        while len(texts) < MAX_CLOSING:
            if not self.brackets and self.fits(END):
                return texts
            kind = self._next()
            if kind is None or not self.take(kind):
                return None
            text = _TEXT.get(kind) or _SPELLED.get(kind, "")
            if kind == STRING_TAIL:
                text = "}" + self.brackets[-1]
            self._bracket(kind, text)
            texts.append(text)
        return None

    def _next(self) -> int | None:
        if self.brackets:
            closer = _CLOSER.get(self.brackets[-1], STRING_TAIL)
            if self.fits(closer):
                return closer
        return next((kind for kind in _ORDER if self.fits(kind, soft=False)), None)


def _quotes(text: str) -> str:
    return '"""' if text.startswith('"""') else '"'
