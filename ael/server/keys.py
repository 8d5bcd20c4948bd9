"""What a server knows, in memory, of the keys of calls that ended: their answers, and after those which keys are spent.

Bounded in number and bytes. A call that must not be made twice leaves its key behind when its answer is forgotten: whoever asks again then
is told that it was made, and it is not made again (K26). A call that may be repeated is made again, under the same keys.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from typing import Generic, TypeVar

KEPT = 10_000
"""Answers that are kept."""
ROOM = 64 * 1024 * 1024
"""Bytes of answers that are kept."""
SPENT = 250_000
"""Keys that are known to be spent after their answers were forgotten, some 25 MiB of them."""

Name = tuple[str, str, str]
"""Whose a key is, and the key: tenant, caller, key."""
T = TypeVar("T")


class Keys(Generic[T]):
    """Answers by the names of their keys, the longest known forgotten first."""

    def __init__(self) -> None:
        self._known: OrderedDict[Name, tuple[T, int, bool]] = OrderedDict()
        self._spent: dict[bytes, None] = {}
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._known)

    def find(self, name: Name) -> T | None:
        """The answer, where it is kept."""
        found = self._known.get(name)
        return None if found is None else found[0]

    def spent(self, name: Name) -> bool:
        """Whether the key is of a call that must not be made again, and whose answer was forgotten."""
        return bool(self._spent) and _mark(name) in self._spent

    def keep(self, name: Name, answer: T, size: int, *, once: bool) -> None:
        """Know how a call ended. `size` in bytes; `once`: it must not be made again, also when its answer is forgotten."""
        _, before, _ = self._known.pop(name, (None, 0, False))
        self._known[name] = (answer, size, once)
        self._bytes += size - before
        while self._known and (len(self._known) > KEPT or self._bytes > ROOM):
            oldest, (_, freed, must) = self._known.popitem(last=False)
            self._bytes -= freed
            if must:
                self._spent[_mark(oldest)] = None
        while len(self._spent) > SPENT:
            del self._spent[next(iter(self._spent))]


def _mark(name: Name) -> bytes:
    return hashlib.blake2b("\0".join(name).encode("utf-8", "surrogatepass"), digest_size=16).digest()
