"""JSON out of a model's text: code fences, words around it, trailing commas. What comes out is read strictly all the same.

Text that ends in the middle is not completed: a list that was cut would pass for a shorter one.

The library is heavy and only needed where a model has neither structured output nor tools: import this module when that happens.
"""

from __future__ import annotations

import re

from json_repair import repair_json

from ael.types.json import JsonError, read
from ael.types.json_place import duplicate_place
from ael.types.limits import DEFAULT_LIMITS, Limits

_FENCE = re.compile(r"```[ \t]*[A-Za-z0-9_-]{0,20}[ \t]*\r?\n(.*?)\r?\n?[ \t]*```", re.DOTALL)
_WHOLE = re.compile(r"```[ \t]*[A-Za-z0-9_-]{0,20}[ \t]*\r?\n(.*)\r?\n[ \t]*```", re.DOTALL)
_OPENING = re.compile(r"[{\[]")
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"?|[{}\[\]]', re.DOTALL)


def repair(text: str, limits: Limits = DEFAULT_LIMITS) -> str:
    """JSON text that `text` means, or `text` itself where nothing can be made of it. Text that is JSON already is unchanged.

    The size and nesting limits hold before anything is repaired: hostile text is given back as it is, for the reader to refuse.
    """
    if _is_json(text, limits):
        return text
    if len(text) > limits.model_output or text.count("[") + text.count("{") > 100 * limits.depth:
        return text
    fenced = [found[1] for pattern in (_WHOLE, _FENCE) if (found := pattern.search(text))]
    for candidate in fenced:
        if _is_json(candidate, limits):
            return candidate
    begin = _OPENING.search(text)
    if begin is None:
        return text
    candidate = next((c for c in fenced if _OPENING.search(c)), text[begin.start() :])
    end = _end(candidate)
    if end is None:
        return text
    candidate = candidate[:end]
    if _is_json(candidate, limits):
        return candidate
    if duplicate_place(candidate.encode("utf-8", "replace")) != ((), 0):
        # the library would keep the last of two keys, so that a check of the first is passed by
        return text
    try:
        repaired = str(repair_json(candidate, ensure_ascii=False))
    except (ValueError, RecursionError):
        return text
    return repaired if repaired and _is_json(repaired, limits) else text


def _end(text: str) -> int | None:
    """Where the first object or list of `text` ends; None where it does not."""
    open_brackets = 0
    begun = False
    for found in _TOKEN.finditer(text):
        match found[0]:
            case "{" | "[":
                open_brackets += 1
                begun = True
            case "}" | "]":
                open_brackets -= 1
                if begun and open_brackets == 0:
                    return found.end()
    return None


def _is_json(text: str, limits: Limits) -> bool:
    try:
        read(text, limits)
    except JsonError:
        return False
    return True
