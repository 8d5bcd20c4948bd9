"""Where values came from goes with a call wherever it runs, and comes back: what is asked for here is asked for there (A14.3)."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path

import pytest

from ael.run.outcome import Faulted, Value
from ael.run.trace import SpanList
from tests.programs import write
from tests.transports.places import EVERYWHERE, Setting, placed
from tests.transports.queues import QUEUES

MAIN = """\
permission world.act

model fast {
  provider openai
  name "gpt-5-mini"
}

/// Do something outside.
tool act(what: String) -> String
  needs world.act
  repeat idempotent
  extern "outside:act"

/// Tell somebody. Call it when there is news.
tool notify(trusted to: String) -> String
  needs world.act
  repeat idempotent
{
  act("notify ${to}")
}

/// What a model does with a text.
node lead(text: String) -> String
  model fast
  policy loop(steps: 3, tool_calls: 2)
  grants world.act
  tools notify
{
  instructions "Tell whom it concerns."
}

pub service Orders {
  ask(id: String, about: List<String> = []) -> String
    needs world.act
    repeat idempotent
}

provide Orders
  grants world.act
{
  fn ask(id: String, about: List<String> = []) -> String {
    lead("${id} ${about.join(" ")}")
  }
}

/// The address is what the outside said.
node outside(id: String) -> String
  grants world.act
{
  Orders.ask(act("A"))
}

/// The address is the caller's, though the outside was asked before.
node mixed(id: String) -> String
  grants world.act
{
  let seen = act("x")
  Orders.ask(seen, about: [seen, id])
}

/// The address is the caller's, and nothing else is there.
node own(id: String) -> String
  grants world.act
{
  Orders.ask(id)
}

/// What came back, and where from.
node after(id: String) -> String
  grants world.act
{
  let said = Orders.ask(id)
  act(said)
}
"""
MODEL = 'model fast = scripted("script.json")\n'
SCRIPT = json.dumps([{"call": "notify", "with": {"to": "A"}}, {"final": "done"}])
SETTING = Setting(MODEL, MODEL)


@pytest.mark.feature("A14.3", "A14.6", "B18", "A11.1")
@pytest.mark.parametrize("place", EVERYWHERE)
@pytest.mark.parametrize(("entry", "given", "told"), [("outside", "B", False), ("mixed", "A", True), ("own", "A", True)])
def test_what_is_no_input_of_the_run_is_none_of_what_it_calls(
    place: str, entry: str, given: str, told: bool, tmp_path: Path
) -> None:
    """The arguments of a call are the input of the run behind it: only those are clean there that were clean here."""

    async def scenario() -> None:
        for folder in (tmp_path, tmp_path / "server"):
            write(folder, {"script.json": SCRIPT})
        async with placed(place, tmp_path, MAIN, SETTING) as program:
            # Behind a queue the run of a worker waits parked for the person, and its caller for as long as it has time.
            waits = place in QUEUES and not told
            outcome = await program.run(entry, {"id": given}, deadline=time.time() + (5 if waits else 100))
            assert isinstance(outcome, Faulted if waits else Value)
            assert ("notify A" in [call["what"] for call in program.ledger]) is told

    asyncio.run(scenario())


@pytest.mark.feature("A14.1", "A14.3", "A11.1")
@pytest.mark.parametrize("place", EVERYWHERE)
def test_what_an_answer_is_made_of_comes_back_with_it(place: str, tmp_path: Path) -> None:
    async def scenario() -> None:
        for folder in (tmp_path, tmp_path / "server"):
            write(folder, {"script.json": SCRIPT})
        async with placed(place, tmp_path, MAIN, SETTING) as program:
            assert isinstance(await program.run("after", {"id": "A"}), Value)
            spans = program.spans
            assert isinstance(spans, SpanList)
            [call] = [span for span in program.of("operation") if span.name == "main.Orders.ask"]
            assert call.taint == ("model:fast", "tool:act")

    asyncio.run(scenario())
