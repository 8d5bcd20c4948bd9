"""Advice (AEL11xx, warnings): code -> title."""

from __future__ import annotations

CODES: dict[str, str] = {}
