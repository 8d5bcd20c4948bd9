"""Talking to a model: one logical call is one turn, over as many wire attempts as availability asks for, each reserved and charged.

Fallback models are used only while a model is unavailable. What `Retry-After` asks for is kept to: a wait for it is a deferral, which
uses up no attempt and is bounded in number.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import NamedTuple

from ael.data import dataclass, replace
from ael.journal.book import Drawn
from ael.run.bindings import BoundModel
from ael.run.budget import ZERO, Reservation, affordable, cost_of, worst_cost
from ael.run.events import FellBack, Retried
from ael.run.park import Parked
from ael.run.ports import (
    Conversation,
    ConversationSpec,
    ModelError,
    ModelErrorKind,
    ModelEvent,
    ModelTurn,
    OutputShape,
    Price,
    ToolAnswer,
    ToolOffer,
    Usage,
)
from ael.run.purse import Purse
from ael.run.repeat import wait_before
from ael.run.scope import Scope
from ael.run.trace import OpenSpan
from ael.run.turn import Exchange, Failed, bounded, estimated_tokens, usage_of, writable
from ael.types.fault import Fault, FaultKind
from ael.types.spec import RetrySpec
from ael.types.value import File

ATTEMPTS = 3
"""Wire attempts of a model for one turn, while nothing else can be asked."""
DEFERRALS = 3
"""How often all models may be waited for in one turn."""
SHORT_WAIT = 2.0
"""A `Retry-After` up to so many seconds is waited for even where another model could be asked."""
ASIDE = 30.0
"""Seconds for which a model that was unavailable, and did not say how long, is passed over."""
_BACKOFF = RetrySpec(ATTEMPTS, "exponential", 500, 20_000)

_KINDS: Mapping[ModelErrorKind, FaultKind] = {
    ModelErrorKind.UNAVAILABLE: FaultKind.MODEL_UNAVAILABLE,
    ModelErrorKind.BAD_REQUEST: FaultKind.BAD_ARGUMENTS,
    ModelErrorKind.NOT_AUTHORISED: FaultKind.DENIED,
    ModelErrorKind.NOT_FOUND: FaultKind.MODEL_UNAVAILABLE,
    ModelErrorKind.OVERFLOW: FaultKind.CONTEXT_OVERFLOW,
    ModelErrorKind.MALFORMED: FaultKind.MALFORMED,
    ModelErrorKind.INCOMPLETE: FaultKind.DISCONNECTED,
}


@dataclass(frozen=True, slots=True)
class Setup:
    """What all conversations of a node share: made once for the node."""

    system: str
    offers: tuple[ToolOffer, ...]
    output: OutputShape
    tool_choice: str
    parallel_calls: bool
    keep: int | None
    digest: str


class Link:
    """A model of the chain: the declared one first, then its fallbacks."""

    __slots__ = ("at", "bound", "free", "name", "price", "routes", "source", "spec", "until")

    def __init__(self, name: str, bound: BoundModel, setup: Setup, price: Price | None) -> None:
        self.name = name
        self.bound = bound
        self.price = price
        self.free = price is not None and not (price.input or price.output or price.cache_read or price.cache_write)
        self.until = 0.0
        self.at: Callable[[str, OpenSpan | None], None] | None = getattr(bound.provider, "at", None)
        """Told which turn is asked for, where the model is code of the program."""
        self.routes: bool = getattr(bound.provider, "routes", False)
        """Whether it only asks other models of the program: these reserve and settle what they take."""
        self.source = frozenset({f"model:{name.rpartition('.')[2]}"})
        self.spec = ConversationSpec(
            bound.model, bound.settings, setup.system, setup.offers, setup.output, setup.tool_choice, setup.parallel_calls
        )


class Request(NamedTuple):
    """What a model is asked: what stays the same, the first user message with its files, and what was said since that is still kept."""

    digest: str
    setup: Setup
    first: str
    files: tuple[File, ...]
    exchanges: tuple[Exchange, ...]


class Asked:
    """A turn that came, with what it took."""

    __slots__ = ("cost", "link", "max_tokens", "over", "turn", "usage")

    def __init__(
        self, turn: ModelTurn, usage: Usage, cost: Decimal | None, max_tokens: int, link: Link, over: Fault | None
    ) -> None:
        self.turn = turn
        self.usage = usage
        self.cost = cost
        self.max_tokens = max_tokens
        self.link = link
        self.over = over


class Held:
    """What is reserved for one request: in the run, and in the accounts that it shares."""

    __slots__ = ("_drawn", "_own", "_purse")

    def __init__(self, own: Reservation, purse: Purse | None = None, drawn: Drawn | None = None) -> None:
        self._own = own
        self._purse = purse
        self._drawn = drawn

    def release(self) -> None:
        """Give everything back: nothing was spent."""
        if self._purse is not None and self._drawn is not None:
            self._purse.settle(self._drawn, 0, ZERO)
        self._own.release()

    def settle(self, usage: Usage, cost: Decimal | None) -> Fault | None:
        """Book what was spent. The fault to end with when that is more than a limit of the run, else None."""
        if self._purse is not None and self._drawn is not None:
            self._purse.settle(self._drawn, usage.total, cost)
        return self._own.settle(usage, cost)


def fitting(link: Link, prompt: int, most: int, left: int | None, money: Decimal | None) -> tuple[int, Decimal]:
    """The output tokens, of at most `most`, that the tokens and the money left pay for, at least one; and what the call costs at most.

    Raises the fault for a model without a price under a money budget.
    """
    if left is not None:
        most = min(most, left - prompt)
    if money is None:
        return max(1, most), ZERO
    if link.price is None:
        raise unpriced(link.name, link.bound.model)
    paid = affordable(money, prompt, link.price)
    if paid is not None:
        most = min(most, paid)
    most = max(1, most)
    return most, worst_cost(prompt, most, link.price)


class Talk:
    """One conversation of one visit of a node, whichever model of the chain it is with at the moment."""

    __slots__ = (
        "_at",
        "_beginning",
        "_conversation",
        "_files",
        "_first",
        "_hash",
        "_scope",
        "_setup",
        "chain",
        "exchanges",
        "failed",
        "span",
    )

    def __init__(self, scope: Scope, setup: Setup, chain: list[Link], first: str, files: list[File]) -> None:
        self._scope = scope
        self._setup = setup
        self.chain = chain
        self._first = self._beginning = first
        self._files = files
        self._at = 0
        self._conversation: Conversation | None = None
        self.exchanges: list[Exchange] = []
        self.span: OpenSpan | None = None
        """That of the turn under way."""
        self.failed: list[Failed] = []
        """The wire attempts of the last `ask` that gave no turn."""
        self._hash = hashlib.sha256(f"{setup.digest}\n{first}".encode("utf-8", "surrogatepass"))

    @property
    def first(self) -> str:
        """The user message that the conversation begins with."""
        return self._first

    @property
    def size(self) -> int:
        """Bytes of the next request."""
        return self._with(self._at).size

    @property
    def window(self) -> int | None:
        """The window, in tokens, of the model that this is with."""
        return self.chain[self._at].bound.provider.window

    def fold(self, summary: str, keep: int) -> None:
        """Go on with `summary` for all but the newest `keep` pairs."""
        self._first = f"{self._beginning}\n{summary}"
        self.exchanges = self.exchanges[-keep:]
        self._hash.update(summary.encode("utf-8", "surrogatepass"))
        self._conversation = None

    def show(self, offers: Iterable[ToolOffer]) -> None:
        """Show the model more of the tools that it may call, from the next turn on."""
        shown = {offer.name for offer in self._setup.offers}
        more = tuple([offer for offer in offers if offer.name not in shown])
        if more:
            self._setup = replace(self._setup, offers=(*self._setup.offers, *more))
            for link in self.chain:
                link.spec = replace(link.spec, tools=self._setup.offers)
            self._conversation = None

    def digest(self) -> str:
        """The hash of the next request: of everything said so far."""
        return self._hash.copy().hexdigest()

    def request(self) -> Request:
        """The next request, for whoever looks at it."""
        return Request(self.digest(), self._setup, self._first, tuple(self._files), tuple(self._kept()))

    def say(self, turn: ModelTurn, answers: tuple[ToolAnswer, ...], said: str = "") -> None:
        """Add a turn with the answers of its calls, and what is said after it. A pair is never split."""
        turn, answers = bounded(turn, answers)
        exchange = Exchange(turn)
        exchange.answers = answers
        exchange.said = said
        self.exchanges.append(exchange)
        parts = [turn.text, turn.final or ""]
        for call in turn.calls:
            parts += (call.id, call.name, call.arguments or "")
        for answer in answers:
            parts.append(answer.content)
        parts.append(said)
        self._hash.update("\n".join(parts).encode("utf-8", "surrogatepass"))
        if turn.calls and self._setup.tool_choice not in ("auto", "none") and self.chain[0].spec.tool_choice != "auto":
            # A call was forced, and came: from here on the model decides, or it could never finish.
            for link in self.chain:
                link.spec = replace(link.spec, tool_choice="auto")
            self._conversation = None
        keep = self._setup.keep
        if keep is not None and len(self.exchanges) > keep:
            self._conversation = None
        elif self._conversation is not None:
            _add(self._conversation, exchange)

    async def ask(self, path: str, last: bool, on_event: Callable[[ModelEvent], None] | None) -> Asked:
        """The next turn. Raises the fault of what went wrong when no attempt gave one."""
        self.failed = []
        error: ModelError | None = None
        if not self.chain[0].until:
            # The usual case, without the machinery of availability around it.
            answer = await self._attempt(path, 0, last, on_event)
            if isinstance(answer, Asked):
                return answer
            error = answer
        return await self._ask_all(path, last, on_event, error)

    async def _ask_all(
        self, path: str, last: bool, on_event: Callable[[ModelEvent], None] | None, error: ModelError | None
    ) -> Asked:
        """The models that are available, in their order; all of them again when they said how long to wait. `error`: the first's first."""
        clock = self._scope.run.world.clock
        deferrals = 0
        while True:
            now = clock.monotonic()
            waiting: ModelError | None = None
            ready = [index for index, link in enumerate(self.chain) if link.until <= now] or list(range(len(self.chain)))
            for place, index in enumerate(ready):
                more = place + 1 < len(ready)
                answer = await self._ask_one(path, index, more, last, on_event, error)
                error = None
                if isinstance(answer, Asked):
                    return answer
                waiting = answer
                if more:
                    self._tell_fallback(path, index, ready[place + 1], answer)
            assert waiting is not None
            soonest = min(link.until for link in self.chain)
            deferrals += 1
            wait = max(soonest - clock.monotonic(), wait_before(deferrals, _BACKOFF, self._scope.run.world.bindings.random))
            left = self._scope.deadline.left()
            if waiting.retry_after is None or deferrals > DEFERRALS or (left is not None and wait >= left):
                raise self._fault(waiting, self.chain[ready[-1]], path)
            self._tell_retry(path, self.chain[ready[-1]], deferrals, wait, waiting)
            await clock.sleep(wait)

    async def _ask_one(
        self,
        path: str,
        index: int,
        more: bool,
        last: bool,
        on_event: Callable[[ModelEvent], None] | None,
        failed: ModelError | None,
    ) -> Asked | ModelError:
        """A turn of one model, or why it is unavailable; `failed` is its first attempt, where that was made already.

        Every other failure is raised as its fault.
        """
        clock = self._scope.run.world.clock
        link = self.chain[index]
        attempt = 1
        while True:
            error = failed or await self._attempt(path, index, last, on_event)
            failed = None
            if isinstance(error, Asked):
                link.until = 0.0
                return error
            after = error.retry_after
            if after is not None and (after > SHORT_WAIT or attempt >= ATTEMPTS):
                link.until = clock.monotonic() + after
                return error
            if attempt >= ATTEMPTS or (more and attempt >= 2):
                link.until = clock.monotonic() + ASIDE
                return error
            wait = wait_before(attempt, _BACKOFF, self._scope.run.world.bindings.random, after)
            left = self._scope.deadline.left()
            if left is not None and wait >= left:
                return error
            self._tell_retry(path, link, attempt, wait, error)
            await clock.sleep(wait)
            attempt += 1

    async def _attempt(
        self, path: str, index: int, last: bool, on_event: Callable[[ModelEvent], None] | None
    ) -> Asked | ModelError:
        """Exactly one request on the wire, within a reservation."""
        link = self.chain[index]
        conversation = self._with(index)
        prompt = estimated_tokens(conversation.size)
        reservation, max_tokens = await self._reserve(link, prompt)
        if link.at is not None:
            link.at(path, self.span)
        try:
            turn = await conversation.ask(max_tokens, last, on_event)
        except ModelError as error:
            used = error.usage
            if used is None:
                # Without a word on usage, an answer that broke off has cost its prompt, and a refused request nothing. Both count.
                answered = error.kind in (ModelErrorKind.INCOMPLETE, ModelErrorKind.MALFORMED)
                used = Usage(input=prompt, estimated=True) if answered else Usage()
            cost = self._cost(link, used) if used.total else ZERO
            self.failed.append(Failed(link.name, used, cost, error.kind.value))
            over = reservation.settle(used, cost)
            if over is not None:
                raise over from None
            if error.kind is ModelErrorKind.UNAVAILABLE:
                return error
            raise self._fault(error, link, path) from None
        except Parked:
            # The turn is asked for again when the run goes on, and what it takes is booked then.
            reservation.release()
            raise
        except BaseException:
            usage = Usage(input=prompt, estimated=True)
            reservation.settle(usage, self._cost(link, usage))
            raise
        turn = writable(self._scope.run.world.masker.turn(turn))
        usage = usage_of(turn, prompt)
        cost = self._cost(link, usage)
        return Asked(turn, usage, cost, max_tokens, link, reservation.settle(usage, cost))

    async def _reserve(self, link: Link, prompt: int) -> tuple[Held, int]:
        """Room for the prompt and as much output as is left; the maximum of output tokens that this allows."""
        run, account = self._scope.run, self._scope.account
        provider = link.bound.provider
        most = provider.max_output
        window = provider.window
        if window is not None:
            if prompt >= window:
                message = f"the request has some {prompt:,} tokens, and `{link.name}` takes {window:,}"
                raise Fault(FaultKind.CONTEXT_OVERFLOW, message, limit=window, estimated=prompt)
            most = min(most, window - prompt)
        if link.routes:
            left = account.tokens_left
            return Held(account.reserve(0, ZERO, run.tell)), most if left is None else max(1, min(most, left))
        most, cost = fitting(link, prompt, most, account.tokens_left, account.cost_left)
        own = account.reserve(prompt + most, cost, run.tell)
        if run.purse is None or not run.purse.spends:
            return Held(own), most

        def fit(left: int | None, money: Decimal | None) -> tuple[int, Decimal]:
            fewer, paid = fitting(link, prompt, most, left, money)
            return prompt + fewer, paid

        try:
            drawn = await run.purse.draw(fit)
        except BaseException:
            own.release()
            raise
        return Held(own, run.purse, drawn), min(most, drawn.amount.tokens - prompt)

    def charge(self, usage: Usage, link: Link) -> tuple[Decimal | None, Fault | None]:
        """Book a turn that was paid by an earlier execution."""
        cost = self._cost(link, usage)
        return cost, self._scope.account.reserve(0, ZERO, self._scope.run.tell).settle(usage, cost)

    def _cost(self, link: Link, usage: Usage) -> Decimal | None:
        if link.free or (link.routes and not usage.total):
            return ZERO
        return None if link.price is None else cost_of(usage, link.price)

    def _with(self, index: int) -> Conversation:
        """The conversation with that model, holding everything said so far that is kept."""
        if self._conversation is None or index != self._at:
            self._at = index
            link = self.chain[index]
            conversation = link.bound.provider.converse(link.spec)
            conversation.user(self._first, self._files)
            for exchange in self._kept():
                _add(conversation, exchange)
            self._conversation = conversation
        return self._conversation

    def _kept(self) -> list[Exchange]:
        keep = self._setup.keep
        return self.exchanges if keep is None else self.exchanges[-keep:] if keep else []

    def _fault(self, error: ModelError, link: Link, path: str) -> Fault:
        message = self._scope.run.world.masker.text(error.message)[:500]
        details: dict[str, object] = {"model": link.name, "path": path}
        if error.status is not None:
            details["status"] = error.status
        if error.retry_after is not None:
            details["retry_after"] = error.retry_after
        if error.limit is not None:
            details["limit"] = error.limit
        return Fault(_KINDS[error.kind], f"the model `{link.name}`: {error.kind.value}: {message}", **details)

    def _tell_retry(self, path: str, link: Link, attempt: int, wait: float, error: ModelError) -> None:
        run = self._scope.run
        reason = run.world.masker.text(error.message)[:200]
        if run.listening:
            run.emit(Retried(run.id, path, link.name, attempt, wait, reason))
        if run.trace is not None:
            run.trace.begin("retry", link.name, path, self._scope.span).end(
                "fault", (), None, attempt=attempt, wait=wait, reason=reason
            )

    def _tell_fallback(self, path: str, index: int, to: int, error: ModelError) -> None:
        run = self._scope.run
        reason = run.world.masker.text(error.message)[:200]
        name, other = self.chain[index].name, self.chain[to].name
        if run.listening:
            run.emit(FellBack(run.id, path, name, other, reason))
        if run.trace is not None:
            run.trace.begin("retry", name, path, self._scope.span).end("fault", (), None, fallback=other, reason=reason)


def unpriced(name: str, model: str) -> Fault:
    """The fault for a model without a price under a money budget: it is never called (K03)."""
    message = f"the model `{name}` ({model}) has no known price, and a money budget holds: give its price in the deployment"
    return Fault(FaultKind.BUDGET_EXHAUSTED, message, limit="cost", spender=name)


def _add(conversation: Conversation, exchange: Exchange) -> None:
    conversation.turn(exchange.turn)
    if exchange.answers:
        conversation.answers(exchange.answers)
    if exchange.said:
        conversation.user(exchange.said)
