"""Compensations as compiled: nested as written, run for failures, and never for the end of a run."""

from __future__ import annotations

import asyncio

import pytest

from ael.types.fault import Failure, Fault, FaultKind, Uncertain
from tests.lower.helpers import World, act, compiled

THINGS = """
permission p
error NotFound { id: String }
service Things {
  get(id: String) -> String fails NotFound
    needs p
    repeat never
  undo(id: String) -> String
    needs p
    repeat idempotent
}
"""


def _program(depth: int) -> str:
    """A function with so many compensations before the call that fails."""
    steps = "".join(f'  compensate {{ let _a = Things.undo("{at}") }}\n' for at in range(depth))
    return f"{THINGS}fn f(id: String) -> String fails NotFound, Uncertain {{\n{steps}  try Things.get(id)\n}}\n"


@pytest.mark.feature("A8.14")
@pytest.mark.parametrize("depth", [1, 12, 40])
def test_all_run_from_the_last_to_the_first_and_the_very_same_failure_goes_on(depth: int) -> None:
    undone: list[str] = []
    endings: dict[str, BaseException] = {
        "error": Failure("main.NotFound", {"id": "x"}),
        "fault": Fault(FaultKind.TIMEOUT, "late"),
        "open": Uncertain("k1", "get", "get#1"),
    }

    def get(id: str) -> str:
        if id in endings:
            raise endings[id]
        return id

    world = World({"main.Things.get": get, "main.Things.undo": lambda id: undone.append(id) or id})
    f = compiled(_program(depth)).functions["main.f"]
    assert act(f, "fine", world=world) == "fine"
    assert undone == []
    for name, ending in endings.items():
        with pytest.raises(type(ending)) as caught:
            act(f, name, world=world)
        assert caught.value is ending
        assert undone == [str(at) for at in reversed(range(depth))]
        undone.clear()


@pytest.mark.feature("A8.14", "K39")
def test_nothing_is_begun_at_the_end_of_a_run() -> None:
    undone: list[str] = []

    def get(id: str) -> str:
        raise Fault(FaultKind.CANCELLED, "stopped") if id == "fault" else asyncio.CancelledError

    world = World({"main.Things.get": get, "main.Things.undo": lambda id: undone.append(id) or id})
    f = compiled(_program(2)).functions["main.f"]
    with pytest.raises(Fault):
        act(f, "fault", world=world)
    with pytest.raises(asyncio.CancelledError):
        act(f, "task", world=world)
    assert undone == []


@pytest.mark.feature("A8.14")
def test_a_fault_of_one_is_what_the_others_run_for_then() -> None:
    undone: list[str] = []

    def undo(id: str) -> str:
        undone.append(id)
        if id == "1":
            raise Fault(FaultKind.DISCONNECTED, "gone")
        return id

    def get(id: str) -> str:
        raise Failure("main.NotFound", {"id": id})

    f = compiled(_program(3)).functions["main.f"]
    with pytest.raises(Fault) as caught:
        act(f, "x", world=World({"main.Things.get": get, "main.Things.undo": undo}))
    assert caught.value.kind is FaultKind.DISCONNECTED
    assert undone == ["2", "1", "0"]


@pytest.mark.feature("A8.14", "A8.5")
@pytest.mark.parametrize(
    "gone", [Fault(FaultKind.DISCONNECTED, "gone"), ZeroDivisionError(), Fault(FaultKind.CANCELLED, "stopped")]
)
def test_what_may_have_taken_effect_is_not_forgotten_for_a_fault_of_one(gone: BaseException) -> None:
    undone: list[str] = []

    def undo(id: str) -> str:
        undone.append(id)
        if id == "1":
            raise gone
        return id

    def get(id: str) -> str:
        raise Uncertain("k1", "get", "get#1")

    f = compiled(_program(3)).functions["main.f"]
    with pytest.raises((Uncertain, Fault)) as caught:
        act(f, "x", world=World({"main.Things.get": get, "main.Things.undo": undo}))
    stopped = isinstance(gone, Fault) and gone.kind is FaultKind.CANCELLED
    assert caught.value is gone if stopped else isinstance(caught.value, Uncertain)
    assert undone == (["2", "1"] if stopped else ["2", "1", "0"])
