"""Json: JSON Pointer (RFC 6901), merge patch (RFC 7396), differences, JSONPath (RFC 9535), texts.

A pointer, path or shape was looked at by its `…_problem` before it comes to any other function here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sized
from typing import Any, NoReturn

from ael.lower.abi.fault import too_many
from ael.lower.abi.size import ENTRIES_MAX, sized_text
from ael.types import json_path, json_path_syntax
from ael.types.canonical import EncodeError, encode
from ael.types.fault import Fault, FaultKind
from ael.types.json_path import TooMuch, Work, equal
from ael.types.json_path_syntax import PathError

Problem = dict[str, object] | None
_INDEX = re.compile(r"0|[1-9][0-9]{0,15}", re.ASCII)
_PARTS_MAX = 1_000
"""Parts of a pointer."""
_SHAPE_DEPTH = 32
_DEPTH_MAX = 256
"""Deeper than what any reader lets in."""


def pointer_problem(pointer: str) -> Problem:
    """What is wrong with a pointer, or null."""
    if pointer and not pointer.startswith("/"):
        return _problem(pointer, "a pointer is empty or begins with `/`", 0)
    if pointer.count("/") > _PARTS_MAX:
        return _problem(pointer, f"a pointer of more than {_PARTS_MAX:,} parts", 0)
    wrong = re.search("~(?![01])", pointer)
    return None if wrong is None else _problem(pointer, "`~` is written `~0`, and `/` in a name `~1`", wrong.start())


def found(value: Any, pointer: str) -> list[Any]:
    """What stands at a pointer, as a list of one; empty where nothing does."""
    for key in _keys(pointer):
        child = _child(value, key)
        if not child:
            return []
        value = child[0]
    return [value]


def stored(value: Any, pointer: str, part: Any) -> list[Any]:
    """The value with `part` at a pointer, as a list of one; empty where nothing holds such a part."""
    keys = _keys(pointer)
    around: list[Any] = []
    for key in keys[:-1]:
        around.append(value)
        child = _child(value, key)
        if not child:
            return []
        value = child[0]
    around.append(value)
    if not keys:
        return [part]
    made = part
    for holder, key in zip(reversed(around), reversed(keys), strict=True):
        if isinstance(holder, dict):
            made = {**holder, key: made}
        elif isinstance(holder, list) and key == "-" and holder is around[-1]:
            made = [*holder, made]
        elif isinstance(holder, list) and (at := _index(holder, key)) is not None:
            made = [*holder[:at], made, *holder[at + 1 :]]
        else:
            return []
    return [made]


def removed(value: Any, pointer: str) -> Any:
    """The value without what stands at a pointer; of the whole, null."""
    keys = _keys(pointer)
    if not keys:
        return None
    around: list[Any] = []
    part = value
    for key in keys:
        around.append(part)
        child = _child(part, key)
        if not child:
            return value
        part = child[0]
    holder = around.pop()
    made: Any
    if isinstance(holder, dict):
        made = {key: item for key, item in holder.items() if key != keys[-1]}
    else:
        at = int(keys[-1])
        made = [*holder[:at], *holder[at + 1 :]]
    for holder, key in zip(reversed(around), reversed(keys[:-1]), strict=True):
        made = {**holder, key: made} if isinstance(holder, dict) else [*holder[: int(key)], made, *holder[int(key) + 1 :]]
    return made


def merged(value: Any, patch: Any) -> Any:
    """The value changed by a merge patch."""
    if not isinstance(patch, dict):
        return patch
    made = dict(value) if isinstance(value, dict) else {}
    for key, item in patch.items():
        if item is None:
            made.pop(key, None)
        else:
            made[key] = merged(made.get(key), item)
    return made


def patch_between(before: Any, after: Any) -> list[Any]:
    """The merge patch that makes `after` of `before`, as a list of one; empty where there is none, since an object in `after` has null."""
    try:
        return [_patch(before, after)]
    except _NoPatch:
        return []


class _NoPatch(Exception):
    pass


def _patch(before: Any, after: Any) -> Any:
    if not isinstance(after, dict):
        return after
    old = before if isinstance(before, dict) else {}
    made: dict[str, Any] = {key: None for key in old if key not in after}
    for key, item in after.items():
        if item is None:
            if key in old and old[key] is None:
                continue
            raise _NoPatch
        if key not in old or not equal(old[key], item):
            made[key] = _patch(old.get(key), item)
    return made


def changes(before: Any, after: Any) -> list[dict[str, Any]]:
    """What is different, part by part; items of lists are compared by their places."""
    made: list[dict[str, Any]] = []
    _changes(before, after, "", 0, made)
    return made


def _changes(before: Any, after: Any, at: str, depth: int, made: list[dict[str, Any]]) -> None:
    _bounded(made, depth)
    if isinstance(before, dict) and isinstance(after, dict):
        for key, old in before.items():
            if key not in after:
                made.append(_change("Removed", _under(at, key), old, None))
            else:
                _changes(old, after[key], _under(at, key), depth + 1, made)
        made += [_change("Added", _under(at, key), None, new) for key, new in after.items() if key not in before]
    elif isinstance(before, list) and isinstance(after, list):
        shared = min(len(before), len(after))
        for index in range(shared):
            _changes(before[index], after[index], f"{at}/{index}", depth + 1, made)
        made += [_change("Removed", f"{at}/{index}", before[index], None) for index in range(shared, len(before))]
        made += [_change("Added", f"{at}/{index}", None, after[index]) for index in range(shared, len(after))]
    elif not equal(before, after):
        made.append(_change("Changed", at, before, after))


def _change(kind: str, pointer: str, before: Any, after: Any) -> dict[str, Any]:
    return {"kind": kind, "pointer": pointer, "before": before, "after": after}


def flat(value: Any) -> dict[str, Any]:
    """The parts that hold no others, by their pointers; an empty list or object is one."""
    made: dict[str, Any] = {}
    _flatten(value, "", 0, made)
    return made


def _flatten(value: Any, at: str, depth: int, made: dict[str, Any]) -> None:
    _bounded(made, depth)
    if isinstance(value, dict) and value:
        for key, item in value.items():
            _flatten(item, _under(at, key), depth + 1, made)
    elif isinstance(value, list) and value:
        for index, item in enumerate(value):
            _flatten(item, f"{at}/{index}", depth + 1, made)
    else:
        made[at] = value


def _bounded(made: Sized, depth: int) -> None:
    if depth > _DEPTH_MAX:
        raise Fault(FaultKind.TOO_DEEP, f"a Json nested more than {_DEPTH_MAX} deep")
    if len(made) > ENTRIES_MAX:
        too_many()


def kind(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int() | float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def same(a: Any, b: Any) -> bool:
    """Whether two values are the same: numbers by their size, objects whatever the order of their keys."""
    return equal(a, b)


def canonical(value: Any) -> str:
    """Sorted keys, no white space: one text for what is the same."""
    return sized_text(_written(value))


def pretty(value: Any, indent: int) -> str:
    """A line for each part, keys in their order."""
    _written(value)
    return sized_text(json.dumps(value, ensure_ascii=False, indent=max(min(indent, 8), 0)))


def _written(value: Any) -> str:
    try:
        return encode(value, sort=True).decode()
    except EncodeError as error:
        raise Fault(FaultKind.MALFORMED, str(error)) from None


def path_problem(path: str) -> Problem:
    """What is wrong with a path, or null."""
    try:
        json_path_syntax.parse(path)
    except PathError as error:
        return _problem(path, error.reason, error.at)
    return None


def selected(value: Any, path: str) -> list[dict[str, Any]]:
    """The parts that a path selects, with their pointers."""
    return [{"value": part, "pointer": json_path.pointer(place)} for part, place in _select(path, value, Work())]


def shape_problem(shape: Any) -> Problem:
    """What is wrong with a shape, or null."""
    try:
        _check(shape, 0)
    except _ShapeError as error:
        return _problem(error.path, error.reason, error.at)
    return None


class _ShapeError(PathError):
    def __init__(self, path: str, reason: str, at: int = 0) -> None:
        super().__init__(reason, at)
        self.path = path


def _check(shape: Any, depth: int) -> None:
    """Look at all paths of a shape."""
    if depth > _SHAPE_DEPTH:
        raise _ShapeError("", f"a shape that is nested more than {_SHAPE_DEPTH} deep")
    match shape:
        case str() if shape.startswith("$") and not shape.startswith("$$"):
            _check_path(shape)
        case {"$each": path, "$to": inner} if len(shape) == 2:
            _check_path(path)
            _check(inner, depth + 1)
        case {"$all": path} | {"$count": path} if len(shape) == 1:
            _check_path(path)
        case dict():
            for key, item in shape.items():
                if key.startswith("$") and not key.startswith("$$"):
                    raise _ShapeError(
                        key[:80], 'there are `{"$each": path, "$to": shape}`, `{"$all": path}` and `{"$count": path}`'
                    )
                _check(item, depth + 1)
        case list():
            for item in shape:
                _check(item, depth + 1)


def _check_path(path: Any) -> None:
    if not isinstance(path, str):
        raise _ShapeError("", "a path is a text")
    try:
        json_path_syntax.parse(path)
    except PathError as error:
        raise _ShapeError(path, error.reason, error.at) from None


def shaped(value: Any, shape: Any) -> Any:
    """A value made of parts of another, as a shape says."""
    return _shape(value, shape, Work())


def _shape(value: Any, shape: Any, work: Work) -> Any:
    try:
        work.take()
    except TooMuch:
        _too_much()
    match shape:
        case str() if shape.startswith("$$"):
            return shape[1:]
        case str() if shape.startswith("$"):
            parts = _select(shape, value, work)
            return parts[0][0] if parts else None
        case {"$each": path, "$to": inner}:
            return [_shape(part, inner, work) for part, _ in _select(path, value, work)]
        case {"$all": path}:
            return [part for part, _ in _select(path, value, work)]
        case {"$count": path}:
            return len(_select(path, value, work))
        case dict():
            return {
                key.removeprefix("$") if key.startswith("$$") else key: _shape(value, item, work) for key, item in shape.items()
            }
        case list():
            return [_shape(value, item, work) for item in shape]
    return shape


def _select(path: str, value: Any, work: Work) -> list[json_path.Part]:
    try:
        return json_path_syntax.select(path, value, work)
    except TooMuch:
        _too_much()
    except PathError:
        return []


def _too_much() -> NoReturn:
    raise Fault(FaultKind.TOO_LARGE, f"a path that looks at more than {json_path.MAX_WORK:,} parts of a value")


def _problem(path: str, reason: str, at: int) -> Problem:
    return {"path": path[:200], "reason": reason, "at": at}


def _keys(pointer: str) -> list[str]:
    if not pointer.startswith("/"):
        return []
    return [key.replace("~1", "/").replace("~0", "~") for key in pointer[1:].split("/")]


def _child(value: Any, key: str) -> list[Any]:
    """The part under a key, as a list of one."""
    if isinstance(value, dict):
        return [value[key]] if key in value else []
    at = _index(value, key) if isinstance(value, list) else None
    return [] if at is None else [value[at]]


def _index(items: list[Any], key: str) -> int | None:
    if _INDEX.fullmatch(key) is None:
        return None
    at = int(key)
    return at if at < len(items) else None


def _under(at: str, key: str) -> str:
    return f"{at}/{key.replace('~', '~0').replace('/', '~1')}"
