"""What comes back in the chat completions form: every answer is one typed outcome (fault kinds K04, K31 to K35)."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from ael.models.registry import Binding, open_provider
from ael.run.ports import (
    CallStarted,
    FinalDelta,
    ModelError,
    ModelErrorKind,
    ModelProvider,
    ModelTurn,
    ProposedCall,
    Stop,
    TextDelta,
    Usage,
)  # fmt: skip
from ael.types.value import Secret
from tests.models.support import (
    KEY,
    LOOK_UP,
    NUMBER,
    REFUND,
    REPLY,
    completion,
    data,
    delta,
    error_of,
    fragment,
    one,
    spec,
    talk,
    turn_of,
    usage,
)  # fmt: skip
from tests.net.loopback import CLOSE, Answer, Loopback, repeated, stream, whole


def streamed(*values: object, done: bool = True) -> Answer:
    return stream(*data(*values, done=done))


def test_text_streams() -> None:
    result, events, _ = one(
        "openai", streamed(delta(role="assistant", content=""), delta(content="Hel"), delta(content="lo"), delta("stop"), usage())
    )
    assert turn_of(result) == ModelTurn("Hello", (), Stop.DONE, Usage(10, 0, 0, 5, 0), None, None, "m-1", "")
    assert events == [TextDelta("Hel"), TextDelta("lo")]


def test_text_whole() -> None:
    result, events, _ = one("openai", completion(content="Hello"), stream=False)
    assert turn_of(result).text == "Hello"
    assert events == [TextDelta("Hello")]


def test_a_server_that_does_not_stream_though_asked_to() -> None:
    assert turn_of(one("vllm", completion(content="Hello"))[0]).text == "Hello"


def test_parallel_calls_stream_interleaved() -> None:
    """K31."""
    result, events, _ = one(
        "openai",
        streamed(
            delta(tool_calls=[fragment(0, "c1", "look_up", "")]),
            delta(tool_calls=[fragment(1, "c2", "refund", "")]),
            delta(tool_calls=[fragment(0, arguments='{"id":'), fragment(1, arguments="{}")]),
            delta(tool_calls=[fragment(0, arguments='"A-1"}')]),
            delta("tool_calls"),
            usage(),
        ),
        spec(LOOK_UP, REFUND),
    )
    turn = turn_of(result)
    assert turn.calls == (ProposedCall("c1", "look_up", '{"id":"A-1"}'), ProposedCall("c2", "refund", "{}"))
    assert turn.stop is Stop.CALLS
    assert events == [CallStarted("look_up"), CallStarted("refund")]


def test_fragments_that_decide_nothing_are_malformed() -> None:
    """K31: no index, no id, two calls open."""
    answer = streamed(
        delta(tool_calls=[fragment(0, "a", "refund"), fragment(1, "b", "refund")]), delta(tool_calls=[fragment(arguments="{}")])
    )
    error = error_of(one("openai", answer, spec(REFUND))[0], ModelErrorKind.MALFORMED)
    assert error.usage is not None


def test_whole_calls() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "refund", "arguments": "{}"}}
    turn = turn_of(
        one("openai", completion("tool_calls", content=None, tool_calls=[call, {**call, "index": 0}]), spec(REFUND))[0]
    )
    assert turn.calls == (ProposedCall("c1", "refund", "{}"),) * 2


@pytest.mark.parametrize(
    ("reason", "fields", "stop", "detail"),
    [
        ("stop", {"content": "x"}, Stop.DONE, ""),
        ("length", {"content": "x"}, Stop.CUT, ""),
        ("content_filter", {"content": "half"}, Stop.FILTERED, ""),
        ("stop", {"refusal": "I cannot"}, Stop.REFUSED, ""),
        ("brand_new", {"content": "x"}, Stop.UNKNOWN, "the provider says `brand_new`"),
        ("tool_calls", {"content": "x"}, Stop.UNKNOWN, "the provider says `tool_calls` without a call"),
        ("stop", {"content": ""}, Stop.DONE, ""),
        ("stop", {"content": None}, Stop.DONE, ""),
    ],
)
@pytest.mark.parametrize("streams", [True, False])
def test_each_stop_reason_is_one_outcome(reason: str, fields: dict[str, Any], stop: Stop, detail: str, streams: bool) -> None:
    """K33."""
    answer = streamed(delta(**fields), delta(reason), usage()) if streams else completion(reason, **fields)
    turn = turn_of(one("openai", answer, spec(REFUND))[0])
    assert (turn.stop, turn.detail, turn.calls, turn.final) == (stop, detail, (), None)


def test_a_refusal_says_why() -> None:
    turn = turn_of(one("openai", streamed(delta(refusal="I can"), delta(refusal="not"), delta("stop"), usage()))[0])
    assert (turn.stop, turn.text) == (Stop.REFUSED, "I cannot")


def test_stop_with_calls_is_calls() -> None:
    """Several servers say `stop` although they propose calls."""
    turn = turn_of(
        one("vllm", streamed(delta(tool_calls=[fragment(0, "a", "refund", "{}")]), delta("stop"), usage()), spec(REFUND))[0]
    )
    assert turn.stop is Stop.CALLS


def test_a_turn_cut_by_length_is_cut_whatever_the_provider_says() -> None:
    """K32: it says tool_calls, but the tokens are the maximum."""
    answer = streamed(delta(tool_calls=[fragment(0, "a", "look_up", '{"id"')]), delta("tool_calls"), usage(10, 50))
    turn = turn_of(one("openai", answer, spec(LOOK_UP), max_tokens=50)[0])
    assert turn.stop is Stop.CUT
    assert "token maximum" in turn.detail
    whole_call = streamed(delta(tool_calls=[fragment(0, "a", "refund", "{}")]), delta("length"), usage())
    assert turn_of(one("openai", whole_call, spec(REFUND))[0]).stop is Stop.CUT


def test_a_cut_result_is_no_result() -> None:
    """K32: also where the cut text looks whole; a fence may begin it."""
    for text in ('{"value": 3}', '```json\n{"value": 3'):
        turn = turn_of(one("openai", streamed(delta(content=text), delta("length"), usage()), spec(output=NUMBER))[0])
        assert (turn.stop, turn.final) == (Stop.CUT, None)


def test_a_native_result() -> None:
    result, events, _ = one(
        "openai", streamed(delta(content='{"answer":'), delta(content='"x"}'), delta("stop"), usage()), spec(output=REPLY)
    )
    assert (turn_of(result).text, turn_of(result).final) == ("", '{"answer":"x"}')
    assert events == [FinalDelta('{"answer":'), FinalDelta('"x"}')]


def test_a_wrapped_result_is_unwrapped_as_the_text_it_was() -> None:
    """K12: not through a number."""
    big = "9007199254740993000001"
    turn = turn_of(one("openai", completion(content=f' {{ "value" : {big} }} '), spec(output=NUMBER))[0])
    assert turn.final == big


def test_a_result_by_the_final_tool() -> None:
    result, events, _ = one(
        "vllm",
        streamed(
            delta(tool_calls=[fragment(0, "a", "final", '{"answer":"x",')]),
            delta(tool_calls=[fragment(0, arguments='"refunded":true}')]),
            delta("tool_calls"),
            usage(),
        ),
        spec(LOOK_UP, output=REPLY),
    )
    turn = turn_of(result)
    assert (turn.stop, turn.final, turn.calls) == (Stop.DONE, '{"answer":"x","refunded":true}', ())
    assert events == [FinalDelta('{"answer":"x",'), FinalDelta('"refunded":true}')]


def test_a_final_result_beside_calls_and_a_second_one() -> None:
    """A7.13: the first counts; the calls stay, to be refused."""
    calls = [fragment(0, "a", "refund", "{}"), fragment(1, "b", "final", '{"value":1}'), fragment(2, "c", "final", '{"value":2}')]
    turn = turn_of(one("vllm", streamed(delta(tool_calls=calls), delta("tool_calls"), usage()), spec(REFUND, output=NUMBER))[0])
    assert turn.final == "1"
    assert [call.name for call in turn.calls] == ["refund"]


def test_the_final_tool_cut_short_gives_nothing() -> None:
    """K32."""
    answer = streamed(delta(tool_calls=[fragment(0, "b", "final", '{"value":1}')]), delta("length"), usage())
    turn = turn_of(one("vllm", answer, spec(REFUND, output=NUMBER))[0])
    assert (turn.stop, turn.final) == (Stop.CUT, None)


# --- usage


@pytest.mark.parametrize(
    ("reported", "expected"),
    [
        ({"prompt_tokens": 10, "completion_tokens": 5}, Usage(10, 0, 0, 5, 0)),
        ({"prompt_tokens": 100, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 90}}, Usage(10, 90, 0, 5, 0)),
        (
            {"prompt_tokens": 10, "completion_tokens": 50, "completion_tokens_details": {"reasoning_tokens": 40}},
            Usage(10, 0, 0, 10, 40),
        ),
        (
            {"prompt_tokens": 10, "completion_tokens": 5, "prompt_cache_hit_tokens": 8, "prompt_cache_miss_tokens": 2},
            Usage(2, 8, 0, 5, 0),
        ),
        (
            {"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 90}, "total_tokens": 15},
            Usage(0, 10, 0, 5, 0),
        ),
        (
            {"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 90}, "total_tokens": 105},
            Usage(10, 90, 0, 5, 0),
        ),
        (
            {
                "prompt_tokens": 10,
                "completion_tokens": 5,
                "completion_tokens_details": {"reasoning_tokens": 40},
                "total_tokens": 55,
            },
            Usage(10, 0, 0, 5, 40),
        ),
        (
            {
                "prompt_tokens": 100,
                "completion_tokens": 5,
                "prompt_tokens_details": {"cached_tokens": 30, "cache_write_tokens": 60},
            },
            Usage(10, 30, 60, 5, 0),
        ),
        ({"prompt_tokens": None, "completion_tokens": "5"}, Usage(0, 0, 0, 0, 0)),
    ],
)
def test_usage_in_disjoint_classes(reported: dict[str, object], expected: Usage) -> None:
    """K04: each token in one class, none below zero, and their sum is the reported total."""
    got = turn_of(one("openai", completion(content="x", used=reported))[0]).usage
    assert got == expected
    if "total_tokens" in reported:
        assert got is not None
        assert got.total == reported["total_tokens"]


def test_missing_usage_is_estimated_and_marked() -> None:
    """K04."""
    got = turn_of(one("openai", streamed(delta(content="x" * 400), delta("stop")))[0]).usage
    assert got is not None
    assert got.estimated
    assert got.output >= 100
    assert got.input > 10


# --- errors


def failed(status: int, body: object, **headers: str) -> Answer:
    return whole(json.dumps(body).encode(), status=status, **headers)


def message(text: str, **more: object) -> dict[str, object]:
    return {"error": {"message": text, **more}}


@pytest.mark.feature("A7.10", "A8.12", "B3", "B17")
@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (400, message("bad"), ModelErrorKind.BAD_REQUEST),
        (401, message("bad key"), ModelErrorKind.NOT_AUTHORISED),
        (402, message("pay"), ModelErrorKind.NOT_AUTHORISED),
        (403, message("no"), ModelErrorKind.NOT_AUTHORISED),
        (404, message("no such model"), ModelErrorKind.NOT_FOUND),
        (408, message("slow"), ModelErrorKind.UNAVAILABLE),
        (422, message("bad"), ModelErrorKind.BAD_REQUEST),
        (429, message("too fast", type="rate_limit_error"), ModelErrorKind.UNAVAILABLE),
        (429, message("quota", code="insufficient_quota"), ModelErrorKind.UNAVAILABLE),
        (500, message("An unexpected error occurred", type="server_error"), ModelErrorKind.UNAVAILABLE),
        (500, message("[json.exception.parse_error.101] parse error", code=500, type="server_error"), ModelErrorKind.BAD_REQUEST),
        (500, message("Failed to parse input at pos 12", code=500, type="server_error"), ModelErrorKind.MALFORMED),
        (501, message("not supported", type="not_supported_error"), ModelErrorKind.BAD_REQUEST),
        (502, "bad gateway", ModelErrorKind.UNAVAILABLE),
        (503, message("loading", type="unavailable_error"), ModelErrorKind.UNAVAILABLE),
        (529, message("Overloaded"), ModelErrorKind.UNAVAILABLE),
        (302, {}, ModelErrorKind.BAD_REQUEST),
        (413, message("large"), ModelErrorKind.OVERFLOW),
        (418, {"detail": "teapot"}, ModelErrorKind.BAD_REQUEST),
    ],
)
def test_each_status_is_one_kind_and_one_request(status: int, body: object, kind: ModelErrorKind) -> None:
    """K34: only what is temporary may be tried again, and never here: there is exactly one request."""
    error = error_of(one("openai", failed(status, body))[0], kind)
    assert error.status == status
    assert error.usage is None


@pytest.mark.parametrize(
    ("text", "more", "limit"),
    [
        ("This model's maximum context length is 128000 tokens. However, your messages resulted in 130001 tokens.",
         {"code": "context_length_exceeded"}, 128000),
        ("request (20004 tokens) exceeds the available context size (2048 tokens), try increasing it",
         {"type": "exceed_context_size_error", "n_prompt_tokens": 20004, "n_ctx": 2048}, 2048),
        ("prompt is too long: 210000 tokens > 200000 maximum", {}, 200000),
        ("This model's maximum context length is 4,096 tokens. However, you requested 5,000 tokens", {}, 4096),
        ("the context window is full", {}, None),
    ],
)  # fmt: skip
def test_an_overflow_tells_the_window(text: str, more: dict[str, object], limit: int | None) -> None:
    """K36: typed, so that it is not sent again unchanged."""
    error = error_of(one("openai", failed(400, message(text, **more)))[0], ModelErrorKind.OVERFLOW)
    assert error.limit == limit


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry_after": "7"}, 7.0),
        ({"retry_after": "0.5"}, 0.5),
        ({"retry_after_ms": "1500", "retry_after": "9"}, 1.5),
        ({"retry_after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({"retry_after": "soon"}, None),
        ({"retry_after": "-5"}, None),
        ({"retry_after": "Wed, 99 Oct 2015 07:28:00 GMT"}, None),
        ({}, None),
        ({"retry_after": "999999999"}, 86400.0),
    ],
)
def test_retry_after(headers: dict[str, str], seconds: float | None) -> None:
    assert error_of(one("openai", failed(429, {}, **headers))[0], ModelErrorKind.UNAVAILABLE).retry_after == seconds


def test_retry_after_as_a_date_in_the_future() -> None:
    error = error_of(one("openai", failed(503, {}, retry_after="Fri, 01 Jan 2100 00:00:00 GMT"))[0], ModelErrorKind.UNAVAILABLE)
    assert error.retry_after == 86400.0


def test_an_error_in_the_middle_of_a_stream() -> None:
    """K34: an error event after 200 and two pieces of text is typed and charged."""
    answer = streamed(
        delta(content="one "), delta(content="two"), message("The server had an error", type="server_error"), done=False
    )
    error = error_of(one("openai", answer)[0], ModelErrorKind.UNAVAILABLE)
    assert error.usage is not None
    assert error.usage.estimated
    broken = streamed(delta(content="x"), message("Failed to parse output", code=500, type="server_error"), done=False)
    assert error_of(one("openai", broken)[0], ModelErrorKind.MALFORMED).usage is not None


def test_an_error_with_status_200() -> None:
    body = json.dumps({"error": {"message": "Provider returned error", "code": 502}}).encode()
    assert error_of(one("openrouter", whole(body))[0], ModelErrorKind.UNAVAILABLE).status == 502


def test_a_stream_that_ends_early_is_incomplete() -> None:
    """K35: no closing event."""
    error = error_of(one("openai", streamed(delta(content="half"), done=False))[0], ModelErrorKind.INCOMPLETE)
    assert error.usage is not None
    error_of(one("openai", streamed(delta(content="half")))[0], ModelErrorKind.INCOMPLETE)
    error_of(one("openai", stream(*data(delta(content="half"), done=False), CLOSE))[0], ModelErrorKind.INCOMPLETE)


def test_a_stream_without_done_but_with_its_stop_reason_is_whole() -> None:
    assert turn_of(one("vllm", streamed(delta(content="x"), delta("stop"), done=False))[0]).text == "x"


@pytest.mark.parametrize(
    "answer",
    [
        whole(b"<html>", "text/html"),
        whole(b"[]"),
        whole(b'{"choices": []}'),
        whole(b'{"choices": 7}'),
        whole(b""),
        stream(b"data: nonsense\n\n"),
        stream(b"data: [1]\n\n"),
        whole(b"{" * 5000),
    ],
)
def test_an_answer_that_cannot_be_read_is_malformed(answer: Answer) -> None:
    error_of(one("openai", answer)[0], ModelErrorKind.MALFORMED)


@pytest.mark.parametrize(
    "choice",
    [{}, {"message": None}, {"message": {"tool_calls": "x"}}, {"message": {"content": 7, "tool_calls": [7, {"function": 7}]}}, 7],
)
def test_any_choice_is_a_turn_or_an_error(choice: object) -> None:
    result = one("openai", whole(json.dumps({"choices": [choice]}).encode()))[0]
    assert isinstance(result, ModelError)


def test_a_silent_stream_ends_in_bounded_time() -> None:
    """K35: silence after two events."""
    answer = stream(*data(delta(content="a"), delta(content="b"), done=False), 30.0)
    error = error_of(one("openai", answer, idle_timeout=0.1)[0], ModelErrorKind.UNAVAILABLE)
    assert "nothing more came" in error.message
    assert error.usage is not None


def test_keep_alives_alone_are_silence() -> None:
    """K35."""
    answer = stream(*data(delta(content="a"), done=False), *repeated(500, b": ping\n\n", 0.02))
    error_of(one("openai", answer, idle_timeout=0.2)[0], ModelErrorKind.UNAVAILABLE)


def test_an_unreachable_server_is_unavailable() -> None:
    async def main() -> ModelError:
        provider = open_provider(Binding("openai", "m", endpoint="http://127.0.0.1:1/v1", key=Secret("K", "k" * 20)))
        conversation = provider.converse(spec())
        conversation.user("hi")
        with pytest.raises(ModelError) as caught:
            await conversation.ask(10, False, None)
        await provider.close()
        return caught.value

    error = asyncio.run(main())
    assert error.kind is ModelErrorKind.UNAVAILABLE
    assert error.usage is None


def test_what_a_server_says_is_bounded_and_masked() -> None:
    """K41: the key comes back in an error."""
    error = error_of(one("openai", failed(401, message(f"bad key {KEY} " + "x" * 10_000)))[0], ModelErrorKind.NOT_AUTHORISED)
    assert KEY not in error.message
    assert "[secret]" in error.message
    assert len(error.message) <= 500


def test_cancelling_closes_the_request() -> None:
    async def test(provider: ModelProvider, server: Loopback) -> None:
        conversation = provider.converse(spec())
        conversation.user("hi")
        task = asyncio.create_task(conversation.ask(10, False, None))
        while not server.asked:
            await asyncio.sleep(0.005)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(server.broken.wait(), 5)

    talk("openai", [stream(*data(delta(content="a"), done=False), 30.0)], test)


def test_a_failed_attempt_leaves_the_conversation_as_it_was() -> None:
    """K04: a streamed attempt fails, the next is good; the request is the same."""

    async def test(provider: ModelProvider, _: Loopback) -> None:
        conversation = provider.converse(spec())
        conversation.user("hi")
        with pytest.raises(ModelError):
            await conversation.ask(10, False, None)
        assert (await conversation.ask(10, False, None)).text == "ok"

    first, second = talk("openai", [stream(b"data: {\n\n"), completion(content="ok", used={"completion_tokens": 1})], test)
    assert first == second


@pytest.mark.feature("B26")
def test_reasoning_is_kept_beside_the_turn() -> None:
    call = delta(tool_calls=[fragment(0, "a", "refund", "{}")])
    answer = streamed(delta(reasoning_content="thin"), delta(reasoning_content="king"), call, delta("stop"), usage())
    turn = turn_of(one("vllm", answer, spec(REFUND))[0])
    assert turn.text == ""
    assert turn.opaque is not None
    assert turn.opaque.blocks == ({"at": "message", "raw": '{"reasoning_content":"thinking"}'},)
