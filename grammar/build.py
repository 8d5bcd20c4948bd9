"""Builds `ael/syntax/tables.py` and `ael/syntax/make.py`: `python -m grammar.build` (`--check` only compares).

The only importer of lark, which makes the LALR(1) tables. A build is the same on every machine: states are numbered in the
order in which they are reached from the start rules, symbols in order of their names.
"""

from __future__ import annotations

import ast
import keyword
import logging
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lark import Lark, logger
from lark.grammar import Rule
from lark.lexer import Lexer

from grammar.makers import makers

HERE = Path(__file__).parent
TABLES = HERE.parent / "ael" / "syntax" / "tables.py"
REDUCTIONS = HERE.parent / "ael" / "syntax" / "reductions.py"
MAKE = HERE.parent / "ael" / "syntax" / "make.py"
STARTS = ("module", "pack", "deployment", "expression")
RESERVED = ("declaration", "statement", "operator", "literal")


class NoLexer(Lexer):
    """Lark asks for a lexer class; ours runs elsewhere."""

    def __init__(self, conf: object) -> None:
        """Nothing to set up."""

    def lex(self, lexer_state: object, parser_state: object) -> Iterator[Any]:
        """No tokens."""
        return iter(())


def load() -> Lark:
    """The grammar as lark reads it."""
    text = (HERE / "ael.lark").read_text("utf-8")
    return Lark(text, parser="lalr", lexer=NoLexer, start=list(STARTS), maybe_placeholders=True)


def words() -> dict[str, list[str]]:
    """The classes of `words.toml`."""
    return tomllib.loads((HERE / "words.toml").read_text("utf-8"))


def conflicts() -> list[str]:
    """Places where lark had to choose between shifting and reducing. None are wanted."""
    found: list[str] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if "conflict" in record.getMessage():
                found.append(record.getMessage())

    handler, level = Keep(), logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    try:
        load()
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
    return found


class Tables:
    """The tables of one grammar, renumbered."""

    def __init__(self, lark: Lark) -> None:
        table = lark.parser.parser._parse_table
        self.spelling = {t.name: t.pattern.value for t in lark.terminals if getattr(t, "pattern", None) is not None}
        names = {str(name) for row in table.states.values() for name in row}
        rules = [r for r in lark.rules if not r.origin.name.startswith("$")]
        nonterminals = {str(r.origin.name) for r in rules}
        self.terminals = ["$END", *sorted(n for n in names if n not in nonterminals and n != "$END")]
        self.nonterminals = sorted(nonterminals)
        terminal_id = {name: i for i, name in enumerate(self.terminals)}
        nonterminal_id = {name: i for i, name in enumerate(self.nonterminals)}
        self.rules = sorted(rules, key=_rule_key)
        rule_id = {r: i for i, r in enumerate(self.rules)}
        self.order: list[Any] = [table.start_states[s] for s in STARTS]
        seen = set(self.order)
        for state in self.order:
            for name in sorted(table.states[state]):
                action, arg = table.states[state][name]
                if action.name == "Shift" and arg not in seen:
                    seen.add(arg)
                    self.order.append(arg)
        number = {state: i for i, state in enumerate(self.order)}
        self.actions: list[dict[int, int]] = []
        self.gotos: list[dict[int, int]] = []
        for state in self.order:
            row: dict[int, int] = {}
            goto: dict[int, int] = {}
            for name, (action, arg) in sorted(table.states[state].items()):
                if name in nonterminal_id:
                    goto[nonterminal_id[name]] = number[arg]
                elif action.name == "Shift":
                    row[terminal_id[name]] = number[arg]
                else:
                    row[terminal_id[name]] = -1 - rule_id[arg]
            self.actions.append(row)
            self.gotos.append(goto)
        self.lhs = [nonterminal_id[r.origin.name] for r in self.rules]
        self.lengths = [len(r.expansion) for r in self.rules]


def _rule_key(rule: Rule) -> tuple[str, list[str], str]:
    return rule.origin.name, [s.name for s in rule.expansion], rule.alias or ""


def arguments(rule: Rule) -> list[int | None]:
    """Positions from the right end (-1 is the last) of the values that an action gets; None for an absent optional part."""
    size = len(rule.expansion)
    empty = rule.options.empty_indices or [False] * size
    found: list[int | None] = []
    at = 0
    for absent in empty:
        if absent:
            found.append(None)
            continue
        symbol = rule.expansion[at]
        if not (symbol.is_term and getattr(symbol, "filter_out", False)):
            found.append(at - size)
        at += 1
    return found


def action(rule: Rule) -> str:
    """The name of a rule's action; empty for one that only passes its single value on."""
    name = rule.alias or str(rule.origin.name)
    if rule.alias is None and len(rule.expansion) == 1 and not rule.expansion[0].is_term and arguments(rule) == [-1]:
        return ""
    return name if not _is_keyword(name) else name + "_"


def _is_keyword(name: str) -> bool:
    return keyword.iskeyword(name) or name in ("int", "float", "list", "map", "type", "range", "open")


def reducers(tables: Tables) -> tuple[list[str], list[str], set[str]]:
    """Source of one function per different way to call an action, the function of each rule, and the actions used."""
    made: dict[str, str] = {}
    per_rule: list[str] = []
    used: set[str] = set()
    for rule in tables.rules:
        name, args = action(rule), arguments(rule)
        if not name:
            per_rule.append("None")
            continue
        values = ["None" if a is None else f"v[{a}]" for a in args]
        if name == "first":
            body = f"return [{values[0]}]"
        elif name == "pair":
            body = f"return [{values[0]}, {values[1]}]"
        elif name == "next":
            body = f"items = {values[0]}; items.append({values[-1]}); return items"
        elif name == "same":
            body = f"return {values[0]}"
        elif name == "separator":
            body = "return None"
        else:
            used.add(name)
            body = f"return {name}(c, s, e{''.join(', ' + v for v in values)})"
        if body not in made:
            made[body] = f"r{len(made)}"
        per_rule.append(made[body])
    return [f"def {name}(c, v, s, e): {body}" for body, name in made.items()], per_rule, used


def imports(used: set[str]) -> list[str]:
    """One import for each module of `ael/syntax/actions/`."""
    found: dict[str, list[str]] = {}
    for path in sorted((HERE.parent / "ael" / "syntax" / "actions").glob("*.py")):
        for item in ast.parse(path.read_text("utf-8")).body:
            if isinstance(item, ast.FunctionDef) and item.name in used:
                found.setdefault(path.stem, []).append(item.name)
    missing = used - {name for names in found.values() for name in names}
    if missing:
        raise SystemExit(f"no action for {sorted(missing)}")
    return [f"from ael.syntax.actions.{module} import {', '.join(sorted(names))}" for module, names in found.items()]


def render() -> tuple[str, str]:
    """The texts of `ael/syntax/tables.py` and `ael/syntax/reductions.py`."""
    tables = Tables(load())
    functions, per_rule, used = reducers(tables)
    classes = words()
    reserved = [w for c in RESERVED for w in classes[c]]
    soft = classes["soft"] + classes["clause"]
    spelled = {text: i for i, name in enumerate(tables.terminals) if (text := tables.spelling.get(name)) is not None}
    in_grammar = {text for text in spelled if text[0].isalpha()}
    if in_grammar != set(reserved) | set(soft):
        raise SystemExit(f"words.toml and ael.lark differ in {sorted(in_grammar ^ (set(reserved) | set(soft)))}")
    rows: dict[str, int] = {}
    gotos: dict[str, int] = {}
    row_of = [rows.setdefault(_literal(r), len(rows)) for r in tables.actions]
    goto_of = [gotos.setdefault(_literal(g), len(gotos)) for g in tables.gotos]
    data = [
        '"""The LALR(1) tables of `grammar/ael.lark`, built by `python -m grammar.build`: not edited by hand."""',
        "",
        "# fmt: off",
        "# ruff: noqa",
        "",
        "from __future__ import annotations",
        "",
        f"STARTS: dict[str, int] = { ({name: i for i, name in enumerate(STARTS)})!r}",
        f"TERMINALS: list[str] = {tables.terminals!r}",
        f"NONTERMINALS: list[str] = {tables.nonterminals!r}",
        f"RESERVED: dict[str, int] = { ({w: spelled[w] for w in reserved})!r}",
        f"SOFT: dict[str, int] = { ({w: spelled[w] for w in soft})!r}",
        f"SYMBOLS: dict[str, int] = { ({t: i for t, i in sorted(spelled.items()) if not t[0].isalpha()})!r}",
        f"LENGTH: tuple[int, ...] = {tuple(tables.lengths)!r}".replace(", ", ","),
        f"LEFT: tuple[int, ...] = {tuple(tables.lhs)!r}".replace(", ", ","),
        "_A: tuple[dict[int, int], ...] = (",
        *(f"{row}," for row in rows),
        ")",
        f"ACTION: list[dict[int, int]] = [_A[i] for i in {tuple(row_of)!r}]".replace(", ", ","),
        "_G: tuple[dict[int, int], ...] = (",
        *(f"{row}," for row in gotos),
        ")",
        f"GOTO: list[dict[int, int]] = [_G[i] for i in {tuple(goto_of)!r}]".replace(", ", ","),
    ]
    code = [
        '"""Calls of the actions, one function for each way to call one, built by `python -m grammar.build`: not edited by hand.',
        "",
        "`REDUCE[rule]` takes the context, the stack of values, and the offsets of the rule's first and after its last character.",
        '"""',
        "",
        "# fmt: off",
        "# mypy: ignore-errors",
        "# ruff: noqa",
        "",
        "from collections.abc import Callable",
        "from typing import Any",
        "",
        *imports(used),
        "",
        *functions,
        "",
        f"REDUCE: tuple[Callable[[Any, Any, int, int], Any] | None, ...] = ({', '.join(per_rule)},)",
    ]
    return "\n".join(data) + "\n", "\n".join(code) + "\n"


def _literal(row: dict[int, int]) -> str:
    return "{" + ",".join(f"{k}:{v}" for k, v in sorted(row.items())) + "}"


def main(arguments: list[str]) -> int:
    """Write both files, or compare them."""
    stale = []
    data, code = render()
    for path, text in ((MAKE, makers()), (TABLES, data), (REDUCTIONS, code)):
        if not path.exists() or path.read_text("utf-8") != text:
            stale.append(path.name)
            if "--check" not in arguments:
                path.write_text(text, "utf-8")
    if stale:
        print(("stale: " if "--check" in arguments else "written: ") + ", ".join(stale))
    return 1 if stale and "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
