"""`ael run --crash-at every` over a program that undoes what it did: killed with -9 after each record and after each send."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.durable.test_crash_at import report
from tests.programs import write

TRIP = """\
permission trips.book

error Full { what: String }

/// Book something. Call it once for each.
tool book(what: String) -> String fails Full
  needs trips.book
  repeat idempotent
  timeout 60s
  extern "outside:book"

/// Give a booking back.
tool give_back(what: String) -> String
  needs trips.book
  repeat idempotent
  timeout 60s
  extern "outside:give_back"

fn trip() -> String fails Full {
  let hotel = try book("hotel")
  compensate {
    let _gone = give_back(hotel)
  }
  let car = try book("car")
  compensate {
    let _gone = give_back(car)
  }
  try book("train")
}

node main() -> String
  grants trips.book
{
  trip() catch {
    Full f => "no ${f.what}"
  }
}
"""
OUTSIDE = """\
import json
from pathlib import Path

from ael.types.fault import Failure


def note(what, call):
    with open(Path(__file__).parent / "ledger", "a") as ledger:
        ledger.write(json.dumps([what, call.key]) + "\\n")


async def book(what, *, call):
    if what == "train":
        raise Failure("Full", {"what": what})
    note(what, call)
    return what


async def give_back(what, *, call):
    note(f"-{what}", call)
    return what
"""


@pytest.mark.timeout(500)
@pytest.mark.feature("A8.14", "D1", "K27")
def test_a_crash_anywhere_undoes_each_effect_under_one_key_in_the_same_order(tmp_path: Path) -> None:
    folder = tmp_path / "trip"
    files = {"main.ael": TRIP, "outside.py": OUTSIDE, "deploy.ael": 'runs = sqlite("runs.db")\n'}
    write(folder, {**files, "pack.ael": 'pack trip {\n  version "1.0.0"\n  extern "outside"\n}\n'})
    told = report(folder, "every")
    assert told["problems"] == []
    assert told["endings"] == {"value": told["runs"]}
    assert told["runs"] > 8
    made = [json.loads(line) for line in (folder / "ledger").read_text().splitlines()]
    assert len({key for _, key in made}) == 4, "each effect has one key, over all runs of the proof"
    order = list(dict.fromkeys(what for what, _ in made))
    assert order == ["hotel", "car", "-car", "-hotel"]
