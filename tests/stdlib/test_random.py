"""Chance and ids: as likely as they say, of the right form, and the same again when a run goes on elsewhere."""

from __future__ import annotations

import json
import re
import uuid
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ael.run.outcome import Value
from tests.cli.conftest import Ael, ael  # noqa: F401 - a fixture
from tests.programs import Ran, open_files, run
from tests.stdlib.functions import module

IDS = module("ids")

RESUMED = {
    "main.ael": """
use std/ids.{short_id, ulid, uuid4, uuid7}
use std/random.{chance, choice, random_float, random_text, sample, shuffle, weighted}

permission desk.ask
role boss

store seen: Map<String, String> needs desk.ask

/// Keep a text. Only after somebody has read it.
tool keep(text: String) -> Bool
  needs desk.ask
  repeat never
  approval required by boss
{
  seen.put("first", text)
  true
}

node main() -> Bool fails Uncertain
  grants desk.ask
{
  let items = range(1, 60)
  let parts = [
    shuffle(items).map(fn(n) => "${n}").join(","), sample(items, 5).map(fn(n) => "${n}").join(","),
    "${choice(items) ?? 0} ${random_float()} ${chance(0.5)} ${weighted(items, fn(n) => n.to_float()) ?? 0}",
    random_text(20, "abc"), uuid4(), uuid7(), ulid(), short_id(), short_id(count: 12),
  ]
  let text = parts.join(" ")
  try keep(text)
  seen.get("first") == text
}
""",
    "deploy.ael": 'store seen = sqlite("seen.db")\nruns = sqlite("runs.db")\nrole boss = ["local"]\n',
}


@pytest.mark.feature("A15.9")
def test_a_run_that_goes_on_sees_the_same_chance_and_the_same_ids(ael: Ael) -> None:  # noqa: F811
    ael.write(RESUMED)
    parked = ael("run", ".")
    assert parked.code == 3, parked.err
    found = re.search(r"what the run (\w+) waits for", parked.err)
    assert found is not None
    assert ael("runs", "approve", found[1]).code == 0
    resumed = ael("runs", "resume", found[1], "-q")
    assert (resumed.code, json.loads(resumed.out)) == (0, True), resumed.err


def drawn(folder: Path, body: str, uses: str) -> Ran:
    opened, bag = open_files(folder, {"main.ael": f"{uses}\n\nnode main() -> Json {{\n{body}\n}}\n"})
    assert opened is not None, [d.message for d in bag.sorted()]
    return run(opened)


def plain(ran: Ran) -> object:
    assert isinstance(ran.outcome, Value), ran.outcome
    return ran.outcome.plain


def test_one_shuffle_is_one_entry_however_long_the_list(tmp_path: Path) -> None:
    ran = drawn(tmp_path, "  json(shuffle(range(1, 500)))", "use std/random.{shuffle}")
    made = plain(ran)
    assert isinstance(made, list)
    assert sorted(made) == list(range(1, 501))
    assert made != sorted(made)
    assert len([span for span in ran.spans if span.kind == "effect"]) <= 1


def test_every_order_and_every_choice_is_about_as_likely(tmp_path: Path) -> None:
    uses = "use std/random.{choice, random_float, shuffle, weighted}"
    body = """  json(range(1, 6_000).map(fn(n) => [
    json(shuffle([1, 2, 3])), json(choice([1, 2, 3])), json(random_float()),
    json(weighted(["a", "b", "c"], fn(x) => if x == "a" { 3.0 } else if x == "b" { 1.0 } else { 0.0 })),
  ]))"""
    rows = plain(drawn(tmp_path, body, uses))
    assert isinstance(rows, list)
    orders = Counter("".join(map(str, row[0])) for row in rows)
    # Six standard deviations: once in 500 million runs.
    assert len(orders) == 6
    assert all(abs(count - 1_000) < 6 * 29 for count in orders.values())
    assert all(abs(count - 2_000) < 6 * 37 for count in Counter(row[1] for row in rows).values())
    assert all(0.0 <= row[2] < 1.0 for row in rows)
    weights = Counter(row[3] for row in rows)
    assert weights["c"] == 0
    assert abs(weights["a"] - 4_500) < 6 * 34


def test_ids_are_what_python_reads(tmp_path: Path) -> None:
    uses = "use std/ids.{ulid, uuid4, uuid7}\nuse std/time.{to_unix_millis}"
    body = "  json([json(uuid4()), json(uuid7()), json(ulid()), json(to_unix_millis(now()))])"
    made = plain(drawn(tmp_path, body, uses))
    assert isinstance(made, list)
    four, seven, sortable, millis = made
    assert (uuid.UUID(four).version, uuid.UUID(four).variant) == (4, uuid.RFC_4122)
    assert (uuid.UUID(seven).version, uuid.UUID(seven).variant) == (7, uuid.RFC_4122)
    for made_at in (IDS.time_of(seven), IDS.time_of(sortable)):
        assert timedelta(0) <= datetime.fromtimestamp(millis / 1_000, UTC) - made_at < timedelta(minutes=2)


@given(st.integers(0, 253_402_300_799_999), st.integers(0, 2**74 - 1))
def test_the_bits_of_a_uuid(millis: int, tail: int) -> None:
    made = uuid.UUID(IDS.uuid(millis, 7, tail))
    assert (made.version, made.variant) == (7, uuid.RFC_4122)
    assert made.int >> 80 == millis
    assert (made.int >> 64 & 0xFFF, made.int & (1 << 62) - 1) == divmod(tail, 1 << 62)
    assert IDS.time_of(str(made)) == datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=millis)


@given(st.uuids().map(str) | st.text(alphabet="0123456789abcdefABCDEFgI-ſ", min_size=24, max_size=38))
def test_what_an_id_is(text: str) -> None:
    assert IDS.is_uuid(text) == (re.fullmatch(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", text) is not None)
    assert IDS.is_ulid(text) == (re.fullmatch(r"[0-7][0-9a-hjkmnp-tv-zA-HJKMNP-TV-Z]{25}", text) is not None)
    IDS.time_of(text)
