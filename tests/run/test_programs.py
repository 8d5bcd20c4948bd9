"""The run time under real programs: what the hand-written units of the other tests prove holds for compiled AEL code too."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ael.host import Host, open_host
from ael.models.script import parse_script
from ael.models.scripted import ScriptedProvider
from ael.run.bindings import BoundModel, Options
from ael.run.outcome import Outcome, to_json
from ael.run.ports import Approver, Decision
from ael.types.fault import FaultKind
from ael.types.spec import BudgetSpec
from tests.programs import open_files
from tests.run.fakes import FakeApprover
from tests.run.helpers import Collected, error_of, fault_of, uncertain_of, value_of

SUPPORT = """
permission orders.read
permission orders.refund includes orders.read
permission orders.store
role finance

pub record Order {
  id: String(max: 64)
  status: OrderStatus
  total: Decimal(min: 0.0)
}
pub enum OrderStatus { Open, Paid, Refunded }
pub record Refund { id: String(max: 64), key: String }
error NotFound { id: String }
error NotRefundable { reason: String }

store orders: Map<String, Order> needs orders.store

service Orders {
  /// One order.
  get(id: String(max: 64)) -> Order fails NotFound
    needs orders.read
    repeat idempotent
  /// Give the money back.
  refund(id: String(max: 64)) -> Refund fails NotFound
    needs orders.refund
    repeat reconcile
    timeout 1s
}

provide Orders
  grants orders.store
{
  fn get(id: String(max: 64)) -> Order fails NotFound {
    let found = orders.get(id)
    if found == null { fail NotFound(id: id) }
    found
  }
  fn refund(id: String(max: 64)) -> Refund fails NotFound {
    let found = orders.get(id)
    if found == null { fail NotFound(id: id) }
    orders.put(id, found with { status: OrderStatus.Refunded })
    Refund(id: id, key: call.key)
  }
}

/// Read one order by its identifier. Call this before promising anything about an order.
tool lookup_order(id: String(max: 64)) -> Order fails NotFound
  needs orders.read
  repeat idempotent
{
  try Orders.get(id)
}

/// Refund an order in full. Only after lookup_order showed that it was paid.
tool refund_order(id: String(max: 64)) -> Refund fails NotFound, NotRefundable
  needs orders.refund
  repeat reconcile
  approval required by finance
{
  let order = try Orders.get(id)
  if order.status != OrderStatus.Paid {
    fail NotRefundable(reason: "order ${id} is ${order.status}")
  }
  try Orders.refund(id)
}

model fast {
  provider scripted
  name "fast"
}

pub record Reply {
  answer: String
  refunded: Bool = false
}

/// Answer one ticket.
node answer(ticket: String(max: 500)) -> Reply fails Uncertain
  model fast
  policy loop(steps: 6, tool_calls: 6)
  grants orders.read, orders.refund
  tools lookup_order, refund_order
  budget tokens 20_000, time 60s
{
  instructions "You answer ${ticket}. Look an order up before you promise anything."
}

node fill(status: String) -> Unit
  grants orders.store
{
  let kept = match status {
    "paid" => OrderStatus.Paid
    _ => OrderStatus.Open
  }
  orders.put("A-1", Order(id: "A-1", status: kept, total: 12.5))
}

node main(ticket: String(max: 500)) -> String
  grants orders.read, orders.refund, orders.store
{
  fill("paid")
  let reply = try answer(ticket) catch {
    Uncertain u => Reply(answer: "open: ${u.operation}")
    BudgetExhausted b => Reply(answer: "too long: ${b.message}")
  }
  let after = orders.get("A-1")
  let status = if after == null { "gone" } else { "${after.status}" }
  "${reply.answer} ${status}"
}
"""


def opened(tmp_path: Path, text: str) -> Any:
    program, bag = open_files(tmp_path, {"main.ael": text})
    assert program is not None, [f"{d.code} {d.message}" for d in bag.sorted()]
    return program


def run(
    program: Any,
    values: Mapping[str, object],
    script: Mapping[str, list[Any]] | None = None,
    entry: str = "main.main",
    approver: Approver | None = None,
    options: Options | None = None,
) -> Outcome:
    models = {
        name: BoundModel(
            ScriptedProvider(parse_script((script or {}).get(name.rpartition(".")[2], []))), spec.model or "m", {}, spec.fallback
        )
        for name, spec in program.program.models.items()
    }

    async def whole(host: Host) -> Outcome:
        async with host:
            outcome = await host.engine.start(entry, values, options or Options(caller="tester")).outcome()
            assert host.engine.last_crash is None, repr(host.engine.last_crash)
            return outcome

    return asyncio.run(whole(open_host(program, models=models, approver=approver)))


def look(id: str) -> dict[str, Any]:
    return {"call": "lookup_order", "with": {"id": id}}


REFUND = {"call": "refund_order", "with": {"id": "A-1"}}


@pytest.mark.feature("A1.1", "A7.1", "A2.1", "A2.2", "A8.7")
def test_a_ticket_is_answered_with_a_real_effect_on_a_store(tmp_path: Path) -> None:
    events = Collected()
    script = [look("A-1"), REFUND, {"final": {"answer": "Refunded.", "refunded": True}}]
    approver = FakeApprover(Decision(True, "ann"))
    outcome = run(
        opened(tmp_path, SUPPORT),
        {"ticket": "refund A-1"},
        {"fast": script},
        approver=approver,
        options=Options(caller="c", on_event=events),
    )
    assert value_of(outcome) == "Refunded. Refunded"
    assert approver.requests[0].role == "finance"
    assert outcome.spent.tool_calls == 2


def test_errors_of_a_tool_are_results_and_those_of_a_node_are_outcomes(tmp_path: Path) -> None:
    program = opened(tmp_path, SUPPORT)
    script = [look("ZZ"), {"final": {"answer": "There is no such order."}}]
    assert value_of(run(program, {"ticket": "?"}, {"fast": script})) == "There is no such order. Paid"


def test_a_limit_is_met_by_code(tmp_path: Path) -> None:
    script = [look("A-1")] * 8
    outcome = run(opened(tmp_path, SUPPORT), {"ticket": "?"}, {"fast": script})
    assert value_of(outcome) == "too long: the node `answer` has used 6 of 6 model steps Paid"


def test_values_cross_the_boundary_in_their_json_form(tmp_path: Path) -> None:
    text = """
pub record Part { name: String, price: Decimal, when: Date }
pub enum Shape { Dot, Circle(radius: Float) }
error Bad { parts: List<Part> }

node parts(day: Date) -> List<Part> {
  [Part(name: "a", price: 1.10, when: day)]
}
node shape(r: Float) -> Shape { Shape.Circle(radius: r) }
node failing(day: Date) -> Int fails Bad {
  fail Bad(parts: [Part(name: "x", price: 0.5, when: day)])
}
"""
    program = opened(tmp_path, text)
    day = {"day": "2026-02-28"}
    assert to_json(run(program, day, entry="main.parts"))["value"] == [{"name": "a", "price": "1.10", "when": "2026-02-28"}]
    assert to_json(run(program, {"r": 1.5}, entry="main.shape"))["value"] == {"kind": "Circle", "radius": 1.5}
    assert error_of(run(program, day, entry="main.failing")).plain == {
        "parts": [{"name": "x", "price": "0.5", "when": "2026-02-28"}]
    }
    fault = fault_of(run(program, {"day": "yesterday"}, entry="main.parts"))
    assert fault.kind is FaultKind.BAD_ARGUMENTS
    assert "`day`" in fault.message


@pytest.mark.feature("D6", "A7.2")
def test_a_pure_loop_of_compiled_code_is_stopped_at_its_deadline(tmp_path: Path) -> None:
    text = """
node main(n: Int) -> Int
  budget time 50ms
{
  var sum = 0
  for i in 1..1_000_000 {
    for j in 1..1_000 { sum = (sum + i * j) % 97 }
  }
  sum
}
"""
    fault = fault_of(run(opened(tmp_path, text), {"n": 1}))
    assert (fault.kind, fault.details["spender"]) == (FaultKind.DEADLINE_EXCEEDED, "the node `main`")


def test_faults_of_plain_code_are_faults_of_the_run(tmp_path: Path) -> None:
    text = """
node main(n: Int) -> Int { 10 div n }
node index(n: Int) -> Int { [1, 2][n] }
node deep(n: Int) -> Int { down(n) }
fn down(n: Int) -> Int { if n == 0 { 0 } else { 1 + down(n - 1) } }
"""
    program = opened(tmp_path, text)
    assert fault_of(run(program, {"n": 0})).kind is FaultKind.ARITHMETIC
    assert fault_of(run(program, {"n": 9}, entry="main.index")).kind is FaultKind.OUT_OF_RANGE
    assert fault_of(run(program, {"n": 100_000}, entry="main.deep")).kind is FaultKind.TOO_DEEP
    assert value_of(run(program, {"n": 5}, entry="main.deep")) == 5


def test_parallel_branches_and_higher_order_functions_act_in_frames_of_their_own(tmp_path: Path) -> None:
    text = """
permission p
/// Give back what it is given.
tool echo(s: String) -> String
  needs p
  repeat idempotent
{ s }

node main(words: List<String>) -> String
  grants p
{
  let all = parallel w in words up to 2 { echo(w) }
  let both = parallel { a: echo("x"), b: echo("y") }
  let mapped = words.map(fn(w) => echo(w))
  "${all.join(",")} ${both.a}${both.b} ${mapped.join("")}"
}
"""
    outcome = run(opened(tmp_path, text), {"words": ["a", "b", "c"]})
    assert value_of(outcome) == "a,b,c xy abc"
    assert outcome.spent.tool_calls == 8


@pytest.mark.feature("D2")
def test_an_uncertain_operation_reaches_the_code_that_has_to_meet_it(tmp_path: Path) -> None:
    """An `extern` that loses its connection after it may have acted."""
    (tmp_path / "lost_bank.py").write_text("def send(amount):\n    raise ConnectionResetError('lost')\n")
    text = """
permission pay
/// Send money.
tool send(amount: Int) -> String
  needs pay
  repeat never
  extern "lost_bank:send"

node main(amount: Int) -> String
  grants pay
{
  try send(amount) catch { Uncertain u => "look for ${u.key.length()} letters at ${u.step}" }
}
node bare(amount: Int) -> String fails Uncertain
  grants pay
{
  try send(amount)
}
"""
    program, bag = open_files(
        tmp_path, {"pack.ael": 'pack bank_test {\n  version "0.1.0"\n  extern "lost_bank"\n}\n', "main.ael": text}, "main.ael"
    )
    if program is None:
        pytest.fail(str([f"{d.code} {d.message}" for d in bag.sorted()]))
    assert value_of(run(program, {"amount": 5})) == "look for 32 letters at main/send@0"
    assert uncertain_of(run(program, {"amount": 5}, entry="main.bare")).operation == "send"


def test_a_run_can_be_tightened_from_outside(tmp_path: Path) -> None:
    options = Options(caller="c", budget=BudgetSpec(steps=1))
    outcome = run(opened(tmp_path, SUPPORT), {"ticket": "?"}, {"fast": [look("A-1")] * 3}, options=options)
    assert value_of(outcome) == "too long: the run has used 1 of 1 model steps Paid"
