"""What gets its meaning in a later release (AEL10xx): code -> title."""

from __future__ import annotations

CODES: dict[str, str] = {
    "AEL1004": "a placement that comes later",
    "AEL1006": "packs that depend on packs come later",
}
