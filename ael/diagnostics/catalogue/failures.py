"""Matching, errors and faults (AEL04xx): code -> title."""

from __future__ import annotations

CODES: dict[str, str] = {
    "AEL0401": "a call that can fail stands alone",
    "AEL0402": "a failure that is not listed",
    "AEL0403": "nobody faces `Uncertain`",
    "AEL0404": "a `catch` that leaves something",
    "AEL0405": "a `match` that leaves something out",
    "AEL0406": "a pattern that never matches",
    "AEL0407": "a cancellation cannot be caught",
    "AEL0408": "`fails` lists what is no error",
    "AEL0409": "`fail` without an error",
    "AEL0410": "a pattern that cannot stand here",
    "AEL0411": "alternatives that bind different names",
    "AEL0412": "a compensation that can fail, leaves its block, or stands last",
    "AEL0413": "a table that leaves something open",
    "AEL0414": "two rows of a table that hold at once",
}
