"""Known secret values in what a run sees and shows (K41): looked for by value, never by name, in every form in which they usually travel.

Two things are done with them. What is shown or written is masked as it is shown. And what comes from outside, the answers of servers,
services, models and Python functions and the input of a run, is masked *as it comes in*: a server that repeats the credential that it
was sent puts it into no value of the program, so that it is in no prompt, no argument of another call, and in no record of the journal,
and a run that is continued sees what it saw before.
"""

from __future__ import annotations

from collections.abc import Sequence, ValuesView
from typing import NamedTuple, TypeVar, cast

from ael.data import replace
from ael.net.redact import SHORTEST, forms
from ael.run.ports import ModelTurn, Opaque, ProposedCall, RemoteAnswer
from ael.types.fault import Failure, Fault, Uncertain
from ael.types.value import File, Secret

MASK = "***"
LEAST = 8
"""The shortest value, in characters, that is masked as it comes in: a shorter one (a password such as `test`) may well stand in the data
that a program works on, and protects nothing. It is masked where it is shown."""

Known = ValuesView[Secret] | Sequence[Secret]
"""The secrets that are looked for: those of a mapping, as it is by then, or a few."""

_SAID = ("text", "media", "role", "data")
"""What of a part of an answer is the server's word."""

E = TypeVar("E", bound=Failure | Fault | Uncertain)


class _Known(NamedTuple):
    """What is looked for: the forms of all values in what is shown, and those of long ones in what comes in; longest first."""

    shown: tuple[str, ...] = ()
    incoming: tuple[str, ...] = ()
    raw: tuple[bytes, ...] = ()


class Masker:
    """Replaces known secret values by `***`. Secrets that become known later (a token that a server gave) are looked for from then on."""

    __slots__ = ("_count", "_known", "_last", "_secrets")

    def __init__(self, known: Known) -> None:
        """`known` is looked into again when something is added to it."""
        self._secrets = known
        self._last: Secret | None = None
        self._count = 0
        self._known = _Known()

    # --- what is shown ------------------------------------------------------------------------------------------------

    def text(self, text: str) -> str:
        """`text` without secrets."""
        return _masked(text, self._looked_for().shown)

    def pieces(self) -> Pieces:
        """Masks a text that comes in pieces."""
        return Pieces(self._looked_for().shown)

    def value(self, value: object) -> object:
        """A JSON form without secrets; what holds none is given back as it is."""
        known = self._looked_for().shown
        return _without(value, known, ()) if known else value

    # --- what comes in ------------------------------------------------------------------------------------------------

    def incoming(self, value: object) -> object:
        """A value from outside, before it is decoded: JSON text, or what it was read as."""
        known = self._looked_for()
        return _without(value, known.incoming, known.raw) if known.incoming else value

    def answer(self, answer: RemoteAnswer) -> RemoteAnswer:
        """What an MCP server answered."""
        if not self._looked_for().incoming:
            return answer
        parts = tuple([replace(part, **{name: self.incoming(getattr(part, name)) for name in _SAID}) for part in answer.parts])
        return RemoteAnswer(parts, self.incoming(answer.structured), answer.is_error)

    def turn(self, turn: ModelTurn) -> ModelTurn:
        """What a model said. What a provider gives in order to get it back is masked too: then it may refuse it, and that is told."""
        known = self._looked_for().incoming
        if not known:
            return turn
        calls = tuple(
            [
                ProposedCall(
                    _masked(call.id, known),
                    _masked(call.name, known),
                    None if call.arguments is None else _masked(call.arguments, known),
                )
                for call in turn.calls
            ]
        )
        opaque = turn.opaque
        if opaque is not None:
            opaque = Opaque(opaque.provider, tuple([_without(block, known, ()) for block in opaque.blocks]))
        final = None if turn.final is None else _masked(turn.final, known)
        return replace(
            turn,
            text=_masked(turn.text, known),
            calls=calls,
            final=final,
            opaque=opaque,
            model=_masked(turn.model, known),
            detail=_masked(turn.detail, known),
        )

    def ending(self, error: E) -> E:
        """What a call from here ended with, in place: its words and details, or the fields of a declared error."""
        known = self._looked_for()
        if not known.incoming:
            return error
        if isinstance(error, Failure):
            error.value = cast("dict[str, object]", _without(error.value, known.incoming, known.raw))
            return error
        if isinstance(error, Fault):
            error.message = _masked(error.message, known.incoming)
        error.details = cast("dict[str, object]", _without(error.details, known.incoming, known.raw))
        return error

    def _looked_for(self) -> _Known:
        # What is added comes last, and pushes out what came long before it: the last one tells whether there is anything new.
        last = next(reversed(cast("Sequence[Secret]", self._secrets)), None)
        if last is not self._last or len(self._secrets) != self._count:
            values = [secret.reveal() for secret in self._secrets]
            self._last, self._count = last, len(values)
            incoming = _forms([value for value in values if len(value) >= LEAST])
            raw = tuple([form.encode("utf-8", "surrogatepass") for form in incoming])
            self._known = _Known(_forms([value for value in values if len(value) >= SHORTEST]), incoming, raw)
        return self._known


def _forms(values: list[str]) -> tuple[str, ...]:
    return tuple(sorted({form for value in values for form in forms(value)}, key=len, reverse=True))


def _masked(text: str, known: tuple[str, ...]) -> str:
    for value in known:
        if value in text:
            text = text.replace(value, MASK)
    return text


def _without(value: object, known: tuple[str, ...], raw: tuple[bytes, ...]) -> object:
    """A value without secrets: the same object where it holds none. `raw`: what is looked for in bytes, which are else left alone."""
    match value:
        case str():
            return _masked(value, known)
        case dict():
            made = {_masked(str(key), known): _without(item, known, raw) for key, item in value.items()}
            same = made.keys() == value.keys() and all(made[key] is item for key, item in value.items())
            return value if same else made
        case list() | tuple():
            items = [_without(item, known, raw) for item in value]
            return value if all(one is other for one, other in zip(items, value, strict=True)) else items
        case Secret():
            return MASK
        case bytes():
            for form in raw:
                if form in value:
                    value = value.replace(form, MASK.encode())
            return value
        case File(media=media, data=data, uri=uri) if raw:
            found = (_without(media, known, raw), _without(data, known, raw), _without(uri, known, raw))
            same = all(one is other for one, other in zip(found, (media, data, uri), strict=True))
            return value if same else File(*found)  # type: ignore[arg-type]  # each as it was, but for what is masked
        case _:
            return value


class Pieces:
    """Masks a text that comes in pieces: what may be the beginning of a secret waits for what follows."""

    __slots__ = ("_held", "_values")

    def __init__(self, values: tuple[str, ...]) -> None:
        self._values = values
        self._held = ""

    def feed(self, text: str) -> str:
        """What may be shown after another piece."""
        if not self._values:
            return text
        text = self._held + text
        for value in self._values:
            text = text.replace(value, MASK)
        keep = max(_overlap(text, value) for value in self._values)
        self._held = text[len(text) - keep :]
        return text[: len(text) - keep]

    def rest(self) -> str:
        """What was held back, when nothing follows."""
        held, self._held = self._held, ""
        return held


def _overlap(text: str, value: str) -> int:
    """How much of the end of a text is the beginning of a value."""
    return next((size for size in range(min(len(text), len(value) - 1), 0, -1) if text.endswith(value[:size])), 0)
