"""A run over its journal: finished effects are replayed, never done or paid again; what was open goes by repeat safety (runtime.md, 5)."""

from __future__ import annotations

from typing import Any

import pytest

from ael.journal.entry import Entry, Header, State
from ael.journal.memory import MemoryJournal
from ael.run.bindings import Options
from ael.run.outcome import Unsettled, to_json
from ael.run.ports import Decision, ModelTurn, Opaque, Usage
from ael.types.fault import FaultKind
from ael.types.signature import Repeat
from ael.types.spec import ApprovalSpec, BudgetSpec
from tests.run.fakes import FakeApprover, call, calls, final, model, said
from tests.run.helpers import ORDER, code, engine, fault_of, node, operation, parameter, run, tool, uncertain_of, unit, value_of
from tests.run.loops import ASK, Body

RUN = Options(caller="c", run="r1")


class Program:
    """A node with an idempotent read, an approved `never` write, an operation, a refused call and opaque parts; counts every effect."""

    def __init__(self, repeat: Repeat = Repeat.NEVER) -> None:
        self.read, self.write, self.get = Body("seen"), Body("written"), Body({"id": "A", "total": 1})
        self.approver = FakeApprover(*[Decision(True, "ann") for _ in range(50)])
        self.opaque = Opaque("fake", ({"signature": "s"},))

        async def outside() -> object:
            return await self.write(None)

        self.outside = outside

        async def read(k: Any) -> object:
            await k.act(0, "main.Orders.get", ("A",))
            return await self.read(k)

        async def main(k: Any, q: str) -> object:
            await k.act(0, "std.new_id", ())
            await k.parallel_for(1, [1, 2], None, lambda k, item: k.act(0, "main.read", ()))
            return await k.act(2, "main.answer", (q,))

        self.unit = unit(
            tools=[
                tool("read", read),
                tool("write", None, repeat=repeat, permission="write", approval=ApprovalSpec("boss")),
            ],
            nodes=[node("answer", parameter("q"), tools=["read", "write"]), code("main", main, parameter("q"))],
            operations={operation("get", parameter("id"), result=ORDER): self.get},
            provider_grants=frozenset({"read", "db"}),
        )

    def turns(self) -> list[ModelTurn]:
        return [
            calls(call("read", {}, "1"), call("nope", {}, "2"), call("read", {"x": 1}, "3"), opaque=self.opaque),
            calls(call("write", {})),
            said("done"),
        ]

    def run(self, journal: MemoryJournal, turns: list[ModelTurn]) -> tuple[Any, Any, list[Any]]:
        fake = model(*turns)
        started: list[Any] = []
        externs = {"main.write": self.outside}
        outcome = run(
            engine(self.unit, fake, journal=journal, approver=self.approver, externs=externs),
            "main",
            ASK,
            RUN,
            during=started.append,
        )
        return outcome, fake, started[0].journal.entries()

    def effects(self) -> tuple[int, int, int, int]:
        return len(self.read.got), len(self.write.got), len(self.get.got), len(self.approver.requests)


def prefix(entries: list[Entry], length: int, header: Header) -> MemoryJournal:
    """A journal that ends after `length` records: a process that died there."""
    journal = MemoryJournal()
    held = journal.open(header)
    for entry in entries[:length]:
        held.append(entry)
    return journal


@pytest.mark.feature("A12.6")
def test_a_finished_run_replays_without_any_effect_and_gives_the_same() -> None:
    program, journal = Program(), MemoryJournal()
    first, _, entries = program.run(journal, program.turns())
    assert value_of(first) == "done"
    done = program.effects()
    assert done == (3, 1, 3, 1)
    second, fake, again = program.run(journal, [])
    assert value_of(second) == "done"
    assert program.effects() == done
    assert fake.asked == []
    assert again == entries, "nothing was journaled a second time"
    assert second.spent.usage == first.spent.usage, "what was paid counts, and is not paid again"
    assert second.spent.steps == first.spent.steps
    assert second.spent.tool_calls == first.spent.tool_calls


@pytest.mark.feature("A12.6", "A12.8", "A8.9")
def test_cut_at_every_record_each_effect_happens_once_or_goes_by_its_repeat_safety() -> None:
    """At every record: no turn is paid twice, no `never` call is sent twice, the end is the same or says `Uncertain`."""
    whole = Program()
    outcome, fake, entries = whole.run(MemoryJournal(), whole.turns())
    assert value_of(outcome) == "done"
    header = Header("r1", "program", "main.main", _pinned(whole), "local", "c", 0.0, None)
    uncertain = 0
    for length in range(len(entries) + 1):
        program = Program()
        answered = sum(1 for entry in entries[:length] if entry.kind.value == "model" and entry.state is State.ANSWERED)
        result, fake, again = program.run(prefix(entries, length, header), program.turns()[answered:])
        written_before = any(
            e.target == "main.write" and e.kind.value == "tool" and e.state is State.ANSWERED for e in entries[:length]
        )
        started = any(e.target == "main.write" and e.kind.value == "tool" and e.state is State.STARTED for e in entries[:length])
        if started and not written_before:
            uncertain += 1
            assert uncertain_of(result).operation == "write"
            assert program.write.got == []
        else:
            assert value_of(result) == "done", length
            assert len(program.write.got) == (0 if written_before else 1)
            assert len(fake.asked) == 3 - answered
        for path in {entry.path for entry in again}:
            assert [entry.state for entry in again if entry.path == path].count(State.ANSWERED) <= 1
    assert uncertain >= 1


def _pinned(program: Program) -> str:
    from ael.run.codec import digest

    return digest(dict(ASK))


@pytest.mark.feature("A8.9")
def test_an_interrupted_idempotent_call_is_sent_again_with_its_key() -> None:
    keys: list[str] = []

    async def send(k: Any) -> str:
        keys.append(k.key)
        return "sent"

    async def main(k: Any) -> object:
        return await k.act(0, "main.send", ())

    made = unit(tools=[tool("send", send)], nodes=[code("main", main)])
    started: list[Any] = []
    run(engine(made, journal=MemoryJournal()), "main", options=RUN, during=started.append)
    entries = started[0].journal.entries()
    assert value_of(run(engine(made, journal=prefix(entries, 2, started[0].journal.header)), "main", options=RUN)) == "sent"
    assert keys[0] == keys[1]


@pytest.mark.feature("A8.10")
def test_an_interrupted_never_call_is_not_sent_again() -> None:
    sent: list[str] = []

    async def send() -> str:
        sent.append("sent")
        return "sent"

    async def main(k: Any) -> object:
        return await k.act(0, "main.send", ())

    made = unit(tools=[tool("send", None, repeat=Repeat.NEVER)], nodes=[code("main", main)])
    externs = {"main.send": send}
    started: list[Any] = []
    run(engine(made, journal=MemoryJournal(), externs=externs), "main", options=RUN, during=started.append)
    journal = prefix(started[0].journal.entries(), 2, started[0].journal.header)
    ending = uncertain_of(run(engine(made, journal=journal, externs=externs), "main", options=RUN))
    assert ending.operation == "send"
    assert len(sent) == 1


@pytest.mark.feature("A8.10")
def test_an_interrupted_body_of_code_is_run_again_and_only_what_is_outside_is_unknown() -> None:
    """A body of AEL code has no effect of its own: the journal knows of each effect inside how far it came."""
    sent: list[str] = []

    async def send() -> str:
        sent.append("sent")
        return "sent"

    async def body(k: Any) -> object:
        return await k.act(0, "main.send", ())

    async def main(k: Any) -> object:
        return await k.act(0, "main.refund", ())

    made = unit(
        tools=[tool("send", None, repeat=Repeat.NEVER), tool("refund", body, repeat=Repeat.NEVER)], nodes=[code("main", main)]
    )
    externs = {"main.send": send}
    started: list[Any] = []
    run(engine(made, journal=MemoryJournal(), externs=externs), "main", options=RUN, during=started.append)
    entries = started[0].journal.entries()
    ends: list[str] = []
    for length in range(len(entries) + 1):
        sent.clear()
        outcome = run(
            engine(made, journal=prefix(entries, length, started[0].journal.header), externs=externs), "main", options=RUN
        )
        ends.append(outcome.operation if isinstance(outcome, Unsettled) else str(value_of(outcome)))
        assert len(sent) == (1 if length < 4 else 0)
    assert ends == ["sent", "sent", "sent", "sent", "send", "sent", "sent"]


def test_opaque_parts_are_there_after_a_restart() -> None:
    """K37: byte for byte, through the journal."""
    program = Program()
    _, _, entries = program.run(MemoryJournal(), program.turns())
    at = max(n for n, entry in enumerate(entries) if entry.target == "nope") + 1
    header = Header("r1", "program", "main.main", _pinned(program), "local", "c", 0.0, None)
    _, fake, _ = Program().run(prefix(entries, at, header), program.turns()[1:])
    [turn] = [message for role, message in fake.asked[0].messages if role == "model"]
    assert isinstance(turn, ModelTurn)
    assert turn.opaque == program.opaque


def test_another_program_entry_or_input_cannot_continue_a_run() -> None:
    """A run is pinned: a difference is `Diverged`, told before anything runs."""
    journal = MemoryJournal()
    body = Body("x")
    nodes = [code("main", body, parameter("q")), code("other", body, parameter("q"))]
    run(engine(unit(nodes=nodes), journal=journal), "main", ASK, RUN)
    for made, entry, given in (
        (unit(nodes=nodes, digest="another"), "main", ASK),
        (unit(nodes=nodes), "other", ASK),
        (unit(nodes=nodes), "main", {"q": "different"}),
    ):
        fault = fault_of(run(engine(made, journal=journal), entry, given, RUN))
        assert fault.kind is FaultKind.DIVERGED
    assert len(body.got) == 1


def test_a_request_that_differs_in_the_same_place_is_diverged() -> None:
    journal = MemoryJournal()
    argument = ["a"]

    async def main(k: Any) -> object:
        return await k.act(0, "main.look", (argument[0],))

    made = unit(tools=[tool("look", Body("x"), parameter("s"))], nodes=[code("main", main)])
    run(engine(made, journal=journal), "main", options=RUN)
    argument[0] = "b"
    fault = fault_of(run(engine(made, journal=journal), "main", options=RUN))
    assert fault.kind is FaultKind.DIVERGED
    assert fault.details["path"] == "main/look@0"


def test_a_replayed_turn_that_went_beyond_a_limit_ends_the_same_way() -> None:
    journal = MemoryJournal()
    for _ in range(2):
        fake = model(final({"id": "x", "total": 1}, usage=Usage(input=9_000, output=1)))
        made = unit(nodes=[node("answer", parameter("q"), result=ORDER, budget=BudgetSpec(tokens=2_000))])
        fault = fault_of(run(engine(made, fake, journal=journal), "answer", ASK, RUN))
        assert fault.kind is FaultKind.BUDGET_EXHAUSTED


def test_outcomes_and_entries_are_plain_data() -> None:
    """Whatever stands in a journal can be written by any store."""
    from ael.types.canonical import encode

    program = Program()
    outcome, _, entries = program.run(MemoryJournal(), program.turns())
    for entry in entries:
        encode([entry.path, entry.kind.value, entry.state.value, entry.value, list(entry.taint), list(entry.derived)])
    encode(to_json(outcome))
