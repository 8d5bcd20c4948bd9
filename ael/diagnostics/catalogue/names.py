"""Names, modules and declarations (AEL02xx): code -> title."""

from __future__ import annotations

CODES: dict[str, str] = {}
