"""Types and expressions (AEL03xx): code -> title."""

from __future__ import annotations

CODES: dict[str, str] = {
    "AEL0301": "a value of the wrong type",
    "AEL0302": "a bound that the type does not take",
    "AEL0303": "the wrong type arguments",
    "AEL0304": "a union whose members cannot be told apart",
    "AEL0305": "an unknown field or function of a value",
    "AEL0306": "a missing argument",
    "AEL0307": "an argument that has no place",
    "AEL0308": "too many arguments",
    "AEL0309": "something that cannot be called",
    "AEL0310": "an operator or function that does not take this",
    "AEL0311": "a value without a text form",
    "AEL0312": "a comparison that is always the same",
    "AEL0313": "a value that may be null",
    "AEL0314": "a type that nothing says",
    "AEL0315": "no constant",
    "AEL0316": "a change of what does not change",
    "AEL0317": "an end without a value",
    "AEL0318": "a jump out of no loop",
    "AEL0319": "a loop without a bound",
    "AEL0320": "a loop over what has no items",
    "AEL0321": "data that cannot be data",
    "AEL0323": "something that has its place elsewhere",
    "AEL0324": "something without an index",
    "AEL0325": "a failing function where its failures are lost",
    "AEL0326": "nested too deep",
}
