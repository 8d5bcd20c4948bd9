"""Calls in each other are cut at a fixed depth, with a typed fault and not by the interpreter (language.md, section 4)."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from ael.run.frame import MAX_DEPTH
from ael.types.fault import FaultKind
from tests.run.helpers import code, engine, fault_of, parameter, run, tool, unit, value_of
from tests.run.loops import Body


async def down(k: Any, levels: int) -> object:
    return await k.act(0, "main.look", ()) if levels == 0 else await down(k.enter(0), levels - 1)


@pytest.fixture(autouse=True)
def _room(monkeypatch: pytest.MonkeyPatch) -> Any:
    """As the back end sets it where programs are compiled."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, 12_000))
    yield
    sys.setrecursionlimit(before)


@pytest.mark.feature("D6")
@pytest.mark.parametrize(("levels", "fits"), [(MAX_DEPTH - 50, True), (MAX_DEPTH + 1, False)])
def test_acting_functions_in_each_other(levels: int, fits: bool) -> None:
    async def main(k: Any) -> object:
        return await down(k, levels)

    outcome = run(engine(unit(tools=[tool("look", Body("x"))], nodes=[code("main", main)])), "main")
    if fits:
        assert value_of(outcome) == "x"
    else:
        assert fault_of(outcome).kind is FaultKind.TOO_DEEP


@pytest.mark.parametrize(("levels", "fits"), [(100, True), (200, False)])
def test_tools_in_each_other(levels: int, fits: bool) -> None:
    async def nest(k: Any, n: str) -> object:
        return "bottom" if n == "0" else await k.act(0, "main.nest", (str(int(n) - 1),))

    async def main(k: Any) -> object:
        return await k.act(0, "main.nest", (str(levels),))

    outcome = run(engine(unit(tools=[tool("nest", nest, parameter("n"))], nodes=[code("main", main)])), "main")
    if fits:
        assert value_of(outcome) == "bottom"
    else:
        assert fault_of(outcome).kind is FaultKind.TOO_DEEP


def test_without_that_room_it_is_still_typed() -> None:
    """The interpreter's own limit is told as the same fault."""
    sys.setrecursionlimit(400)

    async def main(k: Any) -> object:
        return await down(k, 900)

    assert (
        fault_of(run(engine(unit(tools=[tool("look", Body("x"))], nodes=[code("main", main)])), "main")).kind
        is FaultKind.TOO_DEEP
    )
