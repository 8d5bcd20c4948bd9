"""Recording a session and playing it back: the same turns, or a refusal that names the first difference."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from ael.models import script as s
from ael.models.recording import RecordingError, read
from ael.models.registry import Binding, BindingError, open_provider
from ael.models.script import Script
from ael.run.ports import (
    ConversationSpec,
    ModelError,
    ModelErrorKind,
    ModelEvent,
    ModelProvider,
    ModelTurn,
    Opaque,
    Stop,
    TextDelta,
    ToolAnswer,
    Usage,
)  # fmt: skip
from ael.types.value import Secret
from tests.models.support import KEY, LOOK_UP, REFUND, claude, claude_stream, spec
from tests.net.loopback import Loopback, stream

SCRIPT = Script(
    (
        s.call("look_up", {"id": "A"}),
        s.error(ModelErrorKind.UNAVAILABLE, "busy", retry_after=1.5),
        s.text("done", usage=Usage(5, 4, 3, 2, 1)),
        s.stop(Stop.REFUSED, "no"),
    )
)


async def session(
    provider: ModelProvider, made: ConversationSpec | None = None, *, answer: str = "here", question: str = "hi"
) -> list[object]:
    """A tool call, a failed attempt, an answer; then a second conversation that is refused."""
    results: list[object] = []
    conversation = provider.converse(made or spec(LOOK_UP))
    conversation.user(question)
    turn = await conversation.ask(100, False, None)
    results.append(turn)
    conversation.turn(turn)
    conversation.answers([ToolAnswer(call, answer, False) for call in turn.calls])
    try:
        await conversation.ask(100, True, None)
    except ModelError as error:
        results.append((error.kind, error.message, error.retry_after))
    events: list[ModelEvent] = []
    results.append(await conversation.ask(100, True, events.append))
    results.append(events)
    other = provider.converse(spec())
    other.user("bad")
    results.append(await other.ask(100, False, None))
    await provider.close()
    return results


def record(path: Path) -> list[object]:
    inner = Binding("scripted", "inner-model", script=SCRIPT)
    return asyncio.run(session(open_provider(Binding("recorded", path=path, inner=inner))))


@pytest.mark.feature("B4")
def test_a_session_plays_back_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    recorded = record(path)
    played = asyncio.run(session(open_provider(Binding("replay", "another-name", path=path))))
    assert played == [
        *recorded[:2],
        ModelTurn("done", (), Stop.DONE, Usage(5, 4, 3, 2, 1), None, Opaque("script", (3,)), "inner-model"),
        [TextDelta("done")],
        recorded[4],
    ]
    assert isinstance(recorded[0], ModelTurn)
    assert recorded[0].model == "inner-model"


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"made": spec(LOOK_UP, system="Be long.")}, "the instructions, tools or output type"),
        ({"made": spec(REFUND)}, "the instructions, tools or output type"),
        ({"question": "ho"}, r"the input \(part 2\)"),
        ({"answer": "there"}, r"the results of the calls \(part 4\)"),
    ],
)
def test_a_difference_is_refused_and_named(tmp_path: Path, changed: dict[str, object], told: str) -> None:
    path = tmp_path / "session.jsonl"
    record(path)
    with pytest.raises(ModelError, match=told) as caught:
        asyncio.run(session(open_provider(Binding("replay", path=path)), **changed))  # type: ignore[arg-type]
    assert caught.value.kind is ModelErrorKind.BAD_REQUEST


def test_asking_more_than_was_recorded_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    record(path)

    async def main() -> None:
        provider = open_provider(Binding("replay", path=path))
        for _ in range(2):
            conversation = provider.converse(spec(LOOK_UP))
            conversation.user("hi")
            await conversation.ask(100, False, None)

    with pytest.raises(ModelError, match="once more than was recorded"):
        asyncio.run(main())


def test_conversations_beside_each_other_play_back_in_any_order(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    script = Script((), routes=tuple((f"q{number}.", (s.text(f"a{number}"),)) for number in range(5)))

    async def ask(provider: ModelProvider, order: list[int]) -> dict[int, str]:
        conversations = {number: provider.converse(spec()) for number in order}
        found = {}
        for number in order:
            conversations[number].user(f"q{number}.")
            found[number] = (await conversations[number].ask(10, False, None)).text
        return found

    first = asyncio.run(
        ask(open_provider(Binding("recorded", path=path, inner=Binding("scripted", script=script))), [0, 1, 2, 3, 4])
    )
    assert asyncio.run(ask(open_provider(Binding("replay", path=path)), [3, 1, 4, 0, 2])) == first


def test_a_recording_holds_no_key(tmp_path: Path) -> None:
    """K41: neither the header's, nor one that the model repeats."""
    path = tmp_path / "session.jsonl"
    thinking = [{"type": "thinking", "thinking": "", "signature": ""}, {"type": "signature_delta", "signature": "sig"}]

    async def main() -> None:
        answers = iter([stream(*claude_stream(thinking, [{"type": "text", "text": f"your key is {KEY}"}])), claude()])
        async with Loopback(lambda _: next(answers)) as server:
            inner = Binding("anthropic", "claude", endpoint=server.url, key=Secret("KEY", KEY))
            provider = open_provider(Binding("recorded", path=path, inner=inner))
            assert provider.name == "anthropic"
            conversation = provider.converse(spec(model="session.jsonl"))
            conversation.user("hi")
            turn = await conversation.ask(100, False, None)
            assert KEY in turn.text
            conversation.turn(turn)
            conversation.user("again")
            await conversation.ask(100, False, None)
            await provider.close()
            assert json.loads(server.asked[0].body)["model"] == "claude"

    asyncio.run(main())
    content = path.read_text()
    assert KEY not in content
    assert "[secret]" in content
    first = read(path)[0].turn
    assert first is not None
    assert isinstance(first.opaque, Opaque)
    assert first.opaque.blocks[0] == {"raw": '{"type":"thinking","thinking":"","signature":"sig"}'}


def test_a_long_session_grows_linearly(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"

    async def main() -> None:
        inner = Binding("scripted", script=Script((s.call("look_up", {"id": "A"}),), repeat=True))
        conversation = open_provider(Binding("recorded", path=path, inner=inner)).converse(spec(LOOK_UP))
        for _ in range(100):
            turn = await conversation.ask(100, False, None)
            conversation.turn(turn)
            conversation.answers([ToolAnswer(call, "x", False) for call in turn.calls])

    asyncio.run(main())
    lengths = [len(line) for line in path.read_bytes().splitlines()]
    assert max(lengths[2:]) - min(lengths[2:]) < 20


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n\n",
        b"{}\n",
        b"not json\n",
        b'{"ael":"recording","version":99}\n',
        b'{"ael":"recording","version":1}\n{}\n',
        b'{"ael":"recording","version":1}\n[\n',
        b'{"ael":"recording","version":1}\n{"request":"x","steps":[],"turn":{"stop":"sometimes"}}\n',
        b'{"ael":"recording","version":1}\n{"request":"x","steps":[],"turn":{"stop":"done"},"error":{}}\n',
    ],
)
def test_a_file_that_is_no_recording_says_so(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "session.jsonl"
    path.write_bytes(content)
    with pytest.raises(RecordingError, match=r"session\.jsonl"):
        read(path)
    with pytest.raises(BindingError):
        open_provider(Binding("replay", path=path))


def test_bindings_that_lack_something() -> None:
    for binding, told in (
        (Binding("replay"), "needs the file"),
        (Binding("recorded"), "needs the file"),
        (Binding("recorded", path=Path("x")), "needs the model to record"),
        (Binding("recorded", path=Path("x"), inner=Binding("recorded", path=Path("y"))), "cannot record another"),
        (Binding("replay", path=Path("/nowhere/x.jsonl")), "cannot be read"),
    ):
        with pytest.raises(BindingError, match=told):
            open_provider(binding)
