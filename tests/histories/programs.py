"""The programs whose journals are kept: each is written to a version's folder with its journal, and never looked up here again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from ael.types.value import File
from tests.durable.programs import Program, program

_VALUES = """\
permission shop.act

pub enum Colour { Red, Green }

record Inner {
  name: String
  more?: Int
}

record Everything {
  text: String
  whole: Int
  part: Float
  yes: Bool
  money: Decimal
  data: Bytes
  day: Date
  time: Timestamp
  long: Duration
  colour: Colour
  list: List<Inner>
  map: Map<String, Int>
  any: Json
  nothing: String?
  file: File
  either: Int | String
}

/// Gives everything. Call it once.
tool fetch(n: Int) -> Everything
  needs shop.act
  repeat never
  timeout 60s
  extern "shop:fetch"

/// Takes everything. Call it once.
tool echo(all: Everything) -> Everything
  needs shop.act
  repeat idempotent
  timeout 60s
  extern "shop:echo"

node main() -> Everything
  grants shop.act
{
  let first = try fetch(1) catch {
    Uncertain u => fetched_again()
  }
  log("${now()} ${new_id()} ${random_int(1, 6)} ${today()}")
  echo(first)
}

fn fetched_again() -> Everything {
  fetched_again()
}
"""

EVERYTHING: Mapping[str, Any] = {
    "text": "a\u0000é\u2028\U0001f600",
    "whole": 2**53 - 1,
    "part": -0.0,
    "yes": True,
    "money": Decimal("19.90"),
    "data": b"\x00\xff",
    "day": date(2026, 11, 30),
    "time": datetime(2026, 11, 30, 4, 5, 6, 789, UTC),
    "long": timedelta(days=2, microseconds=5),
    "colour": "Green",
    "list": [{"name": "a"}, {"name": "b", "more": 2}],
    "map": {"$time": 1},
    "any": {"$decimal": "not one"},
    "nothing": None,
    "file": File("text/plain", b"hello"),
    "either": "x",
}


@dataclass(frozen=True)
class Told:
    """A program to keep a journal of. `crash_act`: after which act of the outside its process dies, 0 for none."""

    program: Program
    crash_act: int = 0


def told() -> dict[str, Told]:
    """By name."""
    return {
        "values": Told(Program(_VALUES, {})),
        "loop": Told(program([("think", [["send", "pay"], ["nest"]]), ("keep", None)])),
        "approval": Told(program([("call", "ask"), ("think", [["ask", "ask"]])])),
        "uncertain": Told(program([("call", "pay"), ("call", "deep")]), crash_act=1),
        "parallel": Told(program([("beside", ["send", "book", "nest"]), ("each", "post"), ("id", None)])),
    }
