"""All cases, in the order of the page."""

from __future__ import annotations

from tests.attacks.case import Case
from tests.attacks.table import approvals, arguments, helpers, memory, naming, outside, programs, reading, secrets, trusted, turns

CASES: tuple[Case, ...] = (
    *reading.CASES,
    *trusted.CASES,
    *naming.CASES,
    *arguments.CASES,
    *approvals.CASES,
    *turns.CASES,
    *memory.CASES,
    *helpers.CASES,
    *programs.CASES,
    *outside.CASES,
    *secrets.CASES,
)
