"""What a command leaves behind: nothing. However it ends, and whatever it started, all of it is gone when its end is told."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ael.natives import sandbox
from tests.sandbox.box import Box

pytestmark = pytest.mark.feature("A15.4", "K39")
ROOT = Path(__file__).resolve().parents[2]

DAEMON = """
    import os, sys, time
    # Twice forked, in a session of its own, deaf to signals, all its descriptors closed.
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            import signal
            for number in range(1, 32):
                try:
                    signal.signal(number, signal.SIG_IGN)
                except OSError:
                    pass
            os.closerange(0, 3)
            open("alive", "w").write("x")
            time.sleep(1000)
        os._exit(0)
    while not os.path.exists("alive"):
        time.sleep(0.01)
"""


def inside(root: Path) -> list[int]:
    """The processes whose working folder is in a workspace."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                here = os.readlink(f"/proc/{name}/cwd")
            except OSError:
                continue
            if here.startswith(str(root)):
                found.append(int(name))
    return found


def until(true: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it never came about"
        time.sleep(0.02)


@pytest.mark.parametrize("sandboxed", [True, False])
def test_what_was_left_in_the_background_is_ended(box: Box, sandboxed: bool) -> None:
    done = box.py(DAEMON, sandboxed=sandboxed)
    assert (done.exit_code, done.stopped) == (0, None)
    assert (box.root / "alive").exists()
    assert inside(box.root) == []


@pytest.mark.parametrize("sandboxed", [True, False])
def test_what_a_command_started_ends_with_its_time(box: Box, sandboxed: bool) -> None:
    done = box.py(DAEMON + "    time.sleep(1000)\n", sandboxed=sandboxed, time=1_500)
    assert (done.exit_code, done.signal, done.stopped, done.timed_out) == (None, 9, "time", True)
    assert inside(box.root) == []


def test_zombies_are_taken_leave_of(box: Box) -> None:
    told = box.says("""
        import os, time
        for _ in range(500):
            if os.fork() == 0:
                if os.fork() == 0:
                    os._exit(0)
                os._exit(0)
            os.wait()
        end = time.monotonic() + 60
        while len([n for n in os.listdir("/proc") if n.isdigit()]) > 2 and time.monotonic() < end:
            time.sleep(0.01)
        print([n for n in os.listdir("/proc") if n.isdigit()])
    """)
    assert told == "['1', '2']"


def test_how_a_command_ended_is_told(box: Box) -> None:
    assert box.run("/bin/sh", "-c", "exit 7").exit_code == 7
    killed = box.run("/bin/sh", "-c", "kill -TERM $$")
    assert (killed.exit_code, killed.signal, killed.stopped) == (None, signal.SIGTERM, None)
    pipe = box.run("/bin/sh", "-c", "yes | head -n 1; echo ${PIPESTATUS:-}")
    assert (pipe.exit_code, pipe.stdout) == (0, "y\n\n")


PORTABLE = """
import sys
sys.path.append(sys.argv[1])
from ael.natives import sandbox_launch, sandbox_supervise
sandbox_supervise.LINUX = False
sandbox_launch.main()
"""


def test_without_a_sandbox_on_a_system_that_is_not_linux(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same with what every POSIX system has: it ends the group of the command, which is what can be found there."""
    monkeypatch.setattr(sandbox, "_BOOT", PORTABLE)
    box = Box(tmp_path.resolve())
    code = "import sys; print(sys.stdin.read()); sys.exit(5)"
    done = box.py(code, stdin=b"hello", sandboxed=False)
    assert (done.exit_code, done.stdout, done.stopped) == (5, "hello\n", None)
    done = box.run("/bin/sh", "-c", "echo begun; sleep 1000 & sleep 1000", sandboxed=False, time=1_500)
    assert (done.signal, done.stdout, done.stopped) == (9, "begun\n", "time")
    with pytest.raises(sandbox.NotStarted, match="no such program"):
        box.run("/usr/bin/none-such", sandboxed=False)
    asyncio.run(_cancelled(box, False))
    until(lambda: inside(box.root) == [])


async def _cancelled(box: Box, sandboxed: bool) -> None:
    command = box.command(sys.executable, "-I", "-c", "open('alive', 'w'); import time; time.sleep(1000)", sandboxed=sandboxed)
    task = asyncio.ensure_future(sandbox.run(command))
    while not (box.root / "alive").exists():
        await asyncio.sleep(0.02)
    task.cancel()
    await asyncio.sleep(0)
    # Once more, while it ends.
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize("sandboxed", [True, False])
def test_a_cancelled_command_is_ended(box: Box, sandboxed: bool) -> None:
    asyncio.run(_cancelled(box, sandboxed))
    assert inside(box.root) == []


CALLER = """
import asyncio, sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from tests.sandbox.box import Box
from ael.natives.sandbox import run
box = Box.__new__(Box)
box.root = Path(sys.argv[2])
code = "import os, time\\nif os.fork() == 0: os.setsid()\\nopen(f'alive{os.getpid()}', 'w'); time.sleep(1000)"
asyncio.run(run(box.command(sys.executable, "-I", "-c", code, sandboxed=sys.argv[3] == "True")))
"""


def test_all_ends_when_the_caller_is_killed(box: Box) -> None:
    """kill -9 of AEL: nobody is left to end anything, and yet nothing goes on."""
    words = [sys.executable, "-c", CALLER, str(ROOT), str(box.root), "True"]
    with subprocess.Popen(words) as caller:
        until(lambda: len(list(box.root.glob("alive*"))) == 2)
        assert len(inside(box.root)) >= 2
        caller.send_signal(signal.SIGKILL)
    until(lambda: inside(box.root) == [])


def test_all_ends_when_the_supervisor_is_killed(box: Box) -> None:
    async def run() -> None:
        task = asyncio.ensure_future(sandbox.run(box.command(sys.executable, "-I", "-c", DAEMON_ALONE)))
        while not (box.root / "alive").exists():
            await asyncio.sleep(0.02)
        # The process in the workspace, the first of its namespace above it, and the supervisor above that.
        (command,) = inside(box.root)
        supervisor = parent(parent(command))
        os.kill(supervisor, signal.SIGKILL)
        with pytest.raises(sandbox.Lost, match="the supervisor of a command died"):
            await task

    asyncio.run(run())
    until(lambda: inside(box.root) == [])


DAEMON_ALONE = "open('alive', 'w'); import time; time.sleep(1000)"


def parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def test_many_run_beside_each_other(box: Box) -> None:
    """Each gets its own output, its own /tmp and its own end, and nothing is left of any."""

    async def one(number: int) -> str:
        code = f"import os; open('/tmp/n', 'x').write('{number}'); print(open('/tmp/n').read(), os.getpid())"
        done = await sandbox.run(box.command(sys.executable, "-I", "-c", code))
        return done.stdout.strip()

    async def run() -> list[str]:
        return await asyncio.gather(*(one(number) for number in range(24)))

    before = len(os.listdir("/proc/self/fd"))
    assert asyncio.run(run()) == [f"{number} 2" for number in range(24)]
    assert len(os.listdir("/proc/self/fd")) == before
    assert inside(box.root) == []
