"""Matching, errors and faults (AEL04xx): code -> title."""

from __future__ import annotations

CODES: dict[str, str] = {}
