"""Source text and syntax (AEL00xx, AEL01xx): code -> title."""

from __future__ import annotations

CODES: dict[str, str] = {
    "AEL0001": "a control character in the source",
    "AEL0002": "a character that changes the direction of text",
    "AEL0003": "a string without an end",
    "AEL0004": "not a number",
    "AEL0005": "a name that is not ASCII",
    "AEL0006": "a character that means nothing here",
    "AEL0007": "a bracket without its other half",
    "AEL0008": "too deep",
    "AEL0009": "a block string that is not indented as its closing quotes",
    "AEL0010": "not an escape",
    "AEL0101": "something else was expected",
    "AEL0102": "a reserved word as a name",
    "AEL0103": "a text that must be plain",
    "AEL0104": "given twice",
    "AEL0105": "`per` where it has no meaning",
}
