"""Advice (AEL11xx, warnings): code -> title."""

from __future__ import annotations

CODES: dict[str, str] = {
    "AEL1121": "a description that does not say when to call",
    "AEL1122": "a description with blanks around it",
    "AEL1123": "a grant that nothing needs",
    "AEL1124": "zero refuses everything",
    "AEL1125": "nothing to release",
    "AEL1126": "instructions that forbid a tool",
    "AEL1127": "a node that can call itself",
}
