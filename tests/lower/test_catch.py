"""Failures: declared errors, faults, `Uncertain`."""

from __future__ import annotations

import asyncio

import pytest

from ael.types.fault import Failure, Fault, FaultKind, Uncertain
from tests.lower.helpers import World, act, compiled, run

ERRORS = """
error NotFound { id: String }
error Refused { reason: String, code?: Int }
fn look(id: String) -> String fails NotFound, Refused {
  if id == "" { fail NotFound(id: id) }
  if id == "no" { fail Refused(reason: "never", code: null) }
  "found ${id}"
}
"""


def test_declared_errors_are_failures_with_their_record() -> None:
    with pytest.raises(Failure) as caught:
        run(ERRORS, "look", "")
    assert (caught.value.error, caught.value.value) == ("main.NotFound", {"id": ""})
    with pytest.raises(Failure) as caught:
        run(ERRORS, "look", "no")
    assert caught.value.value == {"reason": "never"}


def test_catch_meets_by_name_and_passes_the_rest_on() -> None:
    source = (
        ERRORS
        + """
    fn f(id: String) -> String fails Refused {
      try look(id) catch { NotFound e => "missing '${e.id}'" }
    }
    fn g(id: String) -> String {
      look(id) catch {
        NotFound | Refused => "neither"
      }
    }
    fn h(id: String) -> String {
      look(id) catch {
        Refused r if r.code == 3 => "three"
        Refused r if r.reason == "never" => "no way"
        _ => "other"
      }
    }
    """
    )
    unit = compiled(source)
    f, g, h = (unit.functions[f"main.{name}"] for name in "fgh")
    assert [f("a"), f("")] == ["found a", "missing ''"]
    with pytest.raises(Failure):
        f("no")
    assert [g("a"), g(""), g("no")] == ["found a", "neither", "neither"]
    assert [h("a"), h(""), h("no")] == ["found a", "other", "no way"]


def test_faults_by_name_and_all() -> None:
    source = """
    fn f(a: Int, xs: List<Int>) -> String {
      { let q = 10 div a
        "${xs[q]}" } catch {
        Arithmetic e => "arithmetic: ${e.message}"
        Fault e => "fault ${e.kind}"
      }
    }
    """
    f = compiled(source).functions["main.f"]
    assert f(10, [5, 6]) == "6"
    assert f(0, []) == "arithmetic: division by zero"
    assert f(1, []) == "fault OutOfRange"
    assert f(-10, [1]) == "fault OutOfRange"


def test_a_wildcard_meets_faults_and_errors_but_no_cancellation() -> None:
    source = (
        ERRORS
        + """
    fn f(n: Int) -> String {
      { let s = try look(if n == 1 { "" } else { "x" })
        "${s} ${1 div n}" } catch { _ => "something" }
    }
    """
    )
    f = compiled(source).functions["main.f"]
    assert [f(0), f(1), f(2)] == ["something", "something", "found x 0"]


def test_too_deep_can_be_met() -> None:
    source = """
    fn down(n: Int) -> Int { if n == 0 { 0 } else { 1 + down(n - 1) } }
    fn f(n: Int) -> Int { down(n) catch { TooDeep t => -1 } }
    """
    f = compiled(source).functions["main.f"]
    assert [f(10), f(100_000)] == [10, -1]


def test_failing_again_raises_the_very_same() -> None:
    source = """
    permission p
    fn f(x: Int) -> Int {
      { 1 div x } catch { Fault e => fail e }
    }
    """.replace("permission p\n", "")
    with pytest.raises(Fault) as caught:
        run(source, "f", 0)
    assert caught.value.kind is FaultKind.ARITHMETIC


SERVICE = """
permission p
error NotFound { id: String }
/// A store of things.
service Things {
  /// Read one.
  get(id: String) -> String fails NotFound
    needs p
    repeat idempotent
  /// Change one.
  put(id: String) -> String
    needs p
    repeat reconcile
}
"""


def test_uncertain_is_met_by_its_own_name_only() -> None:
    source = (
        SERVICE
        + """
    fn f(id: String) -> String fails Uncertain {
      try Things.put(id) catch { Fault x => "fault ${x.kind}" }
    }
    fn g(id: String) -> String {
      Things.put(id) catch { Uncertain u => "open ${u.key} ${u.operation}" }
    }
    fn h(id: String) -> String fails Uncertain {
      Things.put(id) catch { Uncertain u => { fail u } }
    }
    """
    )
    unit = compiled(source)

    def put(id: str) -> str:
        if id == "open":
            raise Uncertain("k1", "Things.put", "s")
        raise Fault(FaultKind.TIMEOUT, "slow")

    world = World({"main.Things.put": put})
    f, g, h = (unit.functions[f"main.{name}"] for name in "fgh")
    assert act(f, "x", world=world) == "fault Timeout"
    with pytest.raises(Uncertain):
        act(f, "open", world=world)
    assert act(g, "open", world=world) == "open k1 Things.put"
    with pytest.raises(Fault):
        act(g, "x", world=world)
    with pytest.raises(Uncertain) as caught:
        act(h, "open", world=world)
    assert caught.value.key == "k1"


def test_cancellation_is_never_met() -> None:
    source = (
        SERVICE
        + """
    fn f(id: String) -> String {
      Things.get(id) catch {
        NotFound n => "missing"
        Fault x => "fault"
      }
    }
    """
    )
    f = compiled(source).functions["main.f"]

    def cancelled(id: str) -> str:
        raise Fault(FaultKind.CANCELLED, "stopped") if id == "fault" else asyncio.CancelledError

    world = World({"main.Things.get": cancelled})
    with pytest.raises(Fault) as caught:
        act(f, "fault", world=world)
    assert caught.value.kind is FaultKind.CANCELLED
    with pytest.raises(asyncio.CancelledError):
        act(f, "task", world=world)


def test_an_internal_error_is_crashed_and_no_users_fault() -> None:
    source = (
        SERVICE
        + """
    fn f(id: String) -> String fails NotFound {
      try Things.get(id) catch { OutOfRange x => "mistaken for the user's" }
    }
    """
    )
    f = compiled(source).functions["main.f"]

    def broken(id: str) -> str:
        return [][3]

    with pytest.raises(Fault) as caught:
        act(f, "x", world=World({"main.Things.get": broken}))
    assert caught.value.kind is FaultKind.CRASHED
    assert isinstance(caught.value.__cause__, IndexError)
