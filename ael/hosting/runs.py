"""The store that a deployment's runs are kept in."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from ael.hosting.failure import HostError
from ael.hosting.secrets import Secrets
from ael.journal.database import DatabaseStore
from ael.journal.sqlite import SqliteDatabase
from ael.journal.writer import Database
from ael.project.deployment import Deployment


def open_runs(deployment: Deployment, secrets: Secrets) -> DatabaseStore | None:
    """The durable store of a deployment; None where its runs are kept in memory. Nothing is opened before it is needed.

    Raises `HostError` for a secret that is missing, and for PostgreSQL without its package.
    """
    binding = deployment.runs
    connect: Callable[[], Database]
    match binding.kind:
        case "memory":
            return None
        case "sqlite":
            path = Path(deployment.folder, binding.path)
            connect = partial(SqliteDatabase, path)
        case "postgres":
            assert binding.secret is not None
            address = secrets.get(binding.secret).reveal()
            if find_spec("psycopg") is None:
                raise HostError("AEL0833", "runs in PostgreSQL need a package: `pip install 'ael-lang[postgres]'`")
            postgres = import_module("ael.journal.postgres")
            connect = partial(postgres.PostgresDatabase, address)
    return DatabaseStore(connect)
