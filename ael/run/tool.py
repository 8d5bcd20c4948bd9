"""Calling a tool, from a model or from code, through the same checks, snapshot, cancellation and trace (features A2.10, A3)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Literal, NamedTuple

from ael.journal.entry import Ending, Kind
from ael.lower.unit import CompiledTool
from ael.project.deployment import ToolBinding
from ael.run.approval import Approved, ask
from ael.run.call import CallPlan
from ael.run.codec import InputCodec, digest, written
from ael.run.extern import Extern
from ael.run.frame import RunFrame
from ael.run.gate import Refusal, bad_arguments, permission, room, shared_room
from ael.run.message import shown_result
from ael.run.permission import Rights
from ael.run.preview import preview_of
from ael.run.remote import RemoteTool, lost
from ael.run.repeat import LOST_REPLY, key_from
from ael.run.scope import Scope
from ael.run.step import Step
from ael.run.taint import doubted, trusted_in
from ael.run.world import World
from ael.types.fault import Failure, Fault, FaultKind
from ael.types.problem import DecodeError
from ael.types.reach import reachable
from ael.types.spec import ToolSpec
from ael.types.text import text_of
from ael.types.type import FileType

DEPTH = 8
"""How much a body adds to the depth of a frame: the coroutines between it and its caller."""


class Done(NamedTuple):
    """What a call gave: the value, its JSON text, and the approval where a person edited the arguments."""

    value: object
    text: bytes
    edited: Approved | None = None


class ToolPlan(CallPlan):
    """A tool of the program with what the deployment says of it. The deployment's word can only tighten."""

    __slots__ = (
        "_approval_when",
        "_body",
        "_conditional",
        "_extern",
        "_grants",
        "_has_files",
        "_holder",
        "_key",
        "_preview",
        "_remote",
        "_required",
        "_rights",
        "_role",
        "parallel",
        "spec",
        "trusted",
    )

    def __init__(self, world: World, compiled: CompiledTool, short: str, grants: frozenset[str]) -> None:
        spec = compiled.spec
        bindings = world.bindings
        bound = bindings.tools.get(spec.name)
        input = InputCodec(world.codecs, spec.signature, size_limit(spec.limit.input, bindings.limits.input))
        max_output = size_limit(spec.limit.output, bindings.limits.result)
        self._remote = None if spec.remote is None else RemoteTool(world, spec, spec.remote, short, input, max_output)
        super().__init__(
            spec.name,
            short,
            spec.signature,
            spec.permission,
            spec.repeat,
            spec.retry,
            time_limit(spec.timeout, bindings.defaults.tool_timeout, None if bound is None else bound.timeout),
            input,
            world.codecs.value(spec.signature.result),
            max_output,
            sources(spec, short, self._remote),
        )
        self.prepares = self._remote is not None
        self.spec = spec
        self.parallel = spec.parallel
        self.trusted = trusted_in(spec.signature)
        self._body: Callable[..., Coroutine[Any, Any, object]] | None = compiled.body
        self.runs_code = compiled.body is not None
        self._key = compiled.key
        self._grants = grants
        self._rights: tuple[Rights, Rights] | None = None
        self._holder = f"`{spec.name}`"
        self._approval_when = compiled.approval_when
        self._conditional = spec.approval is not None and spec.approval.conditional
        self._required, self._role = approval_of(spec, bound)
        function = bindings.externs.get(spec.name)
        self._extern = None if function is None else Extern(function, spec.signature.fails)
        self._preview = preview_of(function, spec.signature.fails, short, spec.permission, self.timeout)
        self.denied = bound is not None and bound.denied
        self.only = None if bound is None else bound.only
        self._has_files = any(isinstance(part, FileType) for part in reachable(spec.signature.result, world.codecs.definitions))

    async def call(self, frame: RunFrame, path: str, arguments: tuple[object, ...]) -> object:
        """From code: the same checks, and what a model would be told is a fault here."""
        scope = frame.scope
        try:
            named, text = self.input.checked(self.input.named(arguments))
        except DecodeError as error:
            raise bad_arguments(error).as_fault(path) from None
        refusal = permission(scope, self) or room(scope)
        if refusal is None and scope.run.purse is not None:
            refusal = await shared_room(scope, path)
        if refusal is not None:
            raise refusal.as_fault(path)
        step = self.step(scope, path, named, text)
        return (await self.admitted(scope, frame.depth, step, named, from_model=False)).value

    def step(self, scope: Scope, path: str, arguments: dict[str, object], text: bytes | None = None) -> Step:
        """The step of a call with these arguments; `text` is their JSON."""
        key = self._declared_key(scope, arguments)
        request = hashlib.sha256(written(arguments) if text is None else text).hexdigest()
        return Step(scope.run, path, Kind.TOOL, self.name, request, key, scope.last)

    def _declared_key(self, scope: Scope, arguments: dict[str, object]) -> str | None:
        """The key that `repeat … key expr` names for these arguments; None without one: then the place of the call names it."""
        if self._key is None:
            return None
        return key_from(self.name, scope.run.tenant, text_of(self._key(*self.input.positional(arguments))))

    async def admitted(self, scope: Scope, depth: int, step: Step, arguments: dict[str, object], *, from_model: bool) -> Done:
        """The checks before are passed: propose, get the approval where one is needed, act. Raises what it ends with, a refusal too."""
        known = step.replayed()
        step.propose(arguments)
        try:
            reason = self._reason(scope, step, arguments, from_model)
        except (Failure, Fault) as error:
            if known is None:
                step.fail(error)
            raise
        approved: Approved | None = None
        if reason is not None:
            preview = None if self._preview is None else partial(self._preview.made, scope, step, arguments)
            try:
                answer = await ask(scope, self.name, self._role, self.input, step, arguments, reason, preview)
            except (Failure, Fault) as error:
                if known is None:
                    step.fail(error, scope.seen | self.sources)
                    scope.note(step.path, scope.seen | self.sources)
                raise
            if isinstance(answer, Refusal):
                fault = answer.as_fault(step.path)
                if known is None:
                    step.answer(Ending.REFUSED, fault.value())
                raise fault
            approved = answer
            arguments = answer.arguments
            if answer.edited and self._key is not None:
                # What a person changed may be another effect: under the old key the far side would take it for the proposed one.
                step.key = self._declared_key(scope, arguments) or step.key
        value, text = await self.perform(scope, depth, step, arguments, approved, reason is not None)
        if text is None:
            text = self._text_again(value, step)
        if from_model and self._has_files:
            text = shown_result(value)
        if len(text) > self.max_output and not (from_model and isinstance(value, str)):
            shown = f"the result of `{self.short}` has {len(text):,} bytes, more than the {self.max_output:,} allowed; the call was made"
            raise Fault(FaultKind.TOO_LARGE, shown, tool=self.name, limit=self.max_output)
        return Done(value, text, approved if approved is not None and approved.edited else None)

    def _text_again(self, value: object, step: Step) -> bytes:
        """The JSON text of a result that the journal holds, which has to fit its type as a new one does (K25)."""
        try:
            return written(self.output.encode(value))
        except DecodeError as error:
            message = f"the result of `{self.short}` that the journal holds does not fit its type: {error.text}"
            raise Fault(FaultKind.MALFORMED, message, tool=self.name, path=step.path) from None

    def _reason(self, scope: Scope, step: Step, arguments: dict[str, object], from_model: bool) -> str | None:
        """Why this call needs a person's word, or None."""
        if self._required:
            return "the tool is declared with an approval"
        if self._conditional and self._approval_when is not None and self._approval_when(*self.input.positional(arguments)):
            return "the condition of its approval holds"
        if from_model and self.trusted:
            doubt = doubted(scope.run, self.trusted, arguments)
            if doubt is not None:
                return doubt
        uncertain = scope.run.uncertain
        if uncertain and (self.name, digest(arguments)) in uncertain:
            return "the same call may have taken effect already: its outcome is unknown"
        return None

    def body(self, scope: Scope, path: str, depth: int, step: Step, arguments: dict[str, object]) -> Coroutine[Any, Any, object]:
        if self._body is not None:
            rights = self._rights
            if rights is None or rights[0] is not scope.rights:
                # The calls of one node have the same rights: narrowed once.
                self._rights = rights = (scope.rights, self.inner(scope.rights))
            scope.rights = rights[1]
            return self._body(RunFrame(scope, path, step.key, depth + DEPTH), *self.input.positional(arguments))
        if self._remote is not None:
            return self._remote.run(scope, path, step, arguments)
        if self._extern is None:
            raise Fault(FaultKind.UNAVAILABLE, f"`{self.short}` has no implementation here", final=True)
        return self._extern.run(scope, step, self.spec.permission, arguments)

    def inner(self, rights: Rights) -> Rights:
        """The rights that its body has, called with `rights`."""
        return rights.narrowed(self._holder, self._grants)

    @property
    def approval(self) -> tuple[Literal["required", "conditional"] | None, str | None]:
        """Whether a person has to say yes before it acts, always or under its declared condition, and the role that decides."""
        kind: Literal["required", "conditional"] | None = "conditional" if self._conditional else None
        return ("required" if self._required else kind), self._role

    async def prepare(self, scope: Scope, path: str) -> None:
        if self._remote is not None:
            await self._remote.attach(scope, path)

    def lost(self, fault: Fault, step: Step) -> bool:
        """What is outside may have acted before it broke; a fault that it raises of its own will is its word."""
        if self._remote is not None:
            return lost(fault, step)
        if self._body is not None:
            return super().lost(fault, step)
        return step.sent is not False and fault.kind in LOST_REPLY


def approval_of(spec: ToolSpec, bound: ToolBinding | None) -> tuple[bool, str | None]:
    """Whether every call of a tool needs a person's word, and whose (None: anybody's); a declared condition may ask for one beside it."""
    own = spec.approval
    required = (own is not None and not own.conditional) or (bound is not None and bound.approval)
    return required, (bound.role if bound is not None else None) or (own.role if own is not None else None)


def sources(spec: ToolSpec, short: str, remote: RemoteTool | None) -> frozenset[str]:
    """The outside data that a tool's result is: always of a server or a Python function, else where it says so (A14.1)."""
    if remote is not None:
        return frozenset({remote.source})
    return frozenset({f"tool:{short}"}) if spec.taints or spec.extern is not None else frozenset()


def time_limit(declared: int | None, default: int, bound: int | None) -> float | None:
    """Seconds a call may take. None and -1 stand for "not said" and `timeout none`; a deployment's word can only make it less."""
    own = default if declared is None else declared
    if bound is not None and bound >= 0:
        own = bound if own < 0 else min(own, bound)
    return None if own < 0 else own / 1000


def size_limit(declared: int | None, default: int) -> int:
    """Bytes: what the declaration says, else the default."""
    return default if declared is None else declared
