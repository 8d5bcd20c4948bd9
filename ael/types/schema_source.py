"""A schema document: its dialect, what its `$id` and `$anchor` name, and where its references lead. Nothing is ever fetched.

What a document may be is bounded before anything is made of it: bytes of text are the reader's business, schemas and their nesting
are counted here.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from urllib.parse import unquote, urljoin

from ael.data import dataclass
from ael.types.schema_node import Node, SchemaRefused, fill, step

MAX_SCHEMAS = 20_000
"""Schemas in one document, those that nothing refers to included."""
MAX_NESTING = 96
"""How deep schemas stand in one another."""

_DIALECTS = {
    "json-schema.org/draft/2020-12/schema": "2020",
    "json-schema.org/draft/2019-09/schema": "2019",
    "json-schema.org/draft-07/schema": "7",
}
_ONE = frozenset({"items", "contains", "additionalProperties", "propertyNames", "not", "if", "then", "else", "unevaluatedItems",
        "unevaluatedProperties", "additionalItems", "contentSchema"})  # fmt: skip
_LISTS = frozenset({"allOf", "anyOf", "oneOf", "prefixItems", "items"})
_MAPS = frozenset({"properties", "patternProperties", "dependentSchemas", "$defs", "definitions", "dependencies"})


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a schema object stands: the URI and the root of its resource, the pointer from the document's root, its dialect."""

    base: str
    pointer: str
    dialect: str


class Document:
    """The schemas of one document, made into nodes as far as its root reaches."""

    def __init__(self, root: object) -> None:
        if not isinstance(root, dict | bool):
            raise SchemaRefused("schema", "", "a schema is an object, true or false")
        self._root = root
        self._nodes: dict[int, Node] = {}
        self._empty: list[tuple[Node, dict[str, object], _Place]] = []
        self._places: dict[int, _Place] = {}
        self._resources: dict[str, dict[str, object]] = {}
        self._anchors: dict[tuple[str, str], dict[str, object]] = {}
        if isinstance(root, dict):
            self._resources[""] = root
            self._index(root)

    def root(self) -> Node:
        """The node of the whole document."""
        root = self._node(self._root, "")
        while self._empty:
            node, raw, place = self._empty.pop()
            fill(node, raw, place.dialect, self._node, partial(self._refer, place=place))
        return root

    def _index(self, root: dict[str, object]) -> None:
        """Find every schema: its place, `$id` and anchors. Breadth does not nest, depth is bounded."""
        todo: list[tuple[dict[str, object], _Place, int]] = [(root, _Place("", "", ""), 0)]
        count = 0
        while todo:
            raw, outer, depth = todo.pop()
            if id(raw) in self._places:
                continue
            count += 1
            if count > MAX_SCHEMAS:
                raise SchemaRefused("schema", "", f"it holds more than {MAX_SCHEMAS:,} schemas")
            if depth > MAX_NESTING:
                raise SchemaRefused("schema", outer.pointer[:200], f"schemas are nested more than {MAX_NESTING} deep")
            place = self._place(raw, outer)
            self._places[id(raw)] = place
            for inner, pointer in _below(raw, place.pointer):
                todo.append((inner, _Place(place.base, pointer, place.dialect), depth + 1))

    def _place(self, raw: dict[str, object], outer: _Place) -> _Place:
        base, dialect, pointer = outer.base, outer.dialect, outer.pointer
        identifier = raw.get("$id")
        if "$schema" in raw and (pointer == "" or isinstance(identifier, str)):
            named = str(raw["$schema"]).removesuffix("#").removeprefix("https://").removeprefix("http://")
            if named not in _DIALECTS:
                raise SchemaRefused("$schema", step(pointer, "$schema"), "only 2020-12, 2019-09 and draft-07 are known")
            dialect = _DIALECTS[named]
        if identifier is not None and not isinstance(identifier, str):
            raise SchemaRefused("$id", step(pointer, "$id"), "it has to be a text")
        if isinstance(identifier, str) and not (dialect == "7" and "$ref" in raw):
            uri, _, fragment = identifier.partition("#")
            if uri:
                base = _join(base, uri)
                if self._resources.setdefault(base, raw) is not raw:
                    raise SchemaRefused("$id", step(pointer, "$id"), "two schemas have this name")
            if fragment:
                if dialect != "7":
                    raise SchemaRefused("$id", step(pointer, "$id"), "it has a fragment")
                self._anchor(base, fragment, raw, step(pointer, "$id"))
        if dialect != "7":
            for keyword in ("$anchor", "$dynamicAnchor"):
                if isinstance(name := raw.get(keyword), str):
                    self._anchor(base, name, raw, step(pointer, keyword))
        return _Place(base, pointer, dialect)

    def _anchor(self, base: str, name: str, raw: dict[str, object], path: str) -> None:
        if self._anchors.setdefault((base, name), raw) is not raw:
            raise SchemaRefused("$anchor", path, "two schemas have this name")

    def _node(self, raw: object, pointer: str) -> Node:
        if isinstance(raw, bool):
            return Node(pointer, always=raw)
        assert isinstance(raw, dict)
        node = self._nodes.get(id(raw))
        if node is None:
            place = self._places.get(id(raw))
            if place is None:
                # a place that only a pointer leads to, below a key that is no keyword
                self._index_from(raw, pointer)
                place = self._places[id(raw)]
            node = self._nodes[id(raw)] = Node(place.pointer)
            self._empty.append((node, raw, place))
        return node

    def _index_from(self, raw: dict[str, object], pointer: str) -> None:
        root = self._places[id(self._root)]
        todo = [(raw, _Place(root.base, pointer, root.dialect))]
        while todo:
            current, outer = todo.pop()
            if id(current) in self._places:
                continue
            if len(self._places) > MAX_SCHEMAS:
                raise SchemaRefused("schema", "", f"it holds more than {MAX_SCHEMAS:,} schemas")
            if outer.pointer.count("/") > 4 * MAX_NESTING:
                raise SchemaRefused("schema", outer.pointer[:200], f"schemas are nested more than {MAX_NESTING} deep")
            place = self._places[id(current)] = self._place(current, outer)
            todo += [(inner, _Place(place.base, below, place.dialect)) for inner, below in _below(current, place.pointer)]

    def _refer(self, value: object, path: str, *, place: _Place) -> Node:
        """The node that a `$ref` leads to. Raises SchemaRefused where that is not in this document."""
        if not isinstance(value, str):
            raise SchemaRefused("$ref", path, "it has to be a text")
        uri, _, fragment = value.partition("#")
        base = place.base if not uri else _join(place.base, uri)
        resource = self._resources.get(base)
        if resource is None:
            raise SchemaRefused("$ref", path, f"it leads out of the schema, to `{value[:120]}`; nothing is fetched")
        target: object = resource
        if fragment and not fragment.startswith("/"):
            target = self._anchors.get((base, unquote(fragment)))
            if target is None:
                raise SchemaRefused("$ref", path, f"nothing in the schema is named `#{fragment[:120]}`")
        elif fragment:
            target = _follow(resource, unquote(fragment), value, path)
        if not isinstance(target, dict | bool):
            raise SchemaRefused("$ref", path, f"what `{value[:120]}` leads to is no schema")
        return self._node(target, self._places[id(resource)].pointer + unquote(fragment) if fragment.startswith("/") else "")


def _below(raw: dict[str, object], pointer: str) -> Iterator[tuple[dict[str, object], str]]:
    """The schema objects directly inside of one, and where they stand."""
    for keyword, value in raw.items():
        if isinstance(value, dict):
            if keyword in _ONE:
                yield value, step(pointer, keyword)
            elif keyword in _MAPS:
                for key, inner in value.items():
                    if isinstance(inner, dict):
                        yield inner, step(pointer, keyword, key)
        elif isinstance(value, list) and keyword in _LISTS:
            for at, inner in enumerate(value):
                if isinstance(inner, dict):
                    yield inner, step(pointer, keyword, at)


def _join(base: str, uri: str) -> str:
    try:
        return urljoin(base, uri) if base else uri
    except ValueError:
        return uri


def _follow(resource: object, pointer: str, shown: str, path: str) -> object:
    """What a JSON pointer (decoded) leads to."""
    current = resource
    for token in pointer.split("/")[1:]:
        key = token.replace("~1", "/").replace("~0", "~")
        if isinstance(current, dict) and key in current:
            current = current[key]
        elif isinstance(current, list) and key.isascii() and key.isdigit() and len(key) < 7 and int(key) < len(current):
            current = current[int(key)]
        else:
            raise SchemaRefused("$ref", path, f"`{shown[:120]}` leads nowhere")
    return current
