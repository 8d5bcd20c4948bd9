"""Packs, deployments and the command line (AEL08xx): code -> title."""

from __future__ import annotations

CODES: dict[str, str] = {}
