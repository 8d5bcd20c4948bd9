"""Runs that outlive the session which began them: found again by their id, gone on with, decided about, worked on."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import NamedTuple

from ael.data import replace
from ael.durable import decide
from ael.durable.execute import Execution, new_owner, options_of
from ael.durable.fork import fork_of
from ael.durable.worker import Worker
from ael.embed.error import RequestError
from ael.embed.plain import value_of
from ael.host import Host
from ael.journal.durable import Held, RunRow, RunState, StoreError
from ael.project.tenants import at_once
from ael.run.bindings import Options, system_user
from ael.run.entry import decoded
from ael.types.problem import DecodeError


class Pin(NamedTuple):
    """What an id of a run stands for: node, input, tenant and caller."""

    entry: str
    input: str
    tenant: str
    caller: str

    def held_against(self, other: Pin, run: str) -> None:
        """Raise `RequestError` where the run of this id is another than the one that is asked for."""
        if self != other:
            message = f"the run {run} is there already, with another node, input, tenant or caller"
            raise RequestError("AEL0905", message, "an id stands for one run for ever: give another one")


def pin(host: Host, entry: str, text: bytes, chosen: Options) -> Pin:
    """What a run that is asked for is. An input that does not fit is like every other that does not."""
    try:
        given = decoded(host.engine.input(entry), text).digest
    except DecodeError:
        given = ""
    return Pin(entry, given, chosen.tenant, chosen.caller)


def pin_of(row: RunRow) -> Pin:
    """What a kept run is."""
    header = row.header
    return Pin(header.entry, header.input, header.tenant, header.caller)


class Kept:
    """The kept runs of one program. Everything that is asked of its store raises `RequestError` where that is gone."""

    def __init__(self, host: Host, execution: Execution) -> None:
        self._host = host
        self.execution = execution
        self._store = execution.store

    async def find(self, run: str, tenant: str | None) -> RunRow:
        """A run; those of other tenants are not there. Raises `RequestError`."""
        found = await self.look(run)
        if found is None or tenant not in (None, found.header.tenant):
            raise RequestError("AEL0905", f"there is no run `{run}`")
        return found

    async def look(self, run: str) -> RunRow | None:
        """A run, where there is one of this id."""
        try:
            return await self._store.find(run)
        except StoreError as error:
            raise RequestError("AEL0904", str(error)) from None

    async def hold(self, row: RunRow) -> Held:
        """Take a run in order to go on with it. Raises `RequestError` where it is not this program's to go on with."""
        run = row.header.run
        if row.header.program != self._host.unit.digest:
            note = f"go back to the program that it began with, or fork it: `ael runs fork {run}`"
            raise RequestError("AEL0906", f"the program has changed since the run {run} began", note)
        try:
            if row.state is RunState.DEAD:
                await self._store.revive(run)
            held = await self._store.hold(run, self.execution.owner, self.execution.lease)
            if held is None:
                found = await self._store.find(run)
                waits = found is not None and found.state is RunState.PARKED
                what = (
                    f"the run {run} still waits: {found.waits}"
                    if found is not None and waits
                    else f"another worker has the run {run} now"
                )
                raise RequestError("AEL0905", what)
            fork = fork_of(held.pinned)
            differs = self.execution.differs(held)
            if differs or (fork is not None and (fork.models or fork.settings)):
                await self._store.release(run, held.row.epoch)
                note = "bind it as it was, or go on with `ael runs resume --accept-bindings`"
                raise RequestError("AEL0906", f"the run {run} began under other bindings", *differs, note)
        except StoreError as error:
            raise RequestError("AEL0904", str(error)) from None
        return held

    def options(self, held: Held, asked: Options) -> Options:
        """What the run kept, with who follows it now."""
        return replace(options_of(held.pinned), on_event=asked.on_event)

    async def decide(
        self,
        row: RunRow,
        approved: bool,
        *,
        by: str | None,
        reason: str,
        arguments: Mapping[str, object] | None,
        step: str | None,
    ) -> None:
        """Answer the approval that a parked run waits for. Raises `RequestError`."""
        runs, roles = self._host.opened.deployment.runs, self._host.opened.deployment.roles
        try:
            asked = await decide.find(self._store, row.header.run, step, "approval", runs.approval)
            await decide.decide(
                self._store, asked, approved=approved, by=by or system_user(), reason=reason, arguments=arguments,
                members=roles, now=time.time(), here=by is None,
            )  # fmt: skip
        except decide.DecideError as error:
            raise RequestError("AEL0905", error.message, *([error.note] if error.note else [])) from None
        except StoreError as error:
            raise RequestError("AEL0904", str(error)) from None

    async def settle(self, row: RunRow, result: object, *, happened: bool, by: str | None, step: str | None) -> None:
        """Say what became of a call whose outcome nobody knows. Raises `RequestError`."""
        try:
            call = await decide.find(self._store, row.header.run, step, "uncertain")
            value = self._result(call.target, result) if happened else None
            await decide.settle(self._store, call, result=value, failed=not happened, by=by or system_user(), now=time.time())
        except decide.DecideError as error:
            raise RequestError("AEL0905", error.message, *([error.note] if error.note else [])) from None
        except StoreError as error:
            raise RequestError("AEL0904", str(error)) from None

    def _result(self, target: str, value: object) -> object:
        signature = self._host.unit.signatures.get(target)
        if signature is None:
            raise RequestError("AEL0905", f"the program has no `{target}` any more, so its result cannot be checked")
        codec = self._host.engine.world.codecs.value(signature.result)
        try:
            return codec.check(value_of(value, signature.result, self._host.unit.definitions))
        except DecodeError as error:
            raise RequestError("AEL0905", f"this is no result of `{target}`: {error.text}") from None

    def worker(self, slots: int | None) -> Worker:
        """A worker of this program in this process, as the deployment says how one works."""
        said = self._host.opened.deployment.runs
        tenants = at_once(self._host.opened.deployment.tenants, said.per_tenant)
        # An owner of its own: what this session begins is not for its worker to take.
        programs = {self._host.unit.digest: replace(self.execution, owner=new_owner())}
        return Worker(programs, slots or said.slots, tenants, keep=said.keep, drain=said.drain, keep_content=said.evidence_keep)
