"""Nodes, policies, budgets, models (AEL06xx): code -> title."""

from __future__ import annotations

CODES: dict[str, str] = {}
