"""Where a deployment sends what its runs log, and their traces: data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from ael.data import dataclass, field

SINK = "std/log.Sink"
"""The service that a log sink of the program's own provides."""

Level: TypeAlias = Literal["Debug", "Info", "Warning", "Error"]


@dataclass(frozen=True)
class OtlpBinding:
    """`log = otlp("https://collector.example.com", headers: ["x-api-key": secret("KEY")], content: true)`.

    `url`: of the collector, or of its `/v1/traces`. `headers` are texts; `secrets` names of secrets by header. `content`: whether spans
    carry arguments, results and what a model said.
    """

    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict)
    content: bool = False


@dataclass(frozen=True)
class LinesBinding:
    """`log = file("run.jsonl", max: 10MB, keep: 5, level: "info", content: false)`, or `log = stderr(level: "warning")`.

    `path` is relative to the deployment's folder, "" for standard error. `most`: bytes of a file, `keep`: how many older ones stay.
    """

    path: str = ""
    most: int = 0
    keep: int = 0
    level: Level = "Debug"
    content: bool = False


@dataclass(frozen=True)
class SinkBinding:
    """`log = my_sink(level: "warning")`: `provide` is the qualified name of the program's provider of `std/log.Sink`."""

    provide: str
    level: Level = "Debug"
    content: bool = False


LogBinding: TypeAlias = OtlpBinding | LinesBinding | SinkBinding


def traces_of(url: str) -> str:
    """The URL that traces go to, as OpenTelemetry makes it of a collector's."""
    path = "/v1/traces"
    return url if url.rstrip("/").endswith(path) else url.rstrip("/") + path
