"""Kinds of faults of the model loop that need a whole run to be seen: time, answers, ids, junk, half characters, what runs share."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
from decimal import Decimal
from typing import Any
from urllib.parse import quote

import pytest

from ael.journal.entry import Kind, State
from ael.run.bindings import Options
from ael.run.outcome import to_json
from ael.run.permission import Layer
from ael.run.ports import ModelError, ModelErrorKind, ProposedCall, Stop
from ael.run.trace import SpanList
from ael.types.fault import Fault, FaultKind
from ael.types.signature import Repeat
from ael.types.spec import BudgetSpec, LimitSpec, ModelSpec
from ael.types.type import JsonType, StringType
from ael.types.value import Secret
from tests.run.fakes import FakeClock, call, calls, model, said
from tests.run.helpers import TEXT, FlatPrices, code, engine, fault_of, node, parameter, run, tool, unit, value_of
from tests.run.loops import ASK, Body, answers, program


def test_a_time_limit_cancels_the_model_call_under_way() -> None:
    """K01: the call that would have given an answer later is not waited for."""
    clock = FakeClock()
    ended: list[str] = []

    async def slow(conversation: Any, number: int) -> Any:
        clock.advance(30)
        try:
            await asyncio.sleep(0.2)
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise
        ended.append("answered")
        return said("late")

    made, _ = program(slow, bound={"clock": clock}, budget=BudgetSpec(time=1_000))
    assert fault_of(run(made, "answer", ASK)).kind is FaultKind.DEADLINE_EXCEEDED
    assert ended == ["cancelled"]


def test_an_empty_result_again_and_again_ends_by_the_limit() -> None:
    """K01: the model is not helped by another question, and not asked without end."""
    body = Body("")
    made, fake = program(calls(call("look", {})), forever=True, tools=[tool("look", body)], budget=BudgetSpec(steps=5))
    assert fault_of(run(made, "answer", ASK)).kind is FaultKind.BUDGET_EXHAUSTED
    assert (len(fake.asked), len(body.got)) == (5, 4)


def test_a_fallback_without_a_price_is_not_called_under_a_money_budget() -> None:
    """K03: that the first model has one says nothing of the second."""
    first = model(ModelError(ModelErrorKind.UNAVAILABLE, "busy", status=503), forever=True)
    second = model(said("free?"))
    declared = (ModelSpec("main.fast", None, "fast-1", (), "main.cheap"), ModelSpec("main.cheap", None, "cheap-1"))
    made = engine(
        unit(nodes=[node("answer", parameter("q"), budget=BudgetSpec(cost=Decimal(5)))], models=declared),
        first,
        second,
        prices=FlatPrices("fast-1"),
        clock=FakeClock(),
    )
    fault = fault_of(run(made, "answer", ASK))
    assert (fault.kind, fault.details["limit"]) == (FaultKind.BUDGET_EXHAUSTED, "cost")
    assert "cheap-1" in fault.message
    assert (len(first.asked), len(second.asked)) == (2, 0)


@pytest.mark.parametrize("repeat", [Repeat.NEVER, Repeat.IDEMPOTENT])
def test_every_proposal_is_answered_once_when_a_run_is_cancelled(repeat: Repeat) -> None:
    """K05: in the middle of three calls of a turn, two done and one under way."""

    async def quick(k: Any) -> str:
        return "ok"

    async def slow(k: Any) -> str:
        await asyncio.sleep(5)
        return ""

    started: list[Any] = []

    async def stop(one: Any) -> None:
        started.append(one)
        await asyncio.sleep(0.02)
        one.cancel()

    fake = model(calls(call("quick", {}, "1"), call("slow", {}, "2"), call("quick", {}, "3")))
    tools = [tool("quick", quick, parallel=True), tool("slow", slow, parallel=True, repeat=repeat)]
    made = unit(tools=tools, nodes=[node("answer", parameter("q"), tools=["quick", "slow"])])
    assert fault_of(run(engine(made, fake), "answer", ASK, during=stop)).kind is FaultKind.CANCELLED
    entries = [entry for entry in started[0].journal.entries() if entry.kind is Kind.TOOL]
    proposed = sorted(entry.path for entry in entries if entry.state is State.PROPOSED)
    assert len(proposed) == 3
    assert sorted(entry.path for entry in entries if entry.state is State.ANSWERED) == proposed


def test_calls_are_known_by_their_place_and_never_by_the_id_of_the_provider() -> None:
    """K06: equal ids, equal arguments: two effects with keys of their own."""
    keys: list[str] = []

    def note(*, call: Any) -> str:
        keys.append(call.key)
        return "ok"

    turn = calls(ProposedCall("same", "note", "{}"), ProposedCall("same", "note", "{}"))
    made, fake = program(turn, turn, said("done"), tools=[tool("note", None)], bound={"externs": {"main.note": note}})
    assert value_of(run(made, "answer", ASK)) == "done"
    assert len(set(keys)) == 4
    assert [answer.is_error for answer in answers(fake)] == [False] * 4


def test_calls_without_ids_that_end_in_reverse_order_are_paired_by_place() -> None:
    """K06: three beside each other, the last one first."""

    async def slow(k: Any, n: str) -> str:
        await asyncio.sleep(0.005 * (3 - int(n)))
        return n

    turn = calls(*[ProposedCall("", "slow", json.dumps({"n": str(n)})) for n in range(3)])
    made, fake = program(turn, said("done"), tools=[tool("slow", slow, parameter("n"), parallel=True)])
    assert value_of(run(made, "answer", ASK)) == "done"
    assert [(answer.call.arguments, answer.content) for answer in answers(fake)] == [
        (f'{{"n": "{n}"}}', str(n)) for n in range(3)
    ]


def test_junk_that_was_refused_is_not_sent_again() -> None:
    """K07: a mebibyte of arguments is refused in few words, and leaves the history."""
    body = Body("ok")
    junk = "x" * 2**20
    made, fake = program(calls(call("look", junk)), said("done"), tools=[tool("look", body)], budget=BudgetSpec(tokens=10**6))
    made.world.bindings.__dict__["run_budget"] = BudgetSpec(tokens=10**6)
    assert value_of(run(made, "answer", ASK)) == "done"
    assert body.got == []
    sent = fake.asked[-1].messages
    assert len(str(sent)) < 20_000
    assert len(answers(fake)[0].content) < 2_500


def test_half_a_character_is_one_replacement_everywhere() -> None:
    """K13: in a text, a call and a result; journal, trace, outcome and console all can write what follows."""
    spans, started = SpanList(), []
    made, _ = program(
        calls(call("look", '{"s": "a\ud83d"}'), call("lo\ud83dok", {}), text="half \ud83d"),
        said("the end \udc00"),
        tools=[tool("look", Body("ok"), parameter("s"))],
        bound={"sinks": (spans,)},
    )
    outcome = run(made, "answer", ASK, Options(caller="c", content=True), during=started.append)
    assert value_of(outcome) == "the end �"
    records = [entry.value for entry in started[0].journal.entries()]
    for written in (records, [span.content for span in spans.spans], to_json(outcome), value_of(outcome)):
        json.dumps(written, ensure_ascii=False, default=str).encode()
    assert "�" in json.dumps(records, ensure_ascii=False, default=str)


def test_the_branches_beside_a_failure_are_cancelled() -> None:
    """K39: they do not go on behind the back of what has failed."""
    ended: list[str] = []

    async def main(k: Any) -> object:
        async def broken(k: Any) -> object:
            raise Fault(FaultKind.UNAVAILABLE, "first")

        async def other(k: Any) -> object:
            try:
                await asyncio.sleep(0.2)
            except asyncio.CancelledError:
                ended.append("cancelled")
                raise
            ended.append("went on")
            return ""

        return await k.parallel_record(0, [("other", other), ("broken", broken)])

    assert fault_of(run(engine(unit(nodes=[code("main", main)])), "main")).message == "first"
    assert ended == ["cancelled"]


def test_a_cancel_reaches_every_call_of_a_turn() -> None:
    """K39: none of two calls of the same tool goes on when the run has ended."""
    ended: list[str] = []

    async def slow(k: Any) -> str:
        try:
            await asyncio.sleep(0.3)
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise
        ended.append("went on")
        return ""

    async def stop(one: Any) -> None:
        await asyncio.sleep(0.02)
        one.cancel()

    fake = model(calls(call("slow", {}, "1"), call("slow", {}, "2")))
    made = unit(tools=[tool("slow", slow, parallel=True)], nodes=[node("answer", parameter("q"), tools=["slow"])])
    assert fault_of(run(engine(made, fake), "answer", ASK, during=stop)).kind is FaultKind.CANCELLED
    assert ended == ["cancelled", "cancelled"]


def test_a_run_ends_though_something_inside_does_not_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    """K39: in bounded time, and the outcome says so."""
    monkeypatch.setattr("ael.run.run.GRACE", 0.02)

    async def stubborn(k: Any) -> object:
        end = asyncio.get_running_loop().time() + 0.3
        while (left := end - asyncio.get_running_loop().time()) > 0:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(left)
        return "x"

    made = engine(unit(nodes=[code("main", stubborn)]))

    async def whole() -> object:
        one = made.start("main")
        await asyncio.sleep(0.01)
        one.cancel()
        outcome = await one.outcome()
        ended_early = not one.done
        await asyncio.sleep(0.35)
        return fault_of(outcome).details.get("abandoned"), ended_early

    assert asyncio.run(whole()) == (True, True)


def test_what_a_function_does_to_its_arguments_later_changes_nothing() -> None:
    """K40: lists and records, however deep, are copies on both sides."""
    kept: list[Any] = []

    def take(xs: Any) -> Any:
        kept.append(xs)
        xs["in"][0]["deep"].append(99)
        return xs

    given = {"in": [{"deep": [1]}]}

    async def main(k: Any) -> object:
        got = await k.act(0, "main.take", (given,))
        kept[0]["in"][0]["deep"].append(100)
        return f"{given} {got}"

    take_tool = tool("take", None, parameter("xs", JsonType()), result=JsonType())
    made = unit(tools=[take_tool], nodes=[code("main", main)])
    assert (
        value_of(run(engine(made, externs={"main.take": take}), "main")) == "{'in': [{'deep': [1]}]} {'in': [{'deep': [1, 99]}]}"
    )


@pytest.mark.parametrize("first", ["all", "some"])
def test_two_callers_of_one_program_have_their_own_rights_each(first: str) -> None:
    """K40: what one run was allowed is nothing to the next, deep inside a tool too."""
    inner = Body("read")

    async def outer(k: Any) -> object:
        return await k.act(0, "main.inner", ())

    async def main(k: Any) -> object:
        return await k.act(0, "main.outer", ())

    tools = [tool("inner", inner), tool("outer", outer, permission="write")]
    made = engine(unit(tools=tools, nodes=[code("main", main)]))
    layers = {"all": Layer("the caller `all`", None), "some": Layer("the caller `some`", {"write"})}
    for name in sorted(layers, reverse=first == "some"):
        outcome = run(made, "main", options=Options(caller=name, caller_layer=layers[name]))
        if name == "all":
            assert value_of(outcome) == "read"
        else:
            assert fault_of(outcome).kind is FaultKind.DENIED
    assert len(inner.got) == 1


def test_two_runs_at_once_have_their_own_conversations_and_counts() -> None:
    """K40: the history, the budget and the calls of one run never show in another."""

    async def echo(conversation: Any, number: int) -> Any:
        await asyncio.sleep(0)
        [(_, text), *rest] = conversation.messages
        return said(text) if rest else calls(call("look", {}))

    fake = model(echo, forever=True)
    made = engine(unit(tools=[tool("look", Body("ok"))], nodes=[node("answer", parameter("q"), tools=["look"])]), fake)

    async def many() -> list[Any]:
        runs = [made.start("answer", {"q": f"tenant-{n}"}, Options(caller="c", tenant=f"t{n}")) for n in range(20)]
        return [await one.outcome() for one in runs]

    outcomes = asyncio.run(many())
    for n, outcome in enumerate(outcomes):
        text = str(value_of(outcome))
        assert [m for m in range(20) if f"tenant-{m}\n" in text] == [n]
        assert (outcome.spent.steps, outcome.spent.tool_calls) == (2, 1)


SECRET = "s3cr/t+va lue=="
SHORT = "s3cr7!"
"""A secret that may well stand in data: it is masked where something is shown, and not as it comes in."""


@pytest.mark.parametrize(
    "shown",
    [
        SECRET,
        quote(SECRET),
        quote(SECRET, safe="").lower(),
        base64.b64encode(f"user:{SECRET}".encode()).decode(),
        base64.b64encode(f"me:{SECRET}:x".encode()).decode(),
        base64.urlsafe_b64encode(f"abc{SECRET}".encode()).decode(),
        SECRET.encode().hex().upper(),
        json.dumps(SECRET),
        SHORT,
        SHORT.encode().hex(),
    ],
)
def test_a_secret_in_any_form_is_in_no_trace_answer_or_outcome(shown: str) -> None:
    """K41: as a part of a header, an address or another text, whatever stands around it."""
    spans = SpanList()

    def leaky() -> str:
        return f"Authorization: Basic {shown}; MY_PREFIXED_TOKEN={shown}"

    made, fake = program(
        calls(call("leaky", {})),
        said(f"it is {shown}"),
        tools=[tool("leaky", None)],
        bound={
            "externs": {"main.leaky": leaky},
            "secrets": {"T": Secret("T", SECRET), "S": Secret("S", SHORT)},
            "sinks": (spans,),
        },
    )
    outcome = run(made, "answer", ASK, Options(caller="c", content=True))
    assert "***" in answers(fake)[0].content
    for place in (answers(fake)[0].content, str(spans.spans), json.dumps(to_json(outcome))):
        assert shown not in place
        assert "s3cr" not in place


def test_a_secret_in_the_error_of_a_model_is_masked_where_it_comes_in() -> None:
    """K41: the journal and code that catches the fault see it masked already."""
    started: list[Any] = []

    async def main(k: Any) -> object:
        try:
            return await k.act(0, "main.answer", ("hi",))
        except Fault as fault:
            return fault.message

    fake = model(ModelError(ModelErrorKind.NOT_AUTHORISED, f"the key {SECRET} is wrong"))
    made = unit(nodes=[node("answer", parameter("q")), code("main", main)])
    outcome = run(engine(made, fake, secrets={"T": Secret("T", SECRET)}), "main", during=started.append)
    assert "the key *** is wrong" in str(value_of(outcome))
    assert SECRET not in str([entry.value for entry in started[0].journal.entries()])


@pytest.mark.parametrize("secret", [SECRET, SHORT])
def test_a_secret_in_the_text_of_an_exception_is_masked_where_it_comes_in(secret: str) -> None:
    """K41: code that catches the fault, and the journal, see it masked."""
    started: list[Any] = []

    def leaky() -> str:
        raise ValueError(f"401 for {secret}")

    async def main(k: Any) -> object:
        try:
            return await k.act(0, "main.leaky", ())
        except Fault as fault:
            return fault.message

    made = unit(tools=[tool("leaky", None)], nodes=[code("main", main)])
    bound = engine(made, externs={"main.leaky": leaky}, secrets={"T": Secret("T", secret)})
    assert value_of(run(bound, "main", during=started.append)) == "`leaky` failed: ValueError: 401 for ***"
    assert secret not in str([entry.value for entry in started[0].journal.entries()])


@pytest.mark.parametrize("secret", [SECRET, SHORT])
@pytest.mark.parametrize("stop", [Stop.REFUSED, Stop.FILTERED])
def test_a_secret_in_the_details_of_a_fault_is_masked(stop: Stop, secret: str) -> None:
    """K41: what a model said when it refused is told with the fault."""
    made, _ = program(said(f"no: {secret}", stop), bound={"secrets": {"T": Secret("T", secret)}})
    outcome = run(made, "answer", ASK)
    assert fault_of(outcome).details["text"] == "no: ***"
    assert secret not in json.dumps(to_json(outcome))


@pytest.mark.parametrize("limit", [10, 100])
def test_a_result_beside_one_that_is_too_large_is_whole(limit: int) -> None:
    """K36: of two results of a turn only the one over its limit is cut."""
    big = tool("big", Body("y" * 1_000), result=StringType(max=5_000), limit=LimitSpec(output=limit))
    made, fake = program(
        calls(call("big", {}), call("small", {})), said("done"), tools=[big, tool("small", Body("x"), result=TEXT)]
    )
    assert value_of(run(made, "answer", ASK)) == "done"
    assert len(answers(fake)[0].content.encode()) <= max(limit, 60)
    assert answers(fake)[1].content == "x"
