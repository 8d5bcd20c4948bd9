"""A model whose provider is code of the program (`provide std/model.Model as …`): asked as any other model is, by the same loop.

Its body runs under the provider's grants, within the budget and the deadline of the node that asks. What it does is journaled below the
turn, so that a recorded turn does nothing, and one that was interrupted goes on behind what is finished. What it ends with is an attempt
without a turn: temporary faults lead to another one or to the fallback, as those of every model do.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, cast

from ael.data import dataclass
from ael.journal.entry import Kind, State
from ael.run.asked import Dialogue, model_turn, outgoing, used
from ael.run.codec import digest
from ael.run.gate import bad_arguments
from ael.run.ports import (
    ConversationSpec,
    FinalDelta,
    ModelError,
    ModelErrorKind,
    ModelEvent,
    ModelTurn,
    TextDelta,
    ToolAnswer,
    Usage,
)
from ael.run.scope import Scope
from ael.run.step import Step
from ael.types.fault import Failure, Fault, FaultKind, Uncertain
from ael.types.problem import DecodeError
from ael.types.value import File

if TYPE_CHECKING:
    from ael.run.service import OperationPlan
    from ael.run.trace import OpenSpan
    from ael.run.world import World

SERVICE = "std/model.Model"
"""The standard service of models."""
ASK = "ask"
PARTS = 10_000
"""Parts that one turn may come in."""
LONGEST = 2_000_000
"""Characters that one turn may have."""
MAX_OUTPUT = 4_096
"""Tokens asked for at most, where neither the program nor the deployment says more."""

_UNAVAILABLE = frozenset({FaultKind.TIMEOUT, FaultKind.DISCONNECTED, FaultKind.UNAVAILABLE, FaultKind.MODEL_UNAVAILABLE})
_MALFORMED = frozenset({FaultKind.MALFORMED, FaultKind.TOO_LARGE, FaultKind.INVALID_OUTPUT})
_WHY: Mapping[str, ModelErrorKind] = {
    "Busy": ModelErrorKind.UNAVAILABLE,
    "BadRequest": ModelErrorKind.BAD_REQUEST,
    "NotAuthorised": ModelErrorKind.NOT_AUTHORISED,
    "Unknown": ModelErrorKind.NOT_FOUND,
    "TooLong": ModelErrorKind.OVERFLOW,
    "Broken": ModelErrorKind.INCOMPLETE,
    "Unreadable": ModelErrorKind.MALFORMED,
}


@dataclass(frozen=True)
class ConnectedModel:
    """A model that a connector provides, as a deployment binds it. `provide` is the qualified name of the provider.

    `routes`: its code asks models of the program, each of which reserves and settles what it takes, so that nothing is reserved for the
    connector itself. `free`: its code reaches nothing outside of the program, so that it costs nothing where no price is said.
    """

    provide: str
    endpoint: str | None = None
    window: int | None = None
    max_output: int = MAX_OUTPUT
    routes: bool = False
    free: bool = False

    @property
    def name(self) -> str:
        """The connector's own name."""
        return self.provide.rpartition(".")[2]

    def converse(self, spec: ConversationSpec) -> Asking:
        """A conversation that is only looked at: it is in no run."""
        return Asking(self, spec, None)

    def within(self, world: World, scope: Scope, depth: int) -> Connected:
        """The same model for a visit of a node, whose code it runs as."""
        return Connected(self, Visiting(cast("OperationPlan", world.plans[f"{self.provide}.{ASK}"]), scope, depth))

    async def close(self) -> None:
        """It holds nothing open."""


class Visiting:
    """Where a connector is asked: the visit of a node, and in it the turn that is under way."""

    __slots__ = ("depth", "path", "plan", "scope", "span", "tries")

    def __init__(self, plan: OperationPlan, scope: Scope, depth: int) -> None:
        self.plan = plan
        self.scope = scope
        self.depth = depth
        self.path = ""
        self.span: OpenSpan | None = None
        self.tries: dict[str, int] = {}

    def next_try(self) -> int:
        """The number of this attempt at the turn, from 1: the same when the run goes over its journal again."""
        number = self.tries[self.path] = self.tries.get(self.path, 0) + 1
        return number


class Connected:
    """A `ConnectedModel` in a visit of a node."""

    def __init__(self, model: ConnectedModel, visiting: Visiting) -> None:
        self._model = model
        self._visiting = visiting

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def window(self) -> int | None:
        return self._model.window

    @property
    def max_output(self) -> int:
        return self._model.max_output

    @property
    def routes(self) -> bool:
        return self._model.routes

    def at(self, path: str, span: OpenSpan | None) -> None:
        """The turn at `path` is asked for next; `span` is its own."""
        self._visiting.path = path
        self._visiting.span = span

    def converse(self, spec: ConversationSpec) -> Asking:
        return Asking(self._model, spec, self._visiting)

    async def close(self) -> None:
        """It holds nothing open."""


class Asking:
    """One conversation with a connector: its messages in the form of `std/model.Message`."""

    def __init__(self, model: ConnectedModel, spec: ConversationSpec, visiting: Visiting | None) -> None:
        self._model = model
        self._spec = spec
        self._visiting = visiting
        self._said = Dialogue(model.provide, spec)
        head = {name: plain_setting(value) for name, value in spec.settings.items()}
        self._head: dict[str, object] = {"model": spec.model, "settings": head}
        if model.endpoint is not None:
            self._head["endpoint"] = model.endpoint
        self._head_size = len(_text(self._head)) + self._said.size

    @property
    def size(self) -> int:
        return self._head_size + self._said.messages_size

    def user(self, text: str, files: Sequence[File] = ()) -> None:
        self._said.user(text, files)

    def turn(self, turn: ModelTurn) -> None:
        self._said.turn(turn)

    def answers(self, answers: Sequence[ToolAnswer]) -> None:
        self._said.answers(answers)

    def request(self, max_tokens: int, last: bool) -> bytes:
        """The request as JSON, to look at."""
        return _text(outgoing(self._whole(max_tokens, last, followed=False)))

    async def ask(self, max_tokens: int, last: bool, on_event: Callable[[ModelEvent], None] | None) -> ModelTurn:
        visiting = self._visiting
        if visiting is None:
            raise ModelError(ModelErrorKind.BAD_REQUEST, "this model is only previewed")
        number = visiting.next_try()
        after: str | None = None
        texts: list[str] = []
        finals: list[str] = []
        told = 0
        for part in range(1, PARTS + 1):
            answer = await self._part(visiting, part, number, max_tokens, last, after, on_event is not None)
            text, more = str(answer.get("text", "")), cast("str | None", answer.get("final"))
            told += len(text) + len(more or "")
            if told > LONGEST:
                raise ModelError(ModelErrorKind.MALFORMED, f"the turn has more than {LONGEST:,} characters")
            if on_event is not None:
                _tell(on_event, text, more or "")
            texts.append(text)
            if more:
                finals.append(more)
            if "stop" in answer:
                whole = {**answer, "text": "".join(texts), "final": "".join(finals) if finals else more}
                usage = Usage() if self._model.routes and answer.get("usage") is None else None
                return model_turn(whole, self._spec, self._model.provide, usage)
            after = str(answer["next"])
        raise ModelError(ModelErrorKind.MALFORMED, f"the turn has more than {PARTS:,} parts")

    async def _part(
        self, visiting: Visiting, part: int, number: int, max_tokens: int, last: bool, after: str | None, followed: bool
    ) -> Mapping[str, object]:
        """Call the connector once. Raises `ModelError`, or the fault that ends the node."""
        plan, scope = visiting.plan, visiting.scope
        path = f"{visiting.path}/{plan.short}{f'#{part}' if part > 1 else ''}{f'~{number}' if number > 1 else ''}"
        # What may differ when the run is continued is kept with the call: its code must find what it found then.
        kept = kept_at(scope, path)
        if kept is not None:
            max_tokens, followed = int(cast("int", kept.get("max_tokens", max_tokens))), kept.get("followed") is True
        named: dict[str, object] = {"request": self._whole(max_tokens, last, followed=followed), "after": after}
        try:
            named, _ = plan.input.checked(named)
        except DecodeError as error:
            raise bad_arguments(error).as_fault(path) from None
        # The request is that of the turn, which has its hash: here it would make the journal grow with the square of the turns.
        about = digest([self._head["model"], part, after, last])
        step = Step(scope.run, path, Kind.OPERATION, plan.name, about, None, scope.last)
        step.replayed()
        step.propose({"model": self._spec.model, "max_tokens": max_tokens, "followed": followed, "part": part})
        inner = within(scope, visiting.span)
        try:
            value, _ = await plan.perform(inner, visiting.depth, step, named, None, False)
        except Failure as failure:
            raise _no_turn(failure) from None
        except Fault as fault:
            raise _attempt(fault) from None
        except Uncertain as open_call:
            # What it did may have taken effect; asking a model again is no second effect.
            raise ModelError(ModelErrorKind.UNAVAILABLE, f"it is not known what became of `{open_call.operation}`") from None
        finally:
            left_behind(scope, inner, path)
        return cast("Mapping[str, object]", value)

    def _whole(self, max_tokens: int, last: bool, *, followed: bool) -> dict[str, object]:
        return {**self._head, **self._said.whole(last), "max_tokens": max_tokens, "last": last, "followed": followed}


def within(scope: Scope, span: OpenSpan | None = None) -> Scope:
    """The scope of what a connector does for the code at `scope`: in its budget, but its steps and calls are not those of the node, and
    whether it began something that must not be repeated is no matter of the node either."""
    run, account = scope.run, scope.account.aside()
    above = span or scope.span
    made = Scope(run, scope.name, scope.rights, account, scope.deadline, scope.attempts, above, scope.level, scope.seen)
    made.last = scope.last
    return made


def left_behind(scope: Scope, inner: Scope, path: str) -> None:
    """A connector's call at `path` has ended, however: what it saw counts, and what it left open is a matter of whoever called it."""
    scope.seen |= inner.seen
    inside, lost, uncertain = f"{path}/", scope.run.lost, scope.run.uncertain
    lost[:] = [one for one in lost if not one.step.startswith(inside)]
    for act in [act for act, place in uncertain.items() if place.startswith(inside)]:
        del uncertain[act]


def kept_at(scope: Scope, path: str) -> Mapping[str, object] | None:
    """What an earlier execution of the run proposed at `path`; None where it did not come there."""
    journal = scope.run.journal
    if not journal.continued or journal.last(path) is None:
        return None
    found = next((e.value for e in journal.entries() if e.path == path and e.state is State.PROPOSED), None)
    return found if isinstance(found, Mapping) else None


def _tell(on_event: Callable[[ModelEvent], None], text: str, final: str) -> None:
    if text:
        on_event(TextDelta(text))
    if final:
        on_event(FinalDelta(final))


def _no_turn(failure: Failure) -> ModelError:
    """A declared `NoTurn` as the loop knows it."""
    told = failure.value
    kind = _WHY.get(str(told.get("why")), ModelErrorKind.MALFORMED)
    after, limit, spent = told.get("retry_after"), told.get("limit"), told.get("usage")
    return ModelError(
        kind,
        str(told.get("reason", "")),
        retry_after=max(0.0, after.total_seconds()) if isinstance(after, timedelta) else None,
        usage=used(spent) if isinstance(spent, Mapping) else None,
        limit=limit if isinstance(limit, int) else None,
    )


def _attempt(fault: Fault) -> ModelError | Fault:
    """A fault of a connector's body as an attempt that gave no turn; what is none of the model's stays what it is."""
    after = fault.details.get("retry_after")
    if fault.kind in _UNAVAILABLE:
        wait = float(after) if isinstance(after, int | float) else None
        return ModelError(ModelErrorKind.UNAVAILABLE, f"{fault.kind.value}: {fault.message}", retry_after=wait)
    if fault.kind in _MALFORMED:
        return ModelError(ModelErrorKind.MALFORMED, f"{fault.kind.value}: {fault.message}")
    if fault.kind is FaultKind.CONTEXT_OVERFLOW:
        return ModelError(ModelErrorKind.OVERFLOW, fault.message)
    return fault


def plain_setting(value: object) -> object:
    """A setting as JSON: a duration in seconds."""
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, Mapping):
        return {str(name): plain_setting(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain_setting(one) for one in value]
    return value


def _text(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
