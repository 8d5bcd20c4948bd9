"""The line of a deployment that says where documents are kept: `knowledge = sqlite("knowledge.db")`, `knowledge = memory` or
`knowledge = postgres(secret("KNOWLEDGE_DB"))`."""

from __future__ import annotations

from ael.project.bind_state import State, construct, value
from ael.project.form import FORMS, text_of
from ael.project.knowledge import KnowledgeBinding
from ael.project.literal import Construct
from ael.project.wrong import Wrong
from ael.syntax import nodes as n


def knowledge(state: State, binding: n.Binding) -> None:
    """Where the built-in retrieval of `std/knowledge` keeps its documents. Raises `Wrong`, `NotConstant`."""
    found = construct(binding, ("sqlite", "postgres", "memory"))
    place = value(binding)
    if found.named:
        raise Wrong("AEL0814", f"`{found.name}` has no options here", place, f"it is written {FORMS['knowledge']}")
    match found.name:
        case "sqlite":
            path = text_of(found)
            if path is None or "\0" in path:
                raise Wrong("AEL0814", "`sqlite` takes the path of a file", place, f"it is written {FORMS['knowledge']}")
            made = KnowledgeBinding("sqlite", path)
        case "postgres":
            secret = found.positional[0] if len(found.positional) == 1 else None
            name = text_of(secret) if isinstance(secret, Construct) and secret.name == "secret" else None
            if name is None:
                note = 'write `postgres(secret("NAME"))`, and where it comes from: `secret NAME = env("NAME")`'
                raise Wrong("AEL0815", "the address of a database is a named secret, since it holds a password", place, note)
            state.want(name, place)
            made = KnowledgeBinding("postgres", "", name)
        case _:
            if found.positional:
                raise Wrong("AEL0814", "`memory` takes no path", place)
            made = KnowledgeBinding("memory", "")
    state.natives["knowledge"] = made
