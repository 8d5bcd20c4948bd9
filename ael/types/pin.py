"""What `ael.lock` keeps of an MCP server: the definitions that the program was checked against, each with its digest."""

from __future__ import annotations

from collections.abc import Mapping

from ael.data import dataclass, field

FILE = "ael.lock"
"""Beside `pack.ael`, or beside the main file where there is no pack."""


@dataclass(frozen=True)
class Pin:
    """A definition as the server listed it, whole: name, description, schemas, annotations and whatever else it said.

    `sha256` is `pin_digest` of it: the order of keys and blanks do not count, everything else does (mcp.md: "Pins are by the
    canonical hash of a whole definition").
    """

    name: str
    definition: Mapping[str, object]
    sha256: str


@dataclass(frozen=True)
class ServerPins:
    """The pinned definitions of one server, by wire name, and what the listing depended on: protocol and client's capabilities."""

    protocol: str = ""
    capabilities: Mapping[str, object] = field(default_factory=dict)
    server: Mapping[str, object] = field(default_factory=dict)
    tools: Mapping[str, Pin] = field(default_factory=dict)
    prompts: Mapping[str, Pin] = field(default_factory=dict)


Pins = Mapping[str, ServerPins]
"""By the qualified name of the `mcp` declaration (`main.crm`)."""


def pin_digest(definition: Mapping[str, object]) -> str:
    """SHA-256 of a definition, hexadecimal, over its canonical JSON."""
    # Every check names the types of this module; only programs whose servers are pinned write JSON.
    from ael.types.canonical import digest

    return digest(definition)


def pin(definition: Mapping[str, object]) -> Pin:
    """The pin of a definition as listed, which has a `name` that is text."""
    return Pin(str(definition["name"]), definition, pin_digest(definition))
