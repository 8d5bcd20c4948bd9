"""Executing a held run: over its journal, with a heartbeat, to its end or until it parks."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from functools import cached_property

from ael.data import dataclass, field, replace
from ael.durable.fork import Doers, ForkJournal, fork_of
from ael.durable.heart import Heart
from ael.durable.pinned import Bound, bound_of, differences
from ael.durable.rights import Named, kept_rights, named_by, restored, spec_form, spec_of, withdrawn
from ael.host import Host
from ael.journal.durable import DurableStore, Fenced, HandedBack, Held
from ael.journal.store import RunJournal
from ael.run.bindings import Options
from ael.run.engine import Engine
from ael.run.entry import Given
from ael.run.handed import handed_of
from ael.run.outcome import Outcome, Suspended, to_json, word_of
from ael.run.run import Run
from ael.run.scope import Attempts


class Taken(Exception):
    """Another worker has this run now; what this one still did after that is not kept."""

    def __init__(self, run: str) -> None:
        super().__init__(f"the run {run} was taken over by another worker")
        self.run = run


@dataclass(frozen=True)
class Execution:
    """What executing runs of one engine from one store needs. `lease` in seconds; `owner` names this worker, alone of its name.

    `bound` is what the program is bound to here, which its runs keep; `callers` whom the deployment names by now.
    """

    engine: Engine
    store: DurableStore
    owner: str
    lease: float
    bound: Bound = field(default_factory=Bound)
    callers: Named = frozenset()

    @cached_property
    def heart(self) -> Heart:
        """What extends the leases of this owner's runs."""
        return Heart(self.store, self.owner, self.lease)

    def fresh(self, entry: str | None, given: Given, options: Options) -> Held:
        """A new run of `entry` with its input, held by this owner. Raises what `Engine.header` raises."""
        header, input = self.engine.header(entry, given, options)
        return self.store.fresh(header, input, self.pinned(header.entry, options), self.owner, self.lease)

    async def make(self, entry: str | None, given: Given, options: Options) -> Held | None:
        """A new run of `entry`, held by this owner, that the store knows at once; None where there is one of this id.

        Raises what `Engine.header` raises.
        """
        header, input = self.engine.header(entry, given, options)
        return await self.store.make(header, input, self.pinned(header.entry, options), self.owner, self.lease)

    async def create(self, entry: str | None, given: Given, options: Options) -> tuple[str, bool]:
        """A new run of `entry` that any worker may take: its id, and False where there was one of this id, which stays as it is.

        Raises what `Engine.header` raises.
        """
        header, input = self.engine.header(entry, given, options)
        return header.run, await self.store.create(header, input, self.pinned(header.entry, options))

    def pinned(self, entry: str, options: Options) -> dict[str, object]:
        """What a new run keeps beside its header and its input."""
        return {**kept_options(options), **self.bound.kept(entry)}

    def differs(self, held: Held) -> list[str]:
        """What is bound otherwise here than when the run began."""
        return differences(held, self.bound)

    def start(self, held: Held, options: Options | None = None, given: Given = None) -> Run:
        """Start, or continue, the execution of a held run. `given`: the input of a new one, as it was given."""
        header, row = held.row.header, held.row
        # What a caller may do is in the record of the run; a later word of the deployment can only take away.
        base = withdrawn(options or options_of(held.pinned), header.tenant, self.callers)
        running = replace(
            base,
            tenant=header.tenant,
            caller=header.caller,
            deadline=header.deadline,
            run=header.run,
            journal=self.journal(held),
            park=True,
        )
        input = held.input if isinstance(held.input, dict) else None
        run = self.engine.start(header.entry, input if given is None else given, running)
        if row.cancel is not None:
            run.cancel(row.cancel)
        return run

    @property
    def doers(self) -> Doers:
        """What of the program may change something outside, as it is bound here."""
        bindings = self.engine.world.bindings
        elsewhere = self.bound.elsewhere | bindings.placements.keys() | bindings.operations.keys()
        return Doers(self.engine.world.unit, self.bound.reads, frozenset(elsewhere))

    def journal(self, held: Held) -> RunJournal:
        """The journal that the run is executed over: a fork's also says which effects may be made."""
        fork = fork_of(held.pinned)
        return held.journal if fork is None else ForkJournal(held.journal, fork, self.doers)

    async def conclude(self, held: Held, run: Run) -> Outcome:
        """Wait for the end of an execution, and record it. Raises `Taken`, and `StoreError` when the store is gone."""
        self.heart.add(held)
        self.heart.attach(run)
        try:
            outcome = await run.outcome()
        finally:
            self.heart.remove(run.id)
        await self.record(held, run, outcome)
        return outcome

    async def record(self, held: Held, run: Run, outcome: Outcome) -> None:
        """Record how an execution ended; a run that was given up is ready for another worker. Raises `Taken` and `StoreError`."""
        journal = held.journal
        if isinstance(outcome, Suspended):
            journal.begin()
        if not journal.begun:
            return
        name, epoch = held.row.header.run, held.row.epoch
        lost = journal.lost
        try:
            if isinstance(lost, HandedBack):
                await self.store.release(name, epoch)
                return
            if lost is not None:
                raise lost
            match outcome:
                case Suspended(waits=waits, wake=wake):
                    if run.draining:
                        await self.store.release(name, epoch)
                    else:
                        told = "; ".join(f"{wait.kind} at {wait.path}" for wait in waits)
                        # The time is this machine's; the store has its own clock.
                        after = None if wake is None else max(0.0, wake - self.engine.world.clock.now())
                        await self.store.park(name, epoch, told, after, run.active)
                case _:
                    await self.store.finish(name, epoch, word_of(outcome), to_json(outcome), run.active)
        except Fenced:
            raise Taken(name) from None


def kept_options(options: Options) -> dict[str, object]:
    """What of the options a run keeps: its budget, what its caller and tenant may do and spend, where its trace belongs, and of one that is
    a call from outside, its key, what it came through and its retries.

    Tenant, caller and deadline are in its header.
    """
    kept = {"budget": spec_form(options.budget), "trace_parent": options.trace_parent, **kept_rights(options)}
    if options.key is not None:
        left = None if options.attempts is None else options.attempts.left
        kept["call"] = {"key": options.key, "via": list(options.via), "attempts": left}
    if options.handed is not None:
        kept["given"] = options.handed.text()
    return kept


def options_of(pinned: Mapping[str, object]) -> Options:
    """The options that a run kept."""
    budget, parent = pinned.get("budget"), pinned.get("trace_parent")
    assert isinstance(budget, dict)
    kept = Options(budget=spec_of(budget), trace_parent=parent if isinstance(parent, str) else None)
    call = pinned.get("call")
    if isinstance(call, Mapping):
        left = call["attempts"]
        attempts = None if left is None else Attempts(left)
        kept = replace(kept, key=call["key"], via=tuple(call["via"]), attempts=attempts)
    said = pinned.get("given")
    if isinstance(said, str):
        kept = replace(kept, handed=handed_of(said))
    return restored(kept, pinned)


def execution_of(host: Host) -> Execution:
    """The executions of a host's program, from the store that the host has opened."""
    assert host.store is not None
    deployment = host.opened.deployment
    named = named_by(deployment.serving.callers.values())
    return Execution(host.engine, host.store, new_owner(), deployment.runs.lease, bound_of(host.opened), named)


def new_owner() -> str:
    """A name for a worker that no other has, now or later."""
    return f"w{secrets.token_hex(8)}"
