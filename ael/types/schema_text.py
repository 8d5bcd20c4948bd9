"""A schema as the kept validator takes it: self-contained, of assertions only, in the words of 2020-12, one text for one meaning.

References lead to `$defs` by number. Patterns are written out as sets of characters, so that they mean the same to the validator's
engine as to `pattern.py`.
"""

from __future__ import annotations

import json

from ael.types.pattern_look import looks
from ael.types.pattern_syntax import PatternError
from ael.types.pattern_text import written_out
from ael.types.schema_cost import bound_repetition
from ael.types.schema_node import Node, SchemaRefused


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
        made = {keyword: self._word(keyword, value) for keyword, value in node.words.items()}
        if isinstance(pattern := node.words.get("pattern"), str) and (more := self._looks(pattern, made)):
            made["allOf"] = [*made.get("allOf", []), *more]  # type: ignore[misc]
        return made

    def _looks(self, pattern: str, made: dict[str, object]) -> list[object]:
        """The conditions at the start of a pattern, as schemas of their own."""
        parts = looks(pattern)
        made["pattern"] = written_out(parts.wanted[0])
        return [
            *({"pattern": written_out(one)} for one in parts.wanted[1:]),
            *({"not": {"pattern": written_out(one), "type": ["string"]}} for one in parts.refused),
        ]

    def _word(self, keyword: str, value: object) -> object:
        match keyword, value:
            case "$ref", Node():
                return self._refer(value)
            case _, Node():
                return self.write(value)
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
            try:
                text = written_out(pattern)
            except PatternError as error:
                raise SchemaRefused("patternProperties", one.pointer, error.message) from None
            # two patterns may be the same one, written in two ways
            made[text] = {"allOf": [made[text], self.write(one)]} if text in made else self.write(one)
        return made
