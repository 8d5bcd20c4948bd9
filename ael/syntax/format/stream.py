"""The tokens of a file as the printers walk over them, each comment in its place.

The printers walk the tree and take the tokens one by one: a token can not be lost, put in twice or moved. What the tree does not
hold (parentheses, commas) is read from the tokens.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeAlias

from ael.source import Source
from ael.syntax.format.layout import Command, Op, render
from ael.syntax.tokens import Tokens
from ael.syntax.tree import Node
from ael.syntax.words import DOC, END, NEWLINE

_LINE = re.compile(r"\r\n?|\n")


Printer: TypeAlias = "Callable[[Stream, Any], None]"
"""Emits a node of one class."""


class Item(NamedTuple):
    """A token."""

    text: str
    start: int
    end: int


class Note(NamedTuple):
    """A comment of any kind."""

    start: int
    end: int
    trailing: bool


class Stream:
    """Takes tokens, emits commands."""

    def __init__(self, source: Source, tokens: Tokens, printers: Mapping[type[Node], Printer]) -> None:
        self.printers = printers
        self.source = source
        self.items = [
            Item(text, start, end)
            for kind, text, start, end in zip(tokens.kinds, tokens.texts, tokens.starts, tokens.ends, strict=True)
            if kind not in (DOC, NEWLINE, END)
        ]
        notes = [Note(*c) for c in tokens.comments] + [Note(start, end, False) for start, end in tokens.doc_lines]
        self.notes = sorted(notes)
        self.at = 0
        self.note = 0
        self.seen = 0
        """Where what was emitted last ends in the source."""
        self.reset()

    def reset(self) -> None:
        """Begin a new text."""
        self.commands: list[Command] = []
        self.broken: set[int] = set()
        self.groups: list[list[int]] = []
        self.count = 0
        self.last_text = 0
        self.commented: int | None = None

    def text(self) -> str:
        """What was emitted since `reset`."""
        return render(self.commands, frozenset(self.broken))

    # --- reading -----------------------------------------------------------------------------------------------------

    def peek(self, ahead: int = 0) -> str:
        """The text of the next token."""
        at = self.at + ahead
        return self.items[at].text if at < len(self.items) else ""

    @property
    def start(self) -> int:
        """Where the next token starts."""
        return self.items[self.at].start if self.at < len(self.items) else len(self.source.text)

    def breaks_next(self) -> bool:
        """Whether the source has a line end before the next token or comment."""
        end = self.notes[self.note].start if self.note < len(self.notes) else self.start
        return _LINE.search(self.source.text, self.seen, min(end, self.start)) is not None

    def breaks_after(self) -> bool:
        """Whether the source has a line end between the next token and the one after it."""
        following = self.items[self.at + 1].start if self.at + 1 < len(self.items) else len(self.source.text)
        return _LINE.search(self.source.text, self.items[self.at].end, following) is not None

    def blank_before(self, offset: int) -> bool:
        """Whether the source has an empty line between what was emitted last and `offset`."""
        return len(_LINE.findall(self.source.text, self.seen, offset)) > 1

    # --- nodes -------------------------------------------------------------------------------------------------------

    def show(self, node: Node) -> None:
        """Print a node, with the parentheses around it."""
        start, count = node.span.start, 0
        while self.peek() == "(" and self.start < start:
            self.take("(")
            count += 1
        self.printers[type(node)](self, node)
        for _ in range(count):
            self.take(")")

    # --- tokens ------------------------------------------------------------------------------------------------------

    def take(self, expected: str | None = None) -> None:
        """Emit the next token, after the comments in front of it."""
        item = self.items[self.at]
        assert expected is None or item.text == expected, f"expected {expected!r}, found {item.text!r} at {item.start}"
        self.comments()
        self.at += 1
        self.seen = item.end
        self.emit(Command(Op.TEXT, item.text))

    def take_as(self, command: Command) -> None:
        """Emit `command`, text of several lines, for the next token. It breaks all around it."""
        self.comments()
        self.broken.update(group for group, _ in self.groups)
        self.seen = self.items[self.at].end
        self.at += 1
        self.emit(command)

    def skip(self, text: str) -> bool:
        """Pass over the next token when it is `text`, keeping the comments in front of it."""
        if self.peek() != text:
            return False
        self.comments()
        self.seen = self.items[self.at].end
        self.at += 1
        return True

    def emit(self, command: Command) -> None:
        """Emit text. A comment before it breaks the groups that hold both."""
        if self.commented is not None:
            self.broken.update(group for group, opened in self.groups if opened < self.commented)
            self.commented = None
        self.commands.append(command)
        self.last_text = len(self.commands)

    # --- comments ----------------------------------------------------------------------------------------------------

    def comments(self) -> None:
        """Emit the comments before the next token."""
        limit = self.start
        while self.note < len(self.notes) and self.notes[self.note].start < limit:
            self.comment()

    def comment(self) -> None:
        """Emit the next comment."""
        note = self.notes[self.note]
        self.note += 1
        text = self.comment_text(note)
        if note.trailing and self.last_text and self.commented is None:
            place = self.last_text
            self.commands.insert(place, Command(Op.TRAIL, text))
            self.groups = [[group, opened + (opened >= place)] for group, opened in self.groups]
            self.commented = place
        else:
            self.commented = len(self.commands) if self.commented is None else self.commented
            self.commands.append(Command(Op.OWN, text))
        self.seen = note.end

    def comment_text(self, note: Note) -> str:
        """A comment as it is written: a doc comment has a space after its slashes."""
        text = self.source.text[note.start : note.end].rstrip()
        if text[:3] in ("///", "//!") and not note.trailing and text[3:4] not in ("", " ", "/"):
            return f"{text[:3]} {text[3:]}"
        return text

    def lead(self, *, first: bool = False) -> None:
        """Emit the comments before a member on a line of its own, with the empty lines between them (one at most)."""
        limit = self.start
        while self.note < len(self.notes) and self.notes[self.note].start < limit:
            note = self.notes[self.note]
            if not note.trailing and not first and self.blank_before(note.start):
                self.commands.append(Command(Op.BLANK))
            first = False
            self.comment()
            self.hard()
        if not first and self.blank_before(limit):
            self.commands.append(Command(Op.BLANK))

    def inner_comments(self, *, first: bool = False) -> None:
        """Emit the comments before a closing bracket, as far in as what it closes."""
        limit = self.start
        while self.note < len(self.notes) and self.notes[self.note].start < limit:
            note = self.notes[self.note]
            if not note.trailing:
                self.hard()
                if not first and self.blank_before(note.start):
                    self.commands.append(Command(Op.BLANK))
            first = False
            self.comment()

    def has_comment(self) -> bool:
        """Whether a comment stands before the next token."""
        return self.note < len(self.notes) and self.notes[self.note].start < self.start

    # --- layout ------------------------------------------------------------------------------------------------------

    def space(self) -> None:
        """A space, unless a line begins here."""
        self.commands.append(Command(Op.SPACE))

    def line(self, flat: str = " ") -> None:
        """A new line where the group breaks, else `flat`."""
        self.commands.append(Command(Op.LINE, flat))

    def soft(self) -> None:
        """A new line where the group breaks, else nothing."""
        self.commands.append(Command(Op.LINE, ""))

    def hard(self) -> None:
        """A new line."""
        self.commands.append(Command(Op.HARD))

    def when_broken(self, text: str) -> None:
        """Text where the group breaks, else nothing."""
        self.commands.append(Command(Op.BROKEN, text))
        self.last_text = len(self.commands)

    @contextmanager
    def group(self, *, broken: bool = False) -> Iterator[None]:
        """What fits on one line, or breaks at all its lines. One that breaks whether it fits or not breaks all around it."""
        self.count += 1
        number = self.count
        if broken:
            self.broken.add(number)
            self.broken.update(group for group, _ in self.groups)
        self.groups.append([number, len(self.commands)])
        self.commands.append(Command(Op.OPEN, "", number))
        yield
        self.groups.pop()
        self.commands.append(Command(Op.CLOSE))

    @contextmanager
    def indent(self) -> Iterator[None]:
        """Further in."""
        self.commands.append(Command(Op.INDENT))
        yield
        self.commands.append(Command(Op.DEDENT))
