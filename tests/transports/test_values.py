"""What crosses is a value of its type, and comes out as it went in, wherever the service runs."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from ael.run.outcome import Faulted, Value
from ael.types.fault import FaultKind
from tests.fuzz.typed import World, values
from tests.transports.places import EVERYWHERE, Placed, Setting, placed
from tests.transports.programs import ECHO, KINDS

ECHOES = Setting(services=("Echo",), workers=1)


@pytest.mark.feature("A11.1", "A11.2", "A11.6", "D9")
@pytest.mark.parametrize("place", EVERYWHERE)
def test_values_of_every_type_come_back_as_they_went(place: str, tmp_path: Path) -> None:
    with asyncio.Runner() as runner:
        context = placed(place, tmp_path, ECHO, ECHOES)
        program: Placed = runner.run(context.__aenter__())
        try:
            for entry in (*KINDS, "unit"):
                come_back(runner, program, entry)
        finally:
            runner.run(context.__aexit__(None, None, None))


def come_back(runner: asyncio.Runner, program: Placed, entry: str) -> None:
    """Values of the type that one node takes, through the service and back."""
    codecs = program.host.engine.world.codecs
    type = program.host.unit.nodes[f"main.{entry}"].spec.signature.parameters[0].type
    codec = codecs.value(type)

    @settings(max_examples=25, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
    @given(values(World(type, codecs.definitions)))
    def each(value: object) -> None:
        form = codec.encode(value)
        outcome = runner.run(program.run(entry, {"value": form}))
        assert isinstance(outcome, Value), outcome
        assert outcome.plain == (None if entry == "unit" else form)

    each()


@pytest.mark.feature("A11.1", "K47")
@pytest.mark.parametrize("place", EVERYWHERE)
def test_the_edges_of_values_hold_everywhere(place: str, tmp_path: Path) -> None:
    """The largest Int, exact Decimals, every character, the deepest nesting and the largest text are the same in every placement."""
    deepest: object = 0
    for _ in range(30):
        deepest = [deepest]
    cases: list[tuple[str, object]] = [
        ("whole", 2**4_000),
        ("whole", -(2**63) - 1),
        ("money", "0.10"),
        ("money", "123456789012345678901234567890.000000001"),
        ("text", "".join(map(chr, (*range(0xD800), 0xE000, 0xFFFF, 0x10000, 0x10FFFF)))[:20_000]),
        ("any", deepest),
        ("any", {"a": 1e300, "b": [0.1, -0.0], "c": None}),
        ("nothing", None),
        ("wide", {"known": 1, "Other-Key": {"x": [1, 2]}}),
    ]

    async def scenario() -> None:
        async with placed(place, tmp_path, ECHO, ECHOES) as program:
            for entry, value in cases:
                outcome = await program.run(entry, {"value": value})
                assert isinstance(outcome, Value), (entry, outcome)
                assert outcome.plain == value, entry
            long = await program.run("text", {"value": "x" * 65_535})
            assert isinstance(long, Faulted)
            assert long.kind is FaultKind.TOO_LARGE

    asyncio.run(scenario())
