"""What a run may spend, as the words of an evaluation say it: `within(tokens: 5_000, cost: $0.05, time: 30s)`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ael.evals.lines import FORM, money, seconds, whole
from ael.project.wrong import Wrong, listing
from ael.syntax import nodes as n
from ael.types.spec import BudgetSpec

WORDS = ("tokens", "cost", "time", "steps", "tool_calls")
_MOST = 1 << 53


def budget(arguments: Mapping[str, n.Expr], place: n.Node, words: tuple[str, ...] = WORDS) -> BudgetSpec:
    """The amounts of a call's named arguments. Raises `Wrong` and `NotConstant`."""
    found: dict[str, Any] = {}
    for name, node in arguments.items():
        match name:
            case _ if name not in words:
                raise Wrong(FORM, f"there is no amount `{name}`", node, listing("there is", words))
            case "cost":
                found[name] = money(node)
            case "time":
                found[name] = round(seconds(node) * 1000)
            case _:
                found[name] = whole(0, _MOST)(node)
    if not found:
        raise Wrong(FORM, "this says no amount", place, listing("there is", words))
    return BudgetSpec(**found)
