"""The effect of `std/process`: a command of the deployment's allow-list is run in the sandbox."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from pathlib import Path

from ael.natives import sandbox
from ael.natives.files import workspace
from ael.natives.sandbox_programs import NoProgram, find
from ael.natives.world import Functions, World
from ael.project.bind_process import ProcessBinding
from ael.run.ports import CallContext, Clock
from ael.types.fault import Failure, Fault, FaultKind

WITHOUT = "`process = unsandboxed(commands: […])` in the deployment does without one, at the risk of whoever runs it"
_LINE = 'the deployment lists what may be run: `process = sandbox(commands: ["git"])`'
_MARGIN = 1_500
"""Milliseconds before the end of a call at which its command is ended, so that the program gets to see how far it came."""
_SHORTEST = 100


def natives(world: World) -> Functions:
    """The functions by name."""
    return {"run": Process(world).run}


def limits(binding: ProcessBinding) -> sandbox.Limits:
    """The limits of commands as the deployment says them."""
    return sandbox.Limits(
        time=binding.time,
        cpu=binding.cpu,
        memory=binding.memory,
        file=binding.file,
        disk=binding.disk,
        files=binding.open_files,
        processes=binding.processes,
        output=binding.output,
    )


def settings(world: World) -> ProcessBinding:
    """What the deployment says of commands; without a line none is allowed."""
    binding = world.bindings.get("process")
    return binding if isinstance(binding, ProcessBinding) else ProcessBinding()


async def finished(command: sandbox.Command) -> sandbox.Finished:
    """Run a command. Raises `Fault` (Unavailable) where there is no sandbox, and `sandbox.NotStarted`."""
    try:
        return await sandbox.run(command)
    except sandbox.Unavailable as missing:
        raise Fault(FaultKind.UNAVAILABLE, f"{missing}; {WITHOUT}", final=True) from None


class Process:
    """The function, with the deployment's word on what may be run."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._binding = settings(world)
        self._slots = asyncio.Semaphore(self._binding.concurrent)

    async def run(self, command: str, arguments: list[str], input: str, folder: str, *, call: CallContext) -> dict[str, object]:
        """Run a command to its end, as the record `Finished` of `std/process`. Raises `Failure` and `Fault`, as the tool says."""
        binding = self._binding
        if command not in binding.commands:
            allowed = ", ".join(f"`{name}`" for name in binding.commands)
            raise _not_allowed(command, f"the allow-list has {allowed}" if allowed else f"the allow-list is empty: {_LINE}")
        space = workspace(self._world, call.tenant)
        root = space.root.resolve()
        read = tuple(Path(path) for path in binding.read)
        try:
            program = find(command, root, read, sandboxed=binding.sandboxed)
        except NoProgram as missing:
            raise _not_allowed(command, str(missing)) from None
        asked = sandbox.Command(
            root,
            (program, *arguments),
            folder,
            binding.environment,
            input.encode(),
            limits(binding),
            binding.network,
            read,
            writable=space.write,
            sandboxed=binding.sandboxed,
            kept=(self._world.root, self._world.folder),
        )
        async with self._slots:
            try:
                done = await finished(replace(asked, limits=in_time(asked.limits, call, self._world.clock)))
            except sandbox.NotStarted as problem:
                raise Failure("NotStarted", {"command": command[:1_000], "reason": str(problem)[:1_000]}) from None
        return {
            "exit_code": done.exit_code,
            "signal": done.signal,
            "stdout": done.stdout,
            "stderr": done.stderr,
            "stdout_cut": done.stdout_cut,
            "stderr_cut": done.stderr_cut,
            "stopped": done.stopped,
            "seconds": done.seconds,
        }


def in_time(given: sandbox.Limits, call: CallContext, clock: Clock) -> sandbox.Limits:
    """The limits with the time that the call has left, if that is less."""
    left = max(_SHORTEST, (call.deadline - clock.now()) * 1_000 - _MARGIN)
    # The moment beside the length: on a busy machine starting a sandbox takes longer than the margin.
    return replace(given, time=int(left), until=time.monotonic() + left / 1_000) if left < given.time else given


def _not_allowed(command: str, reason: str) -> Failure:
    return Failure("NotAllowed", {"command": command[:1_000], "reason": reason[:1_000]})
