"""Python functions as tools: threads and coroutines, snapshots, time limits, and results that are no data (K40, K47)."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from ael.run.bindings import Options
from ael.types.fault import Failure, FaultKind
from ael.types.signature import Repeat
from ael.types.type import IntType, JsonType, ListType, StringType, Type
from tests.run.fakes import FakeClock
from tests.run.helpers import ORDER, code, engine, error_of, fault_of, parameter, run, tool, uncertain_of, unit, value_of


def calling(
    function: Any,
    *arguments: object,
    parameters: Any = (),
    result: Type | None = None,
    clock: Any = None,
    options: Any = None,
    **settings: Any,
) -> Any:
    async def main(k: Any) -> object:
        return await k.act(0, "main.f", arguments)

    kind = result or StringType()
    made = unit(tools=[tool("f", None, *parameters, result=kind, **settings)], nodes=[code("main", main, result=kind)])
    bound = {} if clock is None else {"clock": clock}
    return run(engine(made, externs={"main.f": function}, **bound), "main", options=options)


def test_a_plain_function_runs_in_a_thread_and_a_coroutine_on_the_loop() -> None:
    here = threading.current_thread()

    def plain() -> str:
        return str(threading.current_thread() is here)

    async def asynchronous() -> str:
        await asyncio.sleep(0)
        return str(threading.current_thread() is here)

    class Callable_:
        async def __call__(self) -> str:
            return "object"

    assert value_of(calling(plain)) == "False"
    assert value_of(calling(asynchronous)) == "True"
    assert value_of(calling(Callable_())) == "object"


def test_arguments_go_by_name_and_an_absent_one_is_absent() -> None:
    """K10: what is not given is not handed on, so the function's own default holds."""

    def f(a: str, b: int = 7) -> str:
        return f"{a}{b}"

    parameters = (parameter("a"), parameter("b", IntType(), optional=True))
    assert value_of(calling(f, "x", None, parameters=parameters)) == "x7"
    assert value_of(calling(f, "x", 3, parameters=parameters)) == "x3"


@pytest.mark.feature("A5.2", "A1.4")
@pytest.mark.parametrize(
    "bad",
    [{1}, object(), float("nan"), float("inf"), lambda: 1, {"a": {"b": [b"\xff", object()]}}, {1: 2}, (1, 2), "\ud800", [[{2}]]],
)
def test_a_result_that_is_no_data_is_typed_and_names_tool_and_path(bad: object) -> None:
    """K12, K47."""
    fault = fault_of(calling(lambda: bad, result=JsonType()))
    assert fault.kind is FaultKind.MALFORMED
    assert "the result of `f` does not fit its type" in fault.message
    assert fault.details["tool"] == "main.f"


@pytest.mark.feature("A5.2")
def test_a_result_that_contains_itself_is_typed() -> None:
    """K47: no RecursionError."""
    cycle: list[Any] = []
    cycle.append(cycle)
    assert fault_of(calling(lambda: cycle, result=JsonType())).kind in (FaultKind.MALFORMED, FaultKind.TOO_DEEP)


def test_the_path_inside_of_a_result_is_told() -> None:
    fault = fault_of(calling(lambda: [{"id": "a", "total": 1}, {"id": "b", "total": "1"}], result=ListType(ORDER)))
    assert "`[1].total`" in fault.message


@pytest.mark.feature("A2.10")
def test_values_are_snapshots_on_both_sides() -> None:
    """What the function does later to what it got or gave changes nothing."""
    kept: list[Any] = []

    def f(xs: list[int]) -> list[int]:
        xs.append(99)
        kept.append(xs)
        return xs

    given = [1, 2]

    async def main(k: Any) -> object:
        got = await k.act(0, "main.f", (given,))
        kept[0].append(100)
        return f"{given} {got}"

    made = unit(
        tools=[tool("f", None, parameter("xs", ListType(IntType())), result=ListType(IntType()))], nodes=[code("main", main)]
    )
    assert value_of(run(engine(made, externs={"main.f": f}), "main")) == "[1, 2] [1, 2, 99]"


def test_a_time_limit_holds_for_a_thread_that_hangs() -> None:
    """The call ends; the function is told; for something that may have acted the outcome is open."""
    for repeat in (Repeat.IDEMPOTENT, Repeat.NEVER):
        clock = FakeClock()
        done = threading.Event()

        loops: list[Any] = []

        def hang(*, call: Any, clock: FakeClock = clock, done: threading.Event = done, loops: list[Any] = loops) -> str:
            loops[0].call_soon_threadsafe(clock.advance, 1.0)
            while not call.cancelled():
                done.wait(0.005)
            return "late"

        async def main(k: Any, loops: list[Any] = loops) -> object:
            loops.append(asyncio.get_running_loop())
            return await k.act(0, "main.f", ())

        made = unit(tools=[tool("f", None, timeout=500, repeat=repeat)], nodes=[code("main", main)])
        outcome = run(engine(made, externs={"main.f": hang}, clock=clock), "main")
        if repeat is Repeat.IDEMPOTENT:
            assert fault_of(outcome).kind is FaultKind.TIMEOUT
        else:
            assert uncertain_of(outcome).operation == "f"


def test_errors_of_a_function() -> None:
    """A declared error by its short name, a lost connection, and anything else."""

    def missing() -> str:
        raise Failure("NotFound", {"id": "A"})

    def gone() -> str:
        raise ConnectionResetError("peer")

    def broken() -> str:
        raise ValueError("no traceback please")

    fails = frozenset({"main.NotFound"})
    assert error_of(calling(missing, fails=fails)).plain == {"id": "A"}
    assert fault_of(calling(missing)).kind is FaultKind.CRASHED
    assert fault_of(calling(gone)).kind is FaultKind.DISCONNECTED
    assert "Traceback" not in fault_of(calling(broken)).message
    for function in (gone, broken):
        assert uncertain_of(calling(function, repeat=Repeat.NEVER)).operation == "f"
    assert error_of(calling(missing, fails=fails, repeat=Repeat.NEVER)).error == "main.NotFound"


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), StopIteration("x")])
def test_a_function_cannot_end_the_process(error: BaseException) -> None:
    def leave() -> str:
        raise error

    assert fault_of(calling(leave)).kind is FaultKind.CRASHED


def test_runs_of_two_tenants_never_cross() -> None:
    """K40: in threads too, the identity is what was passed."""
    seen: list[tuple[str, str]] = []
    barrier = threading.Barrier(2, timeout=20)

    def who(name: str, *, call: Any) -> str:
        barrier.wait()
        seen.append((name, call.tenant))
        return call.tenant  # type: ignore[no-any-return]

    async def main(k: Any, name: str) -> object:
        return await k.act(0, "main.f", (name,))

    made = engine(
        unit(tools=[tool("f", None, parameter("name"))], nodes=[code("main", main, parameter("name"))]), externs={"main.f": who}
    )

    async def both() -> list[Any]:
        runs = [made.start("main", {"name": tenant}, Options(caller="c", tenant=tenant)) for tenant in ("a", "b")]
        return [await one.outcome() for one in runs]

    assert [value_of(outcome) for outcome in asyncio.run(both())] == ["a", "b"]
    assert sorted(seen) == [("a", "a"), ("b", "b")]
