"""The prompt (AEL091x, of `ael repl`): code -> title."""

from __future__ import annotations

CODES: dict[str, str] = {
    "AEL0911": "an input that is too long",
    "AEL0912": "a function that is to be kept",
}
