"""A node that runs elsewhere: the same value, error, fault, budget and rights as in the process, and the same place in the journal."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from ael.run.outcome import DeclaredError, Faulted, Unsettled, Value
from ael.run.permission import Layer
from ael.types.fault import FaultKind
from tests.transports.places import PLACES, Setting, placed, serving, serving_grpc

MAIN = """\
permission world.act
permission world.strike includes world.act

error Empty { id: String }

/// Do something outside.
tool act(what: String) -> String
  needs world.act
  repeat idempotent
  extern "outside:act"

/// Do something outside that must not be done twice.
tool strike(what: String) -> String
  needs world.strike
  repeat never
  extern "outside:act"

/// Look something up.
pub node research(id: String) -> List<String> fails Empty
  grants world.act
  budget time 30s
{
  if id == "" { fail Empty(id: id) }
  [act(id), act("${id}-more")]
}

/// Look for a second at most.
pub node brief(id: String) -> String
  grants world.act
  budget time 1s
{
  act(id)
}

pub node hit(id: String) -> String fails Uncertain
  grants world.strike
{
  try strike(id)
}

node main(id: String) -> String fails Empty
  grants world.act
{
  let found = try research(id)
  found.join(" ")
}

node strikes(id: String) -> String fails Uncertain
  grants world.strike
{
  try hit(id)
}

node briefly(id: String) -> String
  grants world.act
{
  brief(id)
}
"""
NODES = ("research", "brief", "hit")
AWAY = ("https", "grpc")
"""Behind a server of its own."""


def setting(place: str, port: int = 0) -> Setting:
    """The deployment that places the three nodes."""
    where = {
        "in process": "",
        "process": "process(workers: 1)",
        "https": f'https("http://127.0.0.1:{port}", token: secret("T"))',
        "grpc": f'grpc("127.0.0.1:{port}", token: secret("T"))',
    }[place]
    lines = "".join(f"node {name} = {where}\n" for name in NODES) if where else ""
    host = 'host "127.0.0.1"\nsecret T = env("ORDERS_TOKEN")\n' if place in AWAY else ""
    return Setting(client=host + lines, services=())


@pytest.mark.feature("A11.1", "A11.2", "A11.3", "A4.2", "A4.14", "D9", "K46")
@pytest.mark.parametrize("place", PLACES)
def test_nodes_are_the_same_everywhere(place: str, tmp_path: Path) -> None:
    async def scenario() -> None:
        behind = serving_grpc if place == "grpc" else serving
        async with behind(tmp_path / "server", MAIN, "runs = memory\n") as (_, port, _):
            where = "in process" if place in AWAY else place
            async with placed(where, tmp_path, MAIN, setting(place, port)) as program:
                program.folder = tmp_path / "server" if place in AWAY else tmp_path
                found = await program.run("main", {"id": "A"})
                assert isinstance(found, Value)
                assert found.plain == "A A-more"
                assert [call["what"] for call in program.ledger] == ["A", "A-more"]
                empty = await program.run("main", {"id": ""})
                assert isinstance(empty, DeclaredError)
                assert (empty.error, empty.plain) == ("main.Empty", {"id": ""})
                late = await program.run("briefly", {"id": "wait:never"})
                assert isinstance(late, Faulted)
                assert late.kind is FaultKind.DEADLINE_EXCEEDED
                lost = await program.run("strikes", {"id": "lose"})
                assert isinstance(lost, Unsettled)
                assert lost.operation == "strike"
                before = len(program.ledger)
                nobody = Layer("the caller `tester`", frozenset({"world.strike"}))
                denied = await program.run("main", {"id": "B"}, caller_layer=nobody)
                assert isinstance(denied, Faulted)
                assert denied.kind is FaultKind.DENIED
                assert "`main.act` needs the permission `world.act`" in denied.message
                assert len(program.ledger) == before, "what is refused here is refused there"

    asyncio.run(scenario())
