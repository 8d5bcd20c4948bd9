"""A connector that only asks other models of the program: what these take is theirs, and the node's budget holds for both."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from ael.diagnostics.render import render_all
from ael.host import open_host
from ael.run.bindings import Options
from ael.run.outcome import Faulted, Value
from ael.types.fault import FaultKind
from tests.programs import brief, open_files, run

ROUTER = """\
use std/model.{Answer, Model, NoTurn, Request, Stop, Turn, Why}

model small { provider scripted }
model large { provider scripted }

model routed {
  provider router
  fallback spare
}

model spare { provider scripted }

node briefly(question: String) -> String
  model small
  policy one_call
  budget tokens 500, time 10s
{
  instructions "Answer in a word."
}

node at_length(question: String) -> String
  model large
  policy one_call
{
  instructions "Answer at length."
}

provide Model as router {
  fn ask(request: Request, after: String?) -> Answer fails NoTurn {
    let question = match request.messages.last() {
      Said(text) => text.slice(0, 2_000)
      _ => ""
    }
    if question.contains("nothing") { fail NoTurn(why: Why.Busy, reason: "nobody is free") }
    let answer = if question.contains("why") { at_length(question) } else { briefly(question) }
    Turn(text: answer, stop: Stop.Done)
  }
}

node main(question: String) -> String
  model routed
  policy one_call
  budget tokens 2_000, cost $0.50, steps 1, time 60s
{
  instructions "Answer."
}

node tight(question: String) -> String
  model routed
  policy one_call
  budget tokens 60, time 60s
{
  instructions "Answer."
}

agent desk(question: String) -> String
  budget steps 1
{
  edge start -> main(question)
  edge main -> finish
}
"""
FILES = {
    "main.ael": ROUTER,
    "small.json": '[{"final": "yes"}]',
    "large.json": '[{"final": "because"}]',
    "spare.json": '[{"final": "spare"}]',
}
DEPLOY = "".join(f'model {name} = scripted("{name}.json")\n' for name in ("small", "large", "spare"))


def answered(folder: Path, question: str, entry: str = "main") -> object:
    """How an entry ends, with the models as they are bound."""

    opened, bag = open_files(folder, {**FILES, "deploy.ael": DEPLOY})
    assert opened is not None, render_all(bag.sorted())
    host = open_host(opened)

    async def scenario() -> object:
        async with host:
            return await host.engine.start(entry, {"question": question}, Options(run="test")).outcome()

    return asyncio.run(scenario())


@pytest.mark.feature("A11.5", "A12.1", "K02", "K03")
def test_it_asks_others_within_the_nodes_budget(tmp_path: Path) -> None:
    """A node that may make one step makes one: those of the models behind are the run's. Nothing is counted twice, and no price is
    asked for what only asks others."""
    brief_one = answered(tmp_path / "a", "is it so?")
    assert isinstance(brief_one, Value), brief_one
    assert brief_one.plain == "yes"
    assert brief_one.spent.steps == 2
    assert brief_one.spent.cost == 0
    long = answered(tmp_path / "b", "why is it so?")
    assert isinstance(long, Value)
    assert long.plain == "because"
    assert 0 < long.spent.usage.total < 500


@pytest.mark.feature("A11.5", "A12.2")
def test_the_tokens_of_both_are_the_nodes(tmp_path: Path) -> None:
    found = answered(tmp_path, "is it so?", "tight")
    assert isinstance(found, Faulted), found
    assert found.kind is FaultKind.BUDGET_EXHAUSTED
    steps = answered(tmp_path / "steps", "is it so?", "desk")
    assert isinstance(steps, Faulted)
    assert "steps" in steps.message


@pytest.mark.feature("A11.5", "A3.3")
def test_its_fallback(tmp_path: Path) -> None:
    found = answered(tmp_path, "nothing")
    assert isinstance(found, Value), found
    assert found.plain == "spare"


def test_a_test_scripts_the_node_or_what_is_behind(tmp_path: Path) -> None:
    opened, _ = open_files(tmp_path, {**FILES, "deploy.ael": DEPLOY})
    assert opened is not None
    found = run(opened, {"question": "?"}, {"routed": [{"final": "scripted"}]}, "main")
    assert isinstance(found.outcome, Value)
    assert found.outcome.plain == "scripted"


@pytest.mark.feature("A11.5", "K53")
@pytest.mark.parametrize(
    ("change", "deploy", "told"),
    [
        (("model small { provider scripted }", "model small { provider router }"), "", 1),
        (("", ""), 'model large = router("x")\n', 1),
        (("", ""), "", 0),
    ],
    ids=["declared", "deployed", "right"],
)
def test_a_connector_that_needs_itself_is_refused(change: tuple[str, str], deploy: str, told: int, tmp_path: Path) -> None:
    kept = "".join(line for line in DEPLOY.splitlines(True) if not deploy or "large" not in line)
    kept = kept if "small" not in change[0] else kept.replace('model small = scripted("small.json")\n', "")
    files = {**FILES, "main.ael": ROUTER.replace(*change), "deploy.ael": kept + deploy}
    _, bag = open_files(tmp_path, files)
    found = [brief(one, tmp_path) for one in bag.sorted()]
    assert len(found) == told, found
    assert all("AEL0856" in one for one in found)
