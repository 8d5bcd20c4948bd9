"""What goes out in Anthropic's form."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ael.models.registry import Binding, BindingError, open_provider
from ael.run.ports import (
    ConversationSpec,
    ModelError,
    ModelErrorKind,
    ModelProvider,
    ModelTurn,
    Opaque,
    ProposedCall,
    Stop,
    ToolAnswer,
)
from ael.types.value import File, Secret
from tests.models.support import KEY, LOOK_UP, NUMBER, REFUND, REPLY, answer_all, claude, claude_stream, one, spec, talk, turn_of
from tests.net.loopback import Loopback, stream

SONNET = "claude-sonnet-5"
OLD = "claude-3-5-haiku-latest"
MARK = {"type": "ephemeral"}


def body_of(made: ConversationSpec, *, last: bool = False, **settings: Any) -> dict[str, Any]:
    return one("anthropic", claude({"type": "text", "text": "ok"}), made, last=last, **settings)[2]


def test_a_plain_request() -> None:
    assert body_of(spec(model=SONNET)) == {
        "model": SONNET,
        "system": [{"type": "text", "text": "Be brief."}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}],
        "max_tokens": 1000,
        "stream": True,
    }


def test_key_and_version_go_out_as_headers() -> None:
    async def test(provider: ModelProvider, server: Loopback) -> None:
        conversation = provider.converse(spec())
        conversation.user("hi")
        await conversation.ask(10, False, None)
        asked = server.asked[0]
        assert asked.path == "/v1/messages"
        assert asked.headers["x-api-key"] == KEY
        assert asked.headers["anthropic-version"] == "2023-06-01"
        assert KEY.encode() not in asked.body

    talk("anthropic", [claude({"type": "text", "text": "ok"})], test)


def test_settings_and_thinking() -> None:
    body = body_of(spec(settings={"temperature": 0.5, "thinking": 2048, "effort": "low"}))
    assert body["temperature"] == 0.5
    assert body["thinking"] == {"type": "enabled", "budget_tokens": 2048}
    assert body["output_config"] == {"effort": "low"}
    assert body_of(spec(settings={"thinking": True}))["thinking"] == {"type": "adaptive"}
    assert body_of(spec(settings={"thinking": False}))["thinking"] == {"type": "disabled"}
    for wrong in ("much", 12, 1.5):
        with pytest.raises(BindingError, match="thinking"):
            open_provider(Binding("anthropic", "m", key=Secret("K", KEY), settings={"thinking": wrong}))


@pytest.mark.parametrize(
    ("choice", "sent"),
    [("auto", None), ("any", {"type": "any"}), ("none", {"type": "none"}), ("refund", {"type": "tool", "name": "refund"})],
)
def test_tool_choice(choice: str, sent: object) -> None:
    body = body_of(spec(LOOK_UP, REFUND, tool_choice=choice))
    assert body.get("tool_choice") == sent
    assert [tool["name"] for tool in body["tools"]] == ["look_up", "refund"]


def test_parallel_calls_can_be_switched_off() -> None:
    assert body_of(spec(LOOK_UP, parallel_calls=False))["tool_choice"] == {"type": "auto", "disable_parallel_tool_use": True}


def test_on_the_last_step_no_tool_may_be_called_but_tools_stay_described() -> None:
    body = body_of(spec(LOOK_UP), last=True)
    assert body["tool_choice"] == {"type": "none"}
    assert len(body["tools"]) == 1


def test_a_structured_result() -> None:
    body = body_of(spec(LOOK_UP, output=REPLY, model=SONNET))
    assert body["output_config"]["format"]["type"] == "json_schema"
    assert [tool["name"] for tool in body["tools"]] == ["look_up"]


def test_an_older_model_gets_the_final_tool_and_is_held_to_it() -> None:
    body = body_of(spec(LOOK_UP, output=REPLY, model=OLD))
    assert "output_config" not in body
    assert [tool["name"] for tool in body["tools"]] == ["look_up", "final"]
    assert body["tool_choice"] == {"type": "any"}
    assert body_of(spec(LOOK_UP, output=REPLY, model=OLD), last=True)["tool_choice"] == {"type": "tool", "name": "final"}


def test_with_thinking_no_choice_is_forced() -> None:
    made = spec(LOOK_UP, output=REPLY, model=OLD, settings={"thinking": 2048})
    assert "tool_choice" not in body_of(made)
    assert "tool_choice" not in body_of(spec(output=REPLY, model=SONNET, settings={"output": "tool"}))


def test_all_answers_of_a_turn_are_in_one_message_right_behind_it() -> None:
    """K05, K06: also those of calls without an id, or with one that came before."""

    async def test(provider: ModelProvider, _: Loopback) -> None:
        conversation = provider.converse(spec(LOOK_UP, settings={"cache": False}))
        conversation.user("hi")
        calls = (
            ProposedCall("toolu_1", "look_up", '{"id": "A"}'),
            ProposedCall("", "look_up", ""),
            ProposedCall("toolu_1", "look_up", "[1]"),
            ProposedCall("toolu_2", "look_up", '{"id": '),
        )
        conversation.turn(ModelTurn("let me see", calls, Stop.CALLS, None))
        conversation.answers([ToolAnswer(call, "" if i == 2 else f"r{i}", i == 1) for i, call in enumerate(calls)])
        await conversation.ask(10, False, None)

    (body,) = talk("anthropic", [claude({"type": "text", "text": "ok"})], test)
    _, assistant, answers = body["messages"]
    assert assistant["content"][0] == {"type": "text", "text": "let me see"}
    used = assistant["content"][1:]
    assert [block["input"] for block in used] == [{"id": "A"}, {}, {}, {}]
    assert len({block["id"] for block in used}) == 4
    assert used[0]["id"] == "toolu_1"
    assert [block["tool_use_id"] for block in answers["content"]] == [block["id"] for block in used]
    assert answers["content"][1]["is_error"] is True
    assert "content" not in answers["content"][2]
    assert answers["content"][3]["content"] == "r3"


def test_big_numbers_in_arguments_go_back_exactly() -> None:
    """K12."""

    async def test(provider: ModelProvider, server: Loopback) -> None:
        conversation = provider.converse(spec(LOOK_UP))
        call = ProposedCall("t", "look_up", '{"id":9007199254740993000001}')
        answer_all(conversation, ModelTurn("", (call,), Stop.CALLS, None))
        await conversation.ask(10, False, None)
        assert b'"input":{"id":9007199254740993000001}' in server.asked[0].body

    talk("anthropic", [claude({"type": "text", "text": "ok"})], test)


def test_empty_texts_are_never_sent() -> None:
    """K33: this form refuses them."""

    async def test(provider: ModelProvider, _: Loopback) -> None:
        conversation = provider.converse(spec(REFUND, settings={"cache": False}))
        conversation.user("")
        answer_all(conversation, ModelTurn(" ", (ProposedCall("t", "refund", None),), Stop.CALLS, None), "")
        conversation.turn(ModelTurn("", (), Stop.DONE, None))
        conversation.user("\n")
        await conversation.ask(10, False, None)

    (body,) = talk("anthropic", [claude({"type": "text", "text": "ok"})], test)
    texts = [block["text"] for message in body["messages"] for block in message["content"] if block["type"] == "text"]
    assert texts == ["(empty)", "(empty)", "(empty)"]
    assert [block["type"] for block in body["messages"][1]["content"]] == ["tool_use"]


def test_a_final_result_that_was_not_accepted_is_answered_in_the_same_message() -> None:
    """K05."""

    async def test(provider: ModelProvider, _: Loopback) -> None:
        conversation = provider.converse(spec(REFUND, output=NUMBER, model=OLD, settings={"cache": False}))
        conversation.user("how many?")
        call = ProposedCall("t", "refund", "{}")
        conversation.turn(ModelTurn("", (call,), Stop.CALLS, None, final="3"))
        conversation.answers([ToolAnswer(call, "refused", True)])
        conversation.user("too few")
        conversation.turn(ModelTurn("", (), Stop.DONE, None, final="4"))
        conversation.user("still too few")
        await conversation.ask(10, False, None)

    (body,) = talk("anthropic", [claude({"type": "text", "text": "ok"})], test)
    kinds = [[block["type"] for block in message["content"]] for message in body["messages"]]
    assert kinds == [
        ["text"],
        ["tool_use", "tool_use"],
        ["tool_result", "tool_result"],
        ["text"],
        ["tool_use"],
        ["tool_result"],
        ["text"],
    ]
    assert body["messages"][1]["content"][1]["input"] == {"value": 3}
    assert body["messages"][2]["content"][1]["tool_use_id"] == body["messages"][1]["content"][1]["id"]
    assert body["messages"][5]["content"][0]["tool_use_id"] == body["messages"][4]["content"][0]["id"]


@pytest.mark.feature("B27")
def test_the_cached_prefix_grows_with_the_conversation() -> None:
    """Instructions and tools, the newest message, and the one that was the newest before: three marks of the four allowed."""

    async def test(provider: ModelProvider, _: Loopback) -> None:
        conversation = provider.converse(spec(LOOK_UP))
        conversation.user("hi")
        for _round in range(3):
            turn = await conversation.ask(100, False, None)
            answer_all(conversation, turn)
        await conversation.ask(100, True, None)

    call = {"type": "tool_use", "id": "t", "name": "look_up", "input": {"id": "A"}}
    bodies = talk("anthropic", lambda _: claude(call, stop="tool_use"), test)
    before: list[object] = []
    for number, body in enumerate(bodies):
        marked = [place for place, message in enumerate(body["messages"]) if message["content"][-1].get("cache_control") == MARK]
        assert body["system"][-1]["cache_control"] == MARK
        newest = [] if number == 3 else [2 * number]
        assert marked == ([2 * number - 2] if number else []) + newest
        # What is cached must not change: without its marks each request begins as the one before.
        plain = [
            json.loads(json.dumps(message).replace(', "cache_control": {"type": "ephemeral"}', ""))
            for message in body["messages"]
        ]
        assert plain[: len(before)] == before
        before = plain


@pytest.mark.feature("B27")
def test_nothing_is_cached_that_no_request_repeats() -> None:
    body = body_of(spec())
    assert "cache_control" not in json.dumps(body)
    assert "cache_control" in json.dumps(body_of(spec(system="x" * 5000)))
    assert "cache_control" not in json.dumps(body_of(spec(LOOK_UP, settings={"cache": False})))
    assert body_of(spec(LOOK_UP, settings={"cache": "1h"}))["system"][0]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}


@pytest.mark.feature("B26")
def test_thinking_goes_back_byte_for_byte_and_in_its_place() -> None:
    """K37: blocks between calls, through the turn that is stored, and after a tool's answer."""
    thinking = 'Hm…\u2028 "quoted" \\ and  spaces 😀'
    reply = claude_stream(
        [{"type": "thinking", "thinking": "", "signature": ""}, {"type": "thinking_delta", "thinking": thinking[:5]},
         {"type": "thinking_delta", "thinking": thinking[5:]}, {"type": "signature_delta", "signature": "EqQB/+="}],
        [{"type": "text", "text": ""}, {"type": "text_delta", "text": "I look. "}],
        [{"type": "tool_use", "id": "t1", "name": "look_up", "input": {}}, {"type": "input_json_delta", "partial_json": '{"id":"A"}'}],
        [{"type": "redacted_thinking", "data": "b3BhcXVl"}],
        [{"type": "tool_use", "id": "t2", "name": "refund", "input": {}}],
        stop="tool_use",
    )  # fmt: skip

    async def test(provider: ModelProvider, _: Loopback) -> None:
        conversation = provider.converse(spec(LOOK_UP, REFUND, settings={"cache": False}))
        conversation.user("hi")
        turn = await conversation.ask(1000, False, None)
        assert turn.text == "I look. "
        assert turn.opaque is not None
        # Through a journal: what is stored is JSON.
        blocks = tuple(json.loads(json.dumps(turn.opaque.blocks)))
        answer_all(
            conversation, ModelTurn(turn.text, turn.calls, turn.stop, turn.usage, opaque=Opaque(turn.opaque.provider, blocks))
        )
        await conversation.ask(1000, False, None)

    _, second = talk("anthropic", [stream(*reply), claude({"type": "text", "text": "ok"})], test)
    assert second["messages"][1]["content"] == [
        {"type": "thinking", "thinking": thinking, "signature": "EqQB/+="},
        {"type": "text", "text": "I look. "},
        {"type": "tool_use", "id": "t1", "name": "look_up", "input": {"id": "A"}},
        {"type": "redacted_thinking", "data": "b3BhcXVl"},
        {"type": "tool_use", "id": "t2", "name": "refund", "input": {}},
    ]


@pytest.mark.feature("B26")
def test_another_providers_blocks_are_not_sent() -> None:
    """K37: the provider is switched between turns."""

    async def test(provider: ModelProvider, _: Loopback) -> None:
        conversation = provider.converse(spec(REFUND))
        opaque = Opaque("anthropic https://api.anthropic.com", ({"raw": '{"type":"thinking","thinking":"secret"}'}, {"call": 0}))
        answer_all(conversation, ModelTurn("", (ProposedCall("t", "refund", "{}"),), Stop.CALLS, None, opaque=opaque))
        await conversation.ask(10, False, None)

    (body,) = talk("anthropic", [claude({"type": "text", "text": "ok"})], test)
    assert [block["type"] for block in body["messages"][0]["content"]] == ["tool_use"]


@pytest.mark.parametrize(
    ("file", "block"),
    [
        (File("image/png", b"\x89P"), {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVA="}}),
        (
            File("image/png", uri="https://e.com/a.png"),
            {"type": "image", "source": {"type": "url", "url": "https://e.com/a.png"}},
        ),
        (
            File("application/pdf", b"%P"),
            {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JVA="}},
        ),
        (File("text/csv", b"a,b"), {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "a,b"}}),
    ],
)
def test_files(file: File, block: object) -> None:
    async def test(provider: ModelProvider, _: Loopback) -> None:
        conversation = provider.converse(spec())
        conversation.user("what is this?", [file])
        await conversation.ask(10, False, None)

    (body,) = talk("anthropic", [claude({"type": "text", "text": "ok"})], test)
    assert body["messages"][0]["content"] == [block, {"type": "text", "text": "what is this?"}]


def test_a_file_that_cannot_be_carried_is_refused() -> None:
    provider = open_provider(Binding("anthropic", "m", key=Secret("KEY", KEY)))
    with pytest.raises(ModelError) as caught:
        provider.converse(spec()).user("hi", [File("video/mp4", b"x")])
    assert caught.value.kind is ModelErrorKind.BAD_REQUEST


def test_a_native_result_goes_back_as_text() -> None:
    async def test(provider: ModelProvider, _: Loopback) -> None:
        conversation = provider.converse(spec(output=NUMBER, model=SONNET))
        conversation.user("how many?")
        turn = await conversation.ask(1000, False, None)
        assert turn_of(turn).final == "3"
        conversation.turn(turn)
        conversation.user("too few")
        await conversation.ask(1000, False, None)

    _, body = talk("anthropic", lambda _: claude({"type": "text", "text": '{"value":3}'}), test)
    assert body["messages"][1] == {"role": "assistant", "content": [{"type": "text", "text": '{"value":3}'}]}
