"""The form of a deployment's lines: which parts each kind has, and the amounts of `default`, `limit`, `budget` and `price`.

What a line says and nobody reads would be worse than an error, so everything that a kind has no use for is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from decimal import Decimal
from typing import Any

from ael.project.literal import Construct, NotConstant, evaluate
from ael.project.wrong import Wrong, listing
from ael.syntax import nodes as n

PARTS: Mapping[str, str] = {
    "model": "name value",
    "store": "name value",
    "service": "name value",
    "tool": "name clauses",
    "role": "name value",
    "setting": "name value",
    "secret": "name value",
    "host": "value",
    "command": "value",
    "mcp": "name value",
    "price": "value options",
    "runs": "value",
    "knowledge": "value",
    "process": "value",
    "default": "options",
    "limit": "options",
    "budget": "options",
    "deny": "clauses",
    "allow": "clauses",
    "serve": "name value options",
    "caller": "name value clauses",
    "listen": "value",
    "files": "value",
    "code": "value",
    "node": "name value",
    "edge": "name target value",
    "http": "value",
    "web": "value",
    "log": "name target value clauses options",
}
"""Kind of line -> its parts. The last is read by its own rules."""

FORMS: Mapping[str, str] = {
    "model": '`model NAME = anthropic("claude-haiku-4-5")`',
    "store": '`store NAME = sqlite("file.db")` or `store NAME = memory`',
    "service": '`service NAME = PROVIDE`, `service NAME = https("https://…")` or `service NAME = process(workers: 4)`',
    "node": '`node NAME = process(workers: 4)` or `node NAME = https("https://…")`',
    "edge": '`edge AGENT.NODE -> AGENT.NODE = process(workers: 4)` or `edge AGENT.NODE -> AGENT.NODE = https("https://…")`',
    "tool": "`tool NAME timeout 20s approval required by ROLE`",
    "role": '`role NAME = ["alice", "bob"]`',
    "setting": '`setting NAME = "value"`',
    "secret": '`secret NAME = env("VARIABLE")`, `file("path")` or `keyring("service", "name")`',
    "host": '`host "models.example.com"`',
    "command": '`command "npx"`',
    "mcp": '`mcp NAME = http("https://…")` or `mcp NAME = stdio("npx", "-y", "server")`',
    "price": '`price "gpt-5-mini" input $0.25 output $2.00`',
    "runs": '`runs = sqlite("runs.db")`, `runs = postgres(secret("RUNS_DB"))` or `runs = memory`',
    "knowledge": '`knowledge = sqlite("knowledge.db")`, `knowledge = postgres(secret("KNOWLEDGE_DB"))` or `knowledge = memory`',
    "process": '`process = sandbox(commands: ["git", "pytest"], time: 60s)`',
    "default": "`default steps 8, tokens 50_000`",
    "limit": "`limit result 32KiB`",
    "budget": "`budget cost $50, tokens 100_000`",
    "deny": "`deny orders.refund`",
    "allow": "`allow orders.read, crm.get_customer`",
    "serve": '`serve = [NODE, NODE]` or `serve NODE as "name"`',
    "caller": '`caller alice = bearer(secret("ALICE_TOKEN")) budget cost $1 per day`',
    "http": '`http = client(hosts: ["api.example.com"])`',
    "web": '`web = search("https://search.example.com/search", key: secret("SEARCH_KEY"))`',
    "listen": "`listen = http(concurrent: 32, timeout: 60s)`",
    "files": '`files = folder("./workspace", write: true)`',
    "code": '`code = commands(test: ["python3", "-m", "unittest"])`',
}

OPTIONAL: Mapping[str, str] = {"serve": "name value options", "caller": "clauses"}
"""Parts that a line of this kind may go without."""

DEFAULT_WORDS = ("steps", "tool_calls", "tokens", "cost", "time", "tool_timeout", "attempts")
LIMIT_WORDS = ("input", "result", "output", "depth")
BUDGET_WORDS = ("steps", "tool_calls", "tokens", "cost", "time")
PRICE_WORDS = ("input", "output", "cache_read", "cache_write", "since")

_DURATIONS = ("time", "tool_timeout")
_EXPECTED = {
    "cost": "money, such as `$0.50`",
    "time": "a duration, such as `30s`",
    "tool_timeout": "a duration, such as `30s`",
    "attempts": "a whole number above 0",
    "depth": "a whole number above 0",
}
_LEAST = {"attempts": 1, "depth": 1}


def check_parts(binding: n.Binding) -> None:
    """Raise `Wrong` (AEL0814) for a part that a line of this kind has no use for, or lacks."""
    kind = binding.kind.text
    parts = PARTS[kind].split()
    given: dict[str, n.Node | None] = {
        "name": binding.subject,
        "target": binding.target,
        "value": binding.value,
        "clauses": binding.clauses[0] if binding.clauses else None,
        "options": binding.options[0] if binding.options else None,
    }
    for part, node in given.items():
        if node is not None and part not in parts:
            raise Wrong("AEL0814", f"a `{kind}` line has no place for this", node, f"it is written {FORMS[kind]}")
    if kind in FORMS:
        for part in parts:
            if given[part] is None and part not in OPTIONAL.get(kind, ""):
                raise Wrong("AEL0814", f"this `{kind}` line is not whole", binding, f"it is written {FORMS[kind]}")


Report = Callable[[Wrong | NotConstant], None]
"""What is told of a part that is wrong, while the other parts are read."""


def amounts(options: Iterable[n.BindingOption], words: tuple[str, ...], report: Report) -> dict[str, Any]:
    """`steps 8, tokens 50_000`: word -> amount; times in milliseconds. What is wrong is reported, and left out."""
    found: dict[str, Any] = {}
    for option in options:
        try:
            word, value = _option(option, words, found)
            found[word] = None
            found[word] = _amount(word, value, option)
        except (Wrong, NotConstant) as wrong:
            report(wrong)
    return {word: value for word, value in found.items() if value is not None}


def _amount(word: str, value: Any, option: n.BindingOption) -> Any:
    if word in _DURATIONS:
        if not isinstance(value, timedelta):
            raise Wrong("AEL0814", f"`{word}` takes {_EXPECTED[word]}", option)
        return milliseconds(value, option)
    if word == "cost" and isinstance(value, int):
        value = Decimal(value)
    fits = isinstance(value, Decimal if word == "cost" else int) and not isinstance(value, bool)
    if not fits or value < _LEAST.get(word, 0):
        raise Wrong("AEL0814", f"`{word}` takes {_EXPECTED.get(word, 'a whole number')}", option)
    return value


def prices(binding: n.Binding, report: Report) -> dict[str, Any]:
    """`input $0.25 output $2.00 since "2026-01-01"`: word -> money or date. Reports what is wrong; raises `Wrong` for what is missing."""
    found: dict[str, Any] = {}
    for option in binding.options:
        try:
            word, value = _option(option, PRICE_WORDS, found)
            found[word] = Decimal(0)
            found[word] = _price(word, value, option)
        except (Wrong, NotConstant) as wrong:
            report(wrong)
    for word in ("input", "output"):
        if word not in found:
            raise Wrong("AEL0814", f"a price says its `{word}`, for a million tokens", binding, f"it is written {FORMS['price']}")
    return found


def _price(word: str, value: object, option: n.BindingOption) -> object:
    if word == "since":
        if not isinstance(value, str) or not re.fullmatch(r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])", value):
            raise Wrong("AEL0814", '`since` takes a date, such as `"2026-01-01"`', option)
    elif not isinstance(value, Decimal):
        raise Wrong("AEL0814", f"`{word}` takes money for a million tokens, such as `$0.25`", option)
    return value


def _option(option: n.BindingOption, words: tuple[str, ...], found: Mapping[str, object]) -> tuple[str, Any]:
    word = option.name.text
    if word not in words or len(option.values) != 1:
        raise Wrong("AEL0814", f"there is no `{word}` here", option, listing("there is", words))
    if word in found:
        raise Wrong("AEL0813", f"`{word}` is said twice", option)
    return word, evaluate(option.values[0])


def milliseconds(value: object, node: n.Node) -> int:
    """A duration in milliseconds. Raises `Wrong`."""
    if not isinstance(value, timedelta):
        raise Wrong("AEL0814", "a time limit is a duration, such as `20s`", node)
    return int(value / timedelta(milliseconds=1))


def text_of(value: Construct) -> str | None:
    """The one text of `env("NAME")`, None when it is anything else or empty."""
    if len(value.positional) == 1 and not value.named and isinstance(value.positional[0], str):
        return value.positional[0] or None
    return None


def constant(value: object, node: n.Node) -> object:
    """A value without calls and bare words. Raises `Wrong`."""
    parts: Iterable[object] = value if isinstance(value, list) else value.values() if isinstance(value, dict) else ()
    for part in parts:
        constant(part, node)
    if isinstance(value, Construct):
        raise Wrong("AEL0812", f"`{value.name}` is no constant", node, "write a literal: text, a number, a list, a map")
    return value
