"""Json: JSON Pointer, merge patch, differences, JSONPath, texts."""

from __future__ import annotations

from ael.check.builtin import B, I, J, S, native
from ael.types.type import AnonymousRecord, ListType, MapType, optional

_PROBLEM = optional(AnonymousRecord((("path", S), ("reason", S), ("at", I))))
_CHANGE = AnonymousRecord((("kind", S), ("pointer", S), ("before", optional(J)), ("after", optional(J))))

TABLE = (
    native("json.pointer_problem", {"pointer": S}, _PROBLEM),
    native("json.found", {"value": J, "pointer": S}, ListType(J)),
    native("json.stored", {"value": J, "pointer": S, "part": J}, ListType(J)),
    native("json.removed", {"value": J, "pointer": S}, J),
    native("json.merged", {"value": J, "patch": J}, J),
    native("json.patch_between", {"before": J, "after": J}, ListType(J)),
    native("json.changes", {"before": J, "after": J}, ListType(_CHANGE)),
    native("json.flat", {"value": J}, MapType(J)),
    native("json.kind", {"value": J}, S),
    native("json.same", {"a": J, "b": J}, B),
    native("json.canonical", {"value": J}, S),
    native("json.pretty", {"value": J, "indent": I}, S),
    native("json.path_problem", {"path": S}, _PROBLEM),
    native("json.selected", {"value": J, "path": S}, ListType(AnonymousRecord((("value", J), ("pointer", S))))),
    native("json.shape_problem", {"shape": J}, _PROBLEM),
    native("json.shaped", {"value": J, "shape": J}, J),
)
