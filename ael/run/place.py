"""Where in the source a run failed. Only told to whoever runs the program here: it stands in no record and crosses no wire."""

from __future__ import annotations

import linecache
from itertools import islice
from types import TracebackType

from ael.lower.abi.fault import MARK


def place_of(error: BaseException) -> str:
    """`main.ael:3:5`: the innermost code of the program that an ending came through; "" where there is none, as in a model-driven entry."""
    found: TracebackType | None = None
    trace = error.__traceback__
    while trace is not None:
        if MARK in trace.tb_frame.f_globals:
            found = trace
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
