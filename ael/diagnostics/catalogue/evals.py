"""Evaluations (AEL095x): code -> title."""

from __future__ import annotations

CODES: dict[str, str] = {
    "AEL0950": "a line of an evaluation of the wrong form",
    "AEL0951": "an evaluation that names what the program has not",
    "AEL0952": "cases that cannot be read",
    "AEL0953": "a case that does not fit",
    "AEL0954": "an evaluation that could change something outside",
    "AEL0955": "results or a baseline that cannot be used",
}
