"""Where a deployment keeps what a program can look up: data."""

from __future__ import annotations

from typing import Literal

from ael.data import dataclass

DEFAULT_PATH = ".ael/knowledge.db"
"""Where documents are kept that a deployment says nothing of, below its folder."""


@dataclass(frozen=True)
class KnowledgeBinding:
    """`knowledge = sqlite("knowledge.db")`, `knowledge = postgres(secret("KNOWLEDGE_DB"))` or `knowledge = memory`.

    `path` is relative to the deployment's folder; `secret` names the address of a PostgreSQL database.
    """

    kind: Literal["sqlite", "postgres", "memory"] = "sqlite"
    path: str = DEFAULT_PATH
    secret: str = ""
