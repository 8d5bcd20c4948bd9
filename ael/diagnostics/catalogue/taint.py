"""Outside data (AEL07xx): code -> title."""

from __future__ import annotations

CODES: dict[str, str] = {}
