"""Which entry runs, and that a step costs the same however long the history is (features A17.10 in part, D10)."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from ael.run.bindings import Options
from ael.run.entry import EntryProblem, choose, entries
from ael.types.fault import FaultKind
from ael.types.spec import BudgetSpec
from ael.types.type import IntType
from tests.run.fakes import call, calls, model, said
from tests.run.helpers import code, engine, fault_of, node, parameter, run, tool, unit, value_of
from tests.run.loops import Body


def nodes(*names: str) -> Any:
    return unit(nodes=[code(name, Body(name)) for name in names])


def test_the_entry_is_the_one_named_else_main_else_the_only_one() -> None:
    assert choose(nodes("a", "main", "b"), None) == "main.main"
    assert choose(nodes("a", "main"), "a") == "main.a"
    assert choose(nodes("a", "main"), "main.a") == "main.a"
    assert choose(nodes("only"), None) == "main.only"


def test_otherwise_the_entries_are_listed() -> None:
    with pytest.raises(EntryProblem) as caught:
        choose(nodes("alpha", "beta"), None)
    assert caught.value.entries == ("alpha", "beta")
    with pytest.raises(EntryProblem, match="did you mean `alpha`"):
        choose(nodes("alpha", "beta"), "alhpa")
    with pytest.raises(EntryProblem, match="there is no node to run"):
        choose(unit(), None)
    assert entries(nodes("b", "a")) == ("a", "b")


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ('{"n": "1"}', "`n`: expected"),
        ('{"n": 1, "x": 2}', "`x`"),
        ("{", "not JSON"),
        ('{"n": 1, "n": 2}', "twice"),
        ("[]", "expected"),
        ('{"n": 99}', "`n`"),
        ({"n": True}, "`n`: expected"),
        (None, "`n`: is missing"),
    ],
)
def test_an_input_that_does_not_fit_is_a_typed_fault_and_nothing_runs(given: Any, says: str) -> None:
    body = Body("x")
    made = unit(nodes=[code("main", body, parameter("n", IntType(0, 9)))])
    fault = fault_of(run(engine(made), "main", given))
    assert fault.kind is FaultKind.BAD_ARGUMENTS
    assert says in fault.message
    assert body.got == []


@pytest.mark.parametrize("given", ['{"n": 3}', b'{"n": 3}', {"n": 3}])
def test_an_input_comes_as_text_or_as_an_object(given: Any) -> None:
    body = Body("x")
    made = unit(nodes=[code("main", body, parameter("n", IntType()))])
    assert value_of(run(engine(made), "main", given)) == "x"
    assert body.got == [(3,)]


@pytest.mark.feature("D10")
def test_the_work_of_a_step_does_not_grow_with_the_history() -> None:
    """Counted in calls of functions, which no other load of the machine changes: 200 steps against 20."""

    def work(steps: int) -> float:
        limits = BudgetSpec(steps=steps + 1, tool_calls=steps, tokens=10**9)
        made = unit(tools=[tool("look", Body("x"))], nodes=[node("main", tools=["look"], budget=limits)])
        ready = engine(made, model(*[calls(call("look", {})) for _ in range(steps)], said("done")))
        options = Options(caller="c", budget=BudgetSpec(tokens=10**9))
        count = 0

        def counting(frame: Any, event: str, argument: Any) -> None:
            nonlocal count
            count += event in ("call", "c_call")

        def begin(started: Any) -> None:
            sys.setprofile(counting)

        try:
            outcome = run(ready, "main", {}, options, during=begin)
        finally:
            sys.setprofile(None)
        assert value_of(outcome) == "done"
        return count / steps

    work(20)
    short, long = work(20), work(200)
    assert long <= short * 1.1
