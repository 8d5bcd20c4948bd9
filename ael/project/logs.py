"""Where a deployment sends the traces of its runs: data."""

from __future__ import annotations

from collections.abc import Mapping

from ael.data import dataclass, field


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


def traces_of(url: str) -> str:
    """The URL that traces go to, as OpenTelemetry makes it of a collector's."""
    path = "/v1/traces"
    return url if url.rstrip("/").endswith(path) else url.rstrip("/") + path
