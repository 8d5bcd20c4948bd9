"""Items in a durable queue between machines: what is written, and whose turn it is. Shared by every queue (`ael.services.line`).

A call is one *token* in its queue: its tenant, caller, target and key. Each time that it is asked anew, after an ending that is no answer
for ever, is a *turn* of its token, and each turn goes one way: it waits, is taken by a worker, and is answered; or its sender takes it
back before anybody had it. That is decided in one place, so that a turn which was taken back is never begun.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import cast

from ael.run.handed import handed_of
from ael.run.placement import PlacedAnswer
from ael.services.wire import MAX_ERROR
from ael.types.json import JsonError, read
from ael.types.limits import Limits

MOST = 1024 * 1024
"""Bytes of an item, or of an answer, that are read."""
_DEPTH = Limits(depth=96)
FINAL = ("value", "error", "uncertain")
"""Endings that asking again gives again. A fault may be gone next time."""


class Unreadable(ValueError):
    """What stands in a queue is none of ours."""


class Full(Exception):
    """So many items wait already as the queue may hold: nothing was put."""


class Another(Exception):
    """The key names another call: nothing was put."""


class Away(Exception):
    """The queue cannot be reached. `put`: whether the item may be in it all the same."""

    def __init__(self, message: str, *, put: bool) -> None:
        super().__init__(message)
        self.message = message
        self.put = put


class OtherStore(Exception):
    """The turn was begun by workers that keep their runs elsewhere: here it would be done a second time."""


class TooLong(Exception):
    """What is to be written is longer than the queue takes: nothing was put."""


@dataclass(frozen=True)
class Sizes:
    """Of one queue: `room` items wait at most, `in_flight` are taken at once over all workers. Seconds: `lease` for which a worker has an
    item without a sign of life, `keep` for which an answer stays."""

    room: int = 1_000
    in_flight: int = 64
    lease: float = 30.0
    keep: float = 86_400.0


class Stage(StrEnum):
    """Where a turn is."""

    WAITS = "waits"
    TAKEN = "taken"
    WITHDRAWN = "withdrawn"
    ANSWERED = "answered"


@dataclass(frozen=True, slots=True)
class Item:
    """A call as it waits. `program`: the digest of the program that may take it; `target`: the own name of the operation or node.

    `left`: seconds that its sender gives it, from now on; the other fields as in `PlacedCall` and its context.
    """

    program: str
    target: str
    body: bytes
    key: str
    tenant: str
    caller: str
    left: float
    turn: int = 1
    attempts: int | None = None
    via: tuple[str, ...] = ()
    grants: tuple[str, ...] | None = None
    trace_parent: str = ""
    handed: str = ""

    @property
    def token(self) -> str:
        """What the call is called in its queue."""
        text = "\0".join((self.tenant, self.caller, self.target, self.key))
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:40]

    @property
    def request(self) -> str:
        """A hash of what is asked."""
        return hashlib.sha256(self.body).hexdigest()[:32]

    def at(self, turn: int) -> Item:
        """The same call, asked for the `turn`-th time."""
        return replace(self, turn=turn)

    def within(self, left: float) -> Item:
        """The same, with so much of its time left."""
        return replace(self, left=left)

    def text(self) -> bytes:
        """As it is written."""
        form = {
            "program": self.program,
            "target": self.target,
            "arguments": self.body.decode(),
            "key": self.key,
            "tenant": self.tenant,
            "caller": self.caller,
            "left": self.left,
            "turn": self.turn,
            "attempts": self.attempts,
            "via": list(self.via),
            "grants": None if self.grants is None else list(self.grants),
            "trace": self.trace_parent,
            "given": self.handed,
        }
        return _written(form)


def item_of(text: bytes) -> Item:
    """The item that `Item.text` gave. Raises `Unreadable`."""
    form = _object(text)
    attempts, grants = form.get("attempts"), form.get("grants")
    left, turn = form.get("left"), form.get("turn")
    if not isinstance(left, int | float) or isinstance(left, bool) or not _count(turn, 1) or not _count(attempts, 0, null=True):
        raise Unreadable("its numbers are none")
    return Item(
        _text(form, "program"),
        _text(form, "target"),
        _text(form, "arguments").encode("utf-8", "surrogatepass"),
        _text(form, "key"),
        _text(form, "tenant"),
        _text(form, "caller"),
        float(left),
        cast(int, turn),
        cast("int | None", attempts),
        _texts(form.get("via")),
        None if grants is None else _texts(grants),
        _text(form, "trace"),
        _given(form),
    )


def _given(form: Mapping[str, object]) -> str:
    """What is said of the arguments; an older sender says nothing. Raises `Unreadable`."""
    told = _text(form, "given") if "given" in form else ""
    try:
        handed_of(told)
    except ValueError as error:
        raise Unreadable(str(error)) from None
    return told


@dataclass(frozen=True, slots=True)
class State:
    """What is known of a token: its latest turn. `request` is "" where that was an item which nobody can read.

    `store` names the store of the runs in which the turn was begun, the only one in which it goes on; `begun` counts the workers that
    began it and did not give it back; `cancel`: its sender gave it up.
    """

    turn: int
    stage: Stage
    request: str
    store: str = ""
    begun: int = 0
    cancel: bool = False
    answer: bytes | None = None

    def text(self) -> bytes:
        """As it is written."""
        form = {
            "turn": self.turn,
            "stage": self.stage.value,
            "request": self.request,
            "store": self.store,
            "begun": self.begun,
            "cancel": self.cancel,
            "answer": None if self.answer is None else self.answer.decode("utf-8", "backslashreplace"),
        }
        return _written(form)


def state_of(text: bytes) -> State:
    """The state that `State.text` gave. Raises `Unreadable`."""
    form = _object(text)
    stage, turn, begun, answer = form.get("stage"), form.get("turn"), form.get("begun"), form.get("answer")
    if stage not in tuple(Stage) or not _count(turn, 1) or not _count(begun, 0) or not isinstance(answer, str | None):
        raise Unreadable("it is no state of an item")
    return State(
        cast(int, turn),
        Stage(str(stage)),
        _text(form, "request"),
        _text(form, "store"),
        cast(int, begun),
        form.get("cancel") is True,
        None if answer is None else answer.encode("utf-8", "surrogatepass"),
    )


@dataclass(frozen=True, slots=True)
class Entered:
    """A call that is in its queue: its turn, and its answer where that is there already."""

    turn: int
    answer: bytes | None = None


def entering(state: State | None, item: Item, seen: int) -> tuple[Entered, bool]:
    """How a call enters its queue, and whether it has to be put there. `seen`: the turn whose ending its sender has had before.

    Without one that it has had, an answer that is there came while the sender was away. Raises `Another`.
    """
    if state is None:
        return Entered(1), True
    if state.request and state.request != item.request:
        raise Another
    match state.stage:
        case Stage.ANSWERED if state.turn > seen:
            return Entered(state.turn, state.answer), False
        case Stage.ANSWERED | Stage.WITHDRAWN:
            return Entered(state.turn + 1), True
        case _:
            return Entered(state.turn), False


def answer_text(
    value: bytes | None, ending: Mapping[str, object] | None, taint: frozenset[str] | None, attempts: int | None
) -> bytes:
    """An answer as it is written: the JSON text of a value, or the ending that there is instead."""
    form: dict[str, object] = {"taint": None if taint is None else sorted(taint), "attempts": attempts}
    if ending is None:
        form["value"] = (value or b"").decode()
    else:
        form["ending"] = dict(ending)
    return _written(form)


def answer_of(text: bytes, most: int) -> PlacedAnswer:
    """The answer that `answer_text` gave, of at most so many bytes of value. Raises `Unreadable`."""
    if len(text) > 2 * most + MAX_ERROR:
        raise Unreadable(f"it has {len(text):,} bytes")
    form = _object(text)
    taint, attempts, ending, value = (form.get(name) for name in ("taint", "attempts", "ending", "value"))
    if not _count(attempts, 0, null=True):
        raise Unreadable("its numbers are none")
    seen = None if taint is None else frozenset(_texts(taint))
    if isinstance(ending, Mapping):
        return PlacedAnswer(None, cast("Mapping[str, object]", ending), seen, cast("int | None", attempts))
    if not isinstance(value, str):
        raise Unreadable("it has neither a value nor an ending")
    return PlacedAnswer(value.encode("utf-8", "surrogatepass"), None, seen, cast("int | None", attempts))


def _object(text: bytes) -> Mapping[str, object]:
    try:
        found = read(text, _DEPTH, max_bytes=8 * MOST)
    except JsonError as error:
        raise Unreadable(error.message) from None
    if not isinstance(found, Mapping):
        raise Unreadable("it is no object")
    return cast("Mapping[str, object]", found)


def _text(form: Mapping[str, object], name: str) -> str:
    found = form.get(name)
    if not isinstance(found, str):
        raise Unreadable(f"it has no `{name}`")
    return found


def _texts(found: object) -> tuple[str, ...]:
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise Unreadable("it has something else where texts are listed")
    return tuple(found)


def _count(found: object, least: int, *, null: bool = False) -> bool:
    if found is None:
        return null
    return isinstance(found, int) and not isinstance(found, bool) and least <= found < 1 << 31


def _written(form: Mapping[str, object]) -> bytes:
    return json.dumps(form, ensure_ascii=False, separators=(",", ":"), default=str).encode("utf-8", "backslashreplace")
