"""The log sinks and exporters of traces that a deployment names, and the exporter that `--otel` asks for by OpenTelemetry's own variables.

A sink of the program's own is in `ael.hosting.sinks`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol, cast
from urllib.parse import unquote

from ael.hosting.failure import HostError
from ael.hosting.secrets import Secrets
from ael.project.bind_log import address_problem
from ael.project.deployment import Deployment
from ael.project.logs import LinesBinding, OtlpBinding, traces_of
from ael.run.ports import Sink, Span
from ael.types.value import Secret

ENDPOINT, TRACES = "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
HEADERS = ("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS")
_ON = frozenset({"true", "1", "span_only", "span_and_event"})


class Exporter(Sink, Protocol):
    """A sink with an end."""

    def span(self, span: Span) -> None: ...

    def close(self) -> str | None:
        """Send what waits, within a few seconds. A sentence about what was lost, None when nothing was."""


def open_logs(deployment: Deployment, secrets: Secrets, *, otel: bool, service: str) -> list[Exporter]:
    """The sinks of a deployment that are built in. Nothing is loaded of what it does not name.

    Raises `HostError` for a secret that is missing, for `otel` without an address, and without the package.
    """
    written = [_lines(one, deployment) for one in deployment.logs if isinstance(one, LinesBinding)]
    bound = [(one, _headers(one, secrets)) for one in deployment.logs if isinstance(one, OtlpBinding)]
    if otel:
        bound.append(_by_environment(secrets))
    return [*written, *_exporters(bound, service)]


def _lines(binding: LinesBinding, deployment: Deployment) -> Exporter:
    """A sink of JSON Lines. The file is opened with its first entry."""
    kinds = import_module("ael.observe.lines")
    path = Path(deployment.folder, binding.path)
    to = kinds.FileLines(path, most=binding.most, keep=binding.keep) if binding.path else kinds.StderrLines()
    waiting = import_module("ael.observe.waiting").WaitingSink
    return cast(Exporter, waiting(to, level=binding.level, content=binding.content))


def _exporters(bound: list[tuple[OtlpBinding, dict[str, str]]], service: str) -> list[Exporter]:
    if not bound:
        return []
    if find_spec("opentelemetry") is None or find_spec("opentelemetry.exporter") is None:
        raise HostError("AEL0834", "sending traces needs a package: `pip install 'ael-lang[otel]'`")
    make = import_module("ael.observe.otlp").OtlpSink
    service = "" if os.environ.get("OTEL_SERVICE_NAME") else service
    return [
        cast(Exporter, make(traces_of(one.url), headers, content=one.content or captures(os.environ), service=service))
        for one, headers in bound
    ]


def captures(environment: Mapping[str, str]) -> bool:
    """Whether OpenTelemetry's variable asks for content."""
    return environment.get(CONTENT, "").strip().lower() in _ON


def _headers(binding: OtlpBinding, secrets: Secrets) -> dict[str, str]:
    return {**binding.headers, **{name: secrets.get(secret).reveal() for name, secret in binding.secrets.items()}}


def _by_environment(secrets: Secrets) -> tuple[OtlpBinding, dict[str, str]]:
    """Where OpenTelemetry's own variables say. What stands in its headers is masked like every secret."""
    base, exact = os.environ.get(ENDPOINT, ""), os.environ.get(TRACES, "")
    url = exact or base
    if not url:
        note = 'set it, or say it in the deployment: `log = otlp("https://…")`'
        raise HostError("AEL0834", f"`--otel` sends traces to the collector that {ENDPOINT} names, and it is not set", note)
    problem = address_problem(url)
    if problem is not None:
        raise HostError("AEL0834", f"{TRACES if exact else ENDPOINT}: {problem}")
    headers: dict[str, str] = {}
    for pair in next((os.environ[name] for name in HEADERS if os.environ.get(name)), "").split(","):
        name, equals, value = pair.partition("=")
        if equals:
            headers[name.strip()] = unquote(value.strip())
            secrets.known[f"{HEADERS[1]} {name.strip()}"] = Secret(name.strip(), unquote(value.strip()))
    return OtlpBinding(url), headers
