"""What `ael new` writes: packs that are kept as they are in `templates`, and get a name.

Each is a folder there, a pack called `new_pack` that checks, tests and runs without a key or a network.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

FOLDER = Path(__file__).resolve().parent / "templates"
NAME = "new_pack"
"""What a template calls its pack."""

TEMPLATES: Mapping[str, str] = MappingProxyType(
    {
        "tool": "a tool written in AEL, and a model that calls it",
        "agent": "nodes joined by edges, with a choice and a way out when something fails",
        "service": "a typed service over a store, without a model",
        "packs": "a program and a pack of its own that it depends on",
        "supervisor": "a model that hands parts of a task to workers",
        "swarm": "peers that hand a task to each other",
        "map_reduce": "parts of a task worked on at the same time, and put together",
        "reflection": "a draft, a critic, and another draft",
        "annealing": "bold changes first, careful ones later, and the best is kept",
        "evolution": "candidates that compete over generations",
        "voting": "several answers, and what most of them say",
        "verifier": "an answer that a condition, a rule and another model check",
        "approval": "a person who decides before something is done",
        "subagent": "an agent inside of another",
    }
)
"""Template -> what it is, for people."""

_README = """\
# NAME

    ael check     reports every problem
    ael test      runs the tests, with scripted models
    ael run .     runs it with the input that it has by itself; flags give it another one
"""

_IGNORE = ".ael/\ndocs-api/\n*.db\n*.db-wal\n*.db-shm\n"


def files(kind: str, name: str) -> dict[str, str]:
    """Path below the new folder -> text, of the template `kind`. Raises `KeyError` for one that there is not."""
    if kind not in TEMPLATES:
        raise KeyError(kind)
    root = FOLDER / kind
    word = re.compile(rf"\b{NAME}\b")
    found = {
        path.relative_to(root).as_posix(): word.sub(name, path.read_text(encoding="utf-8"))
        for path in sorted(root.rglob("*"))
        if path.is_file() and path.suffix in (".ael", ".json")
    }
    return {**found, "README.md": _README.replace("NAME", name), ".gitignore": _IGNORE}
