"""Stores under several hands: a swap acts once, and only where nothing else was written since; pages go through all keys."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from ael.run.store import MemoryStore, SqliteStore
from ael.run.stored import Kept, Origin

KINDS = pytest.mark.parametrize("kind", ["memory", "sqlite"])


def store(kind: str, folder: Path) -> Any:
    return MemoryStore() if kind == "memory" else SqliteStore(folder / "notes.db", "main.notes")


@KINDS
def test_a_swap_compares_and_writes_in_one_act_and_once_for_a_token(kind: str, tmp_path: Path) -> None:
    async def whole() -> None:
        port = store(kind, tmp_path)
        origin = Origin(("model:fast",), "r1/a")
        assert await port.swap("a", None, {"n": 1}, "t1", origin) is True
        assert await port.get("a") == Kept({"n": 1}, origin)
        assert await port.swap("a", None, {"n": 9}, "t2") is False
        assert await port.swap("a", {"n": 1}, {"n": 2}, "t3") is True
        assert await port.swap("a", {"n": 1}, {"n": 3}, "t4") is False
        assert await port.swap("a", {"n": 1}, {"n": 2}, "t3") is True, "the same swap again tells what it did, and does nothing"
        await port.put("a", {"n": 1}, "t5")
        assert await port.swap("a", {"n": 1}, {"n": 3}, "t4") is False, "so does one that did nothing"
        assert (await port.get("a")).value == {"n": 1}
        other = port.of("acme")
        assert await other.swap("a", {"n": 1}, {"n": 4}, "t6") is False, "another tenant's is not there"
        await port.close()

    asyncio.run(whole())


@KINDS
def test_counters_of_many_hands_lose_nothing(kind: str, tmp_path: Path) -> None:
    async def count(port: Any, hand: int) -> None:
        for turn in range(10):
            for attempt in range(1_000):
                found = await port.get("n")
                was = None if found is None else found.value
                if await port.swap("n", was, (was or 0) + 1, f"{hand}.{turn}.{attempt}"):
                    break
            await asyncio.sleep(0)

    async def whole() -> None:
        ports = [store(kind, tmp_path)] * 4 if kind == "memory" else [store(kind, tmp_path) for _ in range(4)]
        await asyncio.gather(*[count(port, hand) for hand, port in enumerate(ports)])
        assert (await ports[0].get("n")).value == 40
        for port in ports:
            await port.close()

    asyncio.run(whole())


@KINDS
def test_pages_go_through_all_keys_in_one_order(kind: str, tmp_path: Path) -> None:
    keys = ["", "a", "aa", "b", "z", "ä", "€", "\U0001f600"]

    async def whole() -> None:
        port = store(kind, tmp_path)
        for number, key in enumerate(reversed(keys)):
            await port.put(key, number, f"t{number}")
        seen: list[str] = []
        while rows := await port.page(seen[-1] if seen else "", 3):
            seen += [key for key, _ in rows]
        assert seen == keys[1:], "nothing comes before the empty key, which a page never gives"
        assert await port.page("", 0) == []
        await port.close()

    asyncio.run(whole())
