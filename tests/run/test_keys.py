"""Idempotency keys: one names one logical effect, across attempts, restarts and machines (features A8.4, A8.6)."""

from __future__ import annotations

from typing import Any

import pytest

from ael.run.bindings import Options
from ael.run.repeat import key_from, key_of
from ael.run.step import logical
from ael.types.fault import Fault, FaultKind
from ael.types.spec import RetrySpec
from tests.run.fakes import FakeClock
from tests.run.helpers import (
    code,
    engine,
    operation,
    parameter,
    run,
    tool,
    unit,
    value_of,
)

TEMPORARY = Fault(FaultKind.UNAVAILABLE, "try later")
THREE = RetrySpec(attempts=3, backoff="fixed", base=100, cap=1000)


@pytest.mark.feature("A8.4", "A8.6")
def test_a_key_comes_from_run_path_and_tool() -> None:
    """Never from the attempt, the model or the process: the same run id gives the same keys in another execution."""
    keys: list[list[str]] = []
    for _ in range(2):
        seen: list[str] = []

        async def body(k: Any, seen: list[str] = seen) -> str:
            seen.append(k.key)
            return ""

        async def main(k: Any) -> object:
            for _ in range(2):
                await k.act(0, "main.act", ())
            return await k.act(1, "main.act", ())

        made = unit(tools=[tool("act", body)], nodes=[code("main", main)])
        run(engine(made), "main", options=Options(caller="c", run="r1"))
        keys.append(seen)
    assert keys[0] == keys[1] == [key_of("r1", path, "main.act") for path in ("main/act@0", "main/act@0#2", "main/act@1")]
    assert len(set(keys[0])) == 3
    assert logical("main/act@0~2/x@1~3") == "main/act@0/x@1"


@pytest.mark.feature("A8.4")
def test_calls_inside_a_body_have_keys_of_their_own_that_do_not_change_with_the_attempt() -> None:
    keys: list[str] = []
    left = [TEMPORARY, TEMPORARY]

    async def get(k: Any) -> str:
        keys.append(k.key)
        if left:
            raise left.pop(0)
        return "got"

    async def body(k: Any) -> object:
        return await k.act(0, "main.Orders.get", ())

    async def main(k: Any) -> object:
        return await k.act(0, "main.act", ())

    made = unit(tools=[tool("act", body, retry=THREE)], nodes=[code("main", main)], operations={operation("get"): get})
    assert value_of(run(engine(made, clock=FakeClock()), "main")) == "got"
    assert len(keys) == 3
    assert len(set(keys)) == 1


@pytest.mark.feature("A8.4")
def test_a_declared_key_names_the_same_effect_in_every_run_of_a_tenant() -> None:
    keys: list[str] = []

    async def body(k: Any, order: str) -> str:
        keys.append(k.key)
        return ""

    async def main(k: Any) -> object:
        return await k.act(0, "main.act", ("A-1",))

    made = unit(tools=[tool("act", body, parameter("order"), key=lambda order: order)], nodes=[code("main", main)])
    for tenant in ("acme", "acme", "other"):
        run(engine(made), "main", options=Options(caller="c", tenant=tenant))
    assert keys[0] == keys[1] == key_from("main.act", "acme", "A-1") != keys[2]
