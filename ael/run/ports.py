"""What the run time asks of the world: models, stores, approvals, clocks. Adapters implement these; the run time knows no adapter."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
from typing import Literal, Protocol, runtime_checkable

from ael.types.spec import RemoteSpec
from ael.types.value import File

# --- models ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ToolOffer:
    """A tool as a model sees it: a name legal for every provider, a description, and the JSON Schema (2020-12) of its input."""

    name: str
    description: str
    schema: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class OutputShape:
    """The type that a node's final result must decode into, as JSON Schema; `text` when that is a plain String."""

    schema: Mapping[str, object]
    text: bool
    name: str
    description: str = ""


ToolChoice = Literal["auto", "any", "none"] | str
"""`auto`, `any`, `none`, or the name of one offered tool."""


@dataclass(frozen=True, slots=True)
class ConversationSpec:
    """What stays the same over all turns of one conversation: what may be called cannot change between turns (feature A2.6). A model that
    found more of its tools goes on in another conversation with the same words."""

    model: str
    settings: Mapping[str, object]
    system: str
    tools: tuple[ToolOffer, ...]
    output: OutputShape
    tool_choice: ToolChoice = "auto"
    parallel_calls: bool = True


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one wire attempt in disjoint classes. `estimated` when the provider did not report them (K04)."""

    input: int = 0
    cache_read: int = 0
    cache_write: int = 0
    output: int = 0
    reasoning: int = 0
    estimated: bool = False

    @property
    def total(self) -> int:
        return self.input + self.cache_read + self.cache_write + self.output + self.reasoning

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input + other.input,
            self.cache_read + other.cache_read,
            self.cache_write + other.cache_write,
            self.output + other.output,
            self.reasoning + other.reasoning,
            self.estimated or other.estimated,
        )


class Stop(Enum):
    """Why a turn ended; each has one meaning (K33)."""

    DONE = "done"
    CALLS = "calls"
    CUT = "cut"
    REFUSED = "refused"
    FILTERED = "filtered"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class ProposedCall:
    """A tool call that a model proposes. `arguments` is the raw JSON text (None when absent); `id` is the provider's and only echoed."""

    id: str
    name: str
    arguments: str | None


@dataclass(frozen=True, slots=True)
class Opaque:
    """Blocks that go back to the same provider byte for byte (reasoning, signatures); never to another (K37)."""

    provider: str
    blocks: tuple[object, ...]


@dataclass(frozen=True, slots=True)
class ModelTurn:
    """One answer of a model. `final` is the raw text of a structured result (native, or of the `final` tool), else None."""

    text: str
    calls: tuple[ProposedCall, ...]
    stop: Stop
    usage: Usage | None
    final: str | None = None
    opaque: Opaque | None = None
    model: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """The one answer that a proposed call gets. `content` is text as the model reads it."""

    call: ProposedCall
    content: str
    is_error: bool


class ModelErrorKind(Enum):
    """What went wrong on the wire. Only UNAVAILABLE leads to a retry or a fallback model."""

    UNAVAILABLE = "unavailable"
    BAD_REQUEST = "bad request"
    NOT_AUTHORISED = "not authorised"
    NOT_FOUND = "not found"
    OVERFLOW = "context overflow"
    MALFORMED = "malformed"
    INCOMPLETE = "incomplete"


class ModelError(Exception):
    """A wire attempt that gave no turn. `retry_after` in seconds; `usage` what it cost all the same; `message` is outside text, bounded."""

    def __init__(
        self,
        kind: ModelErrorKind,
        message: str,
        *,
        status: int | None = None,
        retry_after: float | None = None,
        usage: Usage | None = None,
        limit: int | None = None,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.status = status
        self.retry_after = retry_after
        self.usage = usage
        self.limit = limit


@dataclass(frozen=True, slots=True)
class TextDelta:
    """Text of the turn under way, as it streams."""

    text: str


@dataclass(frozen=True, slots=True)
class FinalDelta:
    """A piece of the structured result under way."""

    text: str


@dataclass(frozen=True, slots=True)
class CallStarted:
    """The model began to propose a call of this name."""

    name: str


ModelEvent = TextDelta | FinalDelta | CallStarted


class Conversation(Protocol):
    """One conversation with one model. History is kept encoded: a message is serialised once, when it is added."""

    @property
    def size(self) -> int:
        """Bytes of the encoded request without its token maximum: what an estimate of the prompt's tokens starts from."""

    def user(self, text: str, files: Sequence[File] = ()) -> None:
        """Add a user message (input data, or the problems of a result that did not check)."""

    def turn(self, turn: ModelTurn) -> None:
        """Add an answer of the model, with its opaque parts if they are this provider's."""

    def answers(self, answers: Sequence[ToolAnswer]) -> None:
        """Add the answers of the last turn's calls, in the order of the calls."""

    async def ask(self, max_tokens: int, last: bool, on_event: Callable[[ModelEvent], None] | None) -> ModelTurn:
        """Make exactly one wire attempt. `last`: no further model call will follow, so no tool may be called.

        Raises `ModelError`. Never retries by itself (one owner of retries). Cancelling the task closes the request.
        """


@runtime_checkable
class Previewable(Protocol):
    """A conversation that can show what it would send: those of real providers."""

    def request(self, max_tokens: int, last: bool) -> bytes:
        """The body of the next request, to the byte (JSON). Nothing is sent."""


@runtime_checkable
class Resumable(Protocol):
    """A provider whose next turn depends on those that were given before: a script."""

    def given(self, opaque: Opaque) -> None:
        """A run that goes on in this process got a turn with these opaque parts earlier."""


class ModelProvider(Protocol):
    """A provider of models, bound to credentials and an endpoint by the deployment."""

    @property
    def name(self) -> str:
        """The provider's name for prices and traces (`openai`, `anthropic`, `scripted` …)."""

    @property
    def window(self) -> int | None:
        """The context window in tokens, if known."""

    @property
    def max_output(self) -> int:
        """The most output tokens asked for when no budget says less."""

    def converse(self, spec: ConversationSpec) -> Conversation:
        """Start a conversation. Nothing is sent yet."""

    async def close(self) -> None:
        """Release connections."""


@dataclass(frozen=True, slots=True)
class Price:
    """Prices per million tokens, in the money of the budget; `since` is the date they hold from (ISO 8601).

    `above`: other prices for a request whose prompt has more tokens than the number beside them, in rising order.
    """

    input: Decimal
    output: Decimal
    cache_read: Decimal
    cache_write: Decimal
    since: str = ""
    above: tuple[tuple[int, Price], ...] = ()

    def at(self, prompt: int) -> Price:
        """The price of a request whose prompt (plain, cached and written) has so many tokens."""
        price = self
        for start, other in self.above:
            if prompt > start:
                price = other
        return price


class Prices(Protocol):
    def price(self, provider: str, model: str) -> Price | None:
        """The price of a model, None when unknown (then it is never called under a money budget: K03)."""


# --- approvals -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Question:
    """What a server asks a person in the middle of a call (elicitation). `message` is outside text; `schema` that of the answer.

    `waits`: it is the program that asks, and it can wait: who is asked may leave it to others, or to later.
    """

    message: str
    schema: Mapping[str, object]
    url: str | None = None
    waits: bool = False


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """A call that waits for a person: bound to tool, exact arguments, run, position and tenant (K30).

    With a `question` it is the server of a call under way that asks, or the program: the decision's `arguments` are then the answer, and
    there is no answer without a person who gives it. `preview` shows what the call would do, where its tool can say that: such as the
    difference that an edit makes. It is outside text of many lines.
    """

    run: str
    step: str
    tenant: str
    tool: str
    role: str | None
    arguments: Mapping[str, object]
    digest: str
    reason: str
    question: Question | None = None
    preview: str = ""


@dataclass(frozen=True, slots=True)
class Decision:
    """What the person said. `arguments` when they were edited: then they are checked like a new call."""

    approved: bool
    by: str
    reason: str = ""
    arguments: Mapping[str, object] | None = None


class Approver(Protocol):
    async def decide(self, request: ApprovalRequest) -> Decision | None:
        """Ask. May wait long; is cancelled with the run. None: nobody here decides now; a run that can be parked waits parked."""


# --- clocks, sinks, calls ------------------------------------------------------------------------------------------------


class Timer(Protocol):
    """What takes a `Clock.call_at` back."""

    def cancel(self) -> None: ...


class Clock(Protocol):
    """Time, injected: `monotonic` in seconds, `now` in seconds since the epoch, sleeping, and calling back at a monotonic time."""

    def monotonic(self) -> float: ...

    def now(self) -> float: ...

    async def sleep(self, seconds: float) -> None: ...

    def call_at(self, when: float, callback: Callable[[], None]) -> Timer: ...


@dataclass(frozen=True, slots=True)
class Span:
    """A finished span of a trace. Times in seconds since the epoch; `sequence` counts the spans of the run as they begin.

    `kind` is `run`, `node`, `turn`, `server` (being connected to one), `tool`, `operation`, `store`, `effect`, `approval`, `release`,
    `retry`; `outcome` is `value`, `error`, `fault`, `uncertain` or `refused`.
    `attributes` are metadata (tokens, cost, model, reasons); `content` is filled only where the run, or the sink, opted in. `trace`, `id`
    and `above` are the W3C ids of the trace, of this span and of the one that it is below; `tenant` whose run it is, where that is known.
    """

    run: str
    sequence: int
    parent: int | None
    kind: str
    name: str
    path: str
    start: float
    end: float
    outcome: str
    taint: tuple[str, ...] = ()
    attributes: Mapping[str, object] = field(default_factory=dict)
    content: Mapping[str, object] | None = None
    trace: str = ""
    id: str = ""
    above: str = ""
    tenant: str = ""


class Sink(Protocol):
    """Where spans go. What it raises never changes a run. One with an attribute `content` says itself if it gets content: `True`,
    `False`, or `"log"` for that of `log(…)` alone, which is what the program wants to be read."""

    def span(self, span: Span) -> None:
        """A span ended. Its secrets are masked already."""


def _unheard(protocol: str) -> None:
    """Nobody asks when a call goes out."""


def _kept() -> None:
    """Nobody asks whether a call was taken back."""


async def _nobody(question: Question, within: float | None) -> Decision:
    """Nobody is there to ask."""
    return Decision(False, "nobody", "nobody is there to answer")


def _unwatched(done: float, total: float | None, text: str) -> None:
    """Nobody follows how far a call is."""


@dataclass(frozen=True, slots=True)
class CallContext:
    """What goes with a call to the outside: identity, key and time left, passed explicitly (K40)."""

    run: str
    step: str
    key: str
    tenant: str
    caller: str
    permission: str
    deadline: float
    trace_parent: str
    extra: Mapping[str, str] = field(default_factory=dict)
    cancelled: Callable[[], bool] = bool
    """Whether the call was given up; a function in a thread asks, since a thread cannot be stopped from outside."""
    sending: Callable[[str], None] = _unheard
    """Told immediately before anything of this call goes out, with the revision of the protocol that carries it."""
    taken_back: Callable[[], None] = _kept
    """Told that what went out was taken back before anybody had it: nothing of this call was done, and nothing will be."""
    progress: Callable[[float, float | None, str], None] = _unwatched
    """Told how far the call is, of how much, and what is said of it (outside text of one bounded line)."""
    logged: Callable[[str, str], None] | None = None
    """Told what the other side logs while the call is under way: its level, and outside text of one bounded line. None: nobody reads it."""
    ask: Callable[[Question, float | None], Awaitable[Decision]] = _nobody
    """Ask a person, who has so many seconds (None: as long as it takes). A run that can be parked waits parked: it goes on from the
    beginning of the call then, and gets the answer here."""

    @property
    def headers(self) -> dict[str, str]:
        """What a request over HTTP made for this call carries: the key of its one effect, and the W3C trace context (feature A8.7)."""
        return {"Idempotency-Key": self.key, "traceparent": self.trace_parent}


# --- MCP servers -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RemotePart:
    """A piece of an answer that is no structured value: text, or a marker of something else with its kind, media type and size."""

    kind: str
    text: str = ""
    media: str = ""
    size: int = 0
    role: str = ""
    data: bytes | None = None


@dataclass(frozen=True, slots=True)
class RemoteAnswer:
    """What a server answered: decoded strictly within bounds, not yet by its type. `structured` is None where it was absent."""

    parts: tuple[RemotePart, ...]
    structured: object | None = None
    is_error: bool = False


Reply = Mapping[str, object] | None
"""The person's answer; None: declined."""


class RemoteServer(Protocol):
    """An MCP server as a deployment binds it: one for a server and a credential, shared by runs; its connections are shared by the runs
    of one tenant and caller (K43).

    What goes wrong is raised as `Fault` (`Unavailable`, `Timeout`, `Disconnected`, `Malformed`, `TooLarge`, `Denied`,
    `DefinitionChanged`), with the detail `sent`: whether the server may have seen the call. It never sends a call twice.
    """

    async def attach(self, tenant: str, caller: str) -> None:
        """Be connected for them, with every definition that the program uses equal to its pin (mcp.md: before the first call of a run)."""

    async def call(
        self,
        spec: RemoteSpec,
        arguments: Mapping[str, object],
        call: CallContext,
        ask: Callable[[Question], Awaitable[Reply]] | None,
    ) -> RemoteAnswer:
        """Call a tool, read a resource, or get a prompt. Ends by `call.deadline`."""

    async def close(self) -> None:
        """Close the connection, end the child process. Bounded; raises nothing."""
