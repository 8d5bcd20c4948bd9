"""A command without walls, because the deployment says so: its limits hold, and what it started is ended with it."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from typing import Any

from ael.natives import sandbox_calls as calls
from ael.natives import sandbox_inside, sandbox_supervise, sandbox_watch


class Plain(sandbox_supervise.Supervisor):
    """The supervisor of such a command: on Linux it adopts all that the command starts."""

    def run(self) -> dict[str, Any]:
        if sandbox_supervise.LINUX:
            calls.prctl("subreaper", calls.PR_SET_CHILD_SUBREAPER, 1)
        standard = self.standard()
        self.begin()
        command = os.fork()
        if command == 0:
            if sandbox_supervise.LINUX:
                calls.prctl("death signal", calls.PR_SET_PDEATHSIG, signal.SIGKILL)
            sandbox_inside.become(self.spec, self.far, standard)
        self.far.close()
        for descriptor in standard:
            os.close(descriptor)
        self.supervise(command, self._usage, lambda: None)
        if sandbox_supervise.LINUX:
            self._end(command)
        else:
            self._end_group(command)
        return self.finish()

    def _usage(self) -> sandbox_watch.Usage:
        if not sandbox_supervise.LINUX:
            return sandbox_watch.Usage()
        proc = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            return sandbox_watch.usage(proc, sandbox_watch.descendants(proc, os.getpid()), self.limits["memory"])
        finally:
            os.close(proc)

    def _end(self, command: int) -> None:
        """Kill everything that is left. What forks faster than it is killed is stopped first."""
        proc = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        reached = True
        while reached and self._reap(command):
            left = list(sandbox_watch.descendants(proc, os.getpid()))
            reached = False
            for number in (signal.SIGSTOP, signal.SIGKILL):
                for pid in left:
                    # Who has ended meanwhile is not taken leave of yet, so its number is nobody else's. Who has become another user
                    # cannot be ended.
                    with contextlib.suppress(ProcessLookupError, PermissionError):
                        os.kill(pid, number)
                        reached = True

    def _end_group(self, command: int) -> None:
        """Kill the command and what stayed in its group: all that can be found where nobody tells who descends from whom."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(command, signal.SIGKILL)
        while self.status is None:
            self.status = os.waitpid(command, 0)[1]

    def _reap(self, command: int) -> bool:
        """Take leave of all that has ended; False when there is nobody left."""
        try:
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    time.sleep(0.002)
                    return True
                if pid == command:
                    self.status = status
        except ChildProcessError:
            return False
