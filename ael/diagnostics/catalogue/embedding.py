"""AEL inside of a Python program (AEL089x): code -> title."""

from __future__ import annotations

CODES: dict[str, str] = {
    "AEL0890": "a Python function that does not fit its tool",
    "AEL0891": "a Python object that does not fit its service",
    "AEL0892": "a Python type that does not fit a result",
    "AEL0893": "something asked of an embedded program that cannot be done",
    "AEL0894": "a server that a client cannot ask",
    "AEL0895": "a method that a server does not offer",
}
