"""What goes out in the chat completions form: to OpenAI itself, and, with careful habits, to all who speak its language."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ael.models import openai_messages
from ael.models.registry import Binding, open_provider
from ael.models.wire import encode
from ael.run.ports import (
    ConversationSpec,
    ModelError,
    ModelErrorKind,
    ModelProvider,
    ModelTurn,
    Opaque,
    Previewable,
    ProposedCall,
    Stop,
    ToolAnswer,
)
from ael.types.value import File, Secret
from tests.models.support import KEY, LOOK_UP, NUMBER, REFUND, REPLY, TEXT, answer_all, completion, one, spec, talk, turn_of
from tests.net.loopback import Loopback, whole


def body_of(made: ConversationSpec, provider: str = "openai", *, last: bool = False, **settings: Any) -> dict[str, Any]:
    return one(provider, completion(content="ok"), made, last=last, **settings)[2]


def test_a_plain_request() -> None:
    body = body_of(spec(settings={"temperature": 0.5, "window": 1000}))
    assert body == {
        "model": "m",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}],
        "max_completion_tokens": 1000,
        "temperature": 0.5,
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_the_key_goes_out_and_only_there() -> None:
    async def test(provider: ModelProvider, server: Loopback) -> None:
        conversation = provider.converse(spec())
        conversation.user("hi")
        await conversation.ask(10, False, None)
        assert server.asked[0].headers["authorization"] == f"Bearer {KEY}"
        assert KEY.encode() not in server.asked[0].body
        assert KEY not in server.asked[0].path

    talk("openai", [completion(content="ok")], test)


def test_others_get_the_older_name_of_the_maximum() -> None:
    assert body_of(spec(), "vllm")["max_tokens"] == 1000
    assert "max_completion_tokens" not in body_of(spec(), "vllm")


def test_without_streaming() -> None:
    body = body_of(spec(settings={"stream": False}), stream=False)
    assert body["stream"] is False
    assert "stream_options" not in body


def test_extra_fields_and_headers() -> None:
    async def test(provider: ModelProvider, server: Loopback) -> None:
        conversation = provider.converse(spec())
        conversation.user("hi")
        await conversation.ask(10, False, None)
        assert server.asked[0].headers["x-team"] == "support"

    (body,) = talk("vllm", [completion(content="ok")], test, headers={"x-team": "support"}, extra={"min_p": 0.1})
    assert body["min_p"] == 0.1
    assert "headers" not in body


@pytest.mark.parametrize(
    ("choice", "official", "careful"),
    [
        ("auto", None, None),
        ("any", "required", "required"),
        ("none", "none", "none"),
        ("refund", {"type": "function", "function": {"name": "refund"}}, "required"),
    ],
)
def test_tool_choice(choice: str, official: object, careful: object) -> None:
    """Several servers take an object as `auto`: they get one tool and "required"."""
    made = spec(LOOK_UP, REFUND, tool_choice=choice)
    assert body_of(made).get("tool_choice") == official
    body = body_of(made, "llamacpp")
    assert body.get("tool_choice") == careful
    names = [tool["function"]["name"] for tool in body["tools"]]
    assert names == (["refund"] if choice == "refund" else ["look_up", "refund"])


def test_parallel_calls_can_be_switched_off() -> None:
    assert body_of(spec(LOOK_UP, parallel_calls=False))["parallel_tool_calls"] is False
    assert "parallel_tool_calls" not in body_of(spec(LOOK_UP))
    assert "parallel_tool_calls" not in body_of(spec(parallel_calls=False))


@pytest.mark.feature("A7.2")
def test_on_the_last_step_no_tool_may_be_called() -> None:
    assert body_of(spec(LOOK_UP), last=True)["tool_choice"] == "none"
    assert body_of(spec(LOOK_UP), "vllm", last=True)["tool_choice"] == "none"


def test_strict_tools_for_openai_itself() -> None:
    assert body_of(spec(LOOK_UP))["tools"][0]["function"]["strict"] is True
    assert "strict" not in body_of(spec(LOOK_UP), "vllm")["tools"][0]["function"]


def test_a_structured_result_beside_tools() -> None:
    """OpenAI takes both in one request. Others ignore the tools then, so they get a final tool and never both."""
    body = body_of(spec(LOOK_UP, output=REPLY))
    assert body["response_format"]["json_schema"]["strict"] is True
    assert [tool["function"]["name"] for tool in body["tools"]] == ["look_up"]
    careful = body_of(spec(LOOK_UP, output=REPLY), "llamacpp")
    assert "response_format" not in careful
    assert [tool["function"]["name"] for tool in careful["tools"]] == ["look_up", "final"]
    assert careful["tool_choice"] == "required"


def test_a_structured_result_without_tools_is_native_for_all() -> None:
    for provider in ("openai", "llamacpp", "vllm"):
        body = body_of(spec(output=REPLY), provider)
        assert body["response_format"]["type"] == "json_schema"
        assert "tools" not in body


def test_the_final_tool_alone_on_the_last_step() -> None:
    body = body_of(spec(LOOK_UP, output=REPLY), "llamacpp", last=True)
    assert [tool["function"]["name"] for tool in body["tools"]] == ["final"]
    assert body["tool_choice"] == "required"


def test_the_final_tool_gives_way_to_a_tool_of_its_name() -> None:
    made = spec(type(LOOK_UP)("final", "A tool of the program.", LOOK_UP.schema), output=REPLY)
    names = [tool["function"]["name"] for tool in body_of(made, "vllm")["tools"]]
    assert names == ["final", "final_result"]


def test_the_way_of_a_structured_result_can_be_set() -> None:
    assert "tools" in body_of(spec(output=REPLY, settings={"output": "tool"}))
    body = body_of(spec(output=REPLY, settings={"output": "text"}))
    assert "response_format" not in body
    assert '"refunded"' in body["messages"][0]["content"]


def test_history_is_joined_from_what_was_encoded() -> None:
    """Every message appears once, in order, with its calls answered under their ids."""

    async def test(provider: ModelProvider, _: Loopback) -> None:
        conversation = provider.converse(spec(LOOK_UP))
        conversation.user("first")
        before = conversation.size
        calls = (
            ProposedCall("c1", "look_up", '{"id": "A"}'),
            ProposedCall("", "look_up", ""),
            ProposedCall("c1", "look_up", None),
        )
        turn = ModelTurn("let me see", calls, Stop.CALLS, None)
        conversation.turn(turn)
        conversation.answers([ToolAnswer(call, f"result {i}", i == 1) for i, call in enumerate(calls)])
        conversation.user("and now?")
        await conversation.ask(10, False, None)
        assert conversation.size > before + 200

    (body,) = talk("openai", [completion(content="ok")], test)
    assistant, *answers = body["messages"][2:6]
    assert assistant["content"] == "let me see"
    ids = [call["id"] for call in assistant["tool_calls"]]
    assert ids[0] == "c1"
    assert len(set(ids)) == 3
    assert all(ids)
    assert [call["function"]["arguments"] for call in assistant["tool_calls"]] == ['{"id": "A"}', "{}", "{}"]
    assert [answer["tool_call_id"] for answer in answers] == ids
    assert [answer["content"] for answer in answers] == ["result 0", "Error: result 1", "result 2"]
    assert body["messages"][6] == {"role": "user", "content": "and now?"}


def test_the_same_id_in_two_rounds() -> None:
    """K06: both are answered, and the provider sees two ids."""

    async def test(provider: ModelProvider, _: Loopback) -> None:
        conversation = provider.converse(spec(REFUND))
        conversation.user("hi")
        for _round in range(2):
            answer_all(conversation, ModelTurn("", (ProposedCall("x", "refund", "{}"),), Stop.CALLS, None))
        await conversation.ask(10, False, None)

    (body,) = talk("openai", [completion(content="ok")], test)
    asked = [call["id"] for message in body["messages"] for call in message.get("tool_calls", [])]
    answered = [message["tool_call_id"] for message in body["messages"] if message["role"] == "tool"]
    assert asked == answered
    assert len(set(asked)) == 2


def test_an_unanswered_call_is_never_sent() -> None:
    """K05: AEL refuses it by itself, naming the call."""
    provider = open_provider(Binding("openai", "m", key=Secret("KEY", KEY)))
    conversation = provider.converse(spec(REFUND))
    conversation.turn(ModelTurn("", (ProposedCall("x", "refund", "{}"),), Stop.CALLS, None))
    with pytest.raises(ValueError, match="refund"):
        conversation.turn(ModelTurn("", (), Stop.DONE, None))
    with pytest.raises(ValueError, match="1 calls were proposed and 0 answered"):
        conversation.answers([])


def test_a_final_result_that_was_not_accepted_is_answered_and_tried_again() -> None:
    """K05: the final tool's call gets its answer before the problems of its result."""

    async def test(provider: ModelProvider, _: Loopback) -> None:
        conversation = provider.converse(spec(LOOK_UP, output=NUMBER))
        conversation.user("how many?")
        call = ProposedCall("c1", "look_up", "{}")
        conversation.turn(ModelTurn("", (call,), Stop.CALLS, None, final="3"))
        conversation.answers([ToolAnswer(call, "refused", True)])
        conversation.user("too few")
        await conversation.ask(10, False, None)

    (body,) = talk("vllm", [completion(content="ok")], test)
    roles = [message["role"] for message in body["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "tool", "user"]
    final = body["messages"][2]["tool_calls"][1]
    assert final["function"] == {"name": "final", "arguments": '{"value":3}'}
    assert body["messages"][4]["tool_call_id"] == final["id"]


def test_a_native_result_goes_back_as_it_was() -> None:
    async def test(provider: ModelProvider, _: Loopback) -> None:
        conversation = provider.converse(spec(output=NUMBER))
        conversation.user("how many?")
        conversation.turn(ModelTurn("", (), Stop.DONE, None, final="3"))
        conversation.user("too few")
        await conversation.ask(10, False, None)

    (body,) = talk("openai", [completion(content="ok")], test)
    assert body["messages"][2] == {"role": "assistant", "content": '{"value":3}'}


def test_a_turn_with_only_calls_and_an_empty_turn_round_trip() -> None:
    """K33: empty content as this form wants it."""

    async def test(provider: ModelProvider, _: Loopback) -> None:
        conversation = provider.converse(spec(REFUND))
        answer_all(conversation, ModelTurn("", (ProposedCall("x", "refund", ""),), Stop.CALLS, None), "")
        conversation.turn(ModelTurn("", (), Stop.DONE, None))
        conversation.user("well?")
        await conversation.ask(10, False, None)

    (body,) = talk("openai", [completion(content="ok")], test)
    assert body["messages"][1]["content"] is None
    assert body["messages"][2]["content"] == ""
    assert body["messages"][3] == {"role": "assistant", "content": ""}


def test_a_lone_surrogate_becomes_one_replacement() -> None:
    """K13."""

    async def test(provider: ModelProvider, _: Loopback) -> None:
        conversation = provider.converse(spec())
        conversation.user("a\ud800b 😀")
        await conversation.ask(10, False, None)

    (body,) = talk("openai", [completion(content="ok")], test)
    assert body["messages"][1]["content"] == "a�b 😀"


@pytest.mark.feature("B26")
def test_reasoning_goes_back_with_its_calls_to_its_own_provider() -> None:
    """K37: and to no other."""
    reasoning = {"reasoning_content": "thought \u2028 with  odd spacing"}
    for provider, expected in (("vllm", True), ("ollama", False)):

        async def test(opened: ModelProvider, server: Loopback) -> None:
            conversation = opened.converse(spec(REFUND))
            origin = f"vllm {server.url}"
            opaque = Opaque(
                origin, ({"at": "message", "raw": json.dumps(reasoning)}, {"at": "call 0", "raw": '{"extra_content":{"s":"x"}}'})
            )
            answer_all(conversation, ModelTurn("", (ProposedCall("x", "refund", "{}"),), Stop.CALLS, None, opaque=opaque))
            await conversation.ask(10, False, None)

        (body,) = talk(provider, [completion(content="ok")], test)
        message = body["messages"][1]
        assert (message.get("reasoning_content") == reasoning["reasoning_content"]) is expected
        assert ("extra_content" in message["tool_calls"][0]) is expected


@pytest.mark.parametrize(
    ("file", "part"),
    [
        (File("image/png", b"\x89P"), {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVA="}}),
        (
            File("image/png", uri="https://example.com/a.png"),
            {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
        ),
        (File("text/csv", b"a,b"), {"type": "text", "text": "a,b"}),
        (File("audio/wav", b"RI"), {"type": "input_audio", "input_audio": {"data": "Ukk=", "format": "wav"}}),
        (
            File("application/pdf", b"%P"),
            {"type": "file", "file": {"filename": "file.pdf", "file_data": "data:application/pdf;base64,JVA="}},
        ),
    ],
)
def test_files(file: File, part: object) -> None:
    async def test(provider: ModelProvider, _: Loopback) -> None:
        conversation = provider.converse(spec())
        conversation.user("what is this?", [file])
        await conversation.ask(10, False, None)

    (body,) = talk("openai", [completion(content="ok")], test)
    assert body["messages"][1]["content"] == [part, {"type": "text", "text": "what is this?"}]


@pytest.mark.parametrize(
    "file", [File("video/mp4", b"x"), File("application/pdf", uri="https://example.com/a.pdf"), File("audio/ogg", b"x")]
)
def test_a_file_that_cannot_be_carried_is_refused(file: File) -> None:
    provider = open_provider(Binding("openai", "m", key=Secret("KEY", KEY)))
    with pytest.raises(ModelError) as caught:
        provider.converse(spec()).user("hi", [file])
    assert caught.value.kind is ModelErrorKind.BAD_REQUEST


def test_the_cost_of_a_request_does_not_grow_with_encoding_history(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each message is encoded once: 300 rounds encode 300 times as much as one, not 45,000 times."""
    encoded: list[int] = []
    original = encode

    def counting(value: object) -> bytes:
        made = original(value)
        encoded.append(len(made))
        return made

    monkeypatch.setattr(openai_messages, "encode", counting)

    async def test(provider: ModelProvider, _: Loopback) -> None:
        conversation = provider.converse(spec(LOOK_UP))
        for _round in range(30):
            turn = await conversation.ask(1000, False, None)
            answer_all(conversation, turn, "x" * 100)

    call = {"id": "c", "type": "function", "function": {"name": "look_up", "arguments": '{"id": "A"}'}}
    bodies = talk("openai", lambda _: completion("tool_calls", content=None, tool_calls=[call]), test)
    assert len(bodies) == 30
    assert len(bodies[-1]["messages"]) == 1 + 2 * 29
    assert len(encoded) == 1 + 2 * 30


def test_a_text_output_asks_for_no_shape() -> None:
    body = body_of(spec(output=TEXT))
    assert "response_format" not in body
    assert turn_of(one("openai", completion(content="ok"), spec(output=TEXT))[0]).final is None


@pytest.mark.parametrize("provider", ["openai", "vllm", "anthropic"])
def test_a_preview_is_the_request_to_the_byte(provider: str) -> None:
    """Also when it is looked at twice, and for the last step."""

    async def test(opened: ModelProvider, server: Loopback) -> None:
        conversation = opened.converse(spec(LOOK_UP, output=REPLY))
        assert isinstance(conversation, Previewable)
        conversation.user("hi")
        for last in (False, True):
            shown = [conversation.request(50, last) for _ in range(2)]
            with pytest.raises(ModelError):
                await conversation.ask(50, last, None)
            assert shown == [server.asked[-1].body] * 2
            call = ProposedCall("c", "look_up", "{}")
            answer_all(conversation, ModelTurn("", (call,), Stop.CALLS, None))

    talk(provider, lambda _: whole(b"[]"), test)
