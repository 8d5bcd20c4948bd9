"""Where in the source a run failed. Only told to whoever runs the program here: it stands in no record and crosses no wire."""

from __future__ import annotations

import linecache
from itertools import islice
from pathlib import PurePath
from types import TracebackType

from ael.lower.abi.fault import MARK

_LIBRARY = ("stdlib", "std")
"""The folders that a module of the standard library is in, wherever AEL is installed."""


def place_of(error: BaseException) -> str:
    """`main.ael:3:5`: the innermost code of the program that an ending came through; "" where there is none, as in a model-driven entry.

    Code of the standard library is meant only where there is no other: what to change is where the program calls it.
    """
    found: TracebackType | None = None
    own = False
    trace = error.__traceback__
    while trace is not None:
        frame = trace.tb_frame
        if MARK in frame.f_globals:
            here = PurePath(frame.f_code.co_filename).parts[-3:-1] != _LIBRARY
            if here or not own:
                found, own = trace, here
        trace = trace.tb_next
    if found is None:
        return ""
    code = found.tb_frame.f_code
    # An instruction of bytecode has two bytes.
    line, _, column, _ = next(islice(code.co_positions(), found.tb_lasti // 2, None), (None, None, None, None))
    if line is None or column is None:
        return f"{code.co_filename}:{found.tb_lineno}"
    text = linecache.getline(code.co_filename, line)
    return f"{code.co_filename}:{line}:{len(text.encode()[:column].decode(errors='ignore')) + 1}"
