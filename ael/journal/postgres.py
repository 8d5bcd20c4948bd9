"""Runs in PostgreSQL, for more than one machine: claims skip what others are claiming, and time is the database's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any

import psycopg
from psycopg import errors

from ael.journal.durable import StoreError
from ael.journal.schema import upgrade
from ael.journal.writer import Unreachable

_NUMBERS = """DO $$ BEGIN
    CREATE SEQUENCE ael_number;
    PERFORM setval('ael_number', (SELECT COALESCE(MAX(number), 0) + 1 FROM ael_run), false);
END $$"""
WORDS = {"bytes": "BYTEA", "real": "DOUBLE PRECISION", "table": "", "big": "BIGINT", "place": "BIGINT", "numbers": _NUMBERS}
WAKE = (
    "CREATE OR REPLACE FUNCTION ael_wake() RETURNS trigger LANGUAGE plpgsql AS"
    " $$ BEGIN PERFORM pg_notify('ael_runs', ''); RETURN NULL; END $$",
    "CREATE TRIGGER ael_wake AFTER INSERT OR UPDATE OF state ON ael_run"
    " FOR EACH ROW WHEN (NEW.state = 'ready') EXECUTE FUNCTION ael_wake()",
)
"""Tells the workers that listen (`ael.journal.listen`) of every run that becomes ready, with the commit."""
CONNECT = 10
"""Seconds to wait for a connection."""


class PostgresDatabase:
    """One connection. `address` is a libpq connection string or URL; its password is never told."""

    share = " FOR SHARE"
    skip = " FOR UPDATE SKIP LOCKED"
    number = "nextval('ael_number')"

    def __init__(self, address: str) -> None:
        try:
            self._db = psycopg.connect(address, autocommit=True, connect_timeout=CONNECT, application_name="ael")
        except psycopg.OperationalError as error:
            raise Unreachable(_first_line(error)) from None
        except psycopg.ProgrammingError:
            # The driver shows the part that it cannot read, which may be the password.
            raise StoreError("the runs cannot be opened: their address is no connection string or URL of PostgreSQL") from None
        except psycopg.Error as error:
            raise StoreError(f"the runs cannot be opened: {_first_line(error)}") from None
        self._db.prepare_threshold = 2
        self._cursor = self._db.cursor()
        try:
            self.begin()
            upgrade(self, WORDS)
            if not self.rows("SELECT 1 FROM pg_trigger WHERE tgname = 'ael_wake' AND tgrelid = 'ael_run'::regclass"):
                for step in WAKE:
                    self.change(step)
            self.commit()
        except BaseException:
            self.close()
            raise

    def rows(self, query: str, *parameters: object) -> list[tuple[Any, ...]]:
        self._do(query, parameters)
        return self._cursor.fetchall()

    def change(self, query: str, *parameters: object) -> int:
        self._do(query, parameters)
        return self._cursor.rowcount

    def add(self, query: str, rows: Sequence[tuple[object, ...]]) -> None:
        self._asked(lambda: self._cursor.executemany(_query(query), rows))

    def _do(self, query: str, parameters: tuple[object, ...]) -> None:
        self._asked(lambda: self._cursor.execute(_query(query), parameters))

    def _asked(self, ask: Callable[[], object]) -> None:
        try:
            ask()
        except (psycopg.OperationalError, errors.InterfaceError, psycopg.InterfaceError) as error:
            raise Unreachable(_first_line(error)) from None
        except psycopg.Error as error:
            raise StoreError(f"the database of the runs refuses: {_first_line(error)}") from None

    def now(self) -> float:
        return float(self.rows("SELECT extract(epoch FROM clock_timestamp())::double precision")[0][0])

    def ticks(self) -> float:
        """The server's clock: its machines share no other."""
        return self.now()

    def alone(self, what: str) -> None:
        self.rows("SELECT pg_advisory_xact_lock(hashtext(?))::text", what)

    def begin(self) -> None:
        self.change("BEGIN")

    def begin_at_once(self) -> bool:
        """Never: the network is waited for."""
        return False

    def commit(self) -> None:
        self.change("COMMIT")

    def rollback(self) -> None:
        with suppress(psycopg.Error):
            self._cursor.execute("ROLLBACK")

    def close(self) -> None:
        with suppress(psycopg.Error):
            self._db.close()


@lru_cache(maxsize=256)
def _query(text: str) -> bytes:
    return text.replace("?", "%s").encode()


def _first_line(error: Exception) -> str:
    text = str(error).strip() or type(error).__name__
    return text.splitlines()[0]
