"""Permissions, grants and repeat safety (AEL05xx): code -> title."""

from __future__ import annotations

CODES: dict[str, str] = {}
