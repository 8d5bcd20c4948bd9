"""The processes of `ael up`: started, kept up, and ended together. Loaded only for that."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

import ael
from ael.cli.interrupt import caught, released
from ael.cli.progress import clean
from ael.cli.up import Part

_BOOT = """
import os, signal, sys, threading
def watch():
    while os.read(0, 4096):
        pass
    # Nobody reads what is said from here on, and saying it must not fail.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    os.kill(os.getpid(), signal.SIGTERM)
threading.Thread(target=watch, daemon=True).start()
sys.path.insert(0, sys.argv.pop(1))
from ael.cli.main import main
sys.exit(main())
"""
"""What a process runs: this very package, which is told to end by the end of its standard input, however its parent ends."""
_BACKOFF = (0.5, 10.0)
"""Seconds before a process that ended is started again: the first, doubled up to the last."""
_STEADY = 30.0
"""After so long a process that ends was well: the backoff begins anew."""
_LONGEST = 64 * 1024
"""Bytes of a line that is printed whole."""
_CANNOT = 2
"""The exit code of a command that cannot begin."""


def keep_up(parts: Sequence[Part]) -> int:
    """Start the processes and keep them up until a signal. Gives the exit code."""
    return asyncio.run(_Crew(parts).run())


class _Crew:
    def __init__(self, parts: Sequence[Part]) -> None:
        self._parts = parts
        self._wide = max(len(part.name) for part in parts)
        self._ending = asyncio.Event()
        self._processes: dict[str, asyncio.subprocess.Process] = {}
        self._signals = 0
        self._code = 0

    async def run(self) -> int:
        loop = asyncio.get_running_loop()

        def told(number: int, frame: FrameType | None) -> None:
            loop.call_soon_threadsafe(self._signal)

        before = {number: caught(number, told) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            async with asyncio.TaskGroup() as group:
                for part in self._parts:
                    group.create_task(self._keep(part))
        finally:
            released(before)
        return self._code

    def _signal(self) -> None:
        self._signals += 1
        self._end(kill=self._signals > 1)

    def _end(self, *, kill: bool = False) -> None:
        self._ending.set()
        for process in self._processes.values():
            if process.returncode is None:
                process.kill() if kill else process.terminate()

    async def _keep(self, part: Part) -> None:
        """Run a process again and again, until all are to end."""
        loop, wait = asyncio.get_running_loop(), _BACKOFF[0]
        while not self._ending.is_set():
            began = loop.time()
            code = await self._once(part)
            if self._ending.is_set():
                return
            if code == _CANNOT:
                self._say(part, "cannot begin; what it says stands above")
                self._code = _CANNOT
                self._end()
                return
            wait = _BACKOFF[0] if loop.time() - began >= _STEADY else min(wait * 2, _BACKOFF[1])
            self._say(part, f"ended with the exit code {code}; started again in {wait:g} s")
            try:
                async with asyncio.timeout(wait):
                    await self._ending.wait()
            except TimeoutError:
                continue

    async def _once(self, part: Part) -> int:
        """Run a process to its end. Gives its exit code."""
        command = (sys.executable, "-I", "-c", _BOOT, str(Path(ael.__file__).resolve().parent.parent), *part.words)
        process = await asyncio.create_subprocess_exec(
            *command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT, limit=_LONGEST,
            # An interrupt of the terminal is for this process, which tells the others.
            start_new_session=True,
        )  # fmt: skip
        self._processes[part.name] = process
        if self._ending.is_set():
            process.terminate()
        try:
            await self._told(part, process)
            return await process.wait()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
            if process.stdin is not None:
                process.stdin.close()

    async def _told(self, part: Part, process: asyncio.subprocess.Process) -> None:
        """Print its lines, until it has none any more."""
        assert process.stdout is not None
        while True:
            try:
                line = await process.stdout.readuntil()
            except asyncio.IncompleteReadError as ended:
                if ended.partial:
                    self._print(part, ended.partial)
                return
            except asyncio.LimitOverrunError:
                line = await process.stdout.read(_LONGEST)
            self._print(part, line)

    def _print(self, part: Part, line: bytes) -> None:
        self._say(part, line.decode(errors="replace").rstrip("\r\n"))

    def _say(self, part: Part, text: str) -> None:
        print(f"{part.name:<{self._wide}} | {clean(text)}", flush=True, file=sys.stderr)
