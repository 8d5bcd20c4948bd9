"""Journals as files: the rows of a store as JSON lines, in the columns that it had, beside the program that wrote them."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

from ael.data import replace
from ael.journal import schema
from ael.journal.sqlite import SqliteDatabase
from ael.journal.writer import Database
from ael.run.engine import Engine
from tests.durable.world import Outside, Stage, to_the_end
from tests.histories.programs import EVERYTHING, Told
from tests.journal.places import Place
from tests.run.fakes import FakeClock

FOLDER = Path(__file__).parent
RUN = "kept"
TABLES = {"ael_run": "run", "ael_record": "place"}
NOW = 1_764_000_000.0


class Still(Place):
    """A file whose clock stands."""

    def database(self) -> SqliteDatabase:
        assert self.path is not None
        return SqliteDatabase(self.path, lambda: NOW)


def stage(told: Told) -> Stage:
    """The program, with a clock that stands and ids that are always the same."""
    made = Stage(told.program)
    bindings = made.engine.world.bindings

    async def fetch(n: int) -> Mapping[str, Any]:
        return EVERYTHING

    async def echo(all: Mapping[str, Any]) -> Mapping[str, Any]:
        return all

    externs = {**bindings.externs, "main.fetch": fetch, "main.echo": echo}
    made.engine = Engine(told.program.unit, replace(bindings, clock=FakeClock(NOW), random=Random(7).random, externs=externs))
    return made


def written(told: Told) -> list[str]:
    """Run a program in a store of this version, and give the store's rows."""
    with tempfile.TemporaryDirectory() as folder:
        place = Still("sqlite", Path(folder) / "runs.db", "")
        outside = Outside(stage(told), crash_acts=frozenset({told.crash_act} - {0}))
        to_the_end(place, outside, RUN)
        with closing(place.database()) as database:
            return list(lines(database))


def lines(database: SqliteDatabase) -> Iterator[str]:
    """The rows of a store, the format first."""
    [(version,)] = database.rows("SELECT value FROM ael_meta WHERE name = 'version'")
    yield json.dumps({"format": version})
    for table, order in TABLES.items():
        columns = [str(name) for _, name, *_ in database.rows(f"PRAGMA table_info({table})")]
        for row in database.rows(f"SELECT {', '.join(columns)} FROM {table} ORDER BY {order}"):
            values = {
                name: {"bytes": value.decode()} if isinstance(value, bytes) else value
                for name, value in zip(columns, row, strict=True)
            }
            yield json.dumps({table: values}, ensure_ascii=False)


def versions() -> list[Path]:
    """The folders of all versions, the oldest first."""
    return sorted(
        (path for path in FOLDER.iterdir() if path.name.startswith("v") and path.is_dir()), key=lambda path: int(path.name[1:])
    )


@contextmanager
def format_of(version: int) -> Iterator[None]:
    """As the release whose newest format was `version`."""
    with patch.object(schema, "VERSIONS", schema.VERSIONS[:version]):
        yield


def load(place: Place, file: Path) -> str:
    """Put the rows of a file into a place, in the format they were written in; how the run ended."""
    first, *rows = [json.loads(line) for line in file.read_text(encoding="utf-8").split("\n")[:-1]]
    ending = ""
    with format_of(first["format"]), closing(place.database()) as database:
        database.begin()
        for row in rows:
            [(table, columns)] = row.items()
            _insert(database, table, columns)
            if table == "ael_run":
                ending = columns["ending"]
        database.commit()
    return ending


def _insert(database: Database, table: str, columns: Mapping[str, Any]) -> None:
    values: Sequence[object] = [value["bytes"].encode() if isinstance(value, dict) else value for value in columns.values()]
    database.change(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(values))})", *values)
