"""Types and expressions (AEL03xx): code -> title."""

from __future__ import annotations

CODES: dict[str, str] = {}
