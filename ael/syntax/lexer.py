"""Text to tokens, with the rules of newlines (language.md, section 2) applied, cut into declarations.

One master expression, every alternative of which is linear (possessive repetition of single characters alone: of a group it
matches wrongly before Python 3.11.5; what a group may begin with, nothing after it does); strings with `${…}` come as a
head, the tokens of the expression, middles and a tail, so that nothing recurses. Declarations are cut where a word that
begins one begins a line outside all brackets. When brackets do not match, the file is read again, and then such a word in the
first column closes what was left open: the broken declaration is reported and the others are kept.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ael.diagnostics.diagnostic import Bag
from ael.source import Source, Span
from ael.syntax.characters import check_characters, unexpected
from ael.syntax.numbers import number_kind, number_problem
from ael.syntax.tables import SYMBOLS
from ael.syntax.tokens import MAX_CHAIN, MAX_DIGITS, MAX_NESTING, MAX_PROBLEMS, Piece, RawComment, Tokens
from ael.syntax.words import (
    ANY_WORD,
    BRACKETS,
    CAN_END,
    CLOSERS,
    CONTINUES,
    CONTINUES_AFTER_BODY,
    CONTINUES_IN_BODY,
    DOC,
    DOT,
    END,
    FIELD_WORD,
    FN,
    HAS_CLAUSES,
    INT,
    IS_RESERVED,
    ITEM_WORDS,
    MCP,
    MCP_ITEMS,
    MODEL,
    NAME,
    NEWLINE,
    PREFIXES,
    STARTERS,
    STRING,
    STRING_HEAD,
    STRING_MID,
    STRING_TAIL,
    WORDS,
    FileKind,
)

_TOKEN = re.compile(
    r"""[\ \t]*+(?:
      ([A-Za-z_]\w*+)
    | (->|=>|==|!=|<=|>=|\?\?|\.\.|[(){}\[\],:.=+*<>?|%&-]|/(?!/))
    | (\r\n?|\n)
    | ("(?!"")[^"\\$\r\n]*+(?:(?:\\[^\r\n]|\$(?!\{))[^"\\$\r\n]*+)*")
    | (\$?[0-9][0-9_]*+(?:\.[0-9][0-9_]*+)?(?:[eE][+-]?[0-9]++)?\w*+)
    | (//[^\r\n]*+)
    | (\"""|")
    | (\Z)
    | ([^\r\n])
    )""",
    re.VERBOSE | re.ASCII,
)
_WORD, _SYMBOL, _LINE, _TEXT, _NUMBER, _COMMENT, _QUOTE, _END = range(1, 9)
_STRINGS = (_TEXT, _QUOTE)
_LINE_END = re.compile(r"[\r\n]")
_NOTHING: frozenset[int] = frozenset()
_PLAIN_PIECE = re.compile(r'[^"\\$\r\n]*+(?:(?:\\[^\r\n]|\$(?!\{))[^"\\$\r\n]*+)*')
_BLOCK_PIECE = re.compile(r'[^"\\$]*+(?:(?:\\[\s\S]|\$(?!\{)|"(?!""))[^"\\$]*+)*')
_RAW_REST = re.compile(r'"([^"\r\n]*+)"')
_COLON_AHEAD = re.compile(r"[ \t]*+(?:\?[ \t]*+)?:")
_PARENTHESIS_AHEAD = re.compile(r"[ \t]*+\(")
_OPERAND_AHEAD = re.compile(r"[ \t]++(?!(?:and|or|in|div|with|catch|not[ \t]++in)\b)[\w\"(\[{$]")
_COLUMN_ZERO = re.compile(
    r"^(?:pub[ \t]+|open[ \t]+)*(?:use|permission|role|enum|record|error|type|const|fn|tool|node|agent|skill|service|provide|mcp|model"
    r"|store|test|pack|tenant)\b",
    re.MULTILINE,
)


def lex(source: Source, bag: Bag, kind: FileKind) -> Tokens:
    """The tokens of a file. Problems of the text are reported into `bag`; the declarations that they stand in are not sound."""
    found = Bag()
    lexer = _Lexer(source, found, kind, resync=False)
    if not lexer.run():
        found = Bag()
        lexer = _Lexer(source, found, kind, resync=True)
        lexer.run()
    check_characters(source, found)
    for diagnostic in found.sorted():
        bag.add(diagnostic)
    return lexer.tokens


def lex_plain(source: Source, kind: FileKind) -> Tokens | None:
    """The tokens of a text in which everything is closed and nothing is to be reported; None for any other. Characters that no source may
    hold are not looked for."""
    found = Bag()
    lexer = _Lexer(source, found, kind, resync=False)
    return lexer.tokens if lexer.run() and not lexer.early and not found.sorted() else None


class _Open(NamedTuple):
    """What is open: `(`, `[`, `{`, or the quotes of a string whose interpolation is being read."""

    text: str
    offset: int
    chain: int
    """Tokens of the statements around it, up to here."""
    indent: int
    """The indentation of the line that it stands in."""


class _Lexer:
    """The state of one pass. `resync` makes a declaration's word in the first column close what is open."""

    def __init__(self, source: Source, bag: Bag, kind: FileKind, *, resync: bool) -> None:
        self.source = source
        self.bag = bag
        self.kind: FileKind = kind
        self.resync = resync
        self.tokens = Tokens(source)
        self.first = 0
        self.reported = 0
        self.sound = True
        self.clean = True
        self.early = False
        self.deep = False
        self.lost = False
        self.jumped = False
        self.word = -1
        self.indent = 0
        self.doc: list[tuple[int, int]] = []
        self.module_doc: list[tuple[int, int]] = []
        self.stack: list[_Open] = []

    def run(self) -> bool:
        """Read the whole text; whether all brackets and strings were closed (always, when `resync`)."""
        text, tokens, stack = self.source.text, self.tokens, self.stack
        kinds, starts, ends, texts = tokens.kinds, tokens.starts, tokens.ends, tokens.texts
        get_word, symbols, token = WORDS.get, SYMBOLS, _TOKEN.match
        at = line_start = 1 if text.startswith("\ufeff") else 0
        newline, in_braces, named = True, False, False
        chain_from = indent = 0
        drops: frozenset[int] = frozenset()
        item = -1
        while True:
            match = token(text, at)
            assert match is not None, "the last alternatives take any character and the end"
            group = match.lastindex
            start, at = match.span(group)  # type: ignore[arg-type]
            value = match[group]  # type: ignore[index]
            # What it is, as far as its text says it.
            if group == _WORD:
                kind = get_word(value, NAME)
                if kind != NAME:
                    if kind in IS_RESERVED:
                        if (kinds and kinds[-1] == DOT) or _COLON_AHEAD.match(text, at):
                            kind = FIELD_WORD
                    elif _COLON_AHEAD.match(text, at) or (
                        kind in ITEM_WORDS and not ((newline or not kinds or texts[-1] == "{") and _OPERAND_AHEAD.match(text, at))
                    ):
                        kind = NAME
                elif value == "r" and text.startswith('"', at):
                    kind = STRING
                    raw = _RAW_REST.match(text, at)
                    at = raw.end() if raw else self.unterminated(start, at, "raw string")
                    value = text[start:at]
            elif group == _SYMBOL:
                kind = symbols[value]
            elif group == _LINE:
                newline, line_start = True, at
                continue
            elif group in _STRINGS:
                kind = STRING
            elif group == _NUMBER:
                kind = number_kind(value)
                if kind < 0 or at - start > MAX_DIGITS:
                    kind, value = self.bad_number(value, start, at)
            elif group == _COMMENT:
                self.comment(start, at, trailing=not newline)
                continue
            elif group == _END:
                break
            else:
                if newline and not stack:
                    self.early = True
                else:
                    self.clean = False
                tokens.doubtful.add(len(kinds))
                if self.reported < MAX_PROBLEMS:
                    code, message, place, notes = unexpected(text, start)
                    at = place.end
                    self.problem(code, message, *place, *notes)
                continue

            # Whether a newline before it ends something, or begins a declaration.
            if newline:
                newline = False
                indent = start - line_start
                closed = self.resync and bool(stack) and indent == 0 and self.closes_all(kind)
                if not stack:
                    begins = closed or self.begins(kind, indent, at)
                    if begins:
                        self.deep = self.deep or len(kinds) - chain_from > MAX_CHAIN
                        self.finish(start)
                        self.indent, named, in_braces = indent, False, False
                        chain_from = len(kinds)
                    self.clean, self.early = self.clean and not self.early, False
                    if self.doc:
                        self.flush_doc(start, keep=begins)
                else:
                    if (
                        in_braces
                        and kinds[-1] in CAN_END
                        and kind not in CONTINUES
                        and not (kind in drops and len(stack) == 1 and (item in MCP_ITEMS or self.word != MCP))
                    ):
                        self.deep = self.deep or len(kinds) - chain_from > MAX_CHAIN
                        self.push(NEWLINE, ends[-1], ends[-1], "\n")
                        chain_from = len(kinds) - stack[-1].chain
                        item = kind if len(stack) == 1 else item
                    elif len(stack) == 1 and texts[-1] == "{":
                        item = kind
                    if self.doc:
                        self.flush_doc(start, keep=in_braces and kind not in CONTINUES)
            if not named and kind not in PREFIXES:
                named, self.word = True, kind
                drops = CONTINUES_IN_BODY.get(kind, _NOTHING)

            # Brackets and strings.
            if group == _SYMBOL and value in "()[]{},":
                if value in "([{":
                    if len(stack) >= MAX_NESTING:
                        at = self.too_deep(start)
                        stack.clear()
                        newline, line_start, in_braces = True, at, False
                        continue
                    stack.append(_Open(value, start, len(kinds) - chain_from, indent))
                    in_braces = value == "{"
                elif value == ",":
                    if stack:
                        self.deep = self.deep or len(kinds) - chain_from > MAX_CHAIN
                        chain_from = len(kinds) - stack[-1].chain
                else:
                    if self.resync and value == "}" and stack and starts_line(text, line_start, start):
                        self.close_deeper(indent)
                    self.deep = self.deep or len(kinds) - chain_from > MAX_CHAIN
                    if value == "}" and stack and stack[-1].text[0] == '"':
                        opened = stack.pop()
                        kind, at = self.string_piece(opened, start, start + 1)
                        value = text[start:at]
                        chain_from = len(kinds) - opened.chain
                    elif stack and stack[-1].text == BRACKETS[value]:
                        chain_from = len(kinds) - stack.pop().chain
                    elif not self.resync:
                        return False
                    else:
                        self.mismatch(value, start)
                        in_braces = bool(stack) and stack[-1].text == "{"
                        continue
                    in_braces = bool(stack) and stack[-1].text == "{"
            elif group == _QUOTE:
                if len(stack) >= MAX_NESTING:
                    at = self.too_deep(start)
                    stack.clear()
                    newline, line_start, in_braces = True, at, False
                    continue
                kind, at = self.string_piece(_Open(value, start, len(kinds) - chain_from, indent), start, at)
                value = text[start:at]
                in_braces = bool(stack) and stack[-1].text == "{"
            if self.jumped:
                # An unterminated block string: read on where the next declaration seems to begin.
                self.jumped, newline, line_start = False, True, at
            kinds.append(kind)
            starts.append(start)
            ends.append(at)
            texts.append(value)
        self.deep = self.deep or len(kinds) - chain_from > MAX_CHAIN
        if stack:
            if not self.resync:
                return False
            self.report_open(stack[-1])
        self.finish(len(text))
        if self.doc:
            self.flush_doc(len(text), keep=False)
        self.take_module_doc()
        return True

    # --- declarations ------------------------------------------------------------------------------------------------

    def begins(self, kind: int, indent: int, end: int) -> bool:
        """Whether a token that begins a line outside all brackets, and ends at `end`, begins a declaration."""
        kinds = self.tokens.kinds
        if len(kinds) == self.first:
            return True
        if kind == FN and _PARENTHESIS_AHEAD.match(self.source.text, end):
            return False
        if self.kind == "deployment":
            return indent <= self.indent and kinds[-1] in CAN_END and kind not in CONTINUES
        if self.tokens.texts[-1] == "}":
            return kind not in CONTINUES_AFTER_BODY
        if kind not in STARTERS[self.kind] or self.word < 0:
            return False
        in_clauses = self.word in HAS_CLAUSES and self.tokens.texts[-2:-1] != ["extern"]
        return not (kind == MODEL and in_clauses)

    def closes_all(self, kind: int) -> bool:
        """Whether a token in the first column begins a declaration, so that what is open was left open. Reports and closes it."""
        if kind not in (STARTERS[self.kind] or ANY_WORD):
            return False
        self.report_open(next((o for o in self.stack if o.text[0] == '"'), self.stack[0]))
        self.stack.clear()
        return True

    def finish(self, offset: int) -> None:
        """What was read since the last one is a declaration."""
        tokens = self.tokens
        at = len(tokens.kinds)
        if at > self.first:
            self.push(END, offset, offset, "")
            tokens.pieces.append(Piece(self.first, at, self.sound, self.clean, self.deep))
        self.first = len(tokens.kinds)
        self.sound, self.clean, self.deep, self.lost, self.word = True, True, False, False, -1

    def push(self, kind: int, start: int, end: int, text: str) -> None:
        """Add a token."""
        tokens = self.tokens
        tokens.kinds.append(kind)
        tokens.starts.append(start)
        tokens.ends.append(end)
        tokens.texts.append(text)

    # --- comments ----------------------------------------------------------------------------------------------------

    def comment(self, start: int, end: int, *, trailing: bool) -> None:
        """Keep a comment: `///` for what follows, `//!` for the module, others as they are."""
        text = self.source.text
        if not trailing and text.startswith("///", start) and not text.startswith("////", start):
            self.doc.append((start, end))
            self.tokens.doc_lines.append((start, end))
        elif not trailing and text.startswith("//!", start) and not self.tokens.kinds:
            self.module_doc.append((start, end))
            self.tokens.doc_lines.append((start, end))
        else:
            self.tokens.comments.append(RawComment(start, end, trailing))

    def flush_doc(self, at: int, *, keep: bool) -> None:
        """Put the doc comments read so far before the token at offset `at`, or keep them as plain comments."""
        lines, self.doc = self.doc, []
        tokens = self.tokens
        if not keep:
            tokens.comments.extend(RawComment(start, end, False) for start, end in lines)
            unused = set(lines)
            tokens.doc_lines = [line for line in tokens.doc_lines if line not in unused]
            return
        tokens.docs[len(tokens.kinds)] = Span(lines[0][0], lines[-1][1])
        self.push(DOC, at, at, self.doc_text(lines))

    def doc_text(self, lines: list[tuple[int, int]]) -> str:
        """The text of doc comments: without the slashes, one space after them and the spaces at the end."""
        texts = (self.source.text[start + 3 : end].rstrip() for start, end in lines)
        return "\n".join(text[1:] if text.startswith(" ") else text for text in texts)

    def take_module_doc(self) -> None:
        """Make the `//!` lines the doc of the module."""
        if self.module_doc:
            span = Span(self.module_doc[0][0], self.module_doc[-1][1])
            self.tokens.module_doc = (self.doc_text(self.module_doc), span)

    # --- strings -----------------------------------------------------------------------------------------------------

    def string_piece(self, opened: _Open, start: int, at: int) -> tuple[int, int]:
        """Read text of the string `opened` from `at` to its end or its next `${`: the kind of the piece and its end."""
        text = self.source.text
        block = opened.text == '"""'
        found = (_BLOCK_PIECE if block else _PLAIN_PIECE).match(text, at)
        assert found is not None, "a piece may be empty"
        end, head = found.end(), start == opened.offset
        if text.startswith("${", end):
            self.stack.append(opened)
            return (STRING_HEAD if head else STRING_MID), end + 2
        if text.startswith(opened.text, end):
            return (STRING if head else STRING_TAIL), end + len(opened.text)
        end = self.unterminated(opened.offset, end, "string")
        return (STRING if head else STRING_TAIL), end

    def unterminated(self, start: int, at: int, what: str) -> int:
        """Report a string without an end at its opening quotes; where to go on."""
        text = self.source.text
        if text.startswith('"""', start):
            self.jumped = True
            width, end = 3, _next_declaration(text, at if at < len(text) else start + 3)
            note = 'it ends with `"""` on a line of its own'
        else:
            width, end = (2 if text[start] == "r" else 1), _line_end(text, at)
            note = 'a string ends in its line; `"""` begins one of several lines'
        self.lost, self.sound = True, False
        self.problem("AEL0003", f"this {what} has no end", start, start + width, note)
        return end

    def bad_number(self, text: str, start: int, end: int) -> tuple[int, str]:
        """Report a number that is none; what to read in its place."""
        code, message, notes = number_problem(text)
        self.clean = False
        self.problem(code, message, start, end, *notes)
        return INT, "0"

    # --- brackets ----------------------------------------------------------------------------------------------------

    def problem(self, code: str, message: str, start: int, end: int, *notes: str) -> None:
        """Report."""
        self.reported += 1
        if self.reported == MAX_PROBLEMS:
            notes = (*notes, "further problems of this file are not shown")
        if self.reported <= MAX_PROBLEMS:
            self.bag.report(code, message, self.source, Span(start, end), notes=notes)

    def report_open(self, opened: _Open) -> None:
        """Say that a bracket or string is never closed, where it opens; not when a string without an end may have eaten the other half."""
        self.sound = False
        if self.lost:
            return
        if opened.text[0] == '"':
            self.problem(
                "AEL0003", "this string has no end: its `${` is never closed", opened.offset, opened.offset + len(opened.text)
            )
        else:
            message = f"this `{opened.text}` is never closed"
            self.problem("AEL0007", message, opened.offset, opened.offset + 1, f"add `{CLOSERS[opened.text]}` where it ends")

    def close_deeper(self, indent: int) -> None:
        """A `}` that stands further out than the line of its `{`, while another stands as far out: the inner one was left open."""
        stack = self.stack
        while len(stack) > 1 and stack[-1].indent > indent and any(o.text == "{" and o.indent == indent for o in stack[:-1]):
            self.report_open(stack.pop())

    def mismatch(self, closer: str, at: int) -> None:
        """Report a closing bracket that does not match, and pass over it or what it should have closed."""
        self.sound = False
        stack = self.stack
        if any(o.text == BRACKETS[closer] for o in stack[-4:]):
            while stack[-1].text != BRACKETS[closer]:
                self.report_open(stack.pop())
            stack.pop()
        else:
            self.problem("AEL0007", f"this `{closer}` closes nothing", at, at + 1)

    def too_deep(self, at: int) -> int:
        """Report brackets that nest too deep; where to go on."""
        self.sound = False
        message = f"brackets, blocks and interpolations nest at most {MAX_NESTING} deep"
        self.problem("AEL0008", message, at, at + 1, "move the inner part into a function or a `let`")
        return _next_declaration(self.source.text, at)


def starts_line(text: str, line_start: int, at: int) -> bool:
    """Whether only spaces stand before `at` in its line."""
    return text[line_start:at].isspace() or at == line_start


def _line_end(text: str, at: int) -> int:
    found = _LINE_END.search(text, at)
    return found.start() if found else len(text)


def _next_declaration(text: str, at: int) -> int:
    found = _COLUMN_ZERO.search(text, at)
    return found.start() if found else len(text)
