"""OpenTelemetry: what a real collector on this machine gets from real runs, and what a broken one may do to them."""

from __future__ import annotations

import asyncio
import gzip
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span as Received

from ael.observe.otlp import QUEUE, OtlpSink
from ael.run.bindings import Options
from ael.run.ports import Span
from ael.run.trace import SpanList
from ael.types.value import Secret
from tests.run.fakes import call, calls, said
from tests.run.helpers import code, engine, run, tool, unit, value_of
from tests.run.test_trace import supporting

TRACE, ABOVE = "a" * 32, "b" * 16
ASK = {"q": "hello"}


class Collector:
    """Takes OTLP over HTTP, as the OpenTelemetry Collector does."""

    def __init__(self, status: int = 200) -> None:
        self.spans: list[Received] = []
        self.headers: list[dict[str, str]] = []
        self.resources: list[dict[str, str]] = []
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                data = self.rfile.read(int(self.headers["Content-Length"]))
                if self.headers.get("Content-Encoding") == "gzip":
                    data = gzip.decompress(data)
                collector.take(self.path, {name.lower(): value for name, value in self.headers.items()}, data)
                self.send_response(status)
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                """Nothing is printed."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self.thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}/v1/traces"

    def take(self, path: str, headers: dict[str, str], data: bytes) -> None:
        assert path == "/v1/traces"
        self.headers.append(headers)
        for resource in ExportTraceServiceRequest.FromString(data).resource_spans:
            self.resources.append({one.key: one.value.string_value for one in resource.resource.attributes})
            self.spans += [span for scope in resource.scope_spans for span in scope.spans]

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


@pytest.fixture
def collector() -> Iterator[Collector]:
    made = Collector()
    yield made
    made.close()


def sink(url: str, *, content: bool = False, headers: Any = None) -> OtlpSink:
    return OtlpSink(url, headers or {}, content=content, service="desk")


def told(span: Received) -> dict[str, object]:
    found: dict[str, object] = {}
    for one in span.attributes:
        kind = one.value.WhichOneof("value")
        value = getattr(one.value, kind)
        found[one.key] = [item.string_value for item in value.values] if kind == "array_value" else value
    return found


@pytest.mark.feature("B19")
def test_a_run_arrives_in_the_words_of_the_conventions(collector: Collector) -> None:
    out = sink(collector.url, headers={"x-team": "desk"})
    replies = (calls(call("look", {"id": "A"}, id="call_77")), said("done"))
    options = Options(caller="c", run="r1", trace_parent=f"00-{TRACE}-{ABOVE}-01")
    assert value_of(run(supporting(*replies, sinks=(out,)), "answer", ASK, options)) == "done"
    assert out.close() is None
    by = {span.name: span for span in collector.spans}
    assert set(by) == {
        "invoke_workflow answer",
        "invoke_agent answer",
        "chat fast-1",
        "execute_tool look",
        "operation Orders.get",
    }
    assert {span.trace_id.hex() for span in collector.spans} == {TRACE}
    root, agent, tooling = by["invoke_workflow answer"], by["invoke_agent answer"], by["execute_tool look"]
    assert root.parent_span_id.hex() == ABOVE
    assert agent.parent_span_id == root.span_id
    assert tooling.parent_span_id == agent.span_id
    assert by["operation Orders.get"].parent_span_id == tooling.span_id
    chat = [span for span in collector.spans if span.name == "chat fast-1"]
    assert [(span.kind, span.parent_span_id) for span in chat] == [(Received.SPAN_KIND_CLIENT, agent.span_id)] * 2
    assert told(chat[0]) | {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "fake",
        "gen_ai.request.model": "fast-1",
        "gen_ai.response.model": "fast-1",
        "gen_ai.response.finish_reasons": ["tool_call"],
        "gen_ai.usage.input_tokens": 10,
        "gen_ai.usage.output_tokens": 5,
        "gen_ai.conversation.id": "r1",
    } == told(chat[0])
    assert told(agent) | {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "answer"} == told(agent)
    assert told(tooling) | {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "look",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": "call_77",
        "ael.taint": ["model:fast"],
    } == told(tooling)
    assert all(span.end_time_unix_nano >= span.start_time_unix_nano > 0 for span in collector.spans)
    assert collector.headers[0]["x-team"] == "desk"
    assert collector.resources[0]["service.name"] == "desk"


@pytest.mark.feature("B19")
def test_content_goes_out_only_where_this_sink_asks_for_it(collector: Collector) -> None:
    bare, full, local = sink(collector.url), sink(collector.url, content=True), SpanList()
    replies = (calls(call("look", {"id": "A"})), said("done and told"))
    options = Options(caller="c", content=True)
    run(supporting(*replies, sinks=(bare, full, local)), "answer", ASK, options)
    assert bare.close() is None
    assert all(not any("messages" in key or "arguments" in key for key in told(span)) for span in collector.spans)
    collector.spans.clear()
    assert full.close() is None
    [tooling] = [span for span in collector.spans if span.name == "execute_tool look"]
    assert told(tooling)["gen_ai.tool.call.arguments"] == '{"id": "A"}'
    assert told(tooling)["gen_ai.tool.call.result"] == '{"id": "A", "total": 1}'
    assert any("done and told" in str(told(span).get("gen_ai.output.messages")) for span in collector.spans)
    assert any(span.content for span in local.spans), "what is printed here goes by the run's own word"


def test_a_failure_has_its_type_and_no_secret_goes_out(collector: Collector) -> None:
    def leaky() -> str:
        raise ValueError("401 for tok-12345")

    async def main(k: Any) -> object:
        return await k.act(0, "main.leaky", ())

    out = sink(collector.url, content=True)
    made = engine(
        unit(tools=[tool("leaky", None)], nodes=[code("main", main)]),
        externs={"main.leaky": leaky}, secrets={"T": Secret("T", "tok-12345")}, sinks=(out,),
    )  # fmt: skip
    run(made, "main")
    assert out.close() is None
    assert {span.name: told(span).get("error.type") for span in collector.spans} == {
        "execute_tool leaky": "fault", "invoke_agent main": "fault", "invoke_workflow main": "fault",
    }  # fmt: skip
    assert "tok-12345" not in str(collector.spans)


def test_a_call_names_its_own_span_to_the_other_side(collector: Collector) -> None:
    heard: list[str] = []

    def send(*, call: Any) -> str:
        heard.append(call.trace_parent)
        return "sent"

    async def main(k: Any) -> object:
        return await k.act(0, "main.send", ())

    out = sink(collector.url)
    made = engine(unit(tools=[tool("send", None)], nodes=[code("main", main)]), externs={"main.send": send}, sinks=(out,))
    run(made, "main", None, Options(caller="c", trace_parent=f"00-{TRACE}-{ABOVE}-01"))
    assert out.close() is None
    [sent] = [span for span in collector.spans if span.name == "execute_tool send"]
    assert heard == [f"00-{TRACE}-{sent.span_id.hex()}-01"]


def test_each_execution_of_a_run_is_in_the_same_trace() -> None:
    traces = set()
    for _ in range(2):
        spans = SpanList()
        run(supporting(said("done"), sinks=(spans,)), "answer", ASK, Options(caller="c", run="r9"))
        traces |= {span.trace for span in spans.spans}
    assert len(traces) == 1


def some(number: int) -> Span:
    return Span("r1", number, None, "node", "n", "main", 1.0, 2.0, "value", trace=TRACE, id=f"{number:016x}")


@pytest.mark.parametrize("status", [400, 500])
def test_a_collector_that_refuses_is_told_of_and_changes_no_run(status: int) -> None:
    refusing = Collector(status)
    try:
        out = sink(refusing.url)
        assert value_of(run(supporting(said("done"), sinks=(out,)), "answer", ASK)) == "done"
        lost = out.close()
        assert lost == f"3 of 3 spans did not reach {refusing.url}"
    finally:
        refusing.close()


def test_a_collector_that_never_answers_holds_up_nothing_and_the_end_for_two_seconds() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        out = sink(f"http://127.0.0.1:{silent.getsockname()[1]}/v1/traces")

        async def flood() -> str | None:
            for number in range(1, QUEUE * 2):
                out.span(some(number))
            return await asyncio.to_thread(out.close)

        lost = asyncio.run(flood())
        # It went on without the exporter, which still waits for an answer.
        assert "ael-otlp-close" in [thread.name for thread in threading.enumerate()]
        assert lost is not None
        assert lost.startswith("16,383 of 16,383 spans did not reach")


def test_what_a_run_saw_again_in_its_journal_is_not_sent_again(collector: Collector) -> None:
    out = sink(collector.url)
    again = Span("r1", 1, None, "turn", "m.fast", "main/turn1", 1.0, 2.0, "value", (), {"replayed": True}, None, TRACE, ABOVE)
    out.span(again)
    out.span(some(2))
    assert out.close() is None
    assert [span.name for span in collector.spans] == ["invoke_agent n"]
