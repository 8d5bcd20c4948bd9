"""Streamed fragments of tool calls, put together by exact rules: what they do not decide is malformed, never guessed (fault
kind K31).

- A fragment with an index belongs to the newest call of that index; another id there begins a new call.
- Without an index it belongs to the call of its id; a new id begins a new call.
- Without either it belongs to the one call there is. A name begins a new call when there is none, or when the newest one's
arguments
  are whole (a whole object cannot go on).
- A name may come in pieces until it is whole; the same name again says nothing new.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from ael.models.wire import encode
from ael.run.ports import ProposedCall

MAX_CALLS = 128
MAX_ARGUMENT_BYTES = 4 * 1024 * 1024
"""More than this in one turn is malformed; what a tool takes is far less and is checked where the tool is known."""


class Misassembled(Exception):
    """Fragments that make no exact calls; the message says which rule they break."""


class _Open:
    __slots__ = ("arguments", "given", "id", "name")

    def __init__(self, identity: str) -> None:
        self.id = identity
        self.name = ""
        self.arguments: list[str] = []
        self.given = False

    def whole(self) -> bool:
        try:
            return isinstance(json.loads("".join(self.arguments)), dict)
        except (ValueError, RecursionError):
            return False


class CallAssembler:
    """Puts calls together. `offered` are the names that a call can have; `on_name` is told each name when it is whole."""

    __slots__ = ("_by_id", "_by_index", "_calls", "_offered", "_on_arguments", "_on_name", "_room")

    def __init__(
        self,
        offered: frozenset[str] = frozenset(),
        on_name: Callable[[str], None] | None = None,
        on_arguments: Callable[[str, str], None] | None = None,
    ) -> None:
        self._calls: list[_Open] = []
        self._by_index: dict[int, _Open] = {}
        self._by_id: dict[str, _Open] = {}
        self._offered = offered
        self._on_name = on_name
        self._on_arguments = on_arguments
        self._room = MAX_ARGUMENT_BYTES

    def __len__(self) -> int:
        return len(self._calls)

    @property
    def size(self) -> int:
        """Characters of arguments so far."""
        return MAX_ARGUMENT_BYTES - self._room

    def add(self, index: object, identity: object, name: object, arguments: object) -> None:
        """One fragment. Raises `Misassembled`."""
        known_id = identity if isinstance(identity, str) else ""
        piece = name if isinstance(name, str) else ""
        call = self._find(index if isinstance(index, int) and not isinstance(index, bool) else None, known_id, piece)
        if piece:
            self._name(call, piece)
        if arguments is not None:
            text = arguments if isinstance(arguments, str) else encode(arguments).decode()
            self._room -= len(text)
            if self._room < 0:
                raise Misassembled("the arguments of the calls are longer than any tool takes")
            call.given = True
            if text:
                call.arguments.append(text)
                if self._on_arguments is not None:
                    self._on_arguments(call.name, text)

    def finish(self, *, cut: bool = False) -> tuple[ProposedCall, ...]:
        """The calls in the order in which they began. A call without a name is malformed, or left out of a turn that was cut."""
        calls = []
        for call in self._calls:
            if not call.name:
                if not cut:
                    raise Misassembled("a call has no name")
                continue
            calls.append(ProposedCall(call.id, call.name, "".join(call.arguments) if call.given else None))
        return tuple(calls)

    def _find(self, index: int | None, identity: str, name: str) -> _Open:
        if index is not None:
            call = self._by_index.get(index)
            if (
                call is None
                or (identity and call.id and identity != call.id)
                or (not identity and name and self._begins(call, name))
            ):
                call = self._by_index[index] = self._new(identity)
            elif identity and not call.id:
                call.id = identity
                self._by_id.setdefault(identity, call)
            return call
        if identity:
            return self._by_id.get(identity) or self._new(identity)
        if name and (not self._calls or self._begins(self._calls[-1], name)):
            return self._new("")
        if len(self._calls) == 1:
            return self._calls[0]
        raise Misassembled("a fragment says neither by index nor by id which call it belongs to")

    def _begins(self, call: _Open, name: str) -> bool:
        """Whether a name without an id, coming to a call that has one, can only be the next call's."""
        return bool(call.name) and bool(call.arguments) and call.whole()

    def _new(self, identity: str) -> _Open:
        if len(self._calls) >= MAX_CALLS:
            raise Misassembled(f"a turn proposes more than {MAX_CALLS} calls")
        call = _Open(identity)
        self._calls.append(call)
        if identity:
            self._by_id.setdefault(identity, call)
        return call

    def _name(self, call: _Open, piece: str) -> None:
        if not call.name:
            call.name = piece
        elif piece == call.name and (call.arguments or call.name in self._offered):
            if call.name + piece in self._offered:
                raise Misassembled("a call's name can be read in two ways")
            return
        elif call.arguments:
            raise Misassembled("a call's name changes after its arguments began")
        else:
            call.name += piece
        if self._on_name is not None and (call.name in self._offered or not self._offered):
            self._on_name(call.name)
