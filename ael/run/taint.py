"""Where values came from. Each journaled value has the union of its inputs' sources; nothing takes a source away (features A14).

Sources are named `model:fast`, `tool:fetch`, `file`, `store:notes`. What the run was started with is data, but clean.
"""

from __future__ import annotations

from ael.run.codec import written
from ael.run.run import Run

_CLEAN_LIMIT = 20_000


def unclean(run: Run, value: object) -> bool:
    """Whether `value`, which a model gave, equals no input of the run: then a `trusted` parameter takes it only with an approval."""
    if run.clean is None:
        found: set[str] = set()
        for argument in run.arguments:
            _collect(argument, found)
        run.clean = frozenset(found)
    return written(value).decode() not in run.clean


def _collect(value: object, found: set[str]) -> None:
    """The JSON text of `value` and of all that is in it, up to a number."""
    if len(found) >= _CLEAN_LIMIT:
        return
    found.add(written(value).decode())
    if isinstance(value, dict):
        for item in value.values():
            _collect(item, found)
    elif isinstance(value, list):
        for item in value:
            _collect(item, found)
