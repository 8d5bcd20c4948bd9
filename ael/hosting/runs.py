"""The store that a deployment's runs are kept in."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
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
from ael.project.runs import DEFAULT_PATH
from ael.types.value import Secret


def open_runs(deployment: Deployment, secrets: Secrets, warnings: list[str]) -> DatabaseStore | None:
    """The durable store of a deployment; None where its runs are kept in memory. Nothing is opened before it is needed.

    A deployment that says nothing of its runs keeps them in memory where its folder cannot be written, with a warning.

    Raises `HostError` for a secret that is missing, and for PostgreSQL without its package.
    """
    binding = deployment.runs
    connect: Callable[[], Database]
    match binding.kind:
        case "memory":
            return None
        case "sqlite":
            path = Path(deployment.folder, binding.path)
            if binding.path == DEFAULT_PATH and not _writable(path):
                warnings.append(f"runs are kept in memory only: {path.parent} cannot be written (see `runs` in the deployment)")
                return None
            connect = partial(SqliteDatabase, path)
        case "postgres":
            assert binding.secret is not None
            address = secrets.get(binding.secret).reveal()
            if find_spec("psycopg") is None:
                raise HostError("AEL0833", "runs in PostgreSQL need a package: `pip install 'ael-lang[postgres]'`")
            postgres = import_module("ael.journal.postgres")
            connect = partial(postgres.PostgresDatabase, address)
    return DatabaseStore(connect)


@contextmanager
def watch_runs(deployment: Deployment, secrets: Mapping[str, Secret], wake: Callable[[], None]) -> Iterator[None]:
    """Have `wake` called, from another thread, whenever runs in PostgreSQL may be ready; elsewhere nobody tells.

    A worker that misses a word looks for itself soon after.
    """
    binding = deployment.runs
    if binding.kind != "postgres" or binding.secret is None or binding.secret not in secrets:
        yield
        return
    listener = import_module("ael.journal.listen").Listener(secrets[binding.secret].reveal(), wake)
    listener.start()
    try:
        yield
    finally:
        listener.stop()


def _writable(path: Path) -> bool:
    """Whether the file can be made or written: looked at before a run begins, not in the middle of one."""
    for place in (path, *path.parents):
        if place.exists():
            return os.access(place, os.W_OK)
    return False
