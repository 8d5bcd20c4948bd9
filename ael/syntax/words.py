"""Kinds of tokens by name, from the tables, and the classes of them that the lexer's rules for newlines speak of."""

from __future__ import annotations

from typing import Literal, TypeAlias

from ael.syntax.tables import RESERVED, SOFT, SYMBOLS, TERMINALS

FileKind: TypeAlias = Literal["module", "pack", "deployment", "expression"]

_KIND = {name: number for number, name in enumerate(TERMINALS)}

END = _KIND["$END"]
NAME = _KIND["NAME"]
FIELD_WORD = _KIND["FIELD_WORD"]
INT = _KIND["INT"]
FLOAT = _KIND["FLOAT"]
MONEY = _KIND["MONEY"]
DURATION = _KIND["DURATION"]
SIZE = _KIND["SIZE"]
STRING = _KIND["STRING"]
STRING_HEAD = _KIND["STRING_HEAD"]
STRING_MID = _KIND["STRING_MID"]
STRING_TAIL = _KIND["STRING_TAIL"]
DOC = _KIND["DOC"]
NEWLINE = _KIND["NEWLINE"]
COMMA = SYMBOLS[","]
DOT = SYMBOLS["."]

WORDS: dict[str, int] = {**RESERVED, **SOFT}
IS_RESERVED = frozenset(RESERVED.values())
IS_SOFT = frozenset(SOFT.values())
ANY_WORD = IS_RESERVED | IS_SOFT | {NAME}


def _kinds(*texts: str) -> frozenset[int]:
    return frozenset(WORDS.get(text, SYMBOLS.get(text, -1)) for text in texts)


CAN_END = (
    frozenset({NAME, FIELD_WORD, INT, FLOAT, MONEY, DURATION, SIZE, STRING, STRING_TAIL})
    | IS_SOFT
    | _kinds(")", "]", "}", ">", "?", "break", "continue", "return", "true", "false", "null", "parallel")
    | _kinds("permission", "role", "error", "type", "tool", "node", "agent", "skill", "service", "mcp", "store", "test", "use")
)
"""After any other token a newline ends nothing. (Words of declarations end the path of a module: `use std/test`.)"""

CONTINUES = _kinds(
    ".", "else", "catch", "and", "or", "with", "in", "div", "}", ")", "]", ",", ":", "=", "->", "=>", "..", "|", "&", "?",
    "+", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "??",
)  # fmt: skip
"""Before one of these a newline ends nothing: none of them can begin a statement."""

STARTERS: dict[FileKind, frozenset[int]] = {
    "module": _kinds(
        "use", "pub", "permission", "role", "enum", "record", "open", "error", "type", "const", "fn", "table", "tool", "node",
        "agent", "skill", "service", "provide", "mcp", "model", "store", "test",
    ),
    "pack": _kinds("pack"),
    "deployment": frozenset(),
    "expression": frozenset(),
}  # fmt: skip
"""Words that begin a declaration where they begin a line outside all brackets. In a deployment the indentation says it."""

PREFIXES = _kinds("pub", "open") | {DOC}
HAS_CLAUSES = _kinds("node", "agent", "tool", "skill", "provide")
"""Words of declarations whose body follows their clauses: `model` on a line before it is one of them."""
MODEL = WORDS["model"]
FN = WORDS["fn"]
MCP = WORDS["mcp"]
MCP_ITEMS = _kinds("tool", "resource", "prompt")
"""Words that begin what an `mcp` block holds beside settings."""

CLAUSES = _kinds(
    "needs", "repeat", "timeout", "limit", "approval", "taints", "parallel", "retry", "model", "policy", "grants", "deny", "tools",
    "skills", "budget", "attempts", "tool_choice", "history", "version", "fails", "key", "when", "by",
)  # fmt: skip

CONTINUES_AFTER_BODY = CONTINUES | (CLAUSES - {MODEL}) | _kinds("{", "extern")
"""What can follow a `}` in a declaration: it may have ended an expression in a clause."""

CONTINUES_IN_BODY: dict[int, frozenset[int]] = {
    WORDS["service"]: CLAUSES,
    WORDS["mcp"]: CLAUSES | _kinds("as"),
    WORDS["agent"]: _kinds("when", "otherwise", "on", "up"),
    WORDS["tenant"]: CLAUSES,
}
"""Words before which a newline ends nothing directly in the body of a declaration that begins with the key."""

ITEM_WORDS = _kinds("script", "instructions", "input", "require", "follow_up", "examples")
"""Words that begin an item where a statement could stand too: they are words only when an operand follows after a space."""

BRACKETS = {")": "(", "]": "[", "}": "{"}
CLOSERS = {"(": ")", "[": "]", "{": "}"}
