"""Running one program in a sandbox: a view of the workspace and the system, nothing of this process, bounded in every resource.

`docs/decisions/sandbox.md` says how it is built. `std/process` and `std/code` run commands through `run`, and nothing else does.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import ael

__all__ = ["Command", "Finished", "Layers", "Limits", "Lost", "NotStarted", "Unavailable", "layers", "run"]

Stopped = Literal["time", "memory", "disk", "processes"]
"""The limit for which a command was killed, with all that it had started."""


@dataclass(frozen=True)
class Limits:
    """What one command may use. `time` and `cpu` in milliseconds, sizes in bytes.

    `time`: from start to end. `until`: the moment of this machine's monotonic clock, in seconds, at which it ends at the latest; unlike
    `time` it counts what starting takes. `cpu`: of each process. `memory`: of all its processes together. `file`: the largest file that it
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
    until: float | None = None


@dataclass(frozen=True)
class Command:
    """A program to run. `argv[0]` is its absolute path, outside of the workspace.

    `root`: the workspace, which it sees under its own path, and alone may write to. `folder`: the working directory, relative to
    `root`. `environment`: the variables that it gets beside PATH, HOME, TMPDIR, LANG, TERM; nothing of this process's is handed on.
    `read`: what it may read beside the workspace and the system's programs. `sandboxed=False`: the deployment says in so many words
    that it does without a sandbox; limits and the clean environment hold there too. `kept`: what a command may only read although it lies
    in the workspace, such as the program that runs it; AEL's own code and Python are kept by themselves.
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
    kept: tuple[Path, ...] = ()


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


@dataclass(frozen=True)
class Layers:
    """The walls that this machine has. `missing`: what keeps it from having a sandbox at all; empty where it has one.

    `landlock`: the version of its interface, 0 for none. `pids`: whether the kernel itself bounds the number of processes; else they are
    counted, and ended when there are too many. `proc`: whether commands have a /proc. Namespaces for users, mounts, processes, IPC and
    the network, the filter of system calls and the end of all privileges are always there where there is a sandbox.
    """

    missing: str = ""
    landlock: int = 0
    pids: bool = False
    proc: bool = False


HOME = "/tmp/home"
"""The home folder in the sandbox: empty, and gone with it."""

_BOOT = "import sys; sys.path.append(sys.argv[1]); from ael.natives.sandbox_launch import main; main()"
STARTED = b"started\n"
"""The supervisor's first word, just before a command may act."""
_MOST = 64 * 1024 * 1024
"""Bytes of the answer of a supervisor; it keeps far less."""
_GRACE = 30.0
"""Seconds in which the supervisor itself ends a command whose time is up; then it is ended with it."""
_ENDING = 10.0
_OWN = ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/proc", "/dev", "/sys", "/run", "/tmp")
"""What a workspace may neither be nor hold."""


class Lost(ConnectionError):
    """The supervisor died while the command ran. So did the command, and what it said is lost: what it did may stand."""


async def run(command: Command) -> Finished:
    """Run `command` to its end, and end all that it started, also when cancelled. Raises `Unavailable`, `NotStarted`, `Lost`."""
    _check(command)
    if command.sandboxed or "HOME" in command.environment:
        answer = await _supervised(command)
    else:
        # Neither the user's own, which has secrets, nor the workspace: whoever writes there would set up `git` and others.
        home = await asyncio.to_thread(tempfile.mkdtemp, prefix="ael-home-")
        try:
            answer = await _supervised(replace(command, environment={**command.environment, "HOME": home}))
        finally:
            await asyncio.shield(asyncio.to_thread(shutil.rmtree, home, ignore_errors=True))
    if answer is None:
        # Whoever should have ended it did not: the end of its supervisor was its end.
        return Finished(None, 9, "", "", False, False, "time", command.limits.time / 1000)
    return _finished(answer)


@functools.lru_cache(maxsize=1)
def layers() -> Layers:
    """What this machine has, found by building a sandbox once in which nothing is run."""
    with tempfile.TemporaryDirectory(prefix="ael-sandbox-") as folder:
        command = Command(Path(folder).resolve(), ("/bin/true",))
        try:
            _platform(command)
            done = subprocess.run(
                _launcher(), input=_order(command, probe=True), capture_output=True, env={}, cwd="/", timeout=60, check=False
            )
            answer = json.loads(done.stdout.removeprefix(STARTED))
        except Unavailable as error:
            return Layers(str(error))
        except (OSError, ValueError, subprocess.TimeoutExpired):
            return Layers(_without("its supervisor cannot be started"))
    if "missing" in answer:
        return Layers(_without(answer["missing"]))
    found = answer["layers"]
    return Layers("", found["landlock"], found["pids"], found["proc"])


def _check(command: Command) -> None:
    """Raises `Unavailable`, `NotStarted`."""
    _platform(command)
    root = str(command.root)
    if not command.root.is_dir() or os.path.realpath(root) != root:
        note = "the deployment names it in its `files` line, and it has to be there"
        raise NotStarted(f"the workspace `{command.root.name}` is no folder; {note}")
    below = root.rstrip("/") + "/"
    if command.sandboxed and any(own == root or own.startswith(below) for own in _OWN):
        raise NotStarted(f"`{root}` cannot be a workspace: it holds what belongs to the system")
    program = command.argv[0] if command.argv else ""
    if not os.path.isabs(program) or os.path.realpath(program).startswith(below) or program.startswith(below):
        raise NotStarted("a program is an absolute path outside of the workspace")
    _kept(command)
    for path in command.read:
        if os.path.realpath(path) != str(path) or str(path).startswith(below) or str(path) == "/" or not path.exists():
            raise NotStarted(f"`{path}` cannot be shown in the sandbox: it is not there, a link, or in the workspace")
    words = (*command.argv, command.folder, *command.environment, *command.environment.values())
    if any("\0" in word for word in words) or any("=" in name for name in command.environment):
        raise NotStarted("an argument holds a zero byte, or the name of a variable a `=`")


def _kept(command: Command) -> list[str]:
    """The entries of the workspace that are only read, because what decides about commands lies in them. Raises `NotStarted`.

    A whole entry of the workspace's own folder: something deeper could be moved away with the folder around it.
    """
    if not (command.sandboxed and command.writable):
        return []
    own = (Path(ael.__file__).parent, Path(sys.executable), Path(sys.prefix), Path(sys.base_prefix))
    found: set[str] = set()
    for path in {place for given in (*own, *command.kept) for place in (given.absolute(), given.resolve())}:
        if path == command.root:
            raise NotStarted(
                "the workspace holds what decides about commands, and a command could change it: the program, its deployment or AEL "
                "itself; give it a folder of its own"
            )
        if path.is_relative_to(command.root):
            entry = command.root / path.relative_to(command.root).parts[0]
            if entry.is_symlink():
                raise NotStarted(f"`{entry.name}` in the workspace is a link that what decides about commands is found through")
            found.add(str(entry))
    return sorted(entry for entry in found if os.path.exists(entry))


def _platform(command: Command) -> None:
    if sys.platform == "win32":
        raise Unavailable("commands are run on Linux and macOS alone")
    if sys.platform != "linux" and command.sandboxed:
        raise Unavailable(_without("there is one on Linux alone"))


def _without(why: str) -> str:
    return f"this machine has no sandbox for commands: {why}"


def _environment(command: Command) -> dict[str, str]:
    """All variables of a command: a few that every program wants, and what is given."""
    tools = [f"{path}/bin" for path in command.read if (path / "bin").is_dir()]
    folders = dict.fromkeys([os.path.dirname(command.argv[0]), *tools, "/usr/local/bin", "/usr/bin", "/bin"])
    own = {"PATH": ":".join(folders), "LANG": "C.UTF-8", "TERM": "dumb", "NO_COLOR": "1", "USER": "sandbox", "LOGNAME": "sandbox"}
    if command.sandboxed:
        own |= {"HOME": HOME, "TMPDIR": "/tmp"}
    return {**own, **command.environment}


def _launcher() -> Sequence[str]:
    """Raises `Unavailable`."""
    if not sys.executable:
        raise Unavailable(_without("the Python that runs AEL does not say where it is"))
    return (sys.executable, "-I", "-S", "-X", "utf8", "-c", _BOOT, str(Path(ael.__file__).resolve().parent.parent))


def _order(command: Command, *, probe: bool = False) -> bytes:
    """What the supervisor is told."""
    told = {
        "parent": os.getpid(),
        "probe": probe,
        "root": str(command.root),
        "argv": command.argv,
        "folder": command.folder,
        "environment": _environment(command),
        "stdin": command.stdin.hex(),
        "limits": asdict(command.limits),
        "network": command.network,
        "read": [str(path) for path in command.read],
        "writable": command.writable,
        "sandboxed": command.sandboxed,
        "kept": _kept(command),
        "home": HOME,
    }
    data = json.dumps(told).encode()
    return struct.pack("=I", len(data)) + data


async def _supervised(command: Command) -> dict[str, Any] | None:
    """What the supervisor tells; None where it had to be ended. Raises `Unavailable`, `Lost`."""
    try:
        process = await asyncio.create_subprocess_exec(
            *_launcher(), stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
            env={}, cwd="/", start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        raise Unavailable(_without(f"its supervisor cannot be started: {error.strerror}")) from error
    try:
        async with asyncio.timeout(command.limits.time / 1000 + _GRACE):
            told = await _asked(process, _order(command))
    except TimeoutError:
        return None
    finally:
        await _ended(process)
    _, started, answer = told.rpartition(STARTED)
    try:
        return dict(json.loads(answer))
    except ValueError:
        pass
    if started:
        raise Lost("the supervisor of a command died, and the command with it")
    raise Unavailable(_without("its supervisor cannot start"))


async def _asked(process: asyncio.subprocess.Process, order: bytes) -> bytes:
    assert process.stdin is not None
    assert process.stdout is not None
    with contextlib.suppress(ConnectionError):
        process.stdin.write(order)
        await process.stdin.drain()
    told = bytearray()
    while (more := await process.stdout.read(1 << 18)) and len(told) < _MOST:
        told += more
    return bytes(told)


async def _ended(process: asyncio.subprocess.Process) -> None:
    """See the supervisor to its end: that its input ends tells it to end everything. Goes on when this task is cancelled again."""
    ending = asyncio.ensure_future(_end(process))
    cancelled = False
    while not ending.done():
        try:
            await asyncio.shield(ending)
        except asyncio.CancelledError:
            cancelled = True
    if cancelled:
        raise asyncio.CancelledError


async def _end(process: asyncio.subprocess.Process) -> None:
    assert process.stdin is not None
    process.stdin.close()
    try:
        async with asyncio.timeout(_ENDING):
            await process.wait()
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


def _finished(answer: dict[str, Any]) -> Finished:
    """Raises `Unavailable`, `NotStarted`."""
    if "missing" in answer:
        raise Unavailable(_without(answer["missing"]))
    if "not_started" in answer:
        raise NotStarted(answer["not_started"])
    return Finished(
        exit_code=answer["exit_code"],
        signal=answer["signal"],
        stdout=answer["stdout"],
        stderr=answer["stderr"],
        stdout_cut=answer["stdout_cut"],
        stderr_cut=answer["stderr_cut"],
        stopped=answer["stopped"],
        seconds=answer["seconds"],
    )
