"""`std/store`: helpers over any store, with the permissions of what they are given, and counters and sets that are ready to use."""

from __future__ import annotations

from pathlib import Path

from tests.programs import brief, open_files
from tests.stdlib_net.support import World, declared, value

MAIN = """
use std/store.{add_to, Contended, count, counted, get_or_put, keys_where, members, update}

permission hits.write
store hits: Map<String, Int> needs hits.write

node main() -> List<Json> fails Contended
  grants hits.write, std.counters.write, std.sets.write
{
  hits.put("old", 5)
  for name in ["a", "b", "a"] {
    try update(fn() => hits.get(name), fn(was, next) => hits.swap(name, was, next), fn(n) => (n ?? 0) + 1)
  }
  let first = try get_or_put(fn() => hits.get("made"), fn(was, next) => hits.swap("made", was, next), fn() => 9)
  let again = try get_or_put(fn() => hits.get("made"), fn(was, next) => hits.swap("made", was, next), fn() => 10)
  let many = keys_where(fn(after, most) => hits.page(after, most), 2, fn(_key, n) => n > 1)
  add_to("seen", "x")
  add_to("seen", "y")
  [json(first), json(again), json(many), json(try count("runs")), json(counted("runs")), json(members("seen"))]
}

node lost() -> Int fails Contended
  grants hits.write
{
  try update(fn() => hits.get("a"), fn(_was, _next) => false, fn(n) => (n ?? 0) + 1)
}
"""


def test_helpers_over_a_store_of_the_programs_own(tmp_path: Path) -> None:
    deploy = 'store hits = sqlite("hits.db")\nstore counters = sqlite("hits.db")\n'
    world = World(tmp_path)
    assert value(world.run(MAIN, deploy, entry="main")) == [9, 9, ["a", "made", "old"], 1, 1, ["x", "y"]]
    # Another run finds what the first has kept, in what the deployment binds to a file.
    second = value(world.run(MAIN, deploy, entry="main", run="r2"))
    assert second == [9, 9, ["a", "b", "made", "old"], 2, 2, ["x", "y"]]


def test_who_is_always_too_late_is_told(tmp_path: Path) -> None:
    assert declared(World(tmp_path).run(MAIN, "", entry="lost"))[0] == "Contended"


def test_a_helper_needs_what_its_functions_need(tmp_path: Path) -> None:
    main = """
use std/store.{Contended, count, update}
permission hits.write
store hits: Map<String, Int> needs hits.write
node own() -> Int fails Contended { try update(fn() => hits.get("a"), fn(was, next) => hits.swap("a", was, next), fn(n) => n ?? 0) }
node ready() -> Int fails Contended { try count("a") }
"""
    _, bag = open_files(tmp_path, {"main.ael": main})
    told = [brief(one, tmp_path) for one in bag.sorted()]
    assert len(told) == 2
    assert all(one.startswith("AEL0509") for one in told), told
    assert "hits.write" in told[0]
    assert "std.counters.write" in told[1]


def kept(fields: str, body: str) -> str:
    return f"""
permission notes.write
record Note {{ {fields} }}
store notes: Map<String, Note> needs notes.write
store tags: Map<String, Map<String, Int>> needs notes.write
node main() -> List<Bool>
  grants notes.write
{{
  {body}
}}
"""


def test_a_swap_compares_values_whatever_form_they_were_kept_in(tmp_path: Path) -> None:
    deploy = 'store notes = sqlite("notes.db")\nstore tags = sqlite("notes.db")\n'
    world = World(tmp_path)
    first = kept("text: String", 'notes.put("a", Note(text: "x"))\n  tags.put("a", ["x": 1, "y": 2])\n  []')
    assert value(world.run(first, deploy, entry="main")) == []
    later = """let was = notes.get("a")
  [
    notes.swap("a", Note(text: "x", pinned: true), Note(text: "no")),
    notes.swap("a", was, Note(text: "y")),
    notes.swap("a", was, Note(text: "no")),
    tags.swap("a", ["y": 2, "x": 2], [:]),
    tags.swap("a", ["y": 2, "x": 1], ["z": 1]),
    tags.get("a") == ["z": 1],
  ]"""
    found = value(world.run(kept("text: String, pinned: Bool = false", later), deploy, entry="main", run="r2"))
    assert found == [False, True, False, False, True, True], "a field that came later has its default, and keys have no order"
