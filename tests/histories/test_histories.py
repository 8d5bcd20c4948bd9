"""Journals that older versions wrote: each is replayed to the end that it recorded, in both stores, and nothing is sent."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from ael.durable.execute import Execution
from ael.journal import schema
from ael.journal.database import DatabaseStore
from ael.journal.durable import RunState, StoreError
from ael.journal.entry import Ending, State
from ael.run.bindings import Bindings, BoundModel
from ael.run.engine import Engine
from ael.run.outcome import to_json, word_of
from tests.durable.programs import Program
from tests.histories.keep import FOLDER, RUN, load, versions
from tests.journal.places import Place
from tests.run.fakes import model

FILES = sorted(file for folder in versions() for file in folder.glob("*.jsonl"))


def unreachable(name: str) -> Any:
    async def act(**arguments: object) -> object:
        raise AssertionError(f"`{name}` was called, and the journal has its answer")

    return act


def execution(file: Path, store: DatabaseStore) -> Execution:
    """The kept program, bound to nothing that could do anything."""
    unit = Program(file.with_suffix(".ael").read_text(encoding="utf-8"), {}).unit
    externs = {name: unreachable(name) for name, tool in unit.tools.items() if tool.spec.extern is not None}
    bound = {name: BoundModel(model(), "m") for name in unit.models}
    return Execution(Engine(unit, Bindings(models=bound, externs=externs)), store, "w", 60.0)


def reopen(place: Place) -> None:
    """As if its last process had died before it could say how the run ended."""
    database = place.database()
    database.begin()
    assert database.change("UPDATE ael_run SET state = 'ready', ended = NULL WHERE run = ?", RUN) == 1
    database.commit()
    database.close()


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.stem}")
@pytest.mark.feature("A12.6", "A12.9")
def test_a_kept_journal_replays_to_its_end(place: Place, file: Path) -> None:
    ending = load(place, file)

    async def body(store: DatabaseStore) -> None:
        row = await store.find(RUN)
        assert row is not None
        recorded = row.outcome
        assert isinstance(recorded, dict)
        before = await store.entries(RUN)
        reopen(place)
        runs = execution(file, store)
        held = await store.hold(RUN, "w", 60.0)
        assert held is not None
        outcome = await runs.conclude(held, runs.start(held))
        assert word_of(outcome) == ending
        told = to_json(outcome)
        assert {**told, "spent": None} == {**recorded, "spent": None}
        assert await store.entries(RUN) == before, "nothing is added by a replay"
        row = await store.find(RUN)
        assert row is not None
        assert row.state is RunState.ENDED

    place.run(body)


def test_every_kind_of_journal_is_there() -> None:
    assert {file.stem for file in FILES} >= {"values", "loop", "approval", "uncertain", "parallel"}
    assert all(file.with_suffix(".ael").exists() for file in FILES)
    text = {file.stem: file.read_text(encoding="utf-8") for file in FILES}
    for kind in ("$decimal", "$bytes", "$date", "$time", "$span", "$file", "$map"):
        assert f'\\"{kind}\\"' in text["values"]
    assert '\\"opaque\\":[\\"fake\\"' in text["loop"]
    assert '"kind": "approval"' in text["approval"]
    assert f'"ending": "{Ending.UNCERTAIN.value}"' in text["uncertain"]


def test_a_store_of_an_older_format_is_brought_up_to_date(place: Place) -> None:
    newer = (*schema.VERSIONS, ("ALTER TABLE ael_run ADD COLUMN note TEXT", "UPDATE ael_run SET note = 'moved'"))
    load(place, FOLDER / "v1" / "loop.jsonl")
    before: list[object] = []

    async def old(store: DatabaseStore) -> None:
        before.extend(await store.entries(RUN))

    async def new(store: DatabaseStore) -> None:
        assert await store.entries(RUN) == before
        row = await store.find(RUN)
        assert row is not None
        assert row.ending == "value"
        assert all(entry.state in State for entry in await store.entries(RUN))
        opened = place.database()
        assert opened.rows("SELECT note FROM ael_run") == [("moved",)]
        assert opened.rows("SELECT value FROM ael_meta WHERE name = 'version'") == [(len(newer),)]
        opened.close()

    async def refused(store: DatabaseStore) -> None:
        with pytest.raises(StoreError, match=f"format {len(newer)}"):
            await store.find(RUN)

    place.run(old)
    with patch.object(schema, "VERSIONS", newer):
        place.run(new)
        place.run(new)
    place.run(refused)


def test_an_upgrade_that_fails_changes_nothing(place: Place) -> None:
    load(place, FOLDER / "v1" / "loop.jsonl")
    place.database().close()
    broken = (*schema.VERSIONS, ("ALTER TABLE ael_run ADD COLUMN note TEXT", "UPDATE no_such_table SET note = 1"))

    async def fails(store: DatabaseStore) -> None:
        with pytest.raises(StoreError):
            await store.find(RUN)

    async def works(store: DatabaseStore) -> None:
        assert await store.find(RUN) is not None
        opened = place.database()
        with pytest.raises(StoreError):
            opened.rows("SELECT note FROM ael_run")
        opened.close()

    with patch.object(schema, "VERSIONS", broken):
        place.run(fails)
    place.run(works)
