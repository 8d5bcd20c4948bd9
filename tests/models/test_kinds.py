"""Kinds of faults of providers that show over a whole exchange: answers, dialects, cancelling, what conversations share."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from ael.models.registry import Binding, open_provider
from ael.models.weights import WeightsError, download
from ael.run.ports import ModelProvider, ModelTurn, ProposedCall, Stop, ToolAnswer, ToolOffer
from ael.types.definition import Definition, EnumDef, FieldDef, RecordDef, VariantDef
from ael.types.dialect import DIALECTS, Lowered
from ael.types.schema import record_schema
from ael.types.type import (
    BytesType,
    DateType,
    DecimalType,
    DurationType,
    FileType,
    FloatType,
    IntType,
    JsonType,
    ListType,
    MapType,
    Named,
    NullType,
    StringType,
    TimestampType,
    Type,
    optional,
    union,
)
from ael.types.value import Secret
from tests.models.support import KEY, LOOK_UP, REFUND, claude, completion, spec, talk
from tests.net.loopback import Answer, Loopback

TWO = ModelTurn("", (ProposedCall("a", "look_up", "{}"), ProposedCall("b", "refund", "{}")), Stop.CALLS, None)


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
@pytest.mark.parametrize("places", [(), (0,), (1,), (1, 0), (0, 1, 1)])
def test_a_turn_whose_answers_do_not_fit_is_refused_here(provider: str, places: tuple[int, ...]) -> None:
    """K05: none, one, one too many, or in another order: no request is made of it."""
    opened = open_provider(Binding(provider, "m", key=Secret("KEY", KEY)))
    conversation = opened.converse(spec(LOOK_UP, REFUND))
    conversation.user("hi")
    conversation.turn(TWO)
    with pytest.raises(ValueError, match=r"answered"):
        conversation.answers([ToolAnswer(TWO.calls[place], "ok", False) for place in places])


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_a_request_with_an_open_call_is_not_made(provider: str) -> None:
    """K05: it would be refused by every provider, then and for ever."""
    opened = open_provider(Binding(provider, "m", key=Secret("KEY", KEY)))
    conversation = opened.converse(spec(LOOK_UP, REFUND))
    conversation.user("hi")
    conversation.turn(TWO)
    with pytest.raises(ValueError, match=r"`look_up` has no answer"):
        asyncio.run(conversation.ask(10, False, None))


WIDE = ToolOffer(
    "wide",
    "Do it.",
    {
        "type": "object",
        "properties": {
            "id": {"type": "string", "maxLength": 64, "pattern": "^[a-z]+$"},
            "size": {"type": "integer", "minimum": 0, "maximum": 9},
            "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        },
        "required": ["id"],
        "additionalProperties": False,
    },
)


def test_tools_are_lowered_for_the_provider_that_gets_them() -> None:
    """K18: a strict dialect has every key required and closed; one that is not strict has the schema as it was declared."""
    for provider, strict in (("openai", True), ("vllm", False)):

        async def test(opened: ModelProvider, _: Loopback) -> None:
            conversation = opened.converse(spec(WIDE))
            conversation.user("hi")
            await conversation.ask(10, False, None)

        (body,) = talk(provider, [completion(content="ok")], test)
        function = body["tools"][0]["function"]
        properties = function["parameters"]["properties"]
        assert function.get("strict", False) is strict
        assert function["parameters"]["additionalProperties"] is False
        assert sorted(function["parameters"]["required"]) == (sorted(properties) if strict else ["id"])
        assert properties["id"].get("maxLength") == (None if strict else 64)
        assert ("anyOf" in properties["size"]) is strict


TREE = RecordDef("m.Tree", (FieldDef("all", "all", ListType(Named("m.Tree"))), FieldDef("value", "value", JsonType())))
OPEN = RecordDef("m.Open", (FieldDef("id", "id", IntType(0, 9)),), open=True)
SHAPE = EnumDef("m.Shape", (VariantDef("Dot", ()), VariantDef("Circle", (FieldDef("radius", "radius", FloatType()),))))
DECLARED: dict[str, Definition] = {one.name: one for one in (TREE, OPEN, SHAPE)}


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
@pytest.mark.parametrize(
    "type",
    [
        StringType(min=1, max=9, pattern="^[a-z]+$"), IntType(), FloatType(0.0, 1.0), DecimalType(), BytesType(), JsonType(),
        TimestampType(), DateType(), DurationType(), FileType(), ListType(MapType(JsonType())), MapType(IntType()),
        optional(Named("m.Tree")), Named("m.Tree"), Named("m.Open"), Named("m.Shape"), union(StringType(), IntType(), NullType()),
    ],
    ids=str,
)  # fmt: skip
def test_every_tool_that_can_be_declared_can_be_told_to_every_provider(type: Type, dialect: str) -> None:
    """K18: at the worst without being held to it: what comes back is decoded against the type in any case."""
    fields = (FieldDef("x", "x", type), FieldDef("y", "y", type, optional=True))
    declared = record_schema(RecordDef("m.input", fields), DECLARED)
    before = json.dumps(declared)
    lowered = DIALECTS[dialect].tool(declared)
    assert isinstance(lowered, Lowered)
    assert lowered.schema["type"] == "object"
    assert json.dumps(declared) == before


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_conversations_share_no_instructions(provider: str) -> None:
    """K40: with the same tools, settings and output, on one provider, beside each other."""
    settings: dict[str, object] = {}
    tools = (LOOK_UP,)
    output = spec().output

    async def test(opened: ModelProvider, _: Loopback) -> None:
        made = [spec(*tools, output=output, settings=settings, system=f"tenant {name}") for name in "ab"]
        same = [type(one)(one.model, settings, one.system, tools, output) for one in made]
        conversations = [opened.converse(one) for one in same]
        for conversation, name in zip(conversations, "ab", strict=True):
            conversation.user(f"words of {name}")
        await asyncio.gather(*[conversation.ask(10, False, None) for conversation in conversations])

    answer = completion(content="ok") if provider == "openai" else claude({"type": "text", "text": "ok"})
    bodies = talk(provider, [answer, answer], test)
    for body in bodies:
        told = json.dumps(body)
        name = "a" if "words of a" in told else "b"
        other = "b" if name == "a" else "a"
        assert f"tenant {name}" in told
        assert f"tenant {other}" not in told
        assert f"words of {other}" not in told


def test_cancelled_requests_leave_no_connection() -> None:
    """K39: each is closed when its task is cancelled, not when the server would have answered."""

    async def test(opened: Any, server: Loopback) -> None:
        async def asking() -> None:
            conversation = opened.converse(spec())
            conversation.user("hi")
            await conversation.ask(10, False, None)

        tasks = [asyncio.create_task(asking()) for _ in range(3)]
        while len(server.asked) < 3:
            await asyncio.sleep(0.005)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0.02)
        assert opened.client.open_connections == 0

    talk("openai", lambda _: Answer([1.0], raw=True), test)


def test_opening_and_closing_leaves_no_file_open() -> None:
    """K39: a hundred cycles, some of them broken off."""

    async def main() -> tuple[int, int]:
        async with Loopback(lambda _: completion(content="ok")) as server:
            counts = []
            for cycle in range(100):
                bound = Binding("openai", "m", endpoint=server.url + "/v1", key=Secret("KEY", KEY))
                opened = open_provider(bound)
                conversation = opened.converse(spec())
                conversation.user("hi")
                task = asyncio.create_task(conversation.ask(10, False, None))
                await asyncio.sleep(0)
                if cycle % 3:
                    await task
                else:
                    task.cancel()
                    await asyncio.gather(task, return_exceptions=True)
                await opened.close()
                if cycle in (10, 99):
                    await asyncio.sleep(0.02)
                    counts.append(len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0)
            return counts[0], counts[1]

    early, late = asyncio.run(main())
    assert late <= early + 2


def test_a_child_process_gets_no_key(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """K41: pip, which fetches the small model, has its settings and the way to the network, and nothing else."""
    given: dict[str, str] = {}

    def run(command: object, **how: Any) -> subprocess.CompletedProcess[str]:
        given.update(how["env"])
        return subprocess.CompletedProcess([], 1, "", "no")

    for name, value in (
        ("ANTHROPIC_API_KEY", KEY),
        ("MY_TOKEN", KEY),
        ("pip_index_url", "x"),
        ("https_proxy", "y"),
        ("PATH", "/bin"),
    ):
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(subprocess, "run", run)
    with pytest.raises(WeightsError):
        download("a==1", tmp_path)
    assert KEY not in given.values()
    assert (given["pip_index_url"], given["https_proxy"], given["PATH"]) == ("x", "y", "/bin")
