"""The scripted model, and the files of its answers."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from ael.models import script as s
from ael.models.registry import Binding, BindingError, open_provider
from ael.models.script import Script, ScriptError, load_script, parse_script
from ael.models.scripted import ScriptedProvider
from ael.run.ports import (
    CallStarted,
    ConversationSpec,
    FinalDelta,
    ModelError,
    ModelErrorKind,
    ModelEvent,
    ModelTurn,
    ProposedCall,
    Stop,
    TextDelta,
    Usage,
)  # fmt: skip
from tests.models.support import NUMBER, answer_all, spec

ALL = [
    {"call": "look_up", "with": {"id": "A"}},
    {"calls": [{"call": "a", "with": {}}, {"call": "b", "id": "mine"}, {"call": "c", "with": "{broken"}], "text": "two"},
    {"final": {"n": 1}, "usage": {"input": 7, "output": 3}},
    {"text": "hello"},
    {"stop": "cut", "text": "hel"},
    {"error": "unavailable", "retry_after": 2, "message": "busy"},
]


async def ask(provider: ScriptedProvider, made: ConversationSpec | None = None, first: str = "hi") -> ModelTurn:
    conversation = provider.converse(made or spec(output=NUMBER))
    conversation.user(first)
    return await conversation.ask(100, False, None)


def play(script: Script, count: int, **options: object) -> list[ModelTurn | ModelError]:
    async def main() -> list[ModelTurn | ModelError]:
        provider = ScriptedProvider(script)
        results: list[ModelTurn | ModelError] = []
        conversation = provider.converse(spec(output=NUMBER))
        conversation.user("hi")
        for _ in range(count):
            try:
                turn = await conversation.ask(100, False, None)
            except ModelError as error:
                results.append(error)
            else:
                results.append(turn)
                answer_all(conversation, turn)
        return results

    return asyncio.run(main())


@pytest.mark.feature("B4")
def test_every_kind_of_turn() -> None:
    first, second, third, fourth, fifth, error = play(parse_script(ALL), 6)
    assert isinstance(first, ModelTurn)
    assert first.calls == (ProposedCall("call_1_1", "look_up", '{"id":"A"}'),)
    assert first.stop is Stop.CALLS
    assert isinstance(second, ModelTurn)
    assert [(call.id, call.name, call.arguments) for call in second.calls] == [
        ("call_2_1", "a", "{}"), ("mine", "b", None), ("call_2_3", "c", "{broken")
    ]  # fmt: skip
    assert second.text == "two"
    assert isinstance(third, ModelTurn)
    assert (third.final, third.usage, third.stop) == ('{"n":1}', Usage(input=7, output=3), Stop.DONE)
    assert isinstance(fourth, ModelTurn)
    assert (fourth.text, fourth.final) == ("hello", None)
    assert isinstance(fifth, ModelTurn)
    assert fifth.stop is Stop.CUT
    assert isinstance(error, ModelError)
    assert (error.kind, error.retry_after, error.message) == (ModelErrorKind.UNAVAILABLE, 2.0, "busy")


def test_a_final_text_is_plain_where_the_output_is_text() -> None:
    async def main() -> None:
        turn = await ask(ScriptedProvider(Script((s.final("done"),))), spec())
        assert (turn.text, turn.final) == ("done", None)
        turn = await ask(ScriptedProvider(Script((s.final("done"),))), spec(output=NUMBER))
        assert (turn.text, turn.final) == ("", '"done"')

    asyncio.run(main())


def test_usage_left_out_is_estimated_and_grows() -> None:
    """K04: so that budgets fall."""
    turns = play(Script((s.call("a", {}), s.call("a", {}))), 2)
    usages = [turn.usage for turn in turns if isinstance(turn, ModelTurn)]
    assert all(usage is not None and usage.estimated and usage.input > 0 and usage.output > 0 for usage in usages)
    assert usages[0] is not None
    assert usages[1] is not None
    assert usages[1].input > usages[0].input


def test_a_script_that_ends_says_so() -> None:
    _, error = play(Script((s.text("x"),)), 2)
    assert isinstance(error, ModelError)
    assert error.kind is ModelErrorKind.BAD_REQUEST
    assert "no turn left" in error.message


def test_a_shared_queue_and_one_for_each_conversation() -> None:
    async def main() -> None:
        turns = (s.text("1"), s.text("2"))
        shared = ScriptedProvider(Script(turns))
        assert [(await ask(shared)).text for _ in range(2)] == ["1", "2"]
        assert shared.left == 0
        each = ScriptedProvider(Script(turns, mode="each"))
        assert [(await ask(each)).text for _ in range(2)] == ["1", "1"]
        again = ScriptedProvider(Script(turns, repeat=True))
        assert [(await ask(again)).text for _ in range(5)] == ["1", "2", "1", "2", "1"]

    asyncio.run(main())


def test_conversations_beside_each_other_take_their_own_turns() -> None:
    """Which of two parallel nodes asks first does not matter."""
    script = parse_script(
        {
            "conversations": [{"when": "north", "turns": [{"text": "N"}]}, {"when": "south", "turns": [{"text": "S"}]}],
            "turns": [{"text": "else"}],
        }
    )

    async def main() -> None:
        provider = ScriptedProvider(script)
        assert (await ask(provider, first="go south")).text == "S"
        assert (await ask(provider, first="go north")).text == "N"
        assert (await ask(provider, first="go west")).text == "else"
        assert (await ask(provider, spec(system="north only"))).text == "N"

    asyncio.run(main())


def test_a_delay_is_slept_on_the_given_clock() -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    async def main() -> None:
        await ask(ScriptedProvider(Script((s.text("x", delay=30.0),)), sleep=sleep))

    asyncio.run(main())
    assert slept == [30.0]


def test_events_tell_the_turn() -> None:
    events: list[ModelEvent] = []

    async def main() -> None:
        provider = ScriptedProvider(Script((s.calls(s.scripted_call("a", {}), text="x" * 30), s.final(123))))
        conversation = provider.converse(spec(output=NUMBER))
        await conversation.ask(10, False, events.append)
        await conversation.ask(10, False, events.append)

    asyncio.run(main())
    assert events == [TextDelta("x" * 24), TextDelta("x" * 6), CallStarted("a"), FinalDelta("123")]


def test_requests_are_kept_when_asked_for() -> None:
    async def main() -> None:
        provider = ScriptedProvider(Script((s.text("x"),)), keep_requests=True)
        await ask(provider, first="what?")
        assert provider.requests is not None
        assert provider.requests[0].messages == [("user", "what?")]
        assert provider.asked == 1

    asyncio.run(main())


def test_files_of_every_form(tmp_path: Path) -> None:
    plain = tmp_path / "plain.json"
    plain.write_text(json.dumps(ALL), encoding="utf-8-sig")
    lines = tmp_path / "lines.jsonl"
    lines.write_text("\n".join(json.dumps(turn) for turn in ALL) + "\n\n")
    named = tmp_path / "named.json"
    named.write_text(json.dumps({"models": {"fast": ALL, "cheap": {"mode": "each", "turns": []}}}))
    assert load_script(plain) == load_script(lines) == load_script(named, "fast")
    assert load_script(named, "cheap").mode == "each"


@pytest.mark.parametrize(
    ("value", "where"),
    [
        (7, "script: expected a list of turns or an object, got a number"),
        ([7], r"script\[0\]: expected an object"),
        ([{}], r"script\[0\]: a turn needs one of"),
        ([{"text": 7}], r"script\[0\]\.text"),
        ([{"call": 7}], r"script\[0\]\.call"),
        ([{"calls": [{"with": {}}]}], r"script\[0\]\.calls\[0\]\.call"),
        ([{"final": 1, "stop": "cut"}], r"`stop` cannot stand beside `final`"),
        ([{"error": "broken"}], r"expected one of unavailable"),
        ([{"stop": 7}], r"expected one of cut"),
        ([{"text": "x", "delay": -1}], "number of seconds"),
        ([{"text": "x", "delay": True}], "number of seconds"),
        ([{"text": "x", "usage": {"tokens": 1}}], r"usage\.tokens"),
        ([{"text": "x", "usage": {"input": -1}}], r"usage\.input"),
        ({"turn": []}, "unknown key `turn`"),
        ({"mode": "both"}, r"script\.mode"),
        ({"repeat": "yes"}, r"script\.repeat"),
        ({"conversations": [{"when": 1}]}, r"script\.conversations\[0\]"),
        ({"models": {}}, "no script for the model"),
    ],
)
def test_a_wrong_script_says_where(value: object, where: str) -> None:
    with pytest.raises(ScriptError, match=where):
        parse_script(value)


@pytest.mark.parametrize("content", [b"\xff", b"{", b"[" * 100_000, b'[{"text": "x"}'])
def test_a_file_that_is_no_script_says_so(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "script.json"
    path.write_bytes(content)
    with pytest.raises(ScriptError, match="script"):
        load_script(path)
    with pytest.raises(ScriptError, match="cannot be read"):
        load_script(tmp_path / "none.json")


def test_a_binding_reads_its_file(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    path.write_text('{"models": {"fast": [{"text": "hi"}]}}')
    provider = open_provider(Binding("scripted", declared="fast", path=path))
    assert provider.name == "scripted"
    with pytest.raises(BindingError, match="no script for the model"):
        open_provider(Binding("scripted", declared="slow", path=path))
    with pytest.raises(BindingError, match="needs a script"):
        open_provider(Binding("scripted"))
