"""A store that has to be waited for: write-ahead is awaited before anything is sent, answers ride along, the end waits for all."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any

import pytest

from ael.journal.entry import Ending, Entry, Header, State
from ael.journal.memory import MemoryJournal, MemoryRunJournal
from ael.run.bindings import Options
from ael.run.outcome import Value
from ael.run.ports import Decision, ModelError, ModelErrorKind, Usage
from ael.testing.desk import TestDesk
from ael.types.fault import Failure, Fault, FaultKind, Uncertain
from ael.types.signature import Repeat
from ael.types.spec import ApprovalSpec, ModelSpec, RetrySpec
from tests.run.fakes import FakeApprover, FakeClock, call, calls, final, model, said
from tests.run.helpers import ORDER, code, engine, error_of, fault_of, node, parameter, run, tool, uncertain_of, unit, value_of
from tests.run.loops import ASK, Body, answers

RUN = Options(caller="c", run="r1")


class SlowRun(MemoryRunJournal):
    """Writes a record only after a while."""

    __slots__ = ("order", "written")

    def __init__(self, header: Header) -> None:
        super().__init__(header)
        self.written: list[Entry] = []
        self.order: list[str] = []

    def append(self, entry: Entry) -> Awaitable[None]:  # type: ignore[override]  # the memory store is never waited for
        super().append(entry)
        return self._commit(entry)

    async def _commit(self, entry: Entry) -> None:
        await asyncio.sleep(0.002)
        self.written.append(entry)
        self.order.append(entry.state.value)


class SlowJournal:
    def __init__(self) -> None:
        self.runs: list[SlowRun] = []

    def open(self, header: Header) -> SlowRun:
        self.runs.append(SlowRun(header))
        return self.runs[-1]


@pytest.mark.feature("A8.8")
def test_nothing_is_sent_before_its_started_record_is_durable() -> None:
    journal = SlowJournal()
    seen: list[list[str]] = []

    async def send(k: Any) -> str:
        seen.append(list(journal.runs[0].order))
        return "sent"

    async def asked(conversation: Any, number: int) -> Any:
        seen.append(list(journal.runs[0].order))
        return calls(call("send", {})) if number == 1 else said("done")

    made = unit(tools=[tool("send", send, repeat=Repeat.NEVER)], nodes=[node("answer", parameter("q"), tools=["send"])])
    assert value_of(run(engine(made, model(asked, asked), journal=journal), "answer", ASK)) == "done"
    assert [order.count("started") for order in seen] == [1, 2, 3]
    assert len(journal.runs[0].written) == len(journal.runs[0].entries()), "the run's end waits for the rest"


# --- endings over the journal ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "ending",
    [
        Failure("main.NotFound", {"id": "A"}),
        Fault(FaultKind.CRASHED, "broken", detail=1),
        Uncertain("k", "pay", "s", why="lost"),
        None,
    ],
)
def test_every_ending_of_a_delegate_replays_as_itself(ending: Exception | None) -> None:
    journal, ran = MemoryJournal(), []

    async def inner(k: Any) -> object:
        ran.append(1)
        if ending is not None:
            raise ending
        return "found"

    for attempt in range(2):
        fake = model(calls(call("delegate__inner", {})), said("done")) if attempt == 0 else model()
        made = unit(nodes=[code("inner", inner), node("answer", parameter("q"), tools=["inner"])])
        outcome = run(engine(made, fake, journal=journal), "answer", ASK, RUN)
        if isinstance(ending, Uncertain):
            assert uncertain_of(outcome).details["why"] == "lost"
        else:
            assert value_of(outcome) == "done"
    assert ran == [1]


@pytest.mark.parametrize(
    "ending", [Failure("main.NotFound", {"id": "A"}), Fault(FaultKind.TOO_LARGE, "much"), Uncertain("k", "pay", "s")]
)
def test_every_ending_of_a_tool_replays_as_itself(ending: Exception) -> None:
    journal, body = MemoryJournal(), Body(ending)

    async def main(k: Any) -> object:
        return await k.act(0, "main.act", ())

    made = unit(tools=[tool("act", body, fails=frozenset({"main.NotFound"}), repeat=Repeat.NEVER)], nodes=[code("main", main)])
    outcomes = [run(engine(made, journal=journal), "main", None, RUN) for _ in range(2)]
    for outcome in outcomes:
        if isinstance(ending, Failure):
            assert error_of(outcome).error == "main.NotFound"
        elif isinstance(ending, Fault):
            assert fault_of(outcome).kind is FaultKind.TOO_LARGE
        else:
            assert uncertain_of(outcome).operation == "pay"
    assert len(body.got) == 1


def test_a_failed_model_call_replays_with_what_its_attempts_used() -> None:
    journal = MemoryJournal()
    busy = ModelError(ModelErrorKind.UNAVAILABLE, "busy", usage=Usage(input=40))
    spent = []
    for attempt in range(2):
        fake = model(busy, said("ok")) if attempt == 0 else model()
        made = unit(nodes=[node("answer", parameter("q"))])
        outcome = run(engine(made, fake, journal=journal, clock=FakeClock()), "answer", ASK, RUN)
        assert value_of(outcome) == "ok"
        spent.append((outcome.spent.usage, outcome.spent.attempts))
    assert spent[0] == spent[1] == (Usage(input=50, output=5), 2)
    journal = MemoryJournal()
    for attempt in range(2):
        fake = model(ModelError(ModelErrorKind.NOT_FOUND, "no such model")) if attempt == 0 else model()
        made = unit(nodes=[node("answer", parameter("q"))])
        assert fault_of(run(engine(made, fake, journal=journal), "answer", ASK, RUN)).kind is FaultKind.MODEL_UNAVAILABLE


def test_a_cancel_in_a_delegate_answers_it_and_its_calls() -> None:
    started: list[Any] = []

    async def hang(k: Any) -> object:
        await asyncio.sleep(3600)
        return ""

    async def stop(run: Any) -> None:
        started.append(run)
        await asyncio.sleep(0.01)
        run.cancel()

    made = unit(
        tools=[tool("hang", hang)],
        nodes=[code("inner", lambda k: k.act(0, "main.hang", ())), node("answer", parameter("q"), tools=["inner"])],
    )
    fault_of(run(engine(made, model(calls(call("delegate__inner", {})))), "answer", ASK, during=stop))
    entries = started[0].journal.entries()
    calls_ = {entry.path for entry in entries if "call1" in entry.path}
    assert len(calls_) == 2
    for path in calls_:
        assert [entry.state for entry in entries if entry.path == path] == [State.PROPOSED, State.STARTED, State.ANSWERED]


# --- corners of the checks ---------------------------------------------------------------------------------------------------------


def test_a_condition_that_faults_refuses_the_call_and_is_recorded() -> None:
    body, started = Body("x"), []  # type: ignore[var-annotated]

    def condition(n: str) -> bool:
        raise Fault(FaultKind.ARITHMETIC, "division by zero")

    pay = tool("pay", body, parameter("n"), approval=ApprovalSpec("boss", True), approval_when=condition)
    fake = model(calls(call("pay", {"n": "1"})), said("done"))
    made = unit(tools=[pay], nodes=[node("answer", parameter("q"), tools=["pay"])])
    assert (
        value_of(run(engine(made, fake, approver=FakeApprover(Decision(True, "ann"))), "answer", ASK, during=started.append))
        == "done"
    )
    assert answers(fake)[0].content == "Arithmetic: division by zero"
    assert body.got == []
    assert [e.ending for e in started[0].journal.entries() if e.target == "main.pay" and e.ending] == [Ending.FAULT]


def test_a_permission_withdrawn_between_two_attempts_ends_the_retries() -> None:
    from ael.run.permission import Layer

    layer = Layer("the caller `c`")

    async def act(k: Any) -> str:
        layer.revoke("read")
        raise Fault(FaultKind.UNAVAILABLE, "busy")

    async def main(k: Any) -> object:
        return await k.act(0, "main.act", ())

    made = unit(tools=[tool("act", act, retry=RetrySpec(3, "fixed", 10))], nodes=[code("main", main)])
    assert (
        fault_of(run(engine(made, clock=FakeClock()), "main", None, Options(caller="c", caller_layer=layer))).kind
        is FaultKind.DENIED
    )


def test_a_text_result_that_came_as_json_is_that_text() -> None:
    for given, wanted in (('"hi"', "hi"), ("hi", "hi"), ('"a" and "b"', '"a" and "b"'), ('{"x": 1}', '{"x": 1}'), ('"', '"')):
        made = unit(nodes=[node("answer", parameter("q"))])
        assert value_of(run(engine(made, model(final(given))), "answer", ASK)) == wanted


def test_an_empty_answer_where_a_result_is_due_is_told_so() -> None:
    fake = model(said("  "), final({"id": "A", "total": 1}))
    made = unit(nodes=[node("answer", parameter("q"), result=ORDER, attempts=2)])
    assert value_of(run(engine(made, fake), "answer", ASK)) == {"id": "A", "total": 1}
    assert "there is no result" in str(fake.asked[1].messages[-1])


def test_scripts_of_a_test_stand_in_for_models_and_their_fallbacks() -> None:
    async def test(k: Any) -> object:
        await k.script(0, "main.fast", [{"error": "unavailable", "message": "down", "retry_after": 60}])
        await k.script(1, "main.cheap", [{"text": "cheap"}])
        assert await k.act(2, "main.answer", ("hello",)) == "cheap"
        assert await k.test(3, "calls", "main.look", {}) == 0
        return None

    models = [ModelSpec("main.fast", None, None, fallback="main.cheap"), ModelSpec("main.cheap", None, "c")]
    made = unit(tools=[tool("look", Body("x"))], nodes=[node("answer", parameter("q"), tools=["look"])], models=models)
    ready = engine(made, desk=TestDesk({}, {}))

    async def whole() -> Any:
        return await ready.start_code("test", test).outcome()

    assert isinstance(asyncio.run(whole()), Value)

    async def outside(k: Any) -> object:
        await k.script(0, "main.fast", [])
        return None

    assert fault_of(asyncio.run(_once(engine(made), outside))).kind is FaultKind.CRASHED


async def _once(ready: Any, body: Any) -> Any:
    return await ready.start_code("x", body).outcome()


def test_a_name_that_is_nothing_is_a_typed_fault() -> None:
    async def main(k: Any) -> object:
        return await k.act(0, "main.nothing", ())

    assert fault_of(run(engine(unit(nodes=[code("main", main)])), "main")).kind is FaultKind.UNAVAILABLE


def test_a_result_of_the_entry_that_does_not_fit_is_typed() -> None:
    fault = fault_of(run(engine(unit(nodes=[code("main", Body({"id": "A", "total": -1}), result=ORDER)])), "main"))
    assert fault.kind is FaultKind.INVALID_OUTPUT
    assert "`total`" in fault.message


def test_a_defect_is_a_crash_that_names_no_internals() -> None:
    async def main(k: Any) -> object:
        raise RuntimeError("internal detail")

    ready = engine(unit(nodes=[code("main", main)]))
    fault = fault_of(asyncio.run(_start(ready)))
    assert fault.kind is FaultKind.CRASHED
    assert "internal detail" not in fault.message
    assert isinstance(ready.last_crash, RuntimeError)


async def _start(ready: Any) -> Any:
    return await ready.start("main").outcome()
