"""An answer of the chat completions form, whole or streamed, read into a turn. Every stop reason has one meaning (fault kind
K33).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ael.models.assemble import CallAssembler, Misassembled
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
    "stop": Stop.DONE,
    "tool_calls": Stop.CALLS,
    "function_call": Stop.CALLS,
    "length": Stop.CUT,
    "content_filter": Stop.FILTERED,
}
_REASONING = ("reasoning_content", "reasoning", "reasoning_details")
_PLAIN_CALL = frozenset({"index", "id", "type", "function"})


class Reply:
    """Collects one answer: `whole` for one JSON object, or `chunk` for each event and then `turn`.

    `final` is the name of the final tool, if there is one; `native` says that the content is the structured result.
    """

    __slots__ = (
        *(
            "_assembler",
            "_call_extras",
            "_final",
            "_finish",
            "_is_final_open",
            "_model",
            "_native",
            "_offered",
            "_on_event",
            "_provider",
        ),
        *("_reasoning", "_refusal", "_text", "_unwrap", "_usage", "size"),
    )

    def __init__(
        self,
        provider: str,
        offered: frozenset[str],
        *,
        final: str,
        native: bool,
        unwrap: bool,
        on_event: Callable[[ModelEvent], None] | None,
    ) -> None:
        self._provider = provider
        self._final = final
        self._native = native
        self._unwrap = unwrap
        self._on_event = on_event
        self._assembler: CallAssembler | None = None
        self._offered = offered
        self._text: list[str] = []
        self._refusal: list[str] = []
        self._reasoning: dict[str, list[object]] = {}
        self._call_extras: dict[int, dict[str, object]] = {}
        self._finish: str | None = None
        self._usage: Mapping[str, object] | None = None
        self._model = ""
        self.size = 0

    @property
    def finished(self) -> bool:
        """Whether a stop reason came."""
        return self._finish is not None

    def chunk(self, value: Mapping[str, object]) -> None:
        """One event of a stream. Raises `ModelError` (malformed)."""
        usage = value.get("usage")
        if isinstance(usage, dict):
            self._usage = usage
        if not self._model:
            self._model = text_of(value.get("model"))
        choices = value.get("choices")
        if not choices or not isinstance(choices, list):
            return
        choice = object_of(choices[0])
        delta = choice.get("delta")
        if isinstance(delta, dict):
            self._part(delta)
        reason = choice.get("finish_reason")
        if isinstance(reason, str) and reason:
            self._finish = reason

    def whole(self, value: Mapping[str, object]) -> None:
        """A whole answer. Raises `ModelError` (malformed)."""
        usage = value.get("usage")
        self._usage = usage if isinstance(usage, dict) else None
        self._model = text_of(value.get("model"))
        choices = list_of(value.get("choices"))
        if not choices:
            raise ModelError(ModelErrorKind.MALFORMED, "the answer holds no choice", usage=estimated(0, 0))
        choice = object_of(choices[0])
        message = dict(object_of(choice.get("message")))
        # In a whole answer the place in the list is the index, whatever the entries say of it.
        message["tool_calls"] = [
            {**object_of(call), "index": position} for position, call in enumerate(list_of(message.get("tool_calls")))
        ]
        self._part(message)
        self._finish = text_of(choice.get("finish_reason")) or None

    def turn(self, model: str, request: int, max_tokens: int) -> ModelTurn:
        """The turn. Raises `ModelError`: incomplete without a stop reason, malformed where calls cannot be put together."""
        text = "".join(self._text)
        usage = self.usage(request)
        if self._finish is None:
            raise ModelError(ModelErrorKind.INCOMPLETE, "the answer ended without saying why", usage=usage)
        cut = _STOPS.get(self._finish) is Stop.CUT or (not usage.estimated and usage.output + usage.reasoning >= max_tokens)
        calls = self._calls(cut, usage)
        stop, detail = self._stop(cut, bool(calls))
        kept, final = self._split(calls)
        if final is not None and stop is not Stop.CALLS:
            final = None
        if stop is Stop.CALLS and not kept:
            stop = Stop.DONE
        if self._native and stop is Stop.DONE and final is None and text:
            text, final = "", text
        if final is not None and self._unwrap:
            final = unwrapped(final)
        if stop is Stop.REFUSED:
            text = "".join(self._refusal) or text
        return ModelTurn(text, kept, stop, usage, final, self._opaque(kept, calls), self._model or model, detail)

    def usage(self, request: int) -> Usage:
        """What it cost: as reported, else estimated from bytes."""
        given = self._usage
        return estimated(request, self.size) if given is None else usage_of(given)

    # --- parts

    def _part(self, delta: Mapping[str, object]) -> None:
        content = delta.get("content")
        if isinstance(content, str) and content:
            self._said(content)
        elif isinstance(content, list):
            for part in content:
                self._said(text_of(object_of(part).get("text")))
        refusal = delta.get("refusal")
        if isinstance(refusal, str) and refusal:
            self.size += len(refusal)
            self._refusal.append(refusal)
        for name in _REASONING:
            given = delta.get(name)
            if given:
                self.size += len(given) if isinstance(given, str) else len(encode(given))
                self._reasoning.setdefault(name, []).extend(given if isinstance(given, list) else [given])
        calls = delta.get("tool_calls")
        if isinstance(calls, list):
            for call in calls:
                self._call(object_of(call))

    def _said(self, text: str) -> None:
        if not text:
            return
        self.size += len(text)
        self._text.append(text)
        if self._on_event is not None:
            self._on_event(FinalDelta(text) if self._native else TextDelta(text))

    def _call(self, call: Mapping[str, object]) -> None:
        if self._assembler is None:
            self._assembler = CallAssembler(self._offered, self._named, self._argued)
        function = object_of(call.get("function"))
        try:
            self._assembler.add(call.get("index"), call.get("id"), function.get("name"), function.get("arguments"))
        except Misassembled as problem:
            raise ModelError(
                ModelErrorKind.MALFORMED, f"the calls of the answer are damaged: {problem}", usage=self.usage(0)
            ) from None
        extra = {name: value for name, value in call.items() if name not in _PLAIN_CALL and value is not None}
        if extra:
            self._call_extras.setdefault(len(self._assembler) - 1, {}).update(extra)

    def _named(self, name: str) -> None:
        if self._on_event is not None and name != self._final:
            self._on_event(CallStarted(name))

    def _argued(self, name: str, text: str) -> None:
        self.size += len(text)
        if self._on_event is not None and name == self._final:
            self._on_event(FinalDelta(text))

    # --- the end

    def _calls(self, cut: bool, usage: Usage) -> tuple[ProposedCall, ...]:
        if self._assembler is None:
            return ()
        try:
            return self._assembler.finish(cut=cut)
        except Misassembled as problem:
            raise ModelError(ModelErrorKind.MALFORMED, f"the calls of the answer are damaged: {problem}", usage=usage) from None

    def _stop(self, cut: bool, calls: bool) -> tuple[Stop, str]:
        reason = self._finish or ""
        stop = _STOPS.get(reason, Stop.UNKNOWN)
        if stop is Stop.FILTERED:
            return stop, ""
        if self._refusal:
            return Stop.REFUSED, ""
        if cut:
            return Stop.CUT, "" if stop is Stop.CUT else f"said `{reason}`, but the token maximum was reached"
        if stop is Stop.UNKNOWN:
            return stop, f"the provider says `{reason[:64]}`"
        if stop is Stop.CALLS and not calls:
            return Stop.UNKNOWN, f"the provider says `{reason}` without a call"
        # Several servers say `stop` although they propose calls.
        return Stop.CALLS if calls else stop, ""

    def _split(self, calls: tuple[ProposedCall, ...]) -> tuple[tuple[ProposedCall, ...], str | None]:
        """The other calls, and the arguments of the first call of the final tool."""
        if not self._final:
            return calls, None
        results = [call for call in calls if call.name == self._final]
        if not results:
            return calls, None
        return tuple(call for call in calls if call.name != self._final), results[0].arguments or "{}"

    def _opaque(self, kept: tuple[ProposedCall, ...], calls: tuple[ProposedCall, ...]) -> Opaque | None:
        blocks: list[object] = []
        if self._reasoning:
            fields = {
                name: "".join(map(str, parts)) if all(isinstance(part, str) for part in parts) else parts
                for name, parts in self._reasoning.items()
            }
            blocks.append({"at": "message", "raw": encode(fields).decode()})
        for position, extra in self._call_extras.items():
            call = calls[position] if position < len(calls) else None
            if call is not None and call in kept:
                blocks.append({"at": f"call {kept.index(call)}", "raw": encode(extra).decode()})
        return Opaque(self._provider, tuple(blocks)) if blocks else None


def usage_of(given: Mapping[str, object]) -> Usage:
    """Reported usage in disjoint classes. Most servers count cached tokens within the prompt and reasoning within the
    completion; where
    the total shows that they stand beside them they are taken so, and no class falls below zero (fault kind K04)."""
    prompt, completion = count_of(given.get("prompt_tokens")), count_of(given.get("completion_tokens"))
    total = count_of(given.get("total_tokens"))
    prompt_details = object_of(given.get("prompt_tokens_details"))
    cached = count_of(prompt_details.get("cached_tokens")) or count_of(given.get("prompt_cache_hit_tokens"))
    written = count_of(prompt_details.get("cache_write_tokens"))
    reasoning = count_of(object_of(given.get("completion_tokens_details")).get("reasoning_tokens"))
    if cached + written > prompt and total != prompt + completion:
        plain = prompt
    else:
        cached = min(cached, prompt)
        written = min(written, prompt - cached)
        plain = prompt - cached - written
    if reasoning and total and total == prompt + completion + reasoning:
        output = completion
    else:
        reasoning = min(reasoning, completion)
        output = completion - reasoning
    return Usage(plain, cached, written, output, reasoning)
