"""The built-in retrieval of `std/knowledge`: documents in the database that the deployment names, looked for by their words.

Everything is the tenant's of the run: the tenant comes with the call, and no argument can name another.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from ael.lower.natives.knowledge import chunks
from ael.natives.knowledge_base import Base, Document, Worker
from ael.natives.knowledge_terms import query_terms
from ael.natives.world import Functions, World
from ael.project.knowledge import KnowledgeBinding
from ael.run.ports import CallContext


def natives(world: World) -> Functions:
    """`search`, `get`, `put`, `remove`. The database is opened with the first call."""
    worker = Worker(_connect(world))
    world.keep(worker)

    async def search(query: str, limit: int, *, call: CallContext) -> object:
        found = await worker.do(lambda base: base.search(call.tenant, query_terms(query), limit))
        return [
            {
                "document": one.id,
                "version": one.version,
                "title": one.title,
                "source": one.source,
                "place": one.place,
                "text": one.text,
                "score": max(0.0, round(one.score, 9)),
            }
            for one in found
        ]

    async def get(id: str, *, call: CallContext) -> object:
        found = await worker.do(lambda base: base.get(call.tenant, id))
        return None if found is None else found._asdict()

    async def put(document: Mapping[str, object], size: int, *, call: CallContext) -> object:
        made = Document(**{name: document[name] for name in Document._fields})  # type: ignore[arg-type]  # decoded by its type
        # A body that is tried again may write something else under the same key: only the same write again is left out.
        token = f"{call.key}-{made.digest().hex()[:16]}-{made.version}-{made.id}"
        return await worker.do(lambda base: base.put(call.tenant, made, chunks(made.text, size), token))

    async def remove(id: str, *, call: CallContext) -> object:
        return await worker.do(lambda base: base.remove(call.tenant, id, f"{call.key}-{id}"))

    return {"search": search, "get": get, "put": put, "remove": remove}


def _connect(world: World) -> Callable[[], Base]:
    """What opens the database of the deployment. Raises `HostError` for a secret that is missing, `ModuleNotFoundError`."""
    binding = world.bindings.get("knowledge", KnowledgeBinding())
    assert isinstance(binding, KnowledgeBinding)
    if binding.kind == "postgres":
        address = world.secrets.get(binding.secret).reveal()
        if find_spec("psycopg") is None:
            message = "documents in PostgreSQL need a package: `pip install 'ael-lang[postgres]'`"
            raise ModuleNotFoundError(message, name="psycopg")
        # What speaks to PostgreSQL is loaded only where one is named.
        return lambda: import_module("ael.natives.knowledge_postgres").PostgresBase(address)
    path = Path(world.folder, binding.path) if binding.kind == "sqlite" else None
    return partial(import_module("ael.natives.knowledge_sqlite").SqliteBase, path)
