"""JSON text without white space, by the standard library's encoder made once: it is made anew for each call of `json.dumps` and of
`JSONEncoder.encode`, which for the small values of a journal costs more than the writing."""

from __future__ import annotations

import json
from collections.abc import Callable
from json import encoder


def writer(default: Callable[[object], object] | None = None, *, sort: bool = False) -> Callable[[object], str]:
    """A function that gives the text of a value; `default` gives the form of what has no JSON type, `sort` orders the keys.

    It raises `ValueError` for a number that is not finite, `TypeError` for what it does not know, `RecursionError` for a cycle.
    """
    whole = json.JSONEncoder(
        ensure_ascii=False, allow_nan=False, check_circular=False, separators=(",", ":"), sort_keys=sort, default=default
    )
    make = getattr(encoder, "c_make_encoder", None)
    if make is None:  # an interpreter without it
        return whole.encode
    parts = make(None, whole.default, encoder.encode_basestring, None, ":", ",", sort, False, False)
    return lambda value: "".join(parts(value, 0))
