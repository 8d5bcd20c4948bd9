"""An answer of Anthropic's form, whole or streamed, read into a turn (https://platform.claude.com/docs/en/build-with-
claude/streaming).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ael.models.assemble import MAX_ARGUMENT_BYTES, MAX_CALLS
from ael.models.wire import count_of, encode, estimated, list_of, object_of, text_of, unwrapped
from ael.run.ports import (
    CallStarted,
    FinalDelta,
    ModelError,
    ModelErrorKind,
    ModelEvent,
    ModelTurn,
    Opaque,
    ProposedCall,
    Stop,
    TextDelta,
    Usage,
)  # fmt: skip

_STOPS = {
    "end_turn": Stop.DONE,
    "stop_sequence": Stop.DONE,
    "tool_use": Stop.CALLS,
    "max_tokens": Stop.CUT,
    "model_context_window_exceeded": Stop.CUT,
    "refusal": Stop.REFUSED,
}
_USAGE = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")


class _Block:
    """A content block: `fields` as they began, and the pieces that came after."""

    __slots__ = ("fields", "kind", "pieces", "signature")

    def __init__(self, fields: dict[str, object]) -> None:
        self.kind = text_of(fields.get("type"))
        self.fields = fields
        self.pieces: list[str] = []
        self.signature: list[str] = []


class Reply:
    """Collects one answer: `event` for each event of a stream, or `whole` for one JSON object; then `turn`."""

    __slots__ = (
        *("_blocks", "_final", "_model", "_native", "_on_event", "_provider", "_reported", "_stop", "_thinking", "_unwrap"),
        *("_usage", "finished", "size"),
    )

    def __init__(
        self, provider: str, *, final: str, native: bool, unwrap: bool, on_event: Callable[[ModelEvent], None] | None
    ) -> None:
        self._provider = provider
        self._final = final
        self._native = native
        self._unwrap = unwrap
        self._on_event = on_event
        self._blocks: dict[int, _Block] = {}
        self._usage: dict[str, int] = {}
        self._thinking = 0
        self._reported = False
        self._stop = ""
        self._model = ""
        self.finished = False
        self.size = 0

    def event(self, value: Mapping[str, object]) -> None:
        """One event. Unknown ones are passed over, as the documentation asks. Raises `ModelError` (malformed)."""
        match value.get("type"):
            case "content_block_delta":
                self._delta(self._block(value), object_of(value.get("delta")))
            case "content_block_start":
                self._start(value.get("index"), dict(object_of(value.get("content_block"))))
            case "message_start":
                message = object_of(value.get("message"))
                self._model = text_of(message.get("model"))
                self._count(message.get("usage"))
            case "message_delta":
                self._stop = text_of(object_of(value.get("delta")).get("stop_reason")) or self._stop
                self._count(value.get("usage"))
            case "message_stop":
                self.finished = True

    def whole(self, value: Mapping[str, object]) -> None:
        """A whole answer. Raises `ModelError` (malformed)."""
        self._model = text_of(value.get("model"))
        self._count(value.get("usage"))
        if not isinstance(value.get("content"), list):
            raise self._malformed("the answer holds no content")
        for index, block in enumerate(list_of(value.get("content"))):
            self._start(index, dict(object_of(block)))
        self._stop = text_of(value.get("stop_reason"))
        self.finished = True

    def turn(self, model: str, request: int, max_tokens: int) -> ModelTurn:
        """The turn. Raises `ModelError` (incomplete) when the closing event or the stop reason is missing."""
        usage = self.usage(request)
        if not self.finished or not self._stop:
            raise ModelError(ModelErrorKind.INCOMPLETE, "the answer ended before its closing event", usage=usage)
        texts: list[str] = []
        calls: list[ProposedCall] = []
        final: str | None = None
        layout: list[object] = []
        opaque = False
        for _, block in sorted(self._blocks.items()):
            match block.kind:
                case "text":
                    piece = text_of(block.fields.get("text")) + "".join(block.pieces)
                    texts.append(piece)
                    layout.append({"text": len(piece)})
                case "tool_use":
                    name, arguments = text_of(block.fields.get("name")), self._arguments(block)
                    if not name:
                        raise self._malformed("a call of the answer has no name", usage)
                    if name != self._final:
                        layout.append({"call": len(calls)})
                        calls.append(ProposedCall(text_of(block.fields.get("id")), name, arguments))
                    elif final is None:
                        layout.append({"final": 0})
                        final = arguments or "{}"
                case _:
                    opaque = True
                    layout.append({"raw": _raw(block)})
        text = "".join(texts)
        cut = self._stop in ("max_tokens", "model_context_window_exceeded") or (
            not usage.estimated and usage.output + usage.reasoning >= max_tokens
        )
        stop, detail = self._reason(cut, bool(calls) or final is not None)
        if stop is not Stop.CALLS:
            final = None
        elif not calls:
            stop = Stop.DONE
        if self._native and stop is Stop.DONE and final is None and text:
            text, final = "", text
        if final is not None and self._unwrap:
            final = unwrapped(final)
        kept = Opaque(self._provider, tuple(layout)) if opaque else None
        return ModelTurn(text, tuple(calls), stop, usage, final, kept, self._model or model, detail)

    def usage(self, request: int) -> Usage:
        """What it cost, in disjoint classes: here cached input stands beside the plain one, and thinking within the output."""
        if not self._reported:
            return estimated(request, self.size)
        plain, written, read, output = (self._usage.get(name, 0) for name in _USAGE)
        thinking = min(self._thinking, output)
        if not plain + written + read:
            # No request has no tokens: a server that says so does not know, and what it leaves out is estimated (K04).
            return Usage(estimated(request, 0).input, 0, 0, output - thinking, thinking, True)
        return Usage(plain, read, written, output - thinking, thinking)

    # --- parts

    def _block(self, value: Mapping[str, object]) -> _Block:
        index = value.get("index")
        block = self._blocks.get(index) if isinstance(index, int) else None
        if block is None:
            raise self._malformed("a piece of the answer belongs to no block")
        return block

    def _start(self, index: object, fields: dict[str, object]) -> None:
        if not isinstance(index, int) or isinstance(index, bool) or index in self._blocks:
            raise self._malformed("a block of the answer begins twice or without a place")
        if len(self._blocks) >= 8 * MAX_CALLS:
            raise self._malformed("the answer has more blocks than any turn needs")
        block = self._blocks[index] = _Block(fields)
        if block.kind == "tool_use":
            name = text_of(fields.get("name"))
            if name == self._final:
                given = object_of(fields.get("input"))
                if given and self._on_event is not None:
                    self._on_event(FinalDelta(encode(given).decode()))
            elif self._on_event is not None and name:
                self._on_event(CallStarted(name))
        elif block.kind == "text":
            self._said(text_of(fields.get("text")))

    def _delta(self, block: _Block, delta: Mapping[str, object]) -> None:
        match delta.get("type"):
            case "text_delta":
                piece = text_of(delta.get("text"))
                block.pieces.append(piece)
                self._said(piece)
            case "input_json_delta":
                piece = text_of(delta.get("partial_json"))
                self.size += len(piece)
                if self.size > MAX_ARGUMENT_BYTES:
                    raise self._malformed("the answer is longer than any turn needs")
                block.pieces.append(piece)
                if self._on_event is not None and piece and block.fields.get("name") == self._final:
                    self._on_event(FinalDelta(piece))
            case "thinking_delta":
                piece = text_of(delta.get("thinking"))
                self.size += len(piece)
                block.pieces.append(piece)
            case "signature_delta":
                block.signature.append(text_of(delta.get("signature")))

    def _said(self, piece: str) -> None:
        if piece:
            self.size += len(piece)
            if self._on_event is not None:
                self._on_event(FinalDelta(piece) if self._native else TextDelta(piece))

    def _arguments(self, block: _Block) -> str | None:
        if block.pieces:
            return "".join(block.pieces)
        given = block.fields.get("input")
        return None if given is None else encode(given).decode()

    def _count(self, usage: object) -> None:
        if not isinstance(usage, dict):
            return
        for name in _USAGE:
            count = count_of(usage.get(name))
            if count:
                # The counts of later events are totals; one that leaves a class out does not take it back.
                self._usage[name] = count
                self._reported = True
        self._thinking = count_of(object_of(usage.get("output_tokens_details")).get("thinking_tokens")) or self._thinking

    def _reason(self, cut: bool, calls: bool) -> tuple[Stop, str]:
        stop = _STOPS.get(self._stop, Stop.UNKNOWN)
        if stop is Stop.REFUSED:
            return stop, ""
        if cut:
            return Stop.CUT, "" if stop is Stop.CUT else f"said `{self._stop}`, but the token maximum was reached"
        if stop is Stop.UNKNOWN:
            return stop, f"the provider says `{self._stop[:64]}`"
        if stop is Stop.CALLS and not calls:
            return Stop.UNKNOWN, "the provider says `tool_use` without a call"
        return Stop.CALLS if calls else stop, ""

    def _malformed(self, message: str, usage: Usage | None = None) -> ModelError:
        return ModelError(ModelErrorKind.MALFORMED, message, usage=usage or self.usage(0))


def _raw(block: _Block) -> str:
    """The JSON of an opaque block, its texts character for character."""
    fields = dict(block.fields)
    if block.kind == "thinking":
        fields["thinking"] = text_of(fields.get("thinking")) + "".join(block.pieces)
        signature = text_of(fields.get("signature")) + "".join(block.signature)
        if signature:
            fields["signature"] = signature
    return encode(fields).decode()
