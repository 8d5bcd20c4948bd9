"""What gets its meaning in a later release (AEL10xx): code -> title."""

from __future__ import annotations

CODES: dict[str, str] = {
    "AEL1004": "a log sink that comes later",
}
