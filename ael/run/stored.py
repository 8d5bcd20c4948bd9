"""What the run time asks of stores: typed durable maps, as a deployment binds them (`ael/run/store.py` has those that there are)."""

from __future__ import annotations

from typing import NamedTuple, Protocol


class Origin(NamedTuple):
    """Where what a store keeps came from: the outside data that had a hand in it, and the place that wrote it, as `RUN/PATH`."""

    sources: tuple[str, ...]
    written: str


class Kept(NamedTuple):
    """What a store keeps under a key. `origin` None: nobody said; it was written by an older version, or by another program."""

    value: object
    origin: Origin | None


class StorePort(Protocol):
    """A typed durable map as a deployment binds it: keys are strings, values JSON forms already encoded.

    The origin of a value is kept beside it, never in it: nothing that is written as a value can say where it came from (feature A14.3).
    """

    def of(self, tenant: str) -> StorePort:
        """The tenant's own: nothing that one tenant keeps is seen by another. That of `local` is the store itself."""

    async def get(self, key: str) -> Kept | None: ...

    async def put(self, key: str, value: object, token: str, origin: Origin | None = None) -> None:
        """Write. `token` is the idempotency key: the same one twice acts once."""

    async def remove(self, key: str, token: str) -> bool: ...

    async def swap(self, key: str, was: object | None, value: object, token: str, origin: Origin | None = None) -> bool:
        """Write, where what is kept is still `was` (None: nothing, or null), in one act. Whether it did: the same `token` is told
        the same."""

    async def entries(self, limit: int) -> list[tuple[str, Kept]]: ...

    async def page(self, after: str, limit: int) -> list[tuple[str, Kept]]:
        """Those whose key comes after `after`, by the code points of the keys, the first `limit`."""

    async def close(self) -> None: ...
