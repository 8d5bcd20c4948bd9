"""Traces, events and secrets: the span tree, metadata by default, sinks that fail, values that never show (A16, K41)."""

from __future__ import annotations

import asyncio
import base64
import json
import pickle
from typing import Any
from urllib.parse import quote

import pytest

from ael.run.bindings import Options
from ael.run.events import (
    NodeStarted,
    Partial,
    RunFinished,
    RunStarted,
    StoreChanged,
    Text,
    ToolFinished,
    ToolStarted,
    TurnFinished,
)
from ael.run.masker import Masker
from ael.run.ports import ModelError, ModelErrorKind, Span
from ael.run.run import Feed
from ael.run.store import MemoryStore
from ael.run.trace import SpanList, child_of, trace_parent
from ael.types.fault import Failure, Fault, FaultKind
from ael.types.spec import StoreSpec
from ael.types.value import Secret
from tests.run.fakes import FakeClock, call, calls, final, model, said
from tests.run.helpers import (
    ORDER,
    TEXT,
    Collected,
    code,
    engine,
    fault_of,
    node,
    operation,
    parameter,
    run,
    tool,
    unit,
    value_of,
)
from tests.run.loops import ASK, Body


def supporting(*replies: Any, **bound: Any) -> Any:
    async def look(k: Any, id: str) -> object:
        return await k.act(0, "main.Orders.get", (id,))

    made = unit(
        tools=[tool("look", look, parameter("id"), result=ORDER)],
        nodes=[node("answer", parameter("q"), tools=["look"])],
        operations={operation("get", parameter("id"), result=ORDER): Body({"id": "A", "total": 1})},
    )
    return engine(made, model(*replies), **bound)


@pytest.mark.feature("A16.2")
def test_the_spans_are_a_tree_of_run_node_turn_tool_and_operation() -> None:
    spans = SpanList()
    outcome = run(
        supporting(calls(call("look", {"id": "A"})), said("done"), sinks=(spans,)), "answer", ASK, Options(caller="c", run="r1")
    )
    assert value_of(outcome) == "done"
    by = {span.sequence: span for span in spans.spans}
    assert sorted(by) == list(range(1, len(by) + 1))
    assert {span.run for span in spans.spans} == {"r1"}

    def line(span: Span) -> str:
        above = "" if span.parent is None else line(by[span.parent]) + " > "
        return f"{above}{span.kind}"

    assert [line(by[n]) for n in sorted(by)] == [
        "run",
        "run > node",
        "run > node > turn",
        "run > node > tool",
        "run > node > tool > operation",
        "run > node > turn",
    ]
    turn = by[3]
    assert (turn.attributes["input"], turn.attributes["output"], turn.attributes["stop"]) == (10, 5, "calls")
    assert all(span.end >= span.start for span in spans.spans)
    assert by[4].taint == ("model:fast",)
    assert by[1].attributes["tool_calls"] == 1


@pytest.mark.feature("A16.2")
def test_content_is_kept_only_where_the_run_asks_for_it() -> None:
    for content in (False, True):
        spans = SpanList()
        options = Options(caller="c", content=content)
        run(supporting(calls(call("look", {"id": "A"})), said("done"), sinks=(spans,)), "answer", ASK, options)
        [called] = [span for span in spans.spans if span.kind == "tool"]
        if content:
            assert called.content == {"arguments": {"id": "A"}, "result": {"id": "A", "total": 1}}
        else:
            assert all(span.content is None for span in spans.spans)
            assert "hello" not in str(spans.spans)


@pytest.mark.feature("A16.3")
def test_a_sink_that_fails_changes_nothing() -> None:
    class Broken:
        def span(self, span: Span) -> None:
            raise OSError("disk full")

    spans = SpanList()
    made = supporting(calls(call("look", {"id": "A"})), said("done"), sinks=(Broken(), spans))
    assert value_of(run(made, "answer", ASK)) == "done"
    assert len(spans.spans) == 6


@pytest.mark.feature("A16.3")
def test_a_listener_that_fails_changes_nothing() -> None:
    def broken(event: Any) -> None:
        raise ValueError("no")

    assert value_of(run(supporting(said("done")), "answer", ASK, Options(caller="c", on_event=broken))) == "done"


def test_a_text_that_looks_like_a_call_and_a_text_beside_a_result_are_flagged() -> None:
    """K15: what the trace says of them."""
    spans = SpanList()
    run(supporting(said('{"name": "look", "arguments": {"id": "A"}}'), sinks=(spans,)), "answer", ASK)
    assert [span.attributes.get("looks_like_call") for span in spans.spans if span.kind == "turn"] == [True]


# --- secrets ----------------------------------------------------------------------------------------------------------------------

TOKEN = "s3cr/t+va lue=="
FORMS = [TOKEN, quote(TOKEN, safe=""), base64.b64encode(TOKEN.encode()).decode(), TOKEN.encode().hex()]


def test_a_secret_has_no_text_form() -> None:
    secret = Secret("TOKEN", TOKEN)
    for shown in (str(secret), repr(secret), f"{secret}", f"{[secret]}"):
        assert TOKEN not in shown
    with pytest.raises(TypeError):
        pickle.dumps(secret)
    with pytest.raises(TypeError):
        json.dumps(secret)


@pytest.mark.parametrize("form", FORMS)
def test_a_secret_is_masked_by_value_wherever_it_comes_out(form: str) -> None:
    """K41: in errors, events, spans and outcomes, in any form; never by the name of a field."""
    spans, events = SpanList(), Collected()

    def leaky() -> str:
        raise ValueError(f"401 for https://user:{form}@host/?key={form}")

    async def main(k: Any) -> object:
        await k.act(0, "std.log", (f"using {form}",))
        return await k.act(1, "main.leaky", ())

    made = unit(tools=[tool("leaky", None)], nodes=[code("main", main)])
    bound = engine(made, externs={"main.leaky": leaky}, secrets={"TOKEN": Secret("TOKEN", TOKEN)}, sinks=(spans,))
    outcome = run(bound, "main", options=Options(caller="c", content=True, on_event=events))
    assert fault_of(outcome).kind is FaultKind.CRASHED
    for shown in (str(outcome), str(spans.spans), str(list(events))):
        assert form not in shown
        assert "***" in shown


def test_a_models_error_text_is_masked_and_bounded() -> None:
    error = ModelError(ModelErrorKind.NOT_AUTHORISED, f"bad key {TOKEN} " + "x" * 10_000)
    outcome = run(supporting(error, secrets={"K": Secret("K", TOKEN)}), "answer", ASK)
    assert TOKEN not in str(outcome)
    assert len(fault_of(outcome).message) < 700


def test_short_values_are_not_masked_everywhere() -> None:
    masker = Masker([Secret("A", "ab"), Secret("B", "longer")])
    assert masker.text("ab longer") == "ab ***"
    assert masker.value({"k": ["longer", 1, None]}) == {"k": ["***", 1, None]}


# --- W3C trace context --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", True),
        (None, False),
        ("junk", False),
        ("00-00000000000000000000000000000000-00f067aa0ba902b7-01", False),
        ("00-4bf92f3577b34da6a3ce929d0e0e473z-00f067aa0ba902b7-01", False),
    ],
)
def test_trace_context_goes_in(given: str | None, kept: bool) -> None:
    made = trace_parent(given)
    version, trace, span, flags = made.split("-")
    assert (version, flags, len(trace), len(span)) == ("00", "01", 32, 16)
    assert (given is not None and trace in given) == kept
    below = child_of(made).split("-")
    assert (below[0], below[1], below[3]) == (version, trace, flags)
    assert below[2] != span


@pytest.mark.feature("A16.1")
def test_a_function_gets_cancellation_and_trace_context() -> None:
    seen: list[Any] = []

    def look(*, call: Any) -> str:
        seen.append(call)
        return "x"

    async def main(k: Any) -> object:
        return await k.act(0, "main.look", ())

    made = unit(tools=[tool("look", None)], nodes=[code("main", main)])
    parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    run(
        engine(made, externs={"main.look": look}),
        "main",
        options=Options(caller="ann", tenant="acme", run="r1", trace_parent=parent),
    )
    [context] = seen
    assert (context.run, context.step, context.tenant, context.caller, context.permission) == (
        "r1",
        "main/look@0",
        "acme",
        "ann",
        "read",
    )
    assert context.trace_parent.split("-")[1] == parent.split("-")[1]
    assert len(context.key) == 32
    assert context.deadline > 0
    assert context.cancelled() is False


# --- events -------------------------------------------------------------------------------------------------------------------------


@pytest.mark.feature("A16.5", "B25")
def test_events_follow_nested_nodes_from_the_start_to_the_end() -> None:
    async def main(k: Any, q: str) -> object:
        return await k.act(0, "main.answer", (q,))

    fake = model(said("hi"))
    made = engine(unit(nodes=[node("answer", parameter("q")), code("main", main, parameter("q"))]), fake)

    async def whole() -> list[Any]:
        started = made.start("main", ASK)
        found = [event async for event in started.events()]
        await started.outcome()
        return found

    events = asyncio.run(whole())
    assert isinstance(events[0], RunStarted)
    assert isinstance(events[-1], RunFinished)
    assert [event.path for event in events if isinstance(event, NodeStarted)] == ["main", "main/answer@0"]
    assert [event.text for event in events if isinstance(event, Text)] == ["hi"]
    assert [event.usage.total for event in events if isinstance(event, TurnFinished)] == [15]


@pytest.mark.feature("A16.5")
def test_tools_tell_how_long_they_took_and_stores_what_changed_in_them() -> None:
    clock = FakeClock()

    async def keep(k: Any) -> str:
        clock.advance(2)
        await k.act(0, "main.notes.get", ("a",))
        await k.act(1, "main.notes.put", ("a", "text"))
        await k.act(2, "main.notes.remove", ("nothing",))
        await k.act(3, "main.notes.remove", ("a",))
        return "kept"

    fake = model(calls(call("keep", {}), text="I keep it."), said("done"))
    events = Collected()
    made = unit(
        tools=[tool("keep", keep, permission="write")],
        nodes=[node("answer", parameter("q"), tools=["keep"])],
        stores=[StoreSpec("main.notes", TEXT, "write")],
    )
    bound = engine(made, fake, clock=clock, stores={"main.notes": MemoryStore()})
    assert value_of(run(bound, "answer", ASK, Options(caller="c", on_event=events))) == "done"
    [started], [finished] = events.of(ToolStarted), events.of(ToolFinished)
    assert (started.path, started.tool) == (finished.path, finished.tool) == ("answer/turn1/call1", "keep")
    assert (finished.ending, finished.seconds) == ("value", 2.0)
    assert [event.text for event in events.of(Text)] == ["I keep it.", "done"]
    changes = [(event.path, event.store, event.operation, event.key) for event in events.of(StoreChanged)]
    assert changes == [
        ("answer/turn1/call1/notes.put@1", "notes", "put", "a"),
        ("answer/turn1/call1/notes.remove@3", "notes", "remove", "a"),
    ], "reading changes nothing, nor does removing what is not there; what was written is told nobody"


@pytest.mark.feature("B1")
def test_a_structured_result_streams_as_partial_values() -> None:
    fake = model(final({"id": "A" * 60, "total": 7}))
    events = Collected()
    made = engine(unit(nodes=[node("answer", parameter("q"), result=ORDER)]), fake)
    assert value_of(run(made, "answer", ASK, Options(caller="c", on_event=events))) == {"id": "A" * 60, "total": 7}
    partials = [event.value for event in events.of(Partial)]
    assert partials
    assert all(set(value) <= {"id", "total"} for value in partials)


def test_a_follower_that_is_late_gets_what_comes_from_then_on_and_then_the_end() -> None:
    made = supporting(said("done"))

    async def whole() -> list[Any]:
        started = made.start("answer", ASK)
        await started.outcome()
        return [event async for event in started.events()]

    assert asyncio.run(whole()) == []


def test_a_slow_follower_loses_text_and_nothing_else() -> None:
    feed = Feed()
    for _ in range(20_000):
        feed.put(Text("r", "p", "x"))
    feed.put(ToolStarted("r", "p", "t"))
    feed.close()

    async def whole() -> list[Any]:
        return [event async for event in feed]

    found = asyncio.run(whole())
    assert len(found) == 10_001
    assert isinstance(found[-1], ToolStarted)
    assert feed.left_out == 10_000


def test_a_failure_is_told_in_the_outcome_with_its_json_form() -> None:
    from ael.run.outcome import to_json

    async def main(k: Any) -> object:
        raise Failure("main.NotFound", {"id": "A"})

    async def broken(k: Any) -> object:
        raise Fault(FaultKind.UNAVAILABLE, "x", retry_after=3)

    made = engine(unit(nodes=[code("main", main), code("broken", broken)]))
    told = to_json(run(made, "main"))
    assert (told["outcome"], told["error"], told["value"]) == ("error", "main.NotFound", {"id": "A"})
    told = to_json(run(made, "broken"))
    assert (told["outcome"], told["kind"], told["details"]) == ("fault", "Unavailable", {"retry_after": 3})
    json.dumps(told)
