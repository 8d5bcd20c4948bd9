"""All that compiled code can reach: one flat namespace of functions and constants, and no built-in of Python but the few named here."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import Decimal
from types import ModuleType

from ael.lower.abi import acting, equality, fault, json, list, number, size, test, text, time
from ael.lower.unit import Halt
from ael.types.fault import Failure, Fault, Uncertain
from ael.types.text import text_of
from ael.types.value import File

_MODULES: tuple[ModuleType, ...] = (fault, size, text, list, equality, number, time, json, acting, test)
_PREFIXES = (
    "string_", "list_", "map_", "int_", "float_", "decimal_", "timestamp_", "date_", "duration_", "json_", "bytes_", "std_", "turn_",
)  # fmt: skip
_OTHERS = frozenset({
    "int_too_large", "float_too_large", "text_too_large", "too_deep", "loop_limit", "item", "unmatched", "assertion_failed",
    "again_fault", "again_uncertain", "fault_kind", "ending_of", "ending_value", "NATIVE", "INT_LOW", "INT_HIGH",
    "FLOAT_LOW", "FLOAT_HIGH", "TEXT_MAX", "LOOP_MAX", "UNSEEN", "spans", "chunks", "push", "push_all", "turns", "too_many", "ENTRIES_MAX",
    "indexed_chunks", "field", "without_null", "in_order", "kind_of", "among", "same", "check", "to_json", "float_text",
})  # fmt: skip
_NOT = frozenset({"json_form", "decimal_text", "decimal_within"})
_PYTHON: dict[str, object] = {
    "len": len, "range": range, "enumerate": enumerate, "type": type, "any": any, "all": all, "str": str, "int": int, "float": float,
    "bool": bool, "dict": dict, "NoneType": type(None), "bytes": bytes, "tuple": tuple, "datetime": datetime, "date": date,
    "timedelta": timedelta, "Decimal": Decimal, "File": File, "Fault": Fault, "Failure": Failure, "Uncertain": Uncertain,
    "text_of": text_of,
}  # fmt: skip
_PYTHON["list"] = [].__class__


def namespace(halt: Halt) -> dict[str, object]:
    """The globals of compiled code. `__builtins__` is empty, so that nothing else can be reached by name."""
    found: dict[str, object] = {"__builtins__": {}, "__name__": "ael", fault.MARK: True, "halt": halt.flag.cells, **_PYTHON}
    for module in _MODULES:
        found.update((name, value) for name, value in vars(module).items() if _is_given(name))
    return found


def _is_given(name: str) -> bool:
    return (name in _OTHERS or name.startswith(_PREFIXES)) and name not in _NOT
