"""Outside data (AEL07xx): code -> title."""

from __future__ import annotations

CODES: dict[str, str] = {
    "AEL0701": "outside data in a trusted parameter",
    "AEL0702": "a parameter that must be trusted",
    "AEL0703": "a release without a reason",
    "AEL0704": "outside data that decides an edge or a call",
}
