"""What the adapters to real providers share: encoded history, call ids, limits, and how a failed exchange becomes a
`ModelError`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Generic, TypeVar

from ael.net.failure import NetError, NetKind
from ael.run.ports import ConversationSpec, ModelError, ModelErrorKind, ModelTurn, ProposedCall, ToolAnswer, Usage

BYTES_PER_TOKEN = 4
"""What tokens are estimated from where a provider reports none; the estimate is marked as one."""
MAX_FRAMES = 256
T = TypeVar("T")
FINAL = "final"
"""The tool by which a model gives its structured result where a provider has no structured output."""
FINAL_DESCRIPTION = "Give the final result. Call this exactly once, when everything else is done."
NOT_ACCEPTED = "This result was not accepted; see the next message."
UNUSED = "Only the first final result of an answer counts."

_WRAPPED = re.compile(r'\s*\{\s*"value"\s*:\s*(.*\S)\s*\}\s*', re.DOTALL)


def encode(value: object) -> bytes:
    """JSON without blanks, in UTF-8. A lone surrogate, which no UTF-8 can hold, becomes U+FFFD (fault kind K13)."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def estimated(request: int, answer: int) -> Usage:
    """Usage estimated from bytes sent and received."""
    return Usage(request // BYTES_PER_TOKEN + 1, 0, 0, answer // BYTES_PER_TOKEN + 1, 0, True)


def unwrapped(text: str) -> str:
    """The value under `value`, as the text it was: where a dialect wraps what is no object. Anything else is left for the
    decoder.
    """
    found = _WRAPPED.fullmatch(text)
    return text if found is None else found[1]


def final_name(tools: Sequence[str]) -> str:
    """A name for the final tool that no other tool has."""
    name = FINAL
    while name in tools:
        name += "_result"
    return name


class Frames(Generic[T]):
    """What requests of like conversations share, made once. A node's conversations are given the same objects again, so their
    identity
    is the key; each is kept alive with its entry. Nothing of a conversation itself is in it (fault kind K40)."""

    __slots__ = ("_made", "_make")

    def __init__(self, make: Callable[[ConversationSpec], T]) -> None:
        self._make = make
        self._made: dict[tuple[object, ...], tuple[ConversationSpec, T]] = {}

    def of(self, spec: ConversationSpec) -> T:
        """The frame of a conversation."""
        key = (
            spec.model, spec.system, id(spec.settings), id(spec.tools), id(spec.output), spec.tool_choice, spec.parallel_calls
        )  # fmt: skip
        found = self._made.get(key)
        if found is None:
            if len(self._made) >= MAX_FRAMES:
                # Instructions that differ in every run would pile up.
                self._made.clear()
            found = self._made[key] = (spec, self._make(spec))
        return found[1]


class History:
    """The encoded messages of one conversation, and what the last turn still needs.

    Every proposed call gets exactly one answer before the next request: by `answers`, or, for the call that gave a final result
    which
    did not check, by the adapter itself. Ids on the wire are the provider's where they are usable, else made here (fault kind
    K06).
    """

    __slots__ = ("_ids", "_known", "calls", "finals", "messages", "size")

    def __init__(self) -> None:
        self.messages: list[bytes] = []
        self.size = 0
        self.calls: list[tuple[str, ProposedCall]] = []
        self.finals: list[str] = []
        self._known: set[str] = set()
        self._ids = 0

    def add(self, message: bytes) -> None:
        self.messages.append(message)
        self.size += len(message) + 1

    def wire_id(self, given: str) -> str:
        """The id under which a call goes back: the provider's own unless it is empty or was used before in this conversation."""
        if given and given not in self._known and len(given) <= 256:
            self._known.add(given)
            return given
        while True:
            self._ids += 1
            made = f"call_{self._ids:08d}"
            if made not in self._known:
                self._known.add(made)
                return made

    def propose(self, turn: ModelTurn, finals: int) -> tuple[list[str], list[str]]:
        """Note the calls of a turn, and `finals` final results; their wire ids."""
        if self.calls:
            raise ValueError(f"the call of `{self.calls[0][1].name}` has no answer")
        ids = [self.wire_id(call.id) for call in turn.calls]
        self.calls = list(zip(ids, turn.calls, strict=True))
        self.finals = [self.wire_id("") for _ in range(finals)]
        return ids, self.finals

    def answered(self, answers: Sequence[ToolAnswer]) -> list[tuple[str, ToolAnswer]]:
        """Pair answers with the last turn's calls, by position. Raises `ValueError` when one is missing or belongs elsewhere."""
        if len(answers) != len(self.calls):
            raise ValueError(f"{len(self.calls)} calls were proposed and {len(answers)} answered")
        pairs = []
        for (identity, call), answer in zip(self.calls, answers, strict=True):
            if answer.call.name != call.name:
                raise ValueError(f"the call of `{call.name}` is answered as `{answer.call.name}`")
            pairs.append((identity, answer))
        self.calls = []
        return pairs

    def settled(self) -> None:
        """Raises `ValueError` when a call has no answer: such a request would be refused by every provider (fault kind K05)."""
        if self.calls:
            raise ValueError(f"the call of `{self.calls[0][1].name}` has no answer")


def from_net(problem: NetError, request: int, received: int) -> ModelError:
    """A failed exchange as the run time knows it. What was sent may cost, so it is charged by estimate (fault kind K34)."""
    usage = estimated(request, received) if problem.received or (problem.sent and problem.kind is NetKind.TIMEOUT) else None
    match problem.kind:
        case NetKind.UNREACHABLE | NetKind.TIMEOUT:
            kind = ModelErrorKind.UNAVAILABLE
        case NetKind.DISCONNECTED:
            kind = ModelErrorKind.INCOMPLETE if problem.received else ModelErrorKind.UNAVAILABLE
        case NetKind.TOO_LARGE | NetKind.MALFORMED:
            kind = ModelErrorKind.MALFORMED
        case NetKind.ADDRESS:
            kind = ModelErrorKind.BAD_REQUEST
        case NetKind.TLS:
            kind = ModelErrorKind.NOT_AUTHORISED
    return ModelError(kind, problem.message, usage=usage)


def text_of(value: object) -> str:
    """A field that should be a text; anything else is empty."""
    return value if isinstance(value, str) else ""


def object_of(value: object) -> Mapping[str, object]:
    """A field that should be an object; anything else is empty."""
    return value if isinstance(value, dict) else {}


def list_of(value: object) -> list[object]:
    """A field that should be a list; anything else is empty."""
    return value if isinstance(value, list) else []


def count_of(value: object) -> int:
    """A field that should be a count of tokens; anything else is 0."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
