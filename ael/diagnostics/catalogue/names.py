"""Names, modules and declarations (AEL02xx): code -> title."""

from __future__ import annotations

CODES: dict[str, str] = {
    "AEL0201": "a name stands twice",
    "AEL0202": "an unknown name",
    "AEL0203": "an unknown type or error",
    "AEL0204": "a name that belongs to the language",
    "AEL0205": "a module that has no such name",
    "AEL0206": "a name that its module keeps to itself",
    "AEL0208": "a name in the wrong style",
    "AEL0210": "a type that never ends",
    "AEL0211": "a constant that needs itself",
    "AEL0213": "a name of another kind",
    "AEL0214": "an unknown variant or operation",
    "AEL0215": "a word with a meaning of its own here",
    "AEL0216": "a tool or node without a result",
}
