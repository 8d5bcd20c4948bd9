"""Programs made from the grammar itself: every rule can occur, with names and literals that mean nothing."""

from __future__ import annotations

from functools import cache
from random import Random

from ael.syntax.words import FileKind
from grammar.build import Tables, load

TOKENS = {
    "NAME": ("a", "bc", "Name", "provider"),
    "FIELD_WORD": ("type", "error", "use"),
    "INT": ("0", "12", "1_000"),
    "FLOAT": ("1.5", "2e3"),
    "MONEY": ("$0.25",),
    "DURATION": ("5s", "250ms"),
    "SIZE": ("8KiB",),
    "STRING": ('""', '"text"', 'r"a\\b"', '"é \\n \\u{1F600}"', '"""one"""', '"""\n    a\n      b\n    """'),
    "STRING_HEAD": ('"x ${',),
    "STRING_MID": ("} y ${",),
    "STRING_TAIL": ('} z"',),
    "DOC": ("\n/// Words.\n",),
    "NEWLINE": ("\n",),
}


@cache
def tables() -> Tables:
    """The tables, with the rules that they are made of."""
    return Tables(load())


@cache
def _rules() -> dict[str, list[list[str]]]:
    found: dict[str, list[list[str]]] = {}
    for rule in tables().rules:
        found.setdefault(str(rule.origin.name), []).append([str(s.name) for s in rule.expansion])
    return found


@cache
def _heights() -> dict[str, int]:
    """How deep the smallest tree of a rule is."""
    rules = _rules()
    heights: dict[str, int] = {}
    changed = True
    while changed:
        changed = False
        for name, expansions in rules.items():
            best = min(
                (max((heights.get(s, 0 if s not in rules else 999) for s in e), default=0) + 1 for e in expansions), default=999
            )
            if best < heights.get(name, 999):
                heights[name] = best
                changed = True
    return heights


def program(seed: int, kind: FileKind, size: int = 60) -> str:
    """A text that parses. `size` bounds how many rules are chosen freely."""
    random, rules, heights = Random(seed), _rules(), _heights()
    spelling = tables().spelling
    out: list[str] = []
    stack = [str(kind)]
    left = size
    while stack:
        symbol = stack.pop()
        if symbol in rules:
            expansions = rules[symbol]
            left -= 1
            if left < 0:
                low = min(max((heights.get(s, 0) for s in e), default=0) for e in expansions)
                expansions = [e for e in expansions if max((heights.get(s, 0) for s in e), default=0) == low]
            if symbol == "greater":
                # A line ends after a `>` only in braces.
                expansions = expansions[:1]
            stack.extend(reversed(random.choice(expansions)))
        else:
            out.append(random.choice(TOKENS[symbol]) if symbol in TOKENS else spelling[symbol])
    return " ".join(out) + "\n"
