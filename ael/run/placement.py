"""What the run time asks of a service or node that the deployment places elsewhere, and the form in which a result crosses.

Adapters (`ael.services`) carry calls; what an answer means is decided here and in `ael.run.placed`, the same for every placement.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, cast

from ael.data import replace
from ael.run.codec import ValueCodec, text_of_form
from ael.run.ports import CallContext
from ael.types.definition import Definitions, RecordDef
from ael.types.limits import Limits
from ael.types.type import AnonymousRecord, Named, Type, UnitType

RESULT = "result"
"""The key under which a result stands whose type is no closed record: what crosses is always an object."""
_ROOM = 64
"""Bytes that such a key, its quotes and its braces may take beside the result."""


@dataclass(frozen=True, slots=True)
class PlacedCall:
    """One attempt of a call. `target` is the own name of the operation or node (`get`), `body` the JSON object of its arguments.

    `resend`: sending it twice does no harm. `most`: bytes that the answer may have. `attempts`: how many retries are left to everything
    inside, None where nobody counts. `via`: the servers that the run behind this call came through. `grants`: the permissions that a node
    has left here, and may use at most there; None for an operation, whose body has its provider's. `watch`: hears what happens inside, each
    event by its name with its data (`ael.run.progress`), None where nobody follows the run; an adapter that cannot tell leaves it.
    `handed`: what is said of the arguments (`ael.run.handed`), "" for nothing.
    """

    target: str
    body: bytes
    resend: bool
    most: int
    attempts: int | None
    via: tuple[str, ...]
    context: CallContext
    grants: tuple[str, ...] | None = None
    watch: Callable[[str, object], None] | None = None
    handed: str = ""


@dataclass(frozen=True, slots=True)
class PlacedAnswer:
    """What the other side answered: the JSON object of the result, or the ending that it reached, in the form of `outcome.to_json`.

    `taint`: the outside data that had a hand in it, None where the other side does not say. `attempts`: the retries still left.
    """

    value: bytes | None
    ending: Mapping[str, object] | None = None
    taint: frozenset[str] | None = None
    attempts: int | None = None


class Placement(Protocol):
    """Where a service or node runs, as the deployment binds it; shared by the runs of a host.

    What goes wrong on the way is raised as `Fault` (`Unavailable`, `Timeout`, `Disconnected`, `Malformed`, `TooLarge`, `Denied`) with the
    detail `sent`: whether the other side may have seen the call. It never sends a call twice, but where that does no harm
    (`resend`) on a connection that was found closed.
    """

    @property
    def own(self) -> bool:
        """Whether what runs there is this program's own, in another process of this host: its events are as those of this process."""

    @property
    def keeps(self) -> bool:
        """Whether the other side surely makes a call once for its key and keeps the answer: asking again, after a restart too, does no
        harm, and finds what became of it."""

    async def call(self, call: PlacedCall) -> PlacedAnswer:
        """Carry one attempt. Ends by `call.context.deadline`; cancelling it reaches the other side."""

    async def close(self) -> None:
        """Release connections, end child processes. Bounded; raises nothing."""


def bare(type: Type, definitions: Definitions) -> bool:
    """Whether a result of this type crosses as the object that it is; others stand under `result`."""
    if not isinstance(type, Named):
        return False
    definition = definitions.get(type.name)
    return isinstance(definition, RecordDef) and not definition.open


class Known(Protocol):
    """Types by name, and the limits of values."""

    @property
    def definitions(self) -> Definitions: ...

    @property
    def limits(self) -> Limits: ...


class ResultCodec:
    """A result as it crosses: `{"result": …}`, a record as itself, `{}` for `Unit`. The same on both sides."""

    __slots__ = ("_bare", "_read", "_unit")

    def __init__(self, type: Type, codecs: Known, most: int) -> None:
        self._unit = isinstance(type, UnitType)
        self._bare = bare(type, codecs.definitions)
        crossing = AnonymousRecord(()) if self._unit else type if self._bare else AnonymousRecord(((RESULT, type),))
        # The object around a result is one level more than the result may have.
        limits = codecs.limits if self._bare else replace(codecs.limits, depth=codecs.limits.depth + 1)
        self._read = ValueCodec(crossing, codecs.definitions, limits, most + _ROOM).read

    def write(self, plain: object) -> bytes:
        """The text of a result that is in its JSON form already."""
        form = {} if self._unit else plain if self._bare else {RESULT: plain}
        return text_of_form(form)

    def read(self, text: bytes) -> object:
        """The value. Raises `DecodeError`."""
        value = self._read(text)
        if self._unit:
            return None
        if self._bare:
            return value
        return cast("dict[str, object]", value)[RESULT]
