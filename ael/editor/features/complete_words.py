"""The words that the grammar takes at the cursor: those of clauses only where they have a meaning and do not stand yet."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator

from ael.check import clause
from ael.editor.features.cursor import Cursor
from ael.editor.features.items import EXPECTED, WORD, Item, K
from ael.editor.word_help import WORDS as HELP
from ael.syntax import nodes as n
from ael.syntax.words import DURATION, INT, SIZE, STARTERS, WORDS

_TEXTS = {number: text for text, number in WORDS.items()}
_CLAUSES = frozenset({*clause.WORDS.values(), "deny"})
_ALLOWED: dict[type, tuple[type[n.Clause], ...]] = {
    n.ToolDecl: clause.TOOL, n.NodeDecl: (*clause.MODEL_NODE, *clause.PLAIN_NODE), n.AgentDecl: clause.AGENT, n.SkillDecl: clause.SKILL,
    n.ProvideDecl: clause.PROVIDE, n.StoreDecl: clause.STORE, n.Operation: clause.OPERATION, n.McpTool: clause.SERVER_TOOL,
    n.McpResource: clause.SERVER_READ, n.McpPrompt: clause.SERVER_READ,
}  # fmt: skip
_TENANT = frozenset({"grants", "deny", "budget", "limit"})

DECLARATIONS: dict[str, str] = {
    "use": "use ${1:std/text}.{${2}}$0",
    "permission": "permission ${1:orders.read}$0",
    "enum": "enum ${1:Name} {\n  ${2:First}\n  $0\n}",
    "record": "record ${1:Name} {\n  ${2:field}: ${3:String(max: 100)}\n  $0\n}",
    "error": "error ${1:NotFound} { ${2:id: String(max: 64)} }$0",
    "type": "type ${1:Name} = ${2:String(max: 100)}$0",
    "const": "const ${1:NAME} = ${2:1}$0",
    "fn": "fn ${1:name}(${2}) -> ${3:String} {\n  $0\n}",
    "table": "table ${1:name}(${2:amount: Decimal}) -> ${3:Bool} {\n  when ${4:< 50.00} => ${5:true}\n  otherwise => ${6:false}$0\n}",
    "tool": (
        "/// ${1:What it does, and when to call it.}\ntool ${2:name}(${3}) -> ${4:String}\n  needs ${5:orders.read}\n"
        "  repeat ${6|idempotent,never,reconcile|}\n{\n  $0\n}"
    ),
    "node": (
        "node ${1:name}(${2:message: String(max: 2_000)}) -> ${3:String(max: 2_000)}\n  model ${4:fast}\n  policy one_call\n{\n"
        '  instructions "$0"\n}'
    ),
    "agent": (
        "agent ${1:name}(${2:message: String(max: 2_000)}) -> ${3:String}\n{\n  edge start -> ${4:node}\n"
        "  edge ${4:node} -> finish$0\n}"
    ),
    "skill": 'skill ${1:name} {\n  version "${2:1.0}"\n  instructions "$0"\n}',
    "service": (
        "service ${1:Name} {\n  ${2:get}(${3}) -> ${4:String}\n    needs ${5:orders.read}\n"
        "    repeat ${6|idempotent,never,reconcile|}$0\n}"
    ),
    "provide": "provide ${1:Service} {\n  $0\n}",
    "mcp": 'mcp ${1:name} {\n  url setting("${2:URL}")\n  tool ${3:name} needs ${4:permission}$0\n}',
    "model": 'model ${1:fast} {\n  provider ${2:anthropic}\n  name "${3:claude-haiku-4-5}"\n}$0',
    "store": "store ${1:name}: Map<String, ${2:String}> needs ${3:permission}$0",
    "test": 'test "${1:what holds}" {\n  assert $0\n}',
}
STATEMENTS: dict[str, str] = {
    "let": "let ${1:name} = $0",
    "var": "var ${1:name} = $0",
    "if": "if ${1:condition} {\n  $0\n}",
    "for": "for ${1:item} in ${2:items} {\n  $0\n}",
    "while": "while ${1:condition} up to ${2:100} {\n  $0\n}",
    "match": "match ${1:value} {\n  $0\n}",
    "parallel": "parallel ${1:item} in ${2:items} up to ${3:4} {\n  $0\n}",
    "catch": "catch {\n  $0\n}",
    "with": "with { $0 }",
    "compensate": "compensate {\n  $0\n}",
    "assert": "assert $0",
    "return": "return $0",
    "fail": "fail $0",
    "try": "try $0",
}
_OF_CLAUSES: dict[str, str] = {
    "needs": "needs $0",
    "repeat": "repeat ${1|idempotent,never,reconcile|}$0",
    "timeout": "timeout ${1:5s}$0",
    "limit": "limit input ${1:8KiB}, output ${2:32KiB}$0",
    "approval": "approval required$0",
    "retry": "retry ${1:3}$0",
    "model": "model $0",
    "policy": "policy ${1|one_call,loop|}$0",
    "grants": "grants $0",
    "tools": "tools $0",
    "skills": "skills $0",
    "budget": "budget tokens ${1:10_000}, cost \\$${2:0.10}, time ${3:30s}$0",
    "attempts": "attempts ${1:3}$0",
    "history": "history ${1|keep,summarize|} $0",
}
_ITEMS: dict[str, str] = {
    "instructions": 'instructions "$0"',
    "input": "input $0",
    "require": 'require ${1:output != ""}, "${2:what is wanted}"$0',
    "follow_up": 'follow_up "$0"',
    "examples": "examples [\n  $0\n]",
    "edge": "edge ${1:start} -> $0",
    "script": "script ${1:fast} [$0]",
}
_UNITS = re.compile(r"(?<![\w.$])([0-9][0-9_]*)([A-Za-z]*)\Z")
_DURATIONS = ("ms", "s", "min", "h", "d")
_SIZES = ("KiB", "MiB", "GiB", "KB", "MB", "GB")
_TIMES = frozenset({"timeout", "time", "base", "cap", "tool_timeout", "idle", "lease"})
_BYTES = frozenset({"input", "output", "result"})
_NUMBERS = frozenset({INT, DURATION, SIZE})


def words(cursor: Cursor) -> Iterator[Item]:
    """The words that can stand at the cursor."""
    allowed = _clauses(cursor)
    starters = cursor.viable & STARTERS[cursor.kind] if cursor.begins else frozenset()
    items = not any(isinstance(one, n.FunctionDecl | n.ToolDecl) for one in cursor.path)
    for kind in sorted(cursor.viable):
        text = _TEXTS.get(kind)
        if text is None or (allowed is not None and text in _CLAUSES and text not in allowed and kind not in starters):
            continue
        snippet = STATEMENTS.get(text, "")
        if allowed is not None and text in allowed:
            snippet = _OF_CLAUSES.get(text, "")
        elif text in _ITEMS and (items or text == "script"):
            snippet = _ITEMS[text]
        elif kind in starters and text in DECLARATIONS:
            snippet = DECLARATIONS[text]
        told = HELP[text][0] if text in HELP else ""
        yield Item(text, K.Keyword, WORD, told, snippet=snippet, rank=0 if allowed and text in allowed else 1)


def _clauses(cursor: Cursor) -> frozenset[str] | None:
    """The clauses that can still stand where the cursor is; None where it is in no declaration that has some."""
    for node in reversed(cursor.path):
        if isinstance(node, n.TenantDecl):
            return _TENANT
        kinds = _ALLOWED.get(type(node))
        if kinds is not None:
            there = {type(one) for one in node.clauses if one.span.end <= cursor.start}  # type: ignore[attr-defined]
            after = _after(cursor)
            return frozenset(clause.WORDS[kind] for kind in kinds if kind not in there and clause.WORDS[kind] not in after)
    return None


def _after(cursor: Cursor) -> frozenset[str]:
    """The words that begin lines between the cursor and the body or the next member: clauses that stand there already."""
    text = cursor.file.source.text[cursor.end : cursor.last]
    found: set[str] = set()
    for line in text.split("\n")[1:]:
        match = re.match(r"\s*([a-z_]+)\b", line)
        if match is None or match[1] not in _CLAUSES:
            break
        found.add(match[1])
    return frozenset(found)


def units(cursor: Cursor) -> tuple[int, list[Item]] | None:
    """Where a number stands before the cursor: where it begins, and the number with each unit that can follow."""
    text = cursor.file.source.text
    line = text.rfind("\n", 0, cursor.offset) + 1
    found = _UNITS.search(text, line, cursor.offset)
    if found is None or not _number(cursor, found.start()):
        return None
    before = re.findall(r"[a-z_]+", text[line : found.start()])
    word = before[-1] if before else ""
    known = _DURATIONS if word in _TIMES else _SIZES if word in _BYTES else (*_DURATIONS, *_SIZES)
    number = found[1]
    made = [
        Item(f"{number}{unit}", K.Unit, EXPECTED, _MEANING[unit], rank=at)
        for at, unit in enumerate(known)
        if unit.lower().startswith(found[2].lower())
    ]
    return found.start(), made


def _number(cursor: Cursor, start: int) -> bool:
    """Whether a number begins there, and no part of a text or comment."""
    tokens = cursor.file.tokens
    index = bisect_left(tokens.starts, start)
    return index < len(tokens.starts) and tokens.starts[index] == start and tokens.kinds[index] in _NUMBERS


_MEANING = {
    "ms": "milliseconds", "s": "seconds", "min": "minutes", "h": "hours", "d": "days", "KiB": "1,024 bytes", "MiB": "1,048,576 bytes",
    "GiB": "1,073,741,824 bytes", "KB": "1,000 bytes", "MB": "1,000,000 bytes", "GB": "1,000,000,000 bytes",
}  # fmt: skip
