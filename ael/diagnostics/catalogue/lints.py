"""Advice (AEL11xx, warnings): code -> title."""

from __future__ import annotations

CODES: dict[str, str] = {
    "AEL1101": "a local that is never read",
    "AEL1102": "an import that is never used",
    "AEL1103": "code that is never reached",
    "AEL1104": "an arm that is never taken",
    "AEL1105": "a `try` with nothing to pass on",
    "AEL1106": "a value that is not used",
    "AEL1121": "a description that does not say when to call",
    "AEL1122": "a description with blanks around it",
    "AEL1123": "a grant that nothing needs",
    "AEL1124": "zero refuses everything",
    "AEL1125": "nothing to release",
    "AEL1126": "instructions that forbid a tool",
    "AEL1127": "a node that can call itself",
    "AEL1128": "a file of instructions with `${` in it",
    "AEL1129": "a skill that no node of the agent uses",
}
