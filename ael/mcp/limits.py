"""How much an MCP server may send, and how long this side waits for what it needs by itself."""

from __future__ import annotations

from ael.data import dataclass

KIB = 1_024
MIB = 1_024 * KIB


@dataclass(frozen=True, slots=True)
class SessionLimits:
    """Sizes in bytes after decompression, counts, and seconds.

    Measured on real servers: listings of up to 2.2 MB and schemas of 88 KB; none paginates; three print noise on their output.
    """

    message: int = 4 * MIB
    """The longest single message."""
    answer: int = 16 * MIB
    """All that may come in answer to one request, its notifications included."""
    pages: int = 200
    tools: int = 10_000
    listing: int = 32 * MIB
    """A listing: pages, definitions, and bytes over all pages."""
    noise: int = 256 * KIB
    noise_lines: int = 1_000
    """What a child process may print between two messages that is no message."""
    unasked: int = 100_000
    """Messages between two answers that are none: a server that never stops talking is left."""
    rounds: int = 10
    """How often one call may ask a person before it has to end."""
    asking: int = 8
    replies: int = 64
    """Questions to a person, and answers to the server's own requests, that are under way at once; more are refused, or dropped."""
    probe: float = 10.0
    """How long the first word in the newer protocol is waited for before the older one is tried beside it."""
    closing: float = 2.0
    """A child process has ended after this time, whatever it does."""
    resumes: int = 3
    """How often in a row a broken stream is taken up again without anything new having come."""


DEFAULT_SESSION_LIMITS = SessionLimits()
