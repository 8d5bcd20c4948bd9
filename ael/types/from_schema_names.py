"""Names for what a schema leaves unnamed: records after the place where they stand, fields after their keys."""

from __future__ import annotations

import re

from ael.types.schema_node import Node

_LENGTH = 80
_WORD = re.compile(r"[A-Za-z0-9]+")
_FIELD = re.compile(r"[a-z][A-Za-z0-9_]*")
_NO_FIELD = frozenset({"true", "false", "null"})


def pascal(text: str, otherwise: str = "Value") -> str:
    """`shipping-address` as `ShippingAddress`; what has no letter or digit is `otherwise`."""
    made = "".join(part[0].upper() + part[1:] for part in _WORD.findall(text))
    return made if made else otherwise


def field_name(wire: str) -> str:
    """The name of a field in the language: the key itself where it is a name, else as near as can be: `If-Match` is `if_match`."""
    if _FIELD.fullmatch(wire) and wire not in _NO_FIELD:
        return wire
    parts = _WORD.findall(wire)
    name = "_".join(parts).lower() if parts and (len(parts) > 1 or parts[0].isupper()) else "_".join(parts)
    if not name:
        return "field"
    name = name[0].lower() + name[1:]
    return name if name[0].isalpha() and name not in _NO_FIELD else f"field_{name}"


class Names:
    """Names that were not given before, from `root`, a qualified name."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._taken: dict[str, int] = {}

    def fresh(self, name: str) -> str:
        """`name`, cut to a length, with a number behind it where it is taken."""
        module, dot, short = name.rpartition(".")
        name = base = f"{module}{dot}{short[:_LENGTH]}"
        count = 2
        while name in self._taken:
            name, count = f"{base}{count}", count + 1
        self._taken[name] = len(self._taken)
        return name

    def after(self, name: str, other: str) -> bool:
        """Whether `name` was given later than `other`."""
        return self._taken.get(name, -1) > self._taken[other]

    def of_target(self, target: Node) -> str:
        """The name of what a reference leads to: the root's own, or after the last key of its place."""
        if target.pointer == "":
            return self._root
        key = target.pointer.rpartition("/")[2].replace("~1", "/").replace("~0", "~")
        if key.isdigit() or key in ("items", "additionalProperties"):
            key = target.title or key
        return self._root + pascal(key)

    def option(self, name: str, node: Node, at: int) -> str:
        """The name of a member of a union: after its title or the constant that tells it apart, else its number."""
        if node.title and len(node.title) <= 40:
            return name + pascal(node.title, f"Option{at + 1}")
        properties = node.words.get("properties")
        for inner in properties.values() if isinstance(properties, dict) else ():
            constant = inner.words.get("const")
            if isinstance(constant, str) and 0 < len(constant) <= 40:
                return name + pascal(constant, f"Option{at + 1}")
        return f"{name}Option{at + 1}"
