"""`edge` lines of a deployment: which edges they hold for, what is bound, and how it is told."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from ael.cli.main import main
from ael.diagnostics.render import render_all
from ael.host import HostError, open_host, open_preview
from ael.hosting.access import explain
from ael.hosting.summary import summary
from ael.project.placements import PlacementBinding
from ael.project.program import Opened
from ael.project.reach import inside, models_of, reachable
from ael.run.bindings import Options
from tests.programs import open_files

MAIN = """\
use ./desk

model fast {
  provider openai
  name "gpt-5-mini"
}

node ask(n: Int) -> Int
  model fast
  policy one_call
{
  instructions "Count."
}

node b(n: Int) -> Int {
  n
}

agent asker(n: Int) -> Int {
  edge start -> b(n)
  edge start -> c(n)
  edge b & c -> ask(b + c)
  edge ask -> ask(ask) when ask < 3 up to 2
  edge ask -> finish otherwise
}

node c(n: Int) -> Int {
  n
}
"""
DESK = """\
pub node plan(n: Int) -> Int {
  n
}

pub node look(n: Int) -> Int {
  n
}

agent desk(n: Int) -> Int {
  edge start -> plan(n)
  edge plan -> look(plan) when plan > 1
  edge plan -> look(0) otherwise
  edge look -> finish
}
"""


def opened(folder: Path, deploy: str) -> Opened:
    found, bag = open_files(folder, {"main.ael": MAIN, "desk.ael": DESK, "deploy.ael": deploy})
    assert found is not None, render_all(bag.sorted())
    return found


@pytest.mark.feature("A11.3")
def test_what_a_line_binds_and_how_it_is_told(tmp_path: Path) -> None:
    deploy = (
        "edge desk.plan -> desk.look = process(workers: 2)\nedge main.asker.start -> asker.b = in process\n"
        'edge asker.c -> asker.ask = https("https://asks.example.com")\nedge asker.ask -> asker.ask = grpc("asks.example.com:443")\n'
    )
    found = opened(tmp_path, deploy)
    assert found.deployment.placements == {
        "desk.desk.plan -> desk.desk.look": PlacementBinding("process", workers=2, connect=60_000, node="desk.look"),
        "main.asker.c -> main.asker.ask": PlacementBinding("https", "https://asks.example.com", node="main.ask"),
        "main.asker.ask -> main.asker.ask": PlacementBinding("grpc", "https://asks.example.com:443", node="main.ask"),
    }
    assert found.deployment.here == {"main.asker.start -> main.asker.b"}
    assert [(row.name, row.bound, row.said) for row in summary(found) if row.kind == "edge"] == [
        ("desk.plan -> desk.look", "process 2 processes", True),
        ("asker.ask -> asker.ask", "grpc asks.example.com:443", True),
        ("asker.c -> asker.ask", "https https://asks.example.com", True),
        ("asker.start -> asker.b", "in the process", True),
    ]


@pytest.mark.feature("A11.2", "A11.3")
@pytest.mark.parametrize(
    ("elsewhere", "here", "asks"),
    [
        ((), (), True),
        (("main.ask",), (), False),
        (("main.asker.b -> main.asker.ask",), (), True),
        (("main.asker.b -> main.asker.ask", "main.asker.ask -> main.asker.ask"), (), False),
        (("main.ask",), ("main.asker.c -> main.asker.ask",), True),
        (("main.ask",), ("main.asker.start -> main.asker.b",), False),
    ],
)
def test_a_model_that_only_visits_elsewhere_ask_is_not_reached(
    elsewhere: tuple[str, ...], here: tuple[str, ...], asks: bool, tmp_path: Path
) -> None:
    """So that its key is not needed here. An edge that waits for several nodes is elsewhere with any of them."""
    program = opened(tmp_path, "").program
    assert {"main.ask", "main.b", "main.c"} <= reachable(program, "main.asker", elsewhere, here)
    assert models_of(program, inside(program, "main.asker", elsewhere, here)) == (("main.fast",) if asks else ())


@pytest.mark.feature("A11.2", "K41")
def test_a_host_needs_no_key_for_what_asks_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(HostError, match="OPENAI_API_KEY"):
        open_host(opened(tmp_path, ""), "main.asker")
    away = 'https("https://asks.example.com")\n'
    edges = "".join(f"edge asker.{source} -> asker.ask = {away}" for source in ("c", "ask"))
    for deploy in (f"node ask = {away}", edges):
        host = open_host(opened(tmp_path, deploy), "main.asker")
        assert host.bindings.models == {}
        asyncio.run(host.close())


@pytest.mark.feature("D5", "A11.3")
def test_the_explanation_says_where_visits_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Edge by edge, with the rule of a run: the edge's place before the node's."""
    deploy = (
        'node ask = https("https://asks.example.com")\nedge asker.ask -> asker.ask = in process\n'
        "edge asker.start -> asker.c = process(workers: 2)\n"
    )
    found = opened(tmp_path, deploy)
    engine = open_preview(found, frozenset()).engine
    reached = {one.name: one.places for one in explain(engine, found.program, found.deployment, "main.asker", Options())}
    assert reached == {
        "main.b": (),
        "main.c": (("start -> c", "process 2 processes"),),
        "main.ask": (("b & c -> ask", "https https://asks.example.com"),),
    }
    assert main(["explain-access", "asker", str(tmp_path)]) == 0
    told = capsys.readouterr().out.splitlines()
    assert "  node b: runs with its own grants, within these" in told
    assert "  node c: runs with its own grants, within these; elsewhere along start -> c (process 2 processes)" in told
    assert main(["explain-access", "asker", str(tmp_path), "--json"]) == 0
    plain = {one["name"]: one["places"] for one in json.loads(capsys.readouterr().out)["reaches"]}
    assert plain["main.ask"] == [{"edge": "b & c -> ask", "where": "https https://asks.example.com"}]
