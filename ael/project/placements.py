"""Where a deployment places services, nodes and edges that do not run in the process: data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from ael.data import dataclass, field


@dataclass(frozen=True)
class PlacementBinding:
    """`service Orders = https("https://…", token: secret("T"))`, `service Orders = process(workers: 4)`.

    `url` and `token` (the name of a secret) of `https` and `grpc`, where `http://` is one without TLS; `authority`, `certificate` and
    `key` are files: whom it trusts instead of the system's authorities, and what it shows of itself. `name`: by which whole name it goes
    there (`warehouse.Orders`), None for the pack's. `workers` of `process`, and `provider`, which of the program's `provide`s they run
    (its qualified name). Times in milliseconds: `connect` to be connected, or for a process to be up; `cooldown` that a circuit stays
    open after so many `failures` in a row.
    `concurrent`: calls under way at once. `node`: the qualified name of what is visited along an edge; None for services and nodes.
    `settings`: what else a line says to a `connector`, code of the program (`provider`), for which `url` is whatever stands there.
    """

    kind: Literal["https", "grpc", "process", "nats", "postgres", "connector"]
    url: str = ""
    token: str | None = None
    authority: str | None = None
    certificate: str | None = None
    key: str | None = None
    name: str | None = None
    workers: int = 1
    provider: str | None = None
    connect: int = 10_000
    concurrent: int = 64
    failures: int = 5
    cooldown: int = 30_000
    node: str | None = None
    settings: Mapping[str, object] = field(default_factory=dict)
