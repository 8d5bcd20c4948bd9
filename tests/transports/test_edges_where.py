"""Which visits a placed edge takes elsewhere, in each loop, in agents in agents, in forks and in what is looked at later (A11.3, D9)."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

import pytest

from ael.cli.main import main
from ael.run.outcome import Faulted, Value
from ael.types.agent import EdgeSpec, pairs, place_of
from ael.types.fault import FaultKind
from tests.programs import write
from tests.transports.edged import DESK, edged
from tests.transports.places import OUTSIDE, PACK, PLACES, Placed, ledger

FROM_TWO = (
    DESK
    + """
node pid_of(id: String) -> String
  grants world.act
{
  act(id)
}

/// One of two comes to the same.
agent either(first: Bool) -> String
  grants world.act
{
  edge start -> yes when first
  edge start -> no otherwise
  edge yes, no -> pid_of("it")
  edge pid_of -> finish
}

node yes(first: Bool) -> Bool {
  first
}

node no(first: Bool) -> Bool {
  first
}
"""
)


def here(program: Placed) -> bool:
    """Whether what was done last was done in this process."""
    return bool(program.ledger[-1]["pid"] == os.getpid())


@pytest.mark.feature("A11.3", "D9")
def test_each_source_of_an_edge_has_its_own_place(tmp_path: Path) -> None:
    """`yes, no -> pid_of` is two edges: one is placed, the other stays."""

    async def scenario() -> None:
        async with edged("process", tmp_path, "either.yes -> either.pid_of", main=FROM_TWO) as program:
            for first in (True, False, True):
                assert isinstance(await program.run("either", {"first": first}), Value)
                assert here(program) != first

    asyncio.run(scenario())


@pytest.mark.feature("A11.3")
def test_an_edge_that_waits_for_several_is_one() -> None:
    edge = EdgeSpec(("a", "b"), True, "c")
    [keys] = pairs("main.x", edge)
    assert keys == ["main.x.a -> main.x.c", "main.x.b -> main.x.c"]
    for own in keys:
        assert place_of(keys, "main.c", {own: 1, "main.c": 2}, ()) == 1
        assert place_of(keys, "main.c", {"main.c": 2}, {own}) is None
    assert place_of(keys, "main.c", {"main.c": 2}, ()) == 2
    assert place_of(keys, "main.c", {}, ()) is None


@pytest.mark.feature("A11.1", "A11.2", "A11.3", "D9")
def test_a_server_places_the_edges_of_what_it_serves(tmp_path: Path) -> None:
    """Over HTTPS to an agent, and from there along one of its edges to a process: one trace, one effect."""

    async def scenario() -> None:
        server = "edge one.start -> one.look = process(workers: 1)\n"
        async with edged("https", tmp_path, "rounds.start -> rounds.one", "rounds.one -> rounds.one", server=server) as program:
            outcome = await program.run("rounds", {"id": "A"})
            assert isinstance(outcome, Value)
            assert outcome.plain == "A+++"
            assert not any(call["pid"] == os.getpid() for call in program.ledger)
            assert len({call["trace"].split("-")[1] for call in program.ledger}) == 1

    asyncio.run(scenario())


@pytest.mark.feature("A11.3", "D9", "K40")
@pytest.mark.parametrize("place", PLACES)
def test_one_host_in_two_event_loops(place: str, tmp_path: Path) -> None:
    """What an edge holds on to belongs to the loop that made it; the next one has its own."""

    async def once(program: Placed) -> None:
        outcome = await program.run("each_of", {"ids": ["A", "B"]})
        assert isinstance(outcome, Value)

    async def scenario() -> None:
        async with edged(place, tmp_path, "each_of.plan -> each_of.look") as program:
            await once(program)
            # Another loop, in a thread of its own, over the same host.
            await asyncio.to_thread(lambda: asyncio.run(once(program)))

    asyncio.run(scenario())


THINKS = (
    DESK
    + """
model fast {
  provider openai
  name "gpt-5-mini"
}

/// Think, with one call at most.
pub node think(id: String) -> String
  model fast
  policy loop(steps: 5, tool_calls: 1)
  grants world.act
  tools act
{
  instructions "Do it."
}

agent thinks(id: String) -> String
  grants world.act
{
  edge start -> think(id)
  edge think -> finish
}
"""
)
CALL = '{"calls": [{"call": "act", "with": {"what": "A"}}]}'
SCRIPT = f'[{CALL}, {CALL}, {{"text": "done"}}]'


@pytest.mark.feature("A11.3", "A13.2", "D9")
@pytest.mark.parametrize("place", PLACES)
def test_the_budget_of_a_node_holds_wherever_an_edge_leads(place: str, tmp_path: Path) -> None:
    """The same fault, of the same spender, after the same call."""
    for folder in (tmp_path, tmp_path / "server"):
        folder.mkdir(exist_ok=True)
        (folder / "script.json").write_text(SCRIPT)
    model = 'model fast = scripted("script.json")\n'

    async def scenario() -> None:
        async with edged(place, tmp_path, "thinks.start -> thinks.think", main=THINKS, client=model, server=model) as program:
            outcome = await program.run("thinks", {"id": "A"})
            assert isinstance(outcome, Faulted)
            assert outcome.kind is FaultKind.BUDGET_EXHAUSTED
            assert outcome.message.startswith("the node `think` has used 1 of 1 tool calls")
            assert [call["what"] for call in program.ledger] == ["A"]
            assert (outcome.details["spender"], outcome.details["limit"]) == ("the node `think`", "tool_calls")

    asyncio.run(scenario())


LARGE = (
    DESK
    + """
/// So many texts.
pub node texts(n: Int) -> List<String> {
  range(1, n).map(fn(at) => "x".repeat(60_000))
}

/// How many there are.
pub node count(found: List<String>) -> Int {
  found.length()
}

agent large(n: Int) -> Int {
  edge start -> texts(n)
  edge texts -> count(texts)
  edge count -> finish
}
"""
)


@pytest.mark.feature("A11.3", "D9", "K36")
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("edge", ["large.start -> large.texts", "large.texts -> large.count"])
def test_what_is_too_large_to_cross_is_told(place: str, edge: str, tmp_path: Path) -> None:
    """An item and a result have the limits of what leaves the program: up to them all is the same, above them it is a typed fault."""

    async def scenario() -> None:
        async with edged(place, tmp_path, edge, main=LARGE) as program:
            fits = await program.run("large", {"n": 4})
            assert isinstance(fits, Value)
            assert fits.plain == 4
            above = await program.run("large", {"n": 5})
            if place == "in process":
                assert isinstance(above, Value)
                return
            assert isinstance(above, Faulted)
            assert above.kind is (FaultKind.TOO_LARGE if edge.endswith("texts") else FaultKind.BAD_ARGUMENTS)
            assert program.of("retry") == [], "it would be as large again"

    asyncio.run(scenario())


KEPT = """\
runs = sqlite("runs.db")
edge each_of.plan -> each_of.look = process(workers: 1)
"""


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the program, whose edge is in a process; the current one."""
    folder = tmp_path / "desk"
    write(folder, {"pack.ael": PACK, "main.ael": DESK, "deploy.ael": KEPT, "outside.py": OUTSIDE})
    monkeypatch.chdir(folder)
    monkeypatch.delitem(sys.modules, "outside", raising=False)
    return folder


@pytest.mark.feature("A11.3", "A16.7", "D7", "D9")
def test_a_kept_run_is_shown_and_forked_without_its_visits(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What happened elsewhere is answered by the record: it is shown in its place, and in a fork it is neither sent nor done."""
    assert main(["run", ".", "each_of", "--ids", '["A", "B"]', "--outline"]) == 0
    lived = capsys.readouterr().err
    assert "edge plan -> each look" in lived
    assert lived.count("operation look") == 2
    done = ledger(desk)
    assert sorted(call["what"] for call in done) == ["A", "B"]
    assert main(["runs", "list"]) == 0
    [run] = [line.split()[0] for line in capsys.readouterr().out.splitlines() if " each_of " in line]
    assert main(["trace", run, "--format", "outline"]) == 0
    assert capsys.readouterr().out.strip() in lived
    assert main(["runs", "fork", run, "--at", "each_of/look#1[1]/there"]) == 0
    told = capsys.readouterr()
    assert json.loads(told.out) == [{"id": "A", "more": []}, {"id": "B", "more": []}]
    assert ledger(desk) == done
