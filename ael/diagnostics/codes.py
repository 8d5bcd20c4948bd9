"""All diagnostic codes with their titles. A code is never reused and never changes its meaning."""

from __future__ import annotations

from ael.diagnostics.catalogue import (
    agents,
    commands,
    documenting,
    effects,
    embedding,
    evals,
    failures,
    lints,
    names,
    nodes,
    outcomes,
    packs,
    project,
    prompt,
    servers,
    serving,
    syntax,
    taint,
    types,
)

AREAS = (
    syntax,
    names,
    types,
    failures,
    effects,
    nodes,
    agents,
    taint,
    project,
    packs,
    embedding,
    commands,
    servers,
    serving,
    outcomes,
    evals,
    lints,
    documenting,
    prompt,
)
"""The areas that codes belong to; the first words of a module's description are its name."""

TITLES: dict[str, str] = {code: title for area in AREAS for code, title in area.CODES.items()}
"""Code (`AEL0203`) -> short title, as its page `docs/errors/AEL0203.md` is headed."""
