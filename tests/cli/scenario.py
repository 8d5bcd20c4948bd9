"""How a message comes to be told by the command line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Scenario:
    """Files, the words of the command line, and the environment; `exit_code` is what it ends with.

    `before` are the words of a command that goes before, after which the files `changed` are written. `stdin` is what is typed.
    """

    files: Mapping[str, str]
    words: tuple[str, ...]
    exit_code: int = 2
    environment: Mapping[str, str] = field(default_factory=dict)
    before: tuple[str, ...] = ()
    changed: Mapping[str, str] = field(default_factory=dict)
    stdin: str = ""
