"""Stores that are damaged: cut off, overwritten, with records missing. What is read is what was written, or it is refused (K29)."""

from __future__ import annotations

import asyncio
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from ael.journal.database import DatabaseStore
from ael.journal.durable import Damaged, StoreError
from ael.journal.entry import Entry
from ael.journal.schema import BITS
from tests.journal.places import Place
from tests.journal.test_store import CALL, begun, written

CALLS = 30
WHOLE = [one._replace(path=f"a/t#{at}") for at in range(CALLS) for one in CALL]
NULS = 512
HALF = '"é'.encode()[:-1]
"""A text that ends inside of a character."""
pytestmark = pytest.mark.feature("K29", "A12.9")


async def filled(store: DatabaseStore) -> None:
    held = await begun(store)
    for entry in WHOLE:
        held.journal.append(entry)
    await store.release("r1", held.row.epoch)


def found(place: Place) -> list[Entry] | str:
    """The records of the run, or the sentence with which they are refused."""

    async def main() -> list[Entry] | str:
        async with place.open() as store:
            try:
                return await store.entries("r1")
            except StoreError as error:
                return str(error)

    return asyncio.run(main())


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A file with everything moved into it."""
    path = tmp_path_factory.mktemp("whole") / "runs.db"
    Place("sqlite", path, "").run(filled)
    assert not path.with_name("runs.db-wal").exists()
    return path.read_bytes()


def damaged(folder: Path, data: bytes) -> list[Entry] | str:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / "runs.db").write_bytes(data)
    return found(Place("sqlite", folder / "runs.db", ""))


def test_a_file_cut_at_any_byte_is_refused(whole: bytes, tmp_path: Path) -> None:
    seed = random.Random(5)
    page = 4_096
    cuts = {
        1,
        15,
        16,
        99,
        100,
        len(whole) - 1,
        *range(page, len(whole), 3 * page),
        *(seed.randrange(len(whole)) for _ in range(40)),
    }
    for cut in sorted(cuts):
        said = damaged(tmp_path / "cut", whole[:cut])
        assert isinstance(said, str), f"cut at {cut}: {len(said)} records"
        assert "runs.db" in said or "is damaged" in said, said
    assert damaged(tmp_path / "cut", whole) == WHOLE
    assert damaged(tmp_path / "cut", b"") == [], "a file without a byte is a new one"


def test_a_block_of_nuls_in_the_middle_is_never_taken_for_a_record(whole: bytes, tmp_path: Path) -> None:
    seed = random.Random(9)
    refused = 0
    for _ in range(80):
        at = seed.randrange(0, len(whole) - NULS)
        said = damaged(tmp_path / "nuls", whole[:at] + bytes(NULS) + whole[at + NULS :])
        refused += isinstance(said, str)
        assert isinstance(said, str) or said == WHOLE, f"NULs at {at}: {len(said)} records, others than were written"
    assert refused > 8


def _record(at: int) -> str:
    return f"place = (SELECT (number << {BITS}) | {at} FROM ael_run WHERE run = 'r1')"


@pytest.mark.parametrize("left", [0, 1, 2, 3, len(WHOLE) // 2, len(WHOLE) - 1])
def test_a_journal_cut_at_any_record_is_a_beginning_that_goes_on(place: Place, left: int) -> None:
    place.run(filled)
    first = f"(SELECT (number << {BITS}) | {left} FROM ael_run WHERE run = 'r1')"
    place.look(lambda db: db.change(f"DELETE FROM ael_record WHERE place >= {first}"))
    assert found(place) == WHOLE[:left]

    async def body(store: DatabaseStore) -> None:
        held = await store.hold("r1", "w2", 60.0)
        assert held is not None
        await written(held, *WHOLE[left:])
        assert await store.entries("r1") == WHOLE

    place.run(body)


@pytest.mark.parametrize("at", [0, 1, 44, len(WHOLE) - 2])
def test_a_record_that_is_missing_in_the_middle_is_named(place: Place, at: int) -> None:
    place.run(filled)
    place.look(lambda db: db.change(f"DELETE FROM ael_record WHERE {_record(at)}"))
    assert found(place) == f"the journal of the run r1 is damaged: record {at} is missing before `{WHOLE[at + 1].path}`"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda kind: f"value = {_bytes(kind, b'{')}", "this is not what a journal keeps"),
        (lambda kind: f"value = {_bytes(kind, bytes(20))}", "this is not what a journal keeps"),
        (lambda kind: f"value = {_bytes(kind, HALF)}", "is damaged at `a/t#1`"),
        (lambda kind: "state = 'asked'", "is damaged at `a/t#1`"),
        (lambda kind: "kind = ''", "is damaged at `a/t#1`"),
        (lambda kind: "taint = '['", "is damaged at `a/t#1`"),
    ],
)  # fmt: skip
def test_a_record_that_no_store_wrote_is_named(place: Place, change: Callable[[str], str], said: str) -> None:
    place.run(filled)
    assert place.look(lambda db: db.change(f"UPDATE ael_record SET {change(place.kind)} WHERE {_record(3)}")) == 1
    told = found(place)
    assert isinstance(told, str)
    assert said in told
    assert "`a/t#1`" in told

    async def body(store: DatabaseStore) -> None:
        with pytest.raises(Damaged):
            await store.hold("r1", "w2", 60.0)

    place.run(body)


def _bytes(kind: str, data: bytes) -> str:
    return f"x'{data.hex()}'" if kind == "sqlite" else f"'\\x{data.hex()}'::bytea"
