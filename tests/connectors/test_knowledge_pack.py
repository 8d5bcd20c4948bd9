"""What of many passages a model is given: within its tokens, nothing twice, the best first, and what was left out is told."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ael.host import open_host
from ael.lower.natives.knowledge import alike, tokens
from ael.run.outcome import Value
from tests.programs import open_files

PROGRAM = """
use std/knowledge.{Cached, Packed, Passage, allot, cached, pack, shown}

node packed(passages: List<Passage>, tokens: Int(0..100_000_000)) -> Packed {
  pack(passages, tokens)
}

node told(passages: List<Passage>, tokens: Int(0..100_000_000)) -> String {
  shown(pack(passages, tokens))
}

node kept(before: List<Passage>, now: List<Passage>) -> Cached {
  cached(pack(before, 100_000), pack(now, 100_000))
}

node shares(tokens: Int(0..100_000_000), wanted: Map<String, Int>(max: 1_000)) -> Map<String, Int> {
  allot(tokens, wanted)
}
"""
Call = Callable[..., Any]
WORDS = [
    "refund",
    "parcel",
    "order",
    "card",
    "days",
    "price",
    "tax",
    "address",
    "letter",
    "desk",
    "phone",
    "agent",
    "night",
    "work",
]


@pytest.fixture(scope="module")
def call(tmp_path_factory: pytest.TempPathFactory) -> Call:
    folder: Path = tmp_path_factory.mktemp("pack")
    opened, bag = open_files(folder, {"main.ael": PROGRAM})
    assert opened is not None, bag.sorted()
    host = open_host(opened)

    def ask(entry: str, **values: object) -> Any:
        async def work() -> Any:
            return await host.engine.start(entry, values).outcome()

        outcome = asyncio.run(work())
        assert isinstance(outcome, Value), outcome
        return outcome.plain

    return ask


def passage(id: str, text: str, **more: object) -> dict[str, object]:
    return {"document": id, "text": text, **more}


def cost(one: dict[str, Any]) -> int:
    return tokens(one["text"]) + tokens(one["title"]) + tokens(one["source"]) + 8


@pytest.mark.feature("A18.4")
def test_whatever_is_packed_fits_is_the_best_and_nothing_goes_missing(call: Call) -> None:
    seed = random.Random(5)
    for _ in range(25):
        given = [
            passage(
                f"d{at}",
                " ".join(seed.choices(WORDS, k=seed.choice([1, 4, 30, 200]))) + seed.choice(["", " é" * 40]),
                title=seed.choice(["", "T" * 30]),
            )
            for at in range(seed.randint(0, 14))
        ]
        if given and seed.random() < 0.5:
            given.append({**given[0], "document": "again"})
        most = seed.choice([0, 10, 60, 200, 1_000, 100_000])
        packed = call("packed", passages=given, tokens=most)
        kept, dropped = packed["passages"], packed["dropped"]
        assert packed["tokens"] == sum(map(cost, kept)) <= most
        whole = {one["document"] for one in dropped if one["why"] != "Cut"}
        names = [one["document"] for one in kept]
        assert names == [one["document"] for one in given if one["document"] not in whole]
        assert all(
            alike(a["text"], b["text"]) < 0.8 for at, a in enumerate(kept) for b in kept[:at] if not b["text"].endswith("…")
        )
        for one in kept[:-1]:
            assert one["text"] == next(other["text"] for other in given if other["document"] == one["document"])
        assert all(one["tokens"] >= 0 for one in dropped)
        assert not [one for one in dropped if one["document"] == "again" and one["why"] == "Cut"]


@pytest.mark.feature("A18.4")
def test_what_says_the_same_is_given_once_and_the_first_that_does_not_fit_is_cut(call: Call) -> None:
    text = "Refunds take five working days and go to the card that was charged for the order."
    long = " ".join(f"word{at}" for at in range(400))
    given = [
        passage("a", text),
        passage("b", text.replace("five", "six")),
        passage("c", f"{text} Always."),
        passage("d", long),
        passage("e", "short"),
    ]
    packed = call("packed", passages=given, tokens=150)
    assert [one["document"] for one in packed["passages"]] == ["a", "b", "d"]
    assert [(one["document"], one["why"]) for one in packed["dropped"]] == [("c", "Duplicate"), ("d", "Cut"), ("e", "Budget")]
    cut = packed["passages"][-1]["text"]
    assert cut.endswith("…")
    assert long.startswith(cut[:-1])
    assert long[len(cut) - 1] == " "
    assert packed["tokens"] <= 150


@pytest.mark.feature("A18.4")
def test_what_a_cache_can_serve_is_the_common_beginning(call: Call) -> None:
    a, b, c = passage("a", "One of them."), passage("b", "Two of us."), passage("c", "Three of you.")
    assert call("kept", before=[a, b], now=[a, b, c]) == {"passages": 2, "tokens": 22, "broken_by": "c"}
    assert call("kept", before=[a, b], now=[b, a]) == {"passages": 0, "tokens": 0, "broken_by": "b"}
    assert call("kept", before=[a, b], now=[a]) == {"passages": 1, "tokens": 11, "broken_by": None}


@pytest.mark.feature("A18.4")
def test_tokens_are_shared_out_by_need(call: Call) -> None:
    seed = random.Random(7)
    for _ in range(20):
        wanted = {name: seed.choice([-5, 0, 1, 50, 1_000]) for name in WORDS[: seed.randint(0, 8)]}
        most = seed.choice([0, 7, 100, 10_000])
        given = call("shares", tokens=most, wanted=wanted)
        assert given.keys() == wanted.keys()
        assert all(0 <= given[name] <= max(0, wanted[name]) for name in wanted)
        assert sum(given.values()) == min(most, sum(max(0, one) for one in wanted.values()))
        unmet = [given[name] for name in wanted if given[name] < wanted[name]]
        assert not unmet or max(unmet) - min(unmet) <= 1
        assert all(given[name] <= max(unmet, default=10**9) for name in wanted)


def test_it_is_shown_with_numbers_titles_and_sources(call: Call) -> None:
    given = [passage("a", "One.", title="First", source="https://x.example"), passage("b", "Two.")]
    assert call("told", passages=given, tokens=1_000) == "[1] First (https://x.example)\nOne.\n\n[2] b\nTwo."
    assert call("told", passages=[], tokens=1_000) == ""
