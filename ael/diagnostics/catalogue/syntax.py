"""Source text and syntax (AEL00xx, AEL01xx): code -> title."""

from __future__ import annotations

CODES: dict[str, str] = {}
