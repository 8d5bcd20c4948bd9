"""How much work a schema can make, known before any value: what multiplies without end is refused by name.

Schemas that look at the same value (`allOf`, `anyOf`, `$ref` …) multiply where one is reached in several ways; and where several of
them lead into the same part of a value, they multiply again with every level of it. Both are exponential in the size of a small text.
"""

from __future__ import annotations

from collections.abc import Iterator

from ael.types.limits import MAX_DEPTH
from ael.types.schema_node import Node, SchemaRefused

MAX_STEPS = 5_000
"""Schemas that may be looked at for one value, those of its parts left out."""
MAX_REPEATED = 100_000
"""How often the predicate of a schema may look at one part of a value."""
_IN_PLACE = frozenset({"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "$ref", "dependentSchemas"})
_ENTRIES = frozenset({"items", "unevaluatedItems", "contains", "prefixItems"})
_KEYS = frozenset({"additionalProperties", "unevaluatedProperties"})
_PATTERNS = frozenset({"patternProperties"})
_PARTS = _ENTRIES | _KEYS | _PATTERNS | {"properties"}


def in_place(node: Node) -> list[Node]:
    """The schemas that look at the same value as a schema."""
    return _under(node, _IN_PLACE)


def _under(node: Node, keywords: frozenset[str]) -> list[Node]:
    found: list[Node] = []
    for keyword, value in node.words.items():
        if keyword in keywords:
            if isinstance(value, Node):
                found.append(value)
            elif isinstance(value, tuple):
                found += value
            elif isinstance(value, dict):
                found += value.values()
    return found


def _parts(node: Node) -> list[Node]:
    """The schemas of the parts of a value."""
    return _under(node, _PARTS)


def bound_steps(root: Node) -> None:
    """Refuse a schema of which some part takes more than MAX_STEPS for one value, or leads back to itself without looking at one."""
    costs: dict[int, int] = {}
    running: set[int] = set()
    seen: set[int] = set()
    todo = [root]
    while todo:
        node = todo.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        _cost(node, costs, running)
        todo += in_place(node)
        todo += _parts(node)


def _cost(root: Node, costs: dict[int, int], running: set[int]) -> None:
    """Count the ways through the schemas in place; without recursion, for chains are as long as a document."""
    stack: list[tuple[Node, bool]] = [(root, False)]
    while stack:
        node, done = stack.pop()
        if done:
            total = 1 + sum(costs[id(one)] for one in in_place(node))
            if total > MAX_STEPS:
                keyword = next((k for k in ("anyOf", "oneOf", "allOf") if k in node.words), "$ref")
                raise SchemaRefused(keyword, node.pointer, f"it takes more than {MAX_STEPS:,} steps to decide about one value")
            costs[id(node)] = total
            running.discard(id(node))
        elif id(node) in running:
            raise SchemaRefused("$ref", node.pointer, "it leads back to itself before any value is looked at")
        elif id(node) not in costs:
            running.add(id(node))
            stack.append((node, True))
            for one in in_place(node):
                if id(one) in running:
                    raise SchemaRefused("$ref", one.pointer, "it leads back to itself before any value is looked at")
                if id(one) not in costs:
                    stack.append((one, False))


def bound_repetition(root: Node) -> None:
    """Refuse a schema that would look at one part of a deep value more than MAX_REPEATED times."""
    starts = _starts(root)
    wholes = {key: list(_whole(node)) for key, node in starts.items()}
    times = {key: len(whole) for key, whole in wholes.items()}
    for _ in range(MAX_DEPTH):
        following = {key: max(len(wholes[key]), _times(whole, times)) for key, whole in wholes.items()}
        worst = max(following, key=following.__getitem__)
        if following[worst] > MAX_REPEATED:
            raise SchemaRefused(
                "$ref", starts[worst].pointer, "parts of a value would be looked at over and over, level by level"
            )
        if following == times:
            return
        times = following


def _starts(root: Node) -> dict[int, Node]:
    """The schemas that begin with a value of their own: the root, and those of parts."""
    found = {id(root): root}
    todo = [root]
    while todo:
        for node in _whole(todo.pop()):
            for part in _parts(node):
                if id(part) not in found:
                    found[id(part)] = part
                    todo.append(part)
    return found


def _whole(root: Node) -> Iterator[Node]:
    """All schemas that look at the value of one, as often as they do."""
    todo = [root]
    while todo:
        node = todo.pop()
        yield node
        todo += in_place(node)


def _times(whole: list[Node], times: dict[int, int]) -> int:
    """How often the part of a value that is looked at most is looked at, all schemas of the value together."""
    entries = sum(sum(times[id(one)] for one in _under(node, _ENTRIES)) for node in whole)
    names = {key for node in whole if isinstance(p := node.words.get("properties"), dict) for key in p}
    most = 0
    for key in (*names, None):
        total = 0
        for node in whole:
            properties = node.words.get("properties")
            own = properties.get(key) if isinstance(properties, dict) else None
            total += times[id(own)] if isinstance(own, Node) else sum(times[id(one)] for one in _under(node, _KEYS))
            total += sum(times[id(one)] for one in _under(node, _PATTERNS))
        most = max(most, total)
    return max(entries, most)
