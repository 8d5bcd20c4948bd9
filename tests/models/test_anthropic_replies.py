"""What comes back in Anthropic's form: every answer is one typed outcome (fault kinds K04, K32 to K35)."""

from __future__ import annotations

import json

import pytest

from ael.run.ports import CallStarted, FinalDelta, ModelErrorKind, ProposedCall, Stop, TextDelta, Usage
from tests.models.support import LOOK_UP, NUMBER, REFUND, REPLY, claude, claude_stream, error_of, events, one, spec, turn_of
from tests.net.loopback import CLOSE, Answer, repeated, stream, whole

TEXT = {"type": "text", "text": "ok"}
USE = {"type": "tool_use", "id": "t", "name": "refund", "input": {}}
OLD = "claude-3-5-haiku-latest"


def test_text_streams() -> None:
    answer = stream(
        *claude_stream(
            [{"type": "text", "text": ""}, {"type": "text_delta", "text": "Hel"}, {"type": "text_delta", "text": "lo"}]
        )
    )
    result, told, _ = one("anthropic", answer)
    turn = turn_of(result)
    assert (turn.text, turn.stop, turn.usage, turn.model) == ("Hello", Stop.DONE, Usage(10, 0, 0, 5, 0), "c-1")
    assert told == [TextDelta("Hel"), TextDelta("lo")]


def test_calls_stream() -> None:
    answer = stream(
        *claude_stream(
            [{"type": "text", "text": "Let me."}],
            [{"type": "tool_use", "id": "t1", "name": "look_up", "input": {}}, {"type": "input_json_delta", "partial_json": ""},
             {"type": "input_json_delta", "partial_json": '{"id": '}, {"type": "input_json_delta", "partial_json": '"A"}'}],
            [{"type": "tool_use", "id": "t2", "name": "refund", "input": {}}],
            stop="tool_use",
        )
    )  # fmt: skip
    result, told, _ = one("anthropic", answer, spec(LOOK_UP, REFUND))
    turn = turn_of(result)
    assert turn.calls == (ProposedCall("t1", "look_up", '{"id": "A"}'), ProposedCall("t2", "refund", "{}"))
    assert turn.stop is Stop.CALLS
    assert told == [TextDelta("Let me."), CallStarted("look_up"), CallStarted("refund")]


def test_interleaved_blocks_are_put_together_by_index() -> None:
    """K31."""
    answer = stream(
        *events(
            {"type": "message_start", "message": {"usage": {"input_tokens": 1, "output_tokens": 1}}},
            {"type": "content_block_start", "index": 0, "content_block": {**USE, "id": "a", "name": "look_up"}},
            {"type": "content_block_start", "index": 1, "content_block": {**USE, "id": "b", "name": "look_up"}},
            {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": '{"id":'}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": '{"id":"0"}'}},
            {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": '"1"}'}},
            {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 9}},
            {"type": "message_stop"},
        )
    )
    assert [call.arguments for call in turn_of(one("anthropic", answer, spec(LOOK_UP))[0]).calls] == ['{"id":"0"}', '{"id":"1"}']


@pytest.mark.parametrize(
    "broken",
    [
        {"type": "content_block_delta", "index": 5, "delta": {"type": "text_delta", "text": "x"}},
        {"type": "content_block_start", "index": 0, "content_block": TEXT},
        {"type": "content_block_start", "index": "0", "content_block": TEXT},
        {"type": "content_block_start", "content_block": TEXT},
    ],
)
def test_pieces_that_belong_nowhere_are_malformed(broken: dict[str, object]) -> None:
    """K31."""
    answer = stream(*events({"type": "content_block_start", "index": 0, "content_block": TEXT}, broken, {"type": "message_stop"}))
    error_of(one("anthropic", answer)[0], ModelErrorKind.MALFORMED)


@pytest.mark.parametrize(
    ("reason", "block", "stop", "detail"),
    [
        ("end_turn", TEXT, Stop.DONE, ""),
        ("stop_sequence", TEXT, Stop.DONE, ""),
        ("tool_use", USE, Stop.CALLS, ""),
        ("max_tokens", TEXT, Stop.CUT, ""),
        ("max_tokens", USE, Stop.CUT, ""),
        ("model_context_window_exceeded", TEXT, Stop.CUT, ""),
        ("refusal", TEXT, Stop.REFUSED, ""),
        ("pause_turn", TEXT, Stop.UNKNOWN, "the provider says `pause_turn`"),
        ("brand_new", USE, Stop.UNKNOWN, "the provider says `brand_new`"),
        ("tool_use", TEXT, Stop.UNKNOWN, "the provider says `tool_use` without a call"),
    ],
)
def test_each_stop_reason_is_one_outcome(reason: str, block: object, stop: Stop, detail: str) -> None:
    """K33."""
    turn = turn_of(one("anthropic", claude(block, stop=reason), spec(REFUND))[0])
    assert (turn.stop, turn.detail, turn.final) == (stop, detail, None)


def test_a_turn_at_its_maximum_is_cut_whatever_the_provider_says() -> None:
    """K32."""
    answer = claude(USE, stop="tool_use", used={"input_tokens": 1, "output_tokens": 50})
    assert turn_of(one("anthropic", answer, spec(REFUND), max_tokens=50)[0]).stop is Stop.CUT


def test_an_empty_turn() -> None:
    """K33."""
    turn = turn_of(one("anthropic", claude())[0])
    assert (turn.text, turn.stop, turn.calls) == ("", Stop.DONE, ())


def test_a_native_result_and_one_by_tool() -> None:
    result, told, _ = one(
        "anthropic", claude({"type": "text", "text": '{"value": 3}'}), spec(output=NUMBER, model="claude-sonnet-5")
    )
    assert turn_of(result).final == "3"
    assert told == [FinalDelta('{"value": 3}')]
    block = [
        {"type": "tool_use", "id": "t", "name": "final", "input": {}},
        {"type": "input_json_delta", "partial_json": '{"answer":"x"}'},
    ]
    result, told, _ = one("anthropic", stream(*claude_stream(block, stop="tool_use")), spec(LOOK_UP, output=REPLY, model=OLD))
    turn = turn_of(result)
    assert (turn.stop, turn.final, turn.calls) == (Stop.DONE, '{"answer":"x"}', ())
    assert told == [FinalDelta('{"answer":"x"}')]


@pytest.mark.feature("B27")
@pytest.mark.parametrize(
    ("reported", "expected"),
    [
        (
            {"input_tokens": 3, "cache_creation_input_tokens": 12304, "cache_read_input_tokens": 0, "output_tokens": 5},
            Usage(3, 0, 12304, 5, 0),
        ),
        ({"input_tokens": 3, "cache_read_input_tokens": 900, "output_tokens": 5}, Usage(3, 900, 0, 5, 0)),
        ({"input_tokens": 3, "output_tokens": 50, "output_tokens_details": {"thinking_tokens": 40}}, Usage(3, 0, 0, 10, 40)),
        ({"input_tokens": 3, "output_tokens": 5, "output_tokens_details": {"thinking_tokens": 40}}, Usage(3, 0, 0, 0, 5)),
    ],
)
def test_usage_in_disjoint_classes(reported: dict[str, object], expected: Usage) -> None:
    """K04: 3 plain, 12,304 written to the cache, each once."""
    assert turn_of(one("anthropic", claude(TEXT, used=reported))[0]).usage == expected


def test_usage_of_a_stream_is_the_last_total() -> None:
    answer = stream(*claude_stream([TEXT], output=42, cache_read_input_tokens=7))
    assert turn_of(one("anthropic", answer)[0]).usage == Usage(10, 7, 0, 42, 0)


def test_missing_usage_is_estimated_and_marked() -> None:
    """K04."""
    got = turn_of(one("anthropic", claude({"type": "text", "text": "x" * 400}, used={}))[0]).usage
    assert got is not None
    assert got.estimated
    assert got.output >= 100


@pytest.mark.feature("A7.10", "A8.12", "B17")
@pytest.mark.parametrize(
    ("status", "kind_of_error", "text", "kind"),
    [
        (400, "invalid_request_error", "messages: bad", ModelErrorKind.BAD_REQUEST),
        (400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum", ModelErrorKind.OVERFLOW),
        (
            400,
            "invalid_request_error",
            "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
            ModelErrorKind.OVERFLOW,
        ),
        (401, "authentication_error", "invalid x-api-key", ModelErrorKind.NOT_AUTHORISED),
        (402, "billing_error", "pay", ModelErrorKind.NOT_AUTHORISED),
        (403, "permission_error", "no", ModelErrorKind.NOT_AUTHORISED),
        (404, "not_found_error", "model: x", ModelErrorKind.NOT_FOUND),
        (413, "request_too_large", "large", ModelErrorKind.OVERFLOW),
        (429, "rate_limit_error", "slow down", ModelErrorKind.UNAVAILABLE),
        (500, "api_error", "Internal server error", ModelErrorKind.UNAVAILABLE),
        (504, "timeout_error", "timed out", ModelErrorKind.UNAVAILABLE),
        (529, "overloaded_error", "Overloaded", ModelErrorKind.UNAVAILABLE),
    ],
)
def test_each_status_is_one_kind(status: int, kind_of_error: str, text: str, kind: ModelErrorKind) -> None:
    """K34."""
    body = json.dumps({"type": "error", "error": {"type": kind_of_error, "message": text}}).encode()
    error = error_of(one("anthropic", whole(body, status=status, retry_after="3"))[0], kind)
    assert error.status == status
    assert error.retry_after == (3.0 if kind is ModelErrorKind.UNAVAILABLE else None)
    if kind is ModelErrorKind.OVERFLOW and status == 400:
        assert error.limit == 200000


@pytest.mark.parametrize(
    ("kind_of_error", "kind"),
    [
        ("overloaded_error", ModelErrorKind.UNAVAILABLE),
        ("api_error", ModelErrorKind.UNAVAILABLE),
        ("rate_limit_error", ModelErrorKind.UNAVAILABLE),
        ("invalid_request_error", ModelErrorKind.BAD_REQUEST),
        ("authentication_error", ModelErrorKind.NOT_AUTHORISED),
    ],
)
def test_an_error_in_the_middle_of_a_stream(kind_of_error: str, kind: ModelErrorKind) -> None:
    """K34: after two pieces of text; typed and charged."""
    begun = claude_stream(
        [{"type": "text", "text": ""}, {"type": "text_delta", "text": "a"}, {"type": "text_delta", "text": "b"}]
    )[:5]
    broken = events({"type": "error", "error": {"type": kind_of_error, "message": "sorry"}})
    error = error_of(one("anthropic", stream(*begun, *broken))[0], kind)
    assert error.usage == Usage(10, 0, 0, 1, 0)


@pytest.mark.parametrize("without", [1, 2])
def test_a_stream_without_its_closing_event_is_incomplete(without: int) -> None:
    """K35: though the stop reason may have come."""
    whole_stream = claude_stream([TEXT])
    for end in ([], [CLOSE]):
        error = error_of(one("anthropic", stream(*whole_stream[:-without], *end))[0], ModelErrorKind.INCOMPLETE)
        assert error.usage is not None


def test_pings_alone_are_silence() -> None:
    """K35."""
    answer = stream(*claude_stream([TEXT])[:3], *repeated(500, *events({"type": "ping"}), 0.02))
    error_of(one("anthropic", answer, idle_timeout=0.2)[0], ModelErrorKind.UNAVAILABLE)


def test_unknown_events_blocks_and_deltas_are_passed_over() -> None:
    made = claude_stream([{"type": "text", "text": "ok"}, {"type": "brand_new_delta", "x": 1}], [{"type": "brand_new", "x": 1}])
    turn = turn_of(one("anthropic", stream(*made[:2], *events({"type": "brand_new"}), *made[2:]))[0])
    assert turn.text == "ok"
    assert turn.opaque is not None
    assert turn.opaque.blocks == ({"text": 2}, {"raw": '{"type":"brand_new","x":1}'})


@pytest.mark.parametrize(
    "answer", [whole(b"[]"), whole(b"{}"), whole(b'{"content": 7}'), stream(b"data: x\n\n"), whole(b"", "text/html")]
)
def test_an_answer_that_cannot_be_read_is_malformed(answer: Answer) -> None:
    error_of(one("anthropic", answer)[0], ModelErrorKind.MALFORMED)
