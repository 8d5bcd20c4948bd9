"""The trace of a kept run: the tree of the run under way, made from its journal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ael.journal.durable import RunRow, RunState
from ael.journal.entry import Ending, Entry, Header, Kind, State
from ael.observe.idle import gaps_of, overlap
from ael.observe.kept import trace_of
from ael.run.bindings import Options
from ael.run.masker import Masker
from ael.run.outcome import Suspended
from ael.run.ports import Decision, ModelError, ModelErrorKind, Usage
from ael.run.trace import SpanList
from ael.types.fault import Fault, FaultKind
from ael.types.signature import Repeat
from ael.types.spec import ApprovalSpec, RetrySpec
from ael.types.value import Secret
from tests.observe.kept import keep, kept, spans_of, tree
from tests.run.fakes import call, calls, model, said
from tests.run.helpers import ORDER, FlatPrices, code, engine, fault_of, node, operation, parameter, tool, unit, value_of
from tests.run.loops import Body

RUN = Options(run="r1", caller="ann", tenant="acme")


class Says:
    """An approver with one answer."""

    def __init__(self, decision: Decision | None) -> None:
        self.decision = decision

    async def decide(self, request: object) -> Decision | None:
        return self.decision


def desk(*replies: Any, approval: bool = False, **bound: Any) -> Any:
    """`main` visits `answer`, whose tool calls an operation."""

    async def look(k: Any, id: str) -> object:
        return await k.act(0, "main.Orders.get", (id,))

    async def main(k: Any, q: str) -> object:
        return await k.act(3, "main.answer", (q,))

    made = unit(
        tools=[tool("look", look, parameter("id"), result=ORDER, approval=ApprovalSpec("boss") if approval else None)],
        nodes=[node("answer", parameter("q"), tools=["look"]), code("main", main, parameter("q"))],
        operations={operation("get", parameter("id"), result=ORDER): Body({"id": "A", "total": 1})},
    )
    return engine(made, model(*replies), prices=FlatPrices("fast-1"), **bound)


TURNS = (calls(call("look", {"id": "A"})), said("done"))


@pytest.mark.feature("A16.7")
def test_it_is_the_tree_of_the_run_under_way(tmp_path: Path) -> None:
    live = SpanList()
    made = desk(*TURNS, approval=True, approver=Says(Decision(True, "bo", "fine")), sinks=(live,))
    assert value_of(keep(tmp_path / "runs.db", made, "main", {"q": "hello"}, RUN)) == "done"
    made = spans_of(tmp_path / "runs.db", "r1")
    words = ("input", "output", "cost", "key", "by", "reason")

    def of(spans: list[Any]) -> list[str]:
        # What a visit from code ended with, and what it spent in all, stands in no record.
        return [line.removesuffix(" value") for line in tree(spans, *words) if not line.rpartition(" > ")[2].startswith("node ")]

    assert of(made) == of(live.spans)
    assert len(made) == len(live.spans) == 8
    taints = {span.path: span.taint for span in live.spans}
    assert {span.path: span.taint for span in made} == taints
    [approval] = [span for span in made if span.kind == "approval"]
    assert (approval.attributes["by"], approval.attributes["reason"], approval.attributes["role"]) == ("bo", "fine", "boss")


@pytest.mark.feature("A16.7")
def test_turns_and_visits_say_what_they_cost_and_the_run_in_all(tmp_path: Path) -> None:
    keep(tmp_path / "runs.db", desk(*TURNS), "main", {"q": "hello"}, RUN)
    spans = spans_of(tmp_path / "runs.db", "r1")
    assert [span.attributes["cost"] for span in spans if span.kind == "turn"] == ["0.00006", "0.00006"]
    for span in spans:
        if span.kind in ("run", "node"):
            assert (span.attributes["steps"], span.attributes["cost"]) == (2, "0.00012")
            assert span.attributes["tokens"]["input"] == 20  # type: ignore[index]
    assert (spans[0].attributes["tenant"], spans[0].attributes["caller"]) == ("acme", "ann")
    assert spans[0].outcome == "value"


@pytest.mark.feature("A16.7")
def test_each_attempt_of_a_model_has_its_tokens_and_cost(tmp_path: Path) -> None:
    broken = ModelError(ModelErrorKind.UNAVAILABLE, "busy", usage=Usage(input=1000))
    keep(tmp_path / "runs.db", desk(broken, said("done")), "main", {"q": "hello"}, RUN)
    spans = spans_of(tmp_path / "runs.db", "r1")
    [turn] = [span for span in spans if span.kind == "turn"]
    [attempt] = [span for span in spans if span.kind == "retry"]
    assert attempt.parent == turn.sequence
    assert attempt.attributes == {
        "attempt": 1, "reason": "unavailable", "cost": "0.001", "input": 1000, "output": 0, "cache_read": 0, "cache_write": 0,
        "reasoning": 0, "estimated": False,
    }  # fmt: skip
    assert (turn.attributes["attempts"], turn.attributes["cost"]) == (2, "0.00006")


def test_the_attempts_before_a_turn_that_never_came_are_there_too(tmp_path: Path) -> None:
    broken = [ModelError(ModelErrorKind.UNAVAILABLE, "busy", usage=Usage(input=1000)) for _ in range(3)]
    assert fault_of(keep(tmp_path / "runs.db", desk(*broken), "main", {"q": "x"}, RUN)).kind is FaultKind.MODEL_UNAVAILABLE
    spans = spans_of(tmp_path / "runs.db", "r1")
    assert [span.attributes["cost"] for span in spans if span.kind == "retry"] == ["0.001"] * 3
    [turn] = [span for span in spans if span.kind == "turn"]
    assert (turn.outcome, turn.attributes["reason"]) == ("fault", "ModelUnavailable")
    assert spans[0].outcome == "fault"


@pytest.mark.feature("A16.7")
def test_attempts_of_a_call_stand_below_it(tmp_path: Path) -> None:
    body = Body(Fault(FaultKind.UNAVAILABLE, "no room"), Fault(FaultKind.DISCONNECTED, "gone"), "yes")

    async def main(k: Any) -> object:
        return await k.act(0, "main.send", ())

    sending = tool("send", body, retry=RetrySpec(3, "fixed", 1, 1))
    keep(tmp_path / "runs.db", engine(unit(tools=[sending], nodes=[code("main", main)])), "main", {}, RUN)
    assert tree(spans_of(tmp_path / "runs.db", "r1"), "attempt", "reason") == [
        "run main value",
        "run main > node main",
        "run main > node main > tool main.send value",
        "run main > node main > tool main.send > retry main.send attempt=1 reason=Unavailable fault",
        "run main > node main > tool main.send > retry main.send attempt=2 reason=Disconnected fault",
    ]


def test_visits_in_parallel_and_again_are_apart(tmp_path: Path) -> None:
    async def one(k: Any, q: str) -> object:
        return await k.act(0, "std.new_id", ())

    async def main(k: Any) -> object:
        async def each(frame: Any, item: object) -> object:
            return await frame.act(0, "main.one", (str(item),))

        await k.parallel_for(0, ["a", "b"], None, each)
        await k.act(1, "main.one", ("c",))
        return await k.act(1, "main.one", ("d",))

    keep(tmp_path / "runs.db", engine(unit(nodes=[code("one", one, parameter("q")), code("main", main)])), "main", {}, RUN)
    spans = spans_of(tmp_path / "runs.db", "r1")
    assert [span.path for span in spans if span.kind == "node"] == [
        "main", "main/each@0[0]/one@0", "main/each@0[1]/one@0", "main/one@1", "main/one@1#2",
    ]  # fmt: skip
    assert all(span.attributes == {} for span in spans if span.kind == "effect")


@pytest.mark.feature("A16.6")
def test_content_is_shown_by_the_evidence_policy_and_without_secrets(tmp_path: Path) -> None:
    secret = "s3cr/t-token"
    keep(tmp_path / "runs.db", desk(calls(call("look", {"id": "A"})), said(secret)), "main", {"q": "hello"}, RUN)
    masker = Masker([Secret("T", secret)])
    assert all(span.content is None for span in spans_of(tmp_path / "runs.db", "r1", masker=masker))
    full = spans_of(tmp_path / "runs.db", "r1", evidence="full", masker=masker)
    [called] = [span for span in full if span.kind == "tool"]
    assert called.content == {"arguments": {"id": "A"}, "result": {"id": "A", "total": 1}}
    assert full[0].content["input"] == {"q": "hello"}  # type: ignore[index]
    assert [span.content["text"] for span in full if span.kind == "turn" and "text" in span.content] == ["***"]  # type: ignore[index,operator]
    assert secret not in str(full)
    form = spans_of(tmp_path / "runs.db", "r1", evidence="redacted", masker=masker)
    [called] = [span for span in form if span.kind == "tool"]
    assert called.content is not None
    assert called.content["result"] == {"id": "[text of 1 characters]", "total": 1}
    assert "hello" not in str(form)
    assert all(span.content is None for span in spans_of(tmp_path / "runs.db", "r1", evidence="none", masker=masker))


def test_a_parked_run_says_what_it_waits_for_and_time_parked_is_no_work(tmp_path: Path) -> None:
    outcome = keep(tmp_path / "runs.db", desk(*TURNS, approval=True), "main", {"q": "hello"}, RUN)
    assert isinstance(outcome, Suspended)
    found = kept(tmp_path / "runs.db", "r1")
    hour = trace_of(type(found)(found.row, found.entries, found.entries[-1].at + 3_600, Masker(())))
    assert hour[0].outcome == "parked"
    assert 3_599 < hour[0].attributes["parked"] <= 3_600  # type: ignore[operator]
    [approval] = [span for span in hour if span.kind == "approval"]
    assert approval.outcome == "parked"
    assert approval.end - approval.start == pytest.approx(3_600)


HEADER = Header("r1", "p", "main.main", "", "t", "c", 100.0, None)


def answered(path: str, at: float, active: float) -> Entry:
    return Entry(path, State.ANSWERED, Kind.EFFECT, "std.now", "", "", None, Ending.VALUE, at, active)


def test_time_without_work_is_found_in_the_silence_between_records() -> None:
    entries = [answered("main/a", 101.0, 1.0), answered("main/b", 102.0, 2.0), answered("main/c", 502.5, 2.5)]
    row = RunRow(HEADER, RunState.ENDED, ended=503.0, active=3.0)
    gaps = gaps_of(row, entries, 503.0)
    assert [(gap.start, gap.end) for gap in gaps] == [(102.5, 502.5)]
    assert overlap(gaps, 100.0, 503.0) == 400.0
    assert overlap(gaps, 400.0, 410.0) == 10.0
    assert overlap(gaps, 100.0, 102.0) == 0.0


def test_a_persons_answer_says_nothing_of_work() -> None:
    asked = Entry("main/x/approval", State.PROPOSED, Kind.APPROVAL, "x", "", "", {}, None, 101.0, 0.0)
    said_ = asked._replace(state=State.ANSWERED, at=900.0, value={"approved": True, "by": "bo"})
    entries = [answered("main/a", 100.5, 0.5), asked, said_, answered("main/b", 900.7, 0.9)]
    gaps = gaps_of(RunRow(HEADER, RunState.RUNNING), entries, 901.0)
    assert (gaps[0].start, gaps[0].end) == (101.0, 900.0)
    assert overlap(gaps, 100.0, 901.0) == pytest.approx(799.8)


@pytest.mark.parametrize("state", list(RunState))
def test_a_run_in_any_state_has_a_trace_from_its_first_record_on(tmp_path: Path, state: RunState) -> None:
    """However far a run came: its journal cut after each record gives a tree with one root and no span without a place."""
    keep(tmp_path / "runs.db", desk(*TURNS, approval=True, approver=Says(Decision(False, "bo", "no"))), "main", {"q": "x"}, RUN)
    found = kept(tmp_path / "runs.db", "r1")
    for length in range(len(found.entries) + 1):
        row = RunRow(found.row.header, state)
        spans = trace_of(type(found)(row, found.entries[:length], found.now, Masker(())))
        assert [span.sequence for span in spans] == list(range(1, len(spans) + 1))
        assert [span.parent for span in spans].count(None) == 1
        assert all(span.parent is None or span.parent < span.sequence for span in spans)
        assert all(span.end >= span.start for span in spans)


def test_a_call_that_started_and_has_no_answer_is_interrupted(tmp_path: Path) -> None:
    async def main(k: Any) -> object:
        return await k.act(0, "main.send", ())

    sending = tool("send", Body("yes"), repeat=Repeat.NEVER)
    keep(tmp_path / "runs.db", engine(unit(tools=[sending], nodes=[code("main", main)])), "main", {}, RUN)
    found = kept(tmp_path / "runs.db", "r1")
    begun = [entry for entry in found.entries if entry.state is not State.ANSWERED]
    for state, word in ((RunState.READY, "interrupted"), (RunState.RUNNING, "running")):
        spans = trace_of(type(found)(RunRow(found.row.header, state), begun, found.now, Masker(())))
        assert [span.outcome for span in spans] == [word] * 3
