"""Spans to an OpenTelemetry collector, by the GenAI semantic conventions, over OTLP/HTTP: the one module that loads OpenTelemetry.

Export never holds up a run: spans wait in a bounded queue, a thread of the SDK sends them, and what does not fit is left out and counted.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping, Sequence

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, TraceFlags
from opentelemetry.trace.status import Status, StatusCode

from ael import __version__
from ael.observe.genai import Told, told
from ael.run.ports import Span

FLUSH = 2.0
"""Seconds that the end of a program waits for its last spans."""
QUEUE = 8_192
"""Spans that wait at most."""
_BATCH = 512
_DELAY = 1_000
_SCOPE = InstrumentationScope("ael", __version__)
_NANO = 1_000_000_000


class OtlpSink:
    """A sink that sends to `endpoint` (the URL of the traces, `…/v1/traces`). `content`: whether spans carry what was said."""

    def __init__(self, endpoint: str, headers: Mapping[str, str], *, content: bool, service: str) -> None:
        self.content = content
        self.endpoint = endpoint
        # What fails is told once, at the end, by `close`.
        for name in ("opentelemetry.exporter", "opentelemetry.sdk"):
            logger = logging.getLogger(name)
            logger.addHandler(logging.NullHandler())
            logger.propagate = False
        self._counting = _Counting(OTLPSpanExporter(endpoint=endpoint, headers=dict(headers), timeout=10))
        self._processor = BatchSpanProcessor(
            self._counting, max_queue_size=QUEUE, schedule_delay_millis=_DELAY, max_export_batch_size=_BATCH
        )
        self._resource = Resource.create({"service.name": service} if service else {})
        self._calls: dict[tuple[str, str], Sequence[object]] = {}
        self.given = 0

    def span(self, span: Span) -> None:
        """A span ended: it is put into the queue. What a run over its journal saw again was sent by the execution that did it."""
        if span.attributes.get("replayed"):
            return
        self._remember(span)
        self.given += 1
        self._processor.on_end(self._made(span, told(span, self._call_id(span))))

    def close(self) -> str | None:
        """Send what waits, for at most `FLUSH` seconds. What was lost, in a sentence; None when nothing was."""
        closing = threading.Thread(target=self._processor.shutdown, name="ael-otlp-close", daemon=True)
        closing.start()
        closing.join(FLUSH)
        if closing.is_alive():
            # What still waits to try again is told that it is over, so that no thread goes on behind the run.
            self._counting.shutdown()
            closing.join(_LAST)
        lost = self.given - self._counting.sent
        if not lost:
            return None
        return f"{lost:,} of {self.given:,} spans did not reach {self.endpoint}"

    def _made(self, span: Span, what: Told) -> ReadableSpan:
        above = _context(span.trace, span.above) if span.above else None
        status = Status(StatusCode.ERROR, what.error) if what.error else Status(StatusCode.UNSET)
        return ReadableSpan(
            what.name,
            _context(span.trace, span.id),
            above,
            self._resource,
            what.attributes,
            kind=what.kind,
            status=status,
            start_time=int(span.start * _NANO),
            end_time=int(max(span.end, span.start) * _NANO),
            instrumentation_scope=_SCOPE,
        )

    def _remember(self, span: Span) -> None:
        """The ids that the provider gave the calls of a turn: their spans come later."""
        ids = span.attributes.get("call_ids")
        if isinstance(ids, list):
            self._calls[span.run, span.path] = ids
            if len(self._calls) > 1_024:
                del self._calls[next(iter(self._calls))]

    def _call_id(self, span: Span) -> str | None:
        turn, _, last = span.path.rpartition("/")
        ids = self._calls.get((span.run, turn), ())
        number = last.removeprefix("call").partition("~")[0]
        return (
            str(ids[int(number) - 1]) if last.startswith("call") and number.isdecimal() and 0 < int(number) <= len(ids) else None
        )


class _Counting(SpanExporter):
    """Counts what arrived: the SDK reports it nowhere."""

    def __init__(self, inner: SpanExporter) -> None:
        self._inner = inner
        self.sent = 0

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        result = self._inner.export(spans)
        if result is SpanExportResult.SUCCESS:
            self.sent += len(spans)
        return result

    def shutdown(self) -> None:
        self._inner.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return self._inner.force_flush(timeout_millis)


def _context(trace: str, id: str) -> SpanContext:
    return SpanContext(int(trace, 16), int(id, 16), False, TraceFlags(TraceFlags.SAMPLED))


_LAST = 0.25
"""Seconds for an export that was told to stop."""
