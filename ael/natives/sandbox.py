"""Running one program in a sandbox: a view of the workspace and the system, nothing of this process, bounded in every resource.

`docs/decisions/sandbox.md` says how it is built. `std/process` and `std/code` run commands through `run`, and nothing else does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

__all__ = ["Command", "Finished", "Limits", "NotStarted", "Unavailable", "run"]

Stopped = Literal["time", "memory", "disk", "processes"]
"""The limit for which a command was killed, with all that it had started."""


@dataclass(frozen=True)
class Limits:
    """What one command may use. `time` and `cpu` in milliseconds, sizes in bytes.

    `time`: from start to end. `cpu`: of each process. `memory`: of all its processes together. `file`: the largest file that it
    writes, `disk`: what all of it writes. `files`: open in one process. `processes`: beside each other. `output`: what is kept of
    standard output, and as much of standard error.
    """

    time: int = 60_000
    cpu: int = 60_000
    memory: int = 2 * 1024**3
    file: int = 256 * 1024**2
    disk: int = 1024**3
    files: int = 1_024
    processes: int = 256
    output: int = 16 * 1024


@dataclass(frozen=True)
class Command:
    """A program to run. `argv[0]` is its absolute path, outside of the workspace.

    `root`: the workspace, which it sees under its own path, and alone may write to. `folder`: the working directory, relative to
    `root`. `environment`: the variables that it gets beside PATH, HOME, TMPDIR, LANG, TERM; nothing of this process's is handed on.
    `read`: what it may read beside the workspace and the system's programs. `sandboxed=False`: the deployment says in so many words
    that it does without a sandbox; limits and the clean environment hold there too.
    """

    root: Path
    argv: tuple[str, ...]
    folder: str = "."
    environment: Mapping[str, str] = field(default_factory=dict)
    stdin: bytes = b""
    limits: Limits = Limits()
    network: bool = False
    read: tuple[Path, ...] = ()
    writable: bool = True
    sandboxed: bool = True


@dataclass(frozen=True)
class Finished:
    """How a command ended; nothing that it started is alive any more.

    Exactly one of `exit_code` and `signal` is there. `stopped` says for which limit it was killed. A long output keeps its beginning and
    its end, with a line in between that says how many bytes are missing: `stdout_cut`, `stderr_cut`. `seconds`: how long it ran.
    """

    exit_code: int | None
    signal: int | None
    stdout: str
    stderr: str
    stdout_cut: bool
    stderr_cut: bool
    stopped: Stopped | None
    seconds: float

    @property
    def timed_out(self) -> bool:
        """Whether it was killed because its time was up."""
        return self.stopped == "time"


class Unavailable(Exception):
    """This machine has no sandbox: nothing was started. The message says which part is missing, and what to do."""


class NotStarted(Exception):
    """The program could not be started: it is not there, or its folder is not in the workspace. The message says why."""


async def run(command: Command) -> Finished:
    """Run `command` to its end, and end all that it started, also when cancelled. Raises `Unavailable`, `NotStarted`."""
    raise Unavailable("the sandbox is not built yet")
