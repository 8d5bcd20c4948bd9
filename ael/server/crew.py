"""What a worker does beside the runs of its store: the queues of its deployment, each with runs of its own.

The visits of a queue run in a host in which that one placement is in the process and every other as the deployment says. A run of an item
is of another program than one of the same entry that was started here: it may only go on where its entry is not sent away again. So its
program is told by a digest that the queue goes into, and a worker claims only programs whose digest it holds.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from ael.data import replace as changed
from ael.durable.execute import execution_of, options_of
from ael.durable.worker import PATROL, Worker
from ael.host import Host, open_host
from ael.hosting.placements import tls_of
from ael.hosting.queues import open_line, queue_name
from ael.journal.durable import Held, RunRow
from ael.project.program import Opened
from ael.project.queues import QueueBinding
from ael.run.bindings import Options
from ael.run.engine import Engine
from ael.run.outcome import Outcome
from ael.server.methods import method_of, methods
from ael.server.queued import Receiver, Target

Told = Callable[[RunRow, Outcome | Exception], None]
Trouble = Callable[[str, str], None]


@dataclass(frozen=True)
class Side:
    """One queue at this worker."""

    host: Host
    worker: Worker
    receiver: Receiver

    async def work(self) -> None:
        """Work until `stop`."""
        working = asyncio.ensure_future(self.worker.work())
        looking = asyncio.ensure_future(self._patrol())
        try:
            await self.receiver.work()
            await working
        finally:
            looking.cancel()
            await asyncio.gather(looking, return_exceptions=True)
            await self.receiver.drained()

    def stop(self) -> None:
        """As `Worker.stop`."""
        self.receiver.stop()
        self.worker.stop()

    async def _patrol(self) -> None:
        while True:
            await self.receiver.look()
            await asyncio.sleep(PATROL)


@dataclass(frozen=True)
class Crew:
    """All queues at this worker."""

    sides: Sequence[Side]

    @property
    def programs(self) -> frozenset[str]:
        """The programs that runs of items belong to."""
        return frozenset(side.host.unit.digest for side in self.sides)

    async def work(self) -> None:
        """Work until `stop`."""
        await asyncio.gather(*(side.work() for side in self.sides))

    def described(self) -> list[str]:
        """A line for each queue, for people."""
        return [f"taking items of the queue {side.receiver.name} with {side.worker.slots} slots" for side in self.sides]

    def ended(self) -> list[str]:
        """What became of the items here, a line for each queue."""
        counts = [(side.receiver.name, side.receiver.counts) for side in self.sides]
        return [f"{count.answered} items of {name} answered, {count.given_back} given back" for name, count in counts]

    async def idle(self) -> None:
        """Wait until no queue has anything for this worker, while `work` works."""
        for side in self.sides:
            await side.receiver.idle()
            await side.receiver.look()

    def stop(self) -> None:
        """As `Worker.stop`; from any thread, and from signal handlers."""
        for side in self.sides:
            side.stop()


async def crew(opened: Opened, stack: AsyncExitStack, told: Told, trouble: Trouble) -> Crew:
    """The queues from which this deployment takes items; their hosts are closed with `stack`. Raises `HostError`."""
    sides = []
    for name, binding in opened.deployment.placements.items():
        if isinstance(binding, QueueBinding) and binding.slots > 0:
            sides.append(await _side(opened, name, binding, stack, told, trouble))
    return Crew(sides)


async def _side(opened: Opened, name: str, binding: QueueBinding, stack: AsyncExitStack, told: Told, trouble: Trouble) -> Side:
    host = await stack.enter_async_context(_hosted(opened, name, binding))
    queue = queue_name(opened, name)
    execution = execution_of(host)
    runs = host.opened.deployment.runs
    # No tenant's limit: what sent the item is one of its runs already, and waits for this one.
    worker = Worker({host.unit.digest: execution}, binding.slots, {}, None, trouble, None, runs.drain, claims=False)
    tls = tls_of(name, binding, Path(opened.deployment.folder))
    line = open_line(opened, name, binding, host.bindings.secrets.__getitem__, tls)
    receiver = Receiver(queue, line, _targets(host, name, binding), binding, host, execution, worker, trouble)
    worker.told = partial(_left, receiver, told)
    worker.options = partial(_options, receiver)
    return Side(host, worker, receiver)


def _left(receiver: Receiver, told: Told, row: RunRow, outcome: Outcome | Exception) -> None:
    receiver.left(row, outcome)
    told(row, outcome)


def _options(receiver: Receiver, held: Held) -> Options:
    return receiver.noted(held.row.header.run, options_of(held.pinned))


def _hosted(opened: Opened, name: str, binding: QueueBinding) -> Host:
    """A host in which what the queue leads to is in the process."""
    deployment = opened.deployment
    placements = {key: one for key, one in deployment.placements.items() if key not in (name, binding.node)}
    services = dict(deployment.services)
    if binding.provider is not None:
        services[name] = binding.provider
    here = changed(opened, deployment=changed(deployment, placements=placements, services=services))
    secrets = [one for one in (binding.token, binding.secret) if one is not None]
    host = open_host(here, also=secrets, durable=True)
    digest = hashlib.sha256(f"{host.unit.digest}\nitems of {queue_name(opened, name)}".encode()).hexdigest()
    unit = changed(host.unit, digest=digest)
    return replace(host, unit=unit, engine=Engine(unit, host.bindings))


def _targets(host: Host, name: str, binding: QueueBinding) -> dict[str, Target]:
    """What items can ask for, by its own name: the operations of a service, or a node."""
    opened = host.opened
    service = opened.program.services.get(name)
    entries = [binding.node or name] if service is None else [operation.name for operation in service.operations]
    unit, found = host.unit, {}
    for entry in entries:
        operation = unit.operations.get(entry)
        signature = unit.nodes[entry].spec.signature if operation is None else operation.signature
        repeat = signature.effects.repeat if operation is None else operation.repeat
        [method] = methods([method_of(opened, entry, signature)], host).values()
        found[entry.rpartition(".")[2]] = Target(method, repeat)
    return found
