"""A schema as the kept validator takes it: self-contained, of assertions only, in the words of 2020-12, one text for one meaning.

References lead to `$defs` by number. Patterns are written out as sets of characters, so that they mean the same to the validator's
engine as to `pattern.py`.
"""

from __future__ import annotations

import json

from ael.types.pattern_text import written_out
from ael.types.schema_cost import bound_repetition
from ael.types.schema_node import Node


def schema_text(root: Node) -> str:
    """The text of a predicate. Raises SchemaRefused for one that could take exponential time (`schema_cost.py`)."""
    bound_repetition(root)
    writer = _Writer()
    whole = writer.write(root)
    defs: dict[str, object] = {}
    while writer.waiting:
        key, node = writer.waiting.pop()
        defs[key] = writer.write(node)
    if defs:
        whole = {**(whole if isinstance(whole, dict) else {"allOf": [whole]}), "$defs": defs}
    return json.dumps(whole, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


class _Writer:
    def __init__(self) -> None:
        self.waiting: list[tuple[str, Node]] = []
        self._keys: dict[int, str] = {}

    def _refer(self, node: Node) -> str:
        key = self._keys.get(id(node))
        if key is None:
            key = self._keys[id(node)] = f"r{len(self._keys) + 1}"
            self.waiting.append((key, node))
        return f"#/$defs/{key}"

    def write(self, node: Node) -> object:
        if node.always is not None:
            return node.always
        return {keyword: self._word(keyword, value) for keyword, value in node.words.items()}

    def _word(self, keyword: str, value: object) -> object:
        match keyword, value:
            case "$ref", Node():
                return self._refer(value)
            case _, Node():
                return self.write(value)
            case "pattern", str():
                return written_out(value)
            case "patternProperties", dict():
                return self._patterns(value)
            case (("const" | "enum"), _):
                return list(value) if isinstance(value, tuple) else value
            case _, tuple():
                return [self.write(one) if isinstance(one, Node) else one for one in value]
            case _, dict():
                return {key: self.write(one) if isinstance(one, Node) else list(one) for key, one in value.items()}
            case _:
                return value

    def _patterns(self, value: dict[str, Node]) -> object:
        made: dict[str, object] = {}
        for pattern, one in value.items():
            text = written_out(pattern)
            # two patterns may be the same one, written in two ways
            made[text] = {"allOf": [made[text], self.write(one)]} if text in made else self.write(one)
        return made
