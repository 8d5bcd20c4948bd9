"""A program that is open: connections, stores and runs, for as long as an `async with` lasts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from types import TracebackType
from typing import Any, Self, TypeVar, Unpack, overload

from ael.data import dataclass, replace
from ael.durable.execute import Execution, execution_of
from ael.durable.worker import Worker
from ael.embed.approver import Approve, CallbackApprover
from ael.embed.error import BindError, OpenError, RequestError
from ael.embed.kept import Kept, Pin, pin, pin_of
from ael.embed.nodes import Nodes
from ael.embed.options import Asked, OnEvent, options
from ael.embed.outcome import Outcome
from ael.embed.plain import value_of
from ael.embed.run import Run, recorded
from ael.embed.shape import Convert, ShapeError, reader
from ael.host import Host, HostError, open_host
from ael.journal.durable import Held, RunRow, RunState, StoreError
from ael.project.entry import EntryError, choose
from ael.project.program import Opened
from ael.run.bindings import Options
from ael.run.codec import snapshot, written
from ael.run.outcome import Outcome as Ended
from ael.run.run import Run as Running
from ael.types.problem import DecodeError
from ael.types.signature import Signature
from ael.types.type import Named

T = TypeVar("T")
Input = Mapping[str, object] | None
_CLOSED = "the session was closed"


@dataclass(frozen=True)
class UnderWay:
    """A run of this session that has not ended."""

    running: Running
    work: asyncio.Task[Ended]
    pin: Callable[[], Pin]
    held: Held | None = None

    def seen(self, convert: Convert) -> Run[Any]:
        """The run for somebody who follows it."""
        return Run(self.running, self.work, convert, self.held)


class Session:
    """A program that is open, made by `Program.open`. Used in one event loop; its runs go on beside each other.

    Runs are kept where the deployment says, so that they survive the process. When the session is closed, a kept run that has not ended is
    left to `resume` or to a worker; another one is cancelled.
    """

    def __init__(
        self,
        opened: Opened,
        functions: Mapping[str, Any],
        operations: Mapping[str, Any],
        provided: Mapping[str, str],
        *,
        entry: str | None = None,
        approve: Approve | None = None,
        durable: bool = True,
        otel: bool = False,
    ) -> None:
        self._opened = opened
        self._functions = functions
        self._operations = operations
        self._provided = provided
        self._entry = None if entry is None else entry_of(opened, entry)
        self._approver = None if approve is None else CallbackApprover(approve, opened.deployment.roles)
        self._durable = durable
        self._otel = otel
        self._host: Host | None = None
        self._kept: Kept | None = None
        self._under_way: dict[str, UnderWay] = {}
        self._working: tuple[Worker, asyncio.Future[None]] | None = None

    # --- its life ------------------------------------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        """Bind everything that the program needs. Nothing is sent yet. Raises `OpenError`."""
        if self._host is not None:
            raise RequestError("AEL0893", "this session is open already")
        try:
            self._host = open_host(
                self._opened,
                self._entry,
                approver=self._approver,
                durable=self._durable,
                otel=self._otel,
                functions=self._functions,
                operations=self._operations,
            )
        except HostError as error:
            raise OpenError(error.code, error.message, *error.notes) from None
        try:
            self._kept = self._keeper(self._host)
        except BaseException:
            await self.close()
            raise
        return self

    def _keeper(self, host: Host) -> Kept | None:
        """What keeps the runs; None where they are in memory. A run that this process's objects serve does not go on where others do."""
        if host.store is None:
            return None
        made = execution_of(host)
        bound = replace(made.bound, values={**(made.bound.values or {}), **self._provided})
        return Kept(host, replace(made, bound=bound))

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

    async def close(self) -> None:
        """Stop what is under way, and release everything. A second time does nothing."""
        host, self._host = self._host, None
        if host is None:
            return
        ending: list[asyncio.Future[Any]] = [one.work for one in self._under_way.values()]
        if self._working is not None:
            self._working[0].stop()
            ending.append(self._working[1])
        for one in self._under_way.values():
            if one.held is not None:
                # Nothing more of it is kept here: whoever goes on finds it as it was.
                one.held.journal.hand_back()
            one.running.cancel(_CLOSED)
        if ending:
            await asyncio.wait(ending)
        await host.close()

    @property
    def warnings(self) -> tuple[str, ...]:
        """What was told when it was opened: a model that will not be asked, runs that cannot be kept."""
        return self._open().warnings

    @property
    def nodes(self) -> Nodes:
        """The nodes and agents of the program, to be called by name: `await session.nodes.answer(id="A-1")`."""
        return Nodes(self._opened, self.run)

    # --- runs -------------------------------------------------------------------------------------------------------

    @overload
    async def run(
        self, node: str | None = None, input: Input = None, *, result_type: type[T], **asked: Unpack[Asked]
    ) -> Outcome[T]: ...
    @overload
    async def run(
        self, node: str | None = None, input: Input = None, *, result_type: object = None, **asked: Unpack[Asked]
    ) -> Outcome[Any]: ...
    async def run(
        self, node: str | None = None, input: Input = None, *, result_type: object = None, **asked: Unpack[Asked]
    ) -> Outcome[Any]:
        """Run a node or an agent (None: as `ael run` chooses), and wait for its end. A task that is cancelled here cancels the run.

        `input`: its parameters by name, as Python values, dataclasses or pydantic models. `result_type`: what the value becomes: a
        dataclass, a `TypedDict`, a named tuple, a pydantic model, an `Enum`, or a type made of them such as `list[Ticket]`. For
        the keywords see `Asked`. Raises what `start` and `Run.outcome` raise.
        """
        chosen = options(self._open(), asked)
        entry, signature = self._entry_of(node)
        convert, text = self._convert(signature, result_type), self._text(signature, input)
        known = (
            None if chosen.run is None else await self._known(chosen.run, pin(self._open(), entry, text, chosen), convert, chosen)
        )
        return await self._followed(self._start(entry, text, convert, chosen)) if known is None else known

    @overload
    def start(self, node: str | None = None, input: Input = None, *, result_type: type[T], **asked: Unpack[Asked]) -> Run[T]: ...
    @overload
    def start(
        self, node: str | None = None, input: Input = None, *, result_type: object = None, **asked: Unpack[Asked]
    ) -> Run[Any]: ...
    def start(
        self, node: str | None = None, input: Input = None, *, result_type: object = None, **asked: Unpack[Asked]
    ) -> Run[Any]:
        """Start a run, to follow its events or to cancel it. Parameters as for `run`.

        Raises `RequestError` for a node that is not there and for an input that is no data, `BindError` for a `result_type` that cannot
        hold the node's result. An input that does not fit its type is the fault `BadArguments` of the run.
        """
        chosen = options(self._open(), asked)
        entry, signature = self._entry_of(node)
        return self._start(entry, self._text(signature, input), self._convert(signature, result_type), chosen)

    @overload
    async def resume(
        self, run_id: str, *, result_type: type[T], tenant: str | None = None, on_event: OnEvent | None = None
    ) -> Outcome[T]: ...
    @overload
    async def resume(
        self, run_id: str, *, result_type: object = None, tenant: str | None = None, on_event: OnEvent | None = None
    ) -> Outcome[Any]: ...
    async def resume(
        self, run_id: str, *, result_type: object = None, tenant: str | None = None, on_event: OnEvent | None = None
    ) -> Outcome[Any]:
        """Go on with a kept run, and wait for its end: one that is parked and may go on, or that a process left when it died. One that
        has ended gives its outcome again. `tenant`: a run of another one is not found. `on_event` is called with each event from here on.

        Raises `RequestError` for a run that is not there, that still waits, that another worker has, or that began under another program or
        other bindings.
        """
        kept = self._keeping()
        row = await kept.find(run_id, tenant)
        signature = self._opened.program.signatures.get(row.header.entry)
        if signature is None:
            raise RequestError("AEL0906", f"the program has no `{row.header.entry}` any more, which the run {run_id} is of")
        convert, here = self._convert(signature, result_type), self._under_way.get(run_id)
        return await (self._again(row, convert, Options(on_event=on_event)) if here is None else here.seen(convert).outcome())

    async def decide(
        self,
        run_id: str,
        approved: bool,
        *,
        by: str | None = None,
        reason: str = "",
        arguments: Mapping[str, object] | None = None,
        step: str | None = None,
        tenant: str | None = None,
    ) -> None:
        """Answer the approval that a parked run waits for; `resume` or a worker goes on with it. A no has a reason, which the model reads.

        `by`: who decides, a member of the role that is asked (None: whoever runs this process). `arguments` in place of those proposed.
        `step` where the run waits for several. Raises `RequestError`.
        """
        row = await self._keeping().find(run_id, tenant)
        await self._keeping().decide(row, approved, by=by, reason=reason, arguments=arguments, step=step)

    async def settle(
        self,
        run_id: str,
        *,
        happened: bool,
        result: object = None,
        by: str | None = None,
        step: str | None = None,
        tenant: str | None = None,
    ) -> None:
        """Say what became of a call that a parked run waits to know of: its result, or that it did not happen. Raises `RequestError`."""
        row = await self._keeping().find(run_id, tenant)
        await self._keeping().settle(row, result, happened=happened, by=by, step=step)

    async def work(self, *, slots: int | None = None, until_idle: bool = False) -> None:
        """Be a worker: execute kept runs that are ready, with this process's functions, until the session is closed or this is cancelled.

        `slots`: runs at once (None: as the deployment says). `until_idle`: until nothing is ready. Runs that are under way when it ends go
        on with another worker.
        """
        worker = self._keeping().worker(slots)
        if self._working is not None:
            raise RequestError("AEL0893", "this session works already")
        working = asyncio.ensure_future(worker.until_idle() if until_idle else worker.work())
        self._working = worker, working
        try:
            await asyncio.shield(working)
        except StoreError as error:
            raise RequestError("AEL0904", str(error)) from None
        except asyncio.CancelledError:
            worker.stop()
            await asyncio.wait([working])
            raise
        finally:
            self._working = None

    # --- inside -----------------------------------------------------------------------------------------------------

    def _open(self) -> Host:
        if self._host is None:
            raise RequestError("AEL0893", "this session is not open", "use it inside of `async with program.open() as session:`")
        return self._host

    def _keeping(self) -> Kept:
        self._open()
        if self._kept is None:
            note = 'write where they are kept: `runs = sqlite("runs.db")` or `postgres(secret("RUNS_DB"))`'
            raise RequestError("AEL0904", "the runs of this session are in memory, where nobody finds them again", note)
        return self._kept

    def _entry_of(self, node: str | None) -> tuple[str, Signature]:
        entry = entry_of(self._opened, node)
        if self._entry not in (None, entry):
            raise RequestError("AEL0893", f"this session was opened for `{short(self._entry or '')}` alone")
        return entry, self._opened.program.signatures[entry]

    def _text(self, signature: Signature, input: Input) -> bytes:
        """The input as JSON. Raises `RequestError` for what is no data."""
        definitions = self._open().engine.world.codecs.definitions
        record = Named(f"input {signature.name}")
        try:
            return written(value_of(dict(input or {}), record, definitions))
        except DecodeError as error:
            raise RequestError("AEL0841", f"the input of `{short(signature.name)}` is no data: {error.text}") from None

    def _convert(self, signature: Signature, result_type: object) -> Convert:
        if result_type is None:
            return snapshot
        try:
            return reader(result_type, signature.result, self._opened.program.definitions)
        except ShapeError as error:
            raise BindError("AEL0892", f"`result_type` does not fit `{short(signature.name)}`: {error}") from None

    async def _known(self, run: str, asked: Pin, convert: Convert, chosen: Options) -> Outcome[Any] | None:
        """The outcome of the run that has this id already, once it is there; None where there is no such run."""
        row = None if self._kept is None else await self._kept.look(run)
        here = self._under_way.get(run)
        if here is not None:
            asked.held_against(here.pin(), run)
            return await here.seen(convert).outcome()
        if row is None:
            return None
        asked.held_against(pin_of(row), run)
        return await self._again(row, convert, chosen)

    def _start(self, entry: str, text: bytes, convert: Convert, chosen: Options) -> Run[Any]:
        host = self._open()
        if chosen.run in self._under_way:
            raise RequestError("AEL0905", f"the run {chosen.run} is under way already", "`await session.run(…)` waits for it")
        asked = partial(pin, host, entry, text, chosen)
        if self._kept is None:
            running = host.engine.start(entry, text, chosen)
            return self._following(UnderWay(running, asyncio.ensure_future(running.outcome()), asked), convert)
        execution = self._kept.execution
        held = execution.fresh(entry, text, chosen)
        return self._executing(execution, held, execution.start(held, chosen, text), asked, convert)

    def _executing(
        self, execution: Execution, held: Held, running: Running, asked: Callable[[], Pin], convert: Convert
    ) -> Run[Any]:
        work = asyncio.ensure_future(execution.conclude(held, running))
        return self._following(UnderWay(running, work, asked, held), convert)

    def _following(self, one: UnderWay, convert: Convert) -> Run[Any]:
        self._under_way[one.running.id] = one
        one.work.add_done_callback(partial(self._ended, one.running.id))
        return one.seen(convert)

    def _ended(self, run: str, work: asyncio.Future[Ended]) -> None:
        del self._under_way[run]
        if not work.cancelled():
            work.exception()  # whoever waits is told; where nobody does, it is not reported as forgotten

    async def _again(self, row: RunRow, convert: Convert, chosen: Options) -> Outcome[Any]:
        """Go on with a run that is there, or tell how it ended."""
        kept = self._keeping()
        execution = kept.execution
        run = row.header.run
        if row.state is RunState.ENDED:
            signature = self._opened.program.signatures[row.header.entry]
            decode = self._open().engine.world.codecs.value(signature.result).decode
            return recorded(row.outcome, run, decode, convert)
        held = await kept.hold(row)
        running = execution.start(held, kept.options(held, chosen))
        return await self._followed(self._executing(execution, held, running, partial(pin_of, row), convert))

    async def _followed(self, run: Run[Any]) -> Outcome[Any]:
        """The outcome; a task that is cancelled here cancels the run, and waits for its end."""
        try:
            return await run.outcome()
        except asyncio.CancelledError:
            run.cancel("the caller was cancelled")
            await run.settled()
            raise


def entry_of(opened: Opened, node: str | None) -> str:
    """The qualified name of a node or an agent. Raises `RequestError`."""
    try:
        return choose(opened.program, node)
    except EntryError as error:
        raise RequestError("AEL0840", str(error)) from None


def short(name: str) -> str:
    """A qualified name without its module."""
    return name.rpartition(".")[2]
