"""What a server may want of this side in the middle of a conversation, and who answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Protocol

from ael.data import dataclass


@dataclass(frozen=True, slots=True)
class Elicitation:
    """What a server asks a person. `message` is outside text; `schema` that of the answer; `url`: a page to open instead of a form."""

    message: str
    schema: Mapping[str, object]
    url: str | None = None


@dataclass(frozen=True, slots=True)
class ElicitationReply:
    """What the person said; `content` only where they accepted."""

    action: Literal["accept", "decline", "cancel"]
    content: Mapping[str, object] | None = None


class Listener(Protocol):
    """Who is told what a server says by itself. Called one after another, never while a message is being read."""

    def changed(self, what: str) -> None:
        """A listing is no longer what it was: `tools`, `resources` or `prompts`. Several in a row are told once."""

    async def elicit(self, question: Elicitation) -> ElicitationReply:
        """Ask a person. May take long; is cancelled with the session."""

    def log(self, level: str, text: str) -> None:
        """A line for a log: the server's (bounded outside text), or this side's about what it skipped (`debug`)."""
