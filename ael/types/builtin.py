"""Names that the language brings: built-in types, functions and effects. Signatures of methods are in `ael.check.builtin`."""

from __future__ import annotations

TYPE_NAMES = frozenset(
    {
        *("String", "Int", "Float", "Decimal", "Bool", "Bytes", "Timestamp", "Date", "Duration", "Json", "Unit"),
        *("File", "Secret", "List", "Map", "Fault", "Uncertain"),
    }
)
EFFECTS = {"now": "std.now", "today": "std.today", "new_id": "std.new_id", "random_int": "std.random_int", "log": "std.log"}
"""Built-in effects: the name in a program -> the name in `Frame.act`."""
