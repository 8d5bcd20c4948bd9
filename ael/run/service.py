"""Services in the process, and stores: the caller needs the operation's permission, the body runs under the provider's grants,
in the caller's budget (language.md, section 6: `provide`)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Coroutine, Sequence
from copy import copy
from typing import Any, Self, cast

from ael.journal.entry import Kind
from ael.lower.unit import Code
from ael.run.call import CallPlan
from ael.run.codec import InputCodec, ValueCodec, digest
from ael.run.events import StoreChanged
from ael.run.frame import RunFrame
from ael.run.gate import bad_arguments, permission
from ael.run.permission import Rights
from ael.run.run import Run
from ael.run.scope import Scope
from ael.run.step import Step, ordered
from ael.run.stored import Kept, Origin, StorePort
from ael.run.tool import DEPTH, size_limit, time_limit
from ael.run.world import World
from ael.types.canonical import encode
from ael.types.fault import Fault, FaultKind, Uncertain
from ael.types.problem import DecodeError
from ael.types.signature import Effects, ParameterDef, Repeat, Signature
from ael.types.spec import LimitSpec, OperationSpec, StoreSpec
from ael.types.type import BoolType, IntType, MapType, StringType, Type, UnitType, optional


class Serving(CallPlan):
    """What code calls through a name of the program and the deployment binds."""

    kind = Kind.OPERATION
    span = "operation"
    __slots__ = ()

    async def call(self, frame: RunFrame, path: str, arguments: tuple[object, ...]) -> object:
        scope = frame.scope
        try:
            named, text = self.input.checked(self.input.named(arguments))
        except DecodeError as error:
            raise bad_arguments(error).as_fault(path) from None
        refusal = permission(scope, self)
        if refusal is not None:
            raise refusal.as_fault(path)
        step = Step(scope.run, path, self.kind, self.name, hashlib.sha256(text).hexdigest(), None, scope.last)
        step.replayed()
        step.propose(named)
        value, encoded = await self.perform(scope, frame.depth, step, named, None, False)
        self._bounded_result(encoded)
        return value

    def own(self, inside: Uncertain, step: Step) -> Uncertain:
        """The operation's: its caller knows the key of this call, and nothing of what the provider does, wherever that is."""
        if inside.key == step.key or not self.repeat.can_be_uncertain:
            return inside
        further = inside.details.get("uncertain")
        told = [inside.value(), *(further if isinstance(further, list) else ())]
        return Uncertain(step.key, self.short, step.path, **{**inside.details, "uncertain": told})

    def entry(self) -> Self:
        """The same operation as the entry of a run that is a call from outside: who calls it is the owner of retries (K34)."""
        plan = copy(self)
        plan.retry = None
        return plan

    async def entered(self, scope: Scope, path: str, arguments: dict[str, object], key: str | None) -> object:
        """The one call of such a run, under the key that the caller gave it. Raises what it ends with."""
        refusal = permission(scope, self)
        if refusal is not None:
            raise refusal.as_fault(path)
        # Whoever goes on with such a run was not given the key: it is in the record.
        last = scope.run.journal.last(path)
        key = key if last is None or not last.key else last.key
        step = Step(scope.run, path, self.kind, self.name, digest(arguments), key, scope.last)
        step.replayed()
        step.propose(arguments)
        value, encoded = await self.perform(scope, 0, step, arguments, None, False)
        self._bounded_result(encoded)
        return value

    def _bounded_result(self, encoded: bytes | None) -> None:
        if encoded is not None and len(encoded) > self.max_output:
            shown = f"the result of `{self.short}` has {len(encoded):,} bytes, more than the {self.max_output:,} allowed; the call was made"
            raise Fault(FaultKind.TOO_LARGE, shown, tool=self.name, limit=self.max_output)


class OperationPlan(Serving):
    """An operation of a service, provided in the process by AEL code."""

    __slots__ = ("_body", "_grants", "_layers", "_missing", "_most", "_provider", "_running", "provider")

    def __init__(
        self,
        world: World,
        spec: OperationSpec,
        short: str,
        body: Code | None,
        provider: str,
        grants: frozenset[str],
        limit: LimitSpec,
        missing: str = "",
    ) -> None:
        bindings = world.bindings
        self._missing = missing
        timeout, most_input, most_output = limits_of_operation(world, spec, limit)
        super().__init__(
            spec.name,
            short,
            spec.signature,
            spec.permission,
            spec.repeat,
            spec.retry,
            timeout,
            InputCodec(world.codecs, spec.signature, most_input),
            world.codecs.value(spec.signature.result),
            most_output,
            frozenset(),
        )
        self._body: Callable[..., Coroutine[Any, Any, object]] | None = body
        self.runs_code = body is not None
        self.provider = provider
        """The qualified name of the `provide`, empty where none serves."""
        self._provider = f"the provider `{provider}`"
        self._grants = grants
        self._layers = (bindings.operator,)
        self._most = limit.concurrent if spec.limit.concurrent is None else spec.limit.concurrent
        self._running = [0]

    def body(self, scope: Scope, path: str, depth: int, step: Step, arguments: dict[str, object]) -> Coroutine[Any, Any, object]:
        if self._body is None:
            service = self.short.rpartition(".")[0]
            nothing = f"nothing provides `{self.short}` here: write `provide {service}`, or say where it is in the deployment"
            raise Fault(FaultKind.UNAVAILABLE, self._missing or nothing, final=True)
        scope.rights = self.inner(scope.rights)
        work = self._body(RunFrame(scope, path, step.key, depth + DEPTH), *self.input.positional(arguments))
        return work if self._most is None else self._bounded(work, self._most)

    def inner(self, rights: Rights) -> Rights:
        """The rights that the provider's body has, called with `rights`."""
        return rights.replaced(self._provider, self._grants, self._layers)

    async def _bounded(self, work: Coroutine[Any, Any, object], most: int) -> object:
        """Run while fewer than `most` calls of this operation run; else it is unavailable, and says when to come again."""
        running = self._running
        if running[0] >= most:
            work.close()
            raise Fault(FaultKind.UNAVAILABLE, f"`{self.short}` runs {most} calls already", retry_after=_AGAIN)
        running[0] += 1
        try:
            return await work
        finally:
            running[0] -= 1


class StorePlan(Serving):
    """One call on a store: `get`, `put`, `swap`, `remove`, `entries`, `page`, `has`. All are idempotent; writes carry the call's key."""

    kind = Kind.STORE
    span = "store"
    __slots__ = ("_codec", "_entries", "_operation", "_port", "_spec")

    def __init__(self, world: World, spec: StoreSpec, short: str, operation: str, port: StorePort | None) -> None:
        bindings = world.bindings
        signature = signature_of(spec, operation)
        super().__init__(
            signature.name,
            f"{short}.{operation}",
            signature,
            spec.permission,
            Repeat.IDEMPOTENT,
            None,
            bindings.defaults.tool_timeout / 1000,
            InputCodec(world.codecs, signature, bindings.limits.input),
            world.codecs.value(signature.result),
            _ENTRIES_BYTES if operation in ("entries", "page") else bindings.limits.input,
            frozenset(),
        )
        self._spec = spec
        self._operation = operation
        self._port = port
        self._codec: ValueCodec = world.codecs.value(spec.value)
        self._entries = world.codecs.limits.entries

    def body(self, scope: Scope, path: str, depth: int, step: Step, arguments: dict[str, object]) -> Coroutine[Any, Any, object]:
        return self._act(scope, path, step, arguments)

    async def _act(self, scope: Scope, path: str, step: Step, arguments: dict[str, object]) -> object:
        if self._port is None:
            raise Fault(FaultKind.UNAVAILABLE, f"the store of `{self.short}` is bound to nothing", final=True)
        run = scope.run
        port = self._port.of(run.tenant)
        key = str(arguments.get("key", ""))
        # A body that is tried again may write something else in the same place: only the same write again is left out.
        token = f"{step.key}-{step.digest[:16]}"
        match self._operation:
            case "get":
                found = await port.get(key)
                if found is None:
                    return None
                self._came(scope, step, (found,))
                return self._decoded(key, found.value)
            case "has":
                found = await port.get(key)
                self._came(scope, step, () if found is None else (found,))
                return found is not None
            case "put":
                origin = self._origin(scope, step)
                await port.put(key, self._codec.encode(arguments.get("value")), token, origin)
                self._tell(run, path, key)
                return None
            case "swap":
                found = await port.get(key)
                self._came(scope, step, () if found is None else (found,))
                old, origin = self._kept_as(arguments.get("was"), found), self._origin(scope, step)
                swapped = await port.swap(key, old, self._codec.encode(arguments.get("value")), token, origin)
                if swapped:
                    self._tell(run, path, key)
                return swapped
            case "page":
                most = min(max(cast("int", arguments["most"]), 0), self._entries)
                return self._map(scope, step, await port.page(str(arguments["after"]), most))
            case "remove":
                found = await port.get(key)
                self._came(scope, step, () if found is None else (found,))
                was_there = await port.remove(key, token)
                if was_there:
                    self._tell(run, path, key)
                return was_there
            case _:
                rows = await port.entries(self._entries + 1)
                if len(rows) > self._entries:
                    raise Fault(
                        FaultKind.TOO_LARGE, f"`{self.short}` has more than the {self._entries:,} entries that a map may have"
                    )
                return self._map(scope, step, rows)

    def _kept_as(self, was: object, found: Kept | None) -> object:
        """The form of `was` in the store. What is found there may be the same value in another form: written before a field with a
        default was added, or with its keys in another order."""
        form = None if was is None else self._codec.encode(was)
        if found is None:
            return form
        try:
            there = self._codec.encode(self._codec.decode(found.value))
        except DecodeError:
            return form
        return found.value if encode(there, sort=True) == encode(form, sort=True) else form

    def _map(self, scope: Scope, step: Step, rows: Sequence[tuple[str, Kept]]) -> dict[str, object]:
        self._came(scope, step, [kept for _, kept in rows])
        return {name: self._decoded(name, kept.value) for name, kept in rows}

    def _origin(self, scope: Scope, step: Step) -> Origin:
        """Of what is written. Where the check says that no outside data comes into the store, what else the body saw has no hand in it;
        unless it came with the arguments of a call from elsewhere, of which the check knows nothing."""
        seen = scope.seen if self._spec.outside or scope.run.handed is not None else ()
        return Origin(ordered(frozenset(seen)), f"{scope.run.id}/{step.path}")

    def _came(self, scope: Scope, step: Step, found: Sequence[Kept]) -> None:
        """What was read has where it came from, whichever run wrote it; where nobody said so, it counts as outside data.

        Raises `Fault` where this program was checked as one that takes what it reads here for clean, and another program, or an earlier
        version of it, wrote outside data.
        """
        if self._spec.relied:
            for kept in found:
                if kept.origin is not None and kept.origin.sources:
                    raise self._unclean(kept.origin)
        unknown = f"store:{self.short.rpartition('.')[0]}"
        sources = {one for kept in found for one in ((unknown,) if kept.origin is None else kept.origin.sources)}
        if not sources <= scope.seen:
            scope.seen |= sources
        places = dict.fromkeys([kept.origin.written for kept in found if kept.origin is not None])
        step.derived += tuple(places)[:_PLACES]

    def _unclean(self, origin: Origin) -> Fault:
        name, sources = self.short.rpartition(".")[0], ", ".join(origin.sources[:8])
        message = (
            f"`{name}` holds what outside data had a hand in ({sources}; written by {origin.written}), and this program takes what it "
            "reads of it for clean: it writes none there itself; remove it, or keep what is clean in a store of its own"
        )
        return Fault(FaultKind.DENIED, message, store=self._spec.name, written=origin.written)

    def _tell(self, run: Run, path: str, key: str) -> None:
        if run.listening:
            store = self.short.rpartition(".")[0]
            run.emit(StoreChanged(run.id, path, store, self._operation, run.world.masker.text(key)))

    def _decoded(self, key: str, value: object) -> object:
        try:
            return self._codec.decode(value)
        except DecodeError as error:
            raise Fault(
                FaultKind.MALFORMED, f"`{self.short}`: what is stored under {key[:80]!r} does not fit: {error.text}"
            ) from None


_PLACES = 16
"""Places of writing that a read says it derives from."""
_AGAIN = 0.05
"""Seconds after which a call that found no room may come again."""
_ENTRIES_BYTES = 64 * 1024 * 1024
STORE_OPERATIONS = ("get", "put", "swap", "remove", "entries", "page", "has")
_KEY = ParameterDef("key", "key", StringType())


def signature_of(spec: StoreSpec, operation: str) -> Signature:
    """The signature of a call on a store."""
    parameters: tuple[ParameterDef, ...] = (_KEY,)
    result: Type
    match operation:
        case "get":
            result = optional(spec.value)
        case "put":
            parameters, result = (_KEY, ParameterDef("value", "value", spec.value)), UnitType()
        case "swap":
            was, value = ParameterDef("was", "was", optional(spec.value)), ParameterDef("value", "value", spec.value)
            parameters, result = (_KEY, was, value), BoolType()
        case "entries":
            parameters, result = (), MapType(spec.value)
        case "page":
            after, most = ParameterDef("after", "after", StringType()), ParameterDef("most", "most", IntType())
            parameters, result = (after, most), MapType(spec.value)
        case _:
            result = BoolType()
    permissions = frozenset() if spec.permission is None else frozenset({spec.permission})
    return Signature(f"{spec.name}.{operation}", parameters, result, effects=Effects(permissions, Repeat.IDEMPOTENT, acts=True))


def limits_of_operation(world: World, spec: OperationSpec, limit: LimitSpec) -> tuple[float | None, int, int]:
    """Seconds of a call (None: no limit), and bytes of its input and of its result; `limit` is the provider's."""
    bindings = world.bindings
    return (
        time_limit(spec.timeout, bindings.defaults.tool_timeout, None),
        size_limit(_either(spec.limit.input, limit.input), bindings.limits.input),
        size_limit(_either(spec.limit.output, limit.output), bindings.limits.result),
    )


def _either(first: int | None, second: int | None) -> int | None:
    return second if first is None else first
