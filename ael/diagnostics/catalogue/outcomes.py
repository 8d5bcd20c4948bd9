"""How a run ends (AEL09xx): code -> title."""

from __future__ import annotations

CODES: dict[str, str] = {}
