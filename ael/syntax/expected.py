"""Says what was expected, in the user's words."""

from __future__ import annotations

from ael.source import Span
from ael.syntax.actions.context import Context
from ael.syntax.hints import hint
from ael.syntax.tables import ACTION, GOTO, LEFT, LENGTH, SYMBOLS, TERMINALS
from ael.syntax.words import DOC, END, FIELD_WORD, FLOAT, INT, IS_RESERVED, IS_SOFT, NAME, NEWLINE, STRING, STRING_HEAD, WORDS

_SPELLING = {number: text for text, number in (*SYMBOLS.items(), *WORDS.items())}
_MOST = 6
"""Alternatives that a message lists."""


def _kinds(*names: str) -> frozenset[int]:
    return frozenset(WORDS[n] if n in WORDS else SYMBOLS[n] if n in SYMBOLS else TERMINALS.index(n) for n in names)


_EXPRESSION = _kinds(
    "NAME", "INT", "FLOAT", "MONEY", "DURATION", "SIZE", "STRING", "STRING_HEAD", "(", "[", "{", "-", "not", "try", "if", "match",
    "parallel", "fn", "true", "false", "null",
)  # fmt: skip
_OPERATORS = _kinds(
    "+",
    "-",
    "*",
    "/",
    "div",
    "%",
    "==",
    "!=",
    "<",
    "<=",
    ">",
    ">=",
    "in",
    "and",
    "or",
    "not",
    "??",
    ".",
    "(",
    "[",
    "with",
    "catch",
)
_STATEMENT_WORDS = _kinds(
    "let",
    "var",
    "else",
    "for",
    "while",
    "break",
    "continue",
    "return",
    "fail",
    "assert",
    "catch",
    "with",
    "and",
    "or",
    "in",
    "div",
    "pub",
)
_GROUPS: tuple[tuple[str, frozenset[int], frozenset[int]], ...] = (
    ("a statement", _kinds("let", "for"), _EXPRESSION | _kinds("let", "var", "for", "while", "assert", "script", "break", "continue",
                                                             "return", "fail")),
    ("an expression", _kinds("NAME", "MONEY", "("), _EXPRESSION),
    ("a type", _kinds("NAME", "STRING", "("),
     _kinds("NAME", "STRING", "STRING_HEAD", "INT", "FLOAT", "-", "true", "false", "null", "(", "fn")),
    ("a pattern", _kinds("NAME", "STRING", "["),
     _kinds("NAME", "STRING", "STRING_HEAD", "INT", "FLOAT", "MONEY", "DURATION", "-", "true", "false", "null", "(", "[")),
    ("a declaration (`use`, `fn`, `record`, `tool`, `node`, `agent`, …)", _kinds("fn", "record", "agent"),
     _kinds("use", "pub", "permission", "role", "enum", "record", "open", "error", "type", "const", "fn", "table", "tool", "node", "agent",
            "skill", "service", "provide", "mcp", "model", "store", "test")),
    ("a clause (`needs`, `repeat`, `timeout`, …)", _kinds("needs", "repeat", "timeout"),
     _kinds("needs", "repeat", "timeout", "limit", "approval", "taints", "parallel", "retry", "model", "policy", "grants", "deny",
            "tools", "skills", "budget", "attempts", "tool_choice", "history", "version")),
    ("more of the type", _kinds("(", "<", "?"), _kinds("(", "<", "?", ".", "|")),
    ("an operator", _kinds("or"), _OPERATORS),
    ("a name", _kinds("NAME"), _kinds("NAME", "FIELD_WORD")),
)  # fmt: skip


def explain(context: Context, states: list[int], at: int, kind: int) -> tuple[str, str, tuple[str, ...], Span]:
    """Code, message, notes and place for token `at`, which does not fit the stack."""
    tokens = context.tokens
    text, span = tokens.texts[at], Span(tokens.starts[at], tokens.ends[at])
    possible = {k for k in ACTION[states[-1]] if _fits(states, k)}
    if not possible and states[-1] != states[0] and not ACTION[states[-1]]:
        possible = {END}
    in_code = kind in _STATEMENT_WORDS and WORDS["match"] in possible
    in_type = WORDS["fn"] in possible and WORDS["match"] not in possible
    if kind in IS_RESERVED and NAME in possible and not in_code and not in_type and len(states) > 1:
        note = "it may be the name of a field or an argument, before a `:` or after a `.`"
        return "AEL0102", f"`{text}` is a reserved word, and cannot be a name here", (note,), span
    before = tokens.texts[at - 1] if at > 0 else ""
    clue = hint(text, before, tokens.texts[at + 1] if at + 1 < len(tokens.texts) else "", possible)
    return "AEL0101", f"expected {_list(possible)}, found {_found(text, kind)}", (clue,) if clue else (), span


def _fits(states: list[int], kind: int) -> bool:
    """Whether the tables would take `kind` next, after the reductions that it asks for."""
    stack = states[-40:] if len(states) > 400 else list(states)
    while True:
        do = ACTION[stack[-1]].get(kind)
        if do is None:
            return kind == END and not ACTION[stack[-1]]
        if do >= 0:
            return True
        size = LENGTH[-1 - do]
        if size >= len(stack):
            return True
        del stack[len(stack) - size :]
        stack.append(GOTO[stack[-1]][LEFT[-1 - do]])


def _list(possible: set[int]) -> str:
    rest = possible - {DOC}
    words = []
    for phrase, marks, members in _GROUPS:
        if marks <= rest:
            words.append(phrase)
            rest -= members
    if FIELD_WORD in rest:
        rest -= {FIELD_WORD}
    others = sorted({_word(k) for k in rest})
    words += others[: max(1, _MOST - len(words))]
    if len(others) > max(1, _MOST - len(words) + len(others[:_MOST])):
        words.append("…")
    if not words:
        return "nothing more"
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def _word(kind: int) -> str:
    if kind == END:
        return "the end of the declaration"
    if kind == NEWLINE:
        return "a new line"
    if kind in (STRING, STRING_HEAD):
        return "a string"
    if kind in (INT, FLOAT):
        return "a number"
    text = _SPELLING.get(kind)
    return f"`{text}`" if text else TERMINALS[kind].lower().replace("_", " ")


def _found(text: str, kind: int) -> str:
    if kind == END:
        return "the end of the declaration"
    if kind == NEWLINE:
        return "the end of the line"
    if kind == DOC:
        return "a doc comment"
    if kind in (STRING, STRING_HEAD):
        return "a string"
    shown = text if len(text) <= 40 else f"{text[:40]}…"
    return f"the word `{shown}`" if kind in IS_RESERVED or kind in IS_SOFT else f"`{shown}`"
