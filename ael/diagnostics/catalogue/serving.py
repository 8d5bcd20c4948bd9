"""Serving a program (AEL087x): code -> title."""

from __future__ import annotations

CODES: dict[str, str] = {
    "AEL0870": "a program that is not served",
    "AEL0871": "nothing to serve",
    "AEL0872": "a server that is open to everybody",
    "AEL0873": "a server that cannot listen",
    "AEL0874": "packages for serving are missing",
    "AEL0875": "a token that can be guessed",
    "AEL0876": "two callers with one token",
    "AEL0877": "two methods by one name",
    "AEL0878": "a certificate that cannot be used",
}
