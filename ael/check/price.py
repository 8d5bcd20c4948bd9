"""Which models must have a price: those that a node may call under a money budget (feature A7.9, K03).

Prices are known where a program is bound to the world, so the check of a deployment and the start of a run ask this.
"""

from __future__ import annotations

from collections.abc import Mapping

from ael.types.spec import ModelSpec, NodeSpec


def priced(nodes: Mapping[str, NodeSpec], models: Mapping[str, ModelSpec]) -> dict[str, tuple[str, ...]]:
    """Model -> the nodes that may call it, or one that they delegate to, under a budget of money; fallbacks included."""
    found: dict[str, dict[str, None]] = {}
    for name, node in nodes.items():
        if node.budget.cost is None:
            continue
        for model in _called(name, nodes, models):
            found.setdefault(model, {})[name] = None
    return {model: tuple(names) for model, names in found.items()}


def _called(first: str, nodes: Mapping[str, NodeSpec], models: Mapping[str, ModelSpec]) -> dict[str, None]:
    """The models that a node may call, itself or through the nodes that it offers."""
    found: dict[str, None] = {}
    pending, seen = [first], {first}
    while pending:
        node = nodes[pending.pop()]
        at: str | None = node.model
        while at is not None and at in models and at not in found:
            found[at] = None
            at = models[at].fallback
        for tool in node.tools:
            if tool in nodes and tool not in seen:
                seen.add(tool)
                pending.append(tool)
    return found
