"""What a name that is begun may become: commands, words, names of the session, and what stands behind a point."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ael.documenting.names import Names, parts
from ael.repl.commands import HELP
from ael.repl.session import Session
from ael.syntax.words import IS_RESERVED, WORDS
from ael.types.definition import RecordDef
from ael.types.type import Named, Type, UnionType

_BEGUN = re.compile(r"(?:^:|[A-Za-z_])?[\w.]*$")
MOST = 500
"""Names that are offered."""


def begun(line: str) -> str:
    """The part of a line that is being completed: its last name, with what stands before its points."""
    found = _BEGUN.search(line)
    return found[0] if found is not None else ""


def completions(session: Session, line: str) -> list[str]:
    """What the last name of a line may become, in order."""
    word = begun(line)
    if line.lstrip().startswith(":") and " " not in line.lstrip():
        return sorted({f"{text.split()[0]}" for text in HELP if text.startswith(line.lstrip())})
    head, point, last = word.rpartition(".")
    names = _behind(session, head) if point else _all(session)
    lead = f"{head}." if point else ""
    return sorted({f"{lead}{name}" for name in names if name.startswith(last) and not name.endswith("__")})[:MOST]


def _all(session: Session) -> Iterator[str]:
    looked = session.look()
    yield from session.values
    yield from (word for word, kind in WORDS.items() if kind in IS_RESERVED)
    yield from looked.examined.collected.modules[looked.project.main].names


def _behind(session: Session, head: str) -> Iterator[str]:
    looked = session.look()
    kept = session.values.get(head)
    if kept is not None:
        yield from _fields(kept.given.type, looked.examined.collected.definitions)
        return
    if looked.program is None:
        return
    names = Names(looked.program)
    target = names.find(looked.project.main, head)
    if target is None or target.part:
        return
    if not target.qualified:
        yield from (name for name, node in names.declared(target.module).items() if getattr(node, "public", True))
        return
    if target.kind not in ("permission", "role"):
        node = names.declared(target.module)[target.qualified.removeprefix(f"{target.module}.")]
        yield from (name for name, _ in parts(node))


def _fields(type: Type, definitions: object) -> Iterator[str]:
    members = type.members if isinstance(type, UnionType) else (type,)
    for member in members:
        definition = definitions.get(member.name) if isinstance(member, Named) and isinstance(definitions, dict) else None
        if isinstance(definition, RecordDef):
            yield from (field.name for field in definition.fields)
