"""The span tree of a run: run > node > turn > tool > operation. Metadata, and content where the run opts in; secrets masked by value."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from hashlib import sha256

from ael.data import replace
from ael.run.masker import Masker
from ael.run.ports import Clock, Sink, Span


class Trace:
    """Hands the spans of one run to the sinks as they end. A sink that fails is left out from then on; it never changes the run."""

    __slots__ = ("_clock", "_content", "_mask", "_next", "_run", "_sinks", "_tenant", "above", "context")

    def __init__(
        self,
        run: str,
        sinks: tuple[Sink, ...],
        clock: Clock,
        masker: Masker,
        content: bool,
        parent: str | None = None,
        tenant: str = "",
    ) -> None:
        """`parent`: the W3C `traceparent` that the run was given."""
        self._tenant = tenant
        self._run = run
        self._sinks = list(sinks)
        self._clock = clock
        self._mask = masker
        self._content = content
        self._next = 0
        self.context = trace_parent(parent, run)
        """The `traceparent` of the run itself."""
        self.above = "" if parent is None or _parts(parent) is None else parent.strip().lower()[36:52]
        """The id of the span that the run was started in, where it was told one."""

    def begin(self, kind: str, name: str, path: str, parent: OpenSpan | None) -> OpenSpan:
        """Open a span below `parent`."""
        self._next += 1
        id = self.context[36:52] if self._next == 1 else secrets.token_hex(8)
        return OpenSpan(self, self._next, parent, kind, name, path, self._clock.now(), id)

    def end(self, span: OpenSpan, outcome: str, taint: Iterable[str], content: Mapping[str, object] | None) -> None:
        logged = span.kind == "effect" and span.name == "log"
        wanting = [self._wants(sink, logged) for sink in self._sinks]
        kept = None
        if content is not None and any(wanting):
            kept = {key: self._mask.value(value) for key, value in content.items()}
        attributes = {key: self._mask.value(value) for key, value in span.attributes.items()} if span.attributes else {}
        told = Span(
            self._run,
            span.sequence,
            span.parent,
            span.kind,
            span.name,
            span.path,
            span.start,
            self._clock.now(),
            outcome,
            tuple(sorted(taint)),
            attributes,
            kept,
            self.context[3:35],
            span.id,
            self.above if span.parent is None else span.above,
            self._tenant,
        )
        bare = told if kept is None or all(wanting) else replace(told, content=None)
        for sink, wants in zip(list(self._sinks), wanting, strict=True):
            try:
                sink.span(told if wants else bare)
            except Exception:
                self._sinks.remove(sink)

    def _wants(self, sink: Sink, logged: bool) -> bool:
        """Whether a sink gets the content of a span; `logged`: of what the program logged."""
        said = getattr(sink, "content", self._content)
        return said is True or (said == "log" and logged)


class OpenSpan:
    """A span under way."""

    __slots__ = ("above", "attributes", "id", "kind", "name", "parent", "path", "sequence", "start", "trace")

    def __init__(
        self, trace: Trace, sequence: int, parent: OpenSpan | None, kind: str, name: str, path: str, start: float, id: str
    ) -> None:
        self.trace = trace
        self.sequence = sequence
        self.parent = None if parent is None else parent.sequence
        self.above = "" if parent is None else parent.id
        self.id: str = id
        self.kind = kind
        self.name = name
        self.path = path
        self.start = start
        self.attributes: dict[str, object] = {}

    def end(
        self, outcome: str, taint: Iterable[str] = (), content: Mapping[str, object] | None = None, **attributes: object
    ) -> None:
        """Close the span; `content` is kept only where the run opted in."""
        self.attributes.update(attributes)
        self.trace.end(self, outcome, taint, content)


class SpanList:
    """A sink that keeps spans in memory, for `--trace` and tests."""

    __slots__ = ("spans",)

    def __init__(self) -> None:
        self.spans: list[Span] = []

    def span(self, span: Span) -> None:
        self.spans.append(span)


def trace_parent(parent: str | None, run: str = "") -> str:
    """A W3C `traceparent` for a run: below the one given when that is well-formed, else a new trace.

    The trace of a `run` is the same in each of its executions.
    """
    parts = None if parent is None else _parts(parent)
    trace = sha256(f"ael {run}".encode()).hexdigest()[:32] if run else secrets.token_hex(16)
    return f"00-{trace if parts is None else parts[1]}-{secrets.token_hex(8)}-01"


def _parts(parent: str) -> list[str] | None:
    """The parts of a well-formed `traceparent` that names a trace."""
    parts = parent.strip().lower().split("-")
    if [len(part) for part in parts] != [2, 32, 16, 2] or not all(set(part) <= set("0123456789abcdef") for part in parts):
        return None
    return parts if int(parts[1], 16) else None


def child_of(parent: str, span: OpenSpan | None = None) -> str:
    """A `traceparent` for a call made below `parent`: the same trace, and the id of its span, else a new one."""
    return f"{parent[:36]}{secrets.token_hex(8) if span is None else span.id}{parent[52:]}"
