"""Permissions, grants and repeat safety (AEL05xx): code -> title."""

from __future__ import annotations

CODES: dict[str, str] = {
    "AEL0501": "no such permission",
    "AEL0503": "a permission that includes itself",
    "AEL0504": "no such role",
    "AEL0506": "not the right number of permissions",
    "AEL0507": "a tool whose body needs more than its permission",
    "AEL0508": "a tool whose permission the node is not granted",
    "AEL0509": "code of a node that needs more than its grants",
    "AEL0510": "a node that is granted more than the one that calls it",
    "AEL0511": "a provider whose code needs more than its grants",
    "AEL0512": "no repeat safety",
    "AEL0513": "idempotent over something weaker",
    "AEL0514": "retries of what must not be repeated",
    "AEL0515": "parallel on a tool that writes or must not be repeated",
    "AEL0516": "said twice",
    "AEL0517": "a clause that has no meaning here",
    "AEL0518": "a Python module that the pack does not allow",
    "AEL0519": "not a Python function",
    "AEL0521": "retries of the wrong form",
}
