"""What happens to a long history, to files in results, and to a choice of tool that is forced."""

from __future__ import annotations

from typing import Any

import pytest

from ael.lower.unit import CompiledNode
from ael.run.bindings import Bindings, BoundModel, Options
from ael.run.engine import Engine
from ael.run.ports import Decision, ToolAnswer
from ael.types.fault import FaultKind
from ael.types.spec import ApprovalSpec, BudgetSpec
from ael.types.type import FileType, ListType
from ael.types.value import File, Secret
from tests.run.fakes import FakeApprover, FakeClock, FakeModel, call, calls, model, said
from tests.run.helpers import engine, fault_of, node, parameter, run, tool, unit, value_of
from tests.run.loops import ASK, Body, answers


def summarising(*replies: Any, window: int, steps: int = 20) -> tuple[Engine, FakeModel]:
    from ael.data import replace

    made = node("answer", parameter("q"), tools=["look"], budget=BudgetSpec(steps=steps, tokens=10**6))
    made = CompiledNode(replace(made.spec, history_summarize=True))
    fake = model(*replies, window=window, max_output=100)
    return engine(unit(tools=[tool("look", Body("x" * 400))], nodes=[made]), fake), fake


@pytest.mark.feature("B14")
def test_a_history_that_nears_the_window_is_summed_up_in_whole_pairs() -> None:
    """The summary is a model call of its own, in the node's budget; the newest pairs stay, and no pair is torn."""
    turns = [calls(call("look", {}, f"id{n}")) for n in range(5)]
    made, fake = summarising(*turns[:4], said("SUMMARY of four"), *turns[4:], said("done"), window=600)
    outcome = run(made, "answer", ASK, Options(caller="c", budget=BudgetSpec(tokens=10**6)))
    assert value_of(outcome) == "done"
    assert outcome.spent.steps == 7
    asked = [messages.messages for messages in fake.asked]
    after = asked[5]
    first: Any = after[0][1]
    assert "SUMMARY of four" in first
    assert first.startswith('<input name="q">\nhello')
    assert [role for role, _ in after] == ["user", "model", "answers", "model", "answers"]
    assert fake.conversations[1].spec.tools == ()


def test_a_summary_takes_a_step_and_replays() -> None:
    from ael.journal.memory import MemoryJournal

    turns = [calls(call("look", {}, f"id{n}")) for n in range(4)]
    journal = MemoryJournal()
    options = Options(caller="c", run="r1", budget=BudgetSpec(tokens=10**6))
    for replies in ([*turns, said("SUMMARY"), said("done")], []):
        made, fake = summarising(*replies, window=600)
        made = Engine(made.world.unit, Bindings(models={"main.fast": BoundModel(fake, "fast-1")}, journal=journal))
        assert value_of(run(made, "answer", ASK, options)) == "done"
    assert fake.asked == []
    made, _ = summarising(*turns, window=600, steps=4)
    assert (
        fault_of(run(made, "answer", ASK, Options(caller="c", budget=BudgetSpec(tokens=10**6)))).kind
        is FaultKind.BUDGET_EXHAUSTED
    )


@pytest.mark.feature("A5.5")
def test_a_file_in_a_result_is_named_and_not_shown() -> None:
    picture = File("image/png", b"\x89PNG" * 30_000)
    made = unit(
        tools=[tool("draw", Body([picture, picture]), result=ListType(FileType()))],
        nodes=[node("answer", parameter("q"), tools=["draw"])],
    )
    fake = model(calls(call("draw", {})), said("done"))
    assert value_of(run(engine(made, fake), "answer", ASK)) == "done"
    assert answers(fake)[0].content == '["(file not shown 1: image/png)","(file not shown 2: image/png)"]'


@pytest.mark.feature("B23")
def test_a_file_among_the_inputs_is_attached_and_named_in_its_place() -> None:
    attached: list[Any] = []

    class Watching(FakeModel):
        def converse(self, spec: Any) -> Any:
            conversation = super().converse(spec)
            plain = conversation.user

            def user(text: str, files: Any = ()) -> None:
                attached.append((text, list(files)))
                plain(text, files)

            conversation.user = user  # type: ignore[method-assign]
            return conversation

    made = unit(nodes=[node("answer", parameter("q", FileType()))])
    given = {"q": {"media": "image/png", "data": "aGk="}}
    assert value_of(run(engine(made, Watching([said("a picture")])), "answer", given)) == "a picture"
    [(text, files)] = attached
    assert files == [File("image/png", b"hi")]
    assert '"(attached file 1: image/png)"' in text


@pytest.mark.feature("A2.8", "A2.6")
@pytest.mark.parametrize("choice", ["any", "look"])
def test_a_forced_call_is_forced_once(choice: str) -> None:
    """From then on the model decides, or it could never finish; the tools stay the same."""
    fake = model(calls(call("look", {})), calls(call("look", {})), said("done"))
    made = unit(tools=[tool("look", Body("x"))], nodes=[node("answer", parameter("q"), tools=["look"], choice=choice)])
    assert value_of(run(engine(made, fake), "answer", ASK)) == "done"
    assert [conversation.spec.tool_choice for conversation in fake.conversations] == [choice, "auto"]
    assert fake.conversations[0].spec.tools == fake.conversations[1].spec.tools
    assert [role for role, _ in fake.asked[1].messages] == ["user", "model", "answers"]


def test_a_secret_in_a_result_does_not_reach_the_model() -> None:
    """K41."""
    fake = model(calls(call("look", {})), said("done"))
    made = unit(tools=[tool("look", Body("the key is hunter22!"))], nodes=[node("answer", parameter("q"), tools=["look"])])
    assert value_of(run(engine(made, fake, secrets={"K": Secret("K", "hunter22!")}), "answer", ASK)) == "done"
    assert answers(fake)[0].content == "the key is ***"


@pytest.mark.feature("A4.10")
def test_an_approval_that_nobody_gives_in_time_is_a_denial() -> None:
    import asyncio

    clock = FakeClock()

    async def late(request: Any) -> Decision:
        clock.advance(100)
        await asyncio.sleep(3600)
        return Decision(True, "ann")

    body = Body("x")
    fake = model(calls(call("pay", {})), said("done"))
    made = unit(tools=[tool("pay", body, approval=ApprovalSpec("boss"))], nodes=[node("answer", parameter("q"), tools=["pay"])])
    bound = engine(made, fake, approver=FakeApprover(late), approval_timeout=60.0, clock=clock)
    assert value_of(run(bound, "answer", ASK)) == "done"
    assert body.got == []
    [answer] = answers(fake)
    assert isinstance(answer, ToolAnswer)
    assert answer.content == "nobody did not approve `main.pay`: there was no decision within 60 s"
