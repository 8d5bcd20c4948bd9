"""`ael run --crash-at every` over edges whose visits are in other processes: killed with -9 after each record and after each send."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from tests.durable.test_crash_at import report
from tests.programs import write

DESK = """\
permission world.act
permission world.strike includes world.act

/// Do it.
tool act(what: String) -> String
  needs world.act
  repeat idempotent
  timeout 60s
  extern "outside:act"

/// Do it once.
tool strike(what: String) -> String
  needs world.strike
  repeat never
  timeout 60s
  extern "outside:act"

node plan(ids: List<String>) -> List<String> {
  ids
}

node look(id: String) -> String
  grants world.act
{
  act(id)
}

node hit(id: String) -> String fails Uncertain
  grants world.strike
{
  try strike(id)
}

node doubted(id: String) -> String {
  "doubted ${id}"
}

agent desk(ids: List<String> = ["A"]) -> String
  grants world.strike
{
  edge start -> plan(ids)
  edge plan -> each look(plan)
  edge look -> hit("${look.join("+")}!")
  edge hit -> finish
  edge hit -> doubted("it") on Uncertain
  edge doubted -> finish
}
"""
OUTSIDE = """\
import json
from pathlib import Path


async def act(what, *, call):
    with open(Path(__file__).parent / "ledger", "a") as ledger:
        ledger.write(json.dumps([what, call.key]) + "\\n")
    return what
"""
DEPLOY = """\
runs = sqlite("runs.db")
edge desk.plan -> desk.look = process(workers: 1)
edge desk.look -> desk.hit = process(workers: 1)
"""


@pytest.mark.timeout(500)
@pytest.mark.feature("A11.3", "A12.6", "A8.8", "D1", "D9", "K26")
def test_items_survive_a_kill_anywhere_and_are_acted_on_once(tmp_path: Path) -> None:
    """What had been sent is sent again under its key, and whoever took it knows it, in another process too; what must not be done twice
    is not sent again. All runs of the proof have one name, and so one key for each item: over all of them each was done once."""
    folder = tmp_path / "desk"
    files = {"main.ael": DESK, "outside.py": OUTSIDE, "deploy.ael": DEPLOY}
    write(folder, {**files, "pack.ael": 'pack desk {\n  version "1.0.0"\n  extern "outside"\n}\n'})
    told = report(folder, "every")
    assert told["problems"] == []
    assert told["endings"] == {"value": told["runs"]}
    effects = {one["path"]: one for one in told["effects"]}
    assert list(effects) == ["desk/look#1[0]/there", "desk/hit#1/there"]
    look, hit = effects.values()
    assert look["repeat"] == "idempotent"
    assert "2" in look["sent"], "it was killed after this was sent, and sent it again"
    assert (hit["repeat"], set(hit["sent"])) == ("never", {"0", "1"})
    assert told["uncertain"] == {"desk/hit#1/there": 2}, "killed before it was sent, and before its answer was kept"
    made = [json.loads(line) for line in (folder / "ledger").read_text().splitlines()]
    assert Counter(what for what, _ in made) == {"A": 1, "A!": 1}
