"""What a command in the sandbox may ask of the kernel: it has no privileges, gets none, and reaches no other process."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys

import pytest

from ael.natives import sandbox_calls, sandbox_filter
from tests.sandbox.box import Box

pytestmark = pytest.mark.feature("A15.4", "K41")

CALLS = """
    import ctypes, os, sys
    libc = ctypes.CDLL(None, use_errno=True)
    for number in map(int, sys.argv[1:]):
        pid = os.fork()
        if pid == 0:
            result = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(0)] * 6)
            os._exit(ctypes.get_errno() if result < 0 else 0)
        print(number, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""


def test_there_are_no_privileges_and_none_to_get(box: Box) -> None:
    told = box.says("print(open('/proc/self/status').read())")
    status = dict(line.split(":\t", 1) for line in told.splitlines() if ":\t" in line)
    for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert int(status[name], 16) == 0, name
    assert status["NoNewPrivs"] == "1"
    assert status["Seccomp"] == "2"
    assert status["Uid"].split() == ["1000"] * 4
    # Where the memory of the machine runs out, commands go before AEL.
    assert box.says("print(open('/proc/self/oom_score_adj').read())") == "1000"


def test_a_file_that_sets_the_user_does_not(box: Box) -> None:
    told = box.says("""
        import os, shutil, subprocess
        shutil.copy("/bin/sh", "sh")
        os.chmod("sh", 0o6755)
        print(subprocess.run(["./sh", "-p", "-c", "id -u; grep CapEff /proc/self/status"], capture_output=True, text=True).stdout)
    """)
    assert told.split() == ["1000", "CapEff:", "0000000000000000"]


def test_calls_that_attack_the_walls_are_refused(box: Box) -> None:
    column = 0 if sandbox_calls.MACHINE == "x86_64" else 1
    tables = ((sandbox_filter._REFUSED, 1), (sandbox_filter._UNSUPPORTED, 95), (sandbox_filter._ABSENT, 38))
    expected = {numbers[column]: answer for table, answer in tables for numbers in table.values() if numbers[column] is not None}
    told = dict(tuple(map(int, line.split())) for line in box.says(CALLS, *map(str, expected)).splitlines())
    assert told == expected


def test_calls_of_another_machine_are_refused(box: Box) -> None:
    """The same kernel takes calls with the numbers of its other kinds of programs, which a filter that knows one kind would let through."""
    if sandbox_calls.MACHINE != "x86_64":
        return
    numbers = [0x40000000 | 101, 0x40000000 | 165, 0x40000000 | 39]
    assert box.says(CALLS, *map(str, numbers)).splitlines() == [f"{number} 38" for number in numbers]


def test_there_are_no_new_namespaces(box: Box) -> None:
    """With a namespace of its own a command would be its root, and meet much more of the kernel."""
    told = box.says("""
        import ctypes, os
        libc = ctypes.CDLL(None, use_errno=True)
        clone = {"x86_64": 56, "aarch64": 220}[os.uname().machine]
        for flag in (0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000):
            results = [libc.unshare(flag), libc.syscall(ctypes.c_long(clone), ctypes.c_long(flag | 17), *[ctypes.c_long(0)] * 4)]
            if 0 in results:
                os._exit(1)
            print(results)
    """)
    assert told.splitlines() == ["[-1, -1]"] * 7


def test_nothing_can_be_mounted_or_left(box: Box) -> None:
    told = box.says("""
        import os, subprocess
        for words in ("mount -t tmpfs none /tmp", "umount /proc", "chroot /tmp", "unshare -Ur true", "mknod n b 8 0"):
            try:
                print(subprocess.run(words.split(), capture_output=True).returncode != 0)
            except FileNotFoundError:
                print(True)
    """)
    assert told.splitlines() == ["True"] * 5


def test_other_processes_are_not_there(box: Box) -> None:
    """No number reaches a process outside: not that of AEL, not that of its supervisor, not every number there is."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as victim:
        told = box.says(
            """
            import ctypes, os, sys
            libc = ctypes.CDLL(None, use_errno=True)
            print("pid", os.getpid(), "of", sorted(int(n) for n in os.listdir("/proc") if n.isdigit()))
            for pid in map(int, sys.argv[1:]):
                for number in (0, 9, 19):
                    try:
                        os.kill(pid, number)
                        print("SIGNALLED", pid)
                    except OSError as error:
                        print("refused", error.errno)
                print("PTRACED" if libc.ptrace(16, pid, 0, 0) == 0 else "refused")
            """,
            str(os.getpid()), str(victim.pid), str(os.getppid()),
        )  # fmt: skip
        assert victim.poll() is None
        victim.communicate(b"\n")
    head, *rest = told.splitlines()
    assert head == "pid 2 of [1, 2]"
    assert {line.split()[0] for line in rest} == {"refused"}


def test_the_first_process_of_the_sandbox_is_out_of_reach(box: Box) -> None:
    """It tells how the command ended: who could write into it could lie."""
    told = box.says("""
        import ctypes, os
        libc = ctypes.CDLL(None, use_errno=True)
        os.kill(1, 9)
        os.kill(1, 19)
        for name in ("mem", "environ", "fd/2", "root/etc/passwd", "cwd/etc/passwd", "maps"):
            try:
                print("SEEN", open(f"/proc/1/{name}", "r+b" if name == "mem" else "rb").read(1))
            except OSError as error:
                print("refused")
        print("SEEN" if libc.ptrace(16, 1, 0, 0) == 0 else "refused")
    """)
    assert told.split() == ["refused"] * 7


def test_all_processes_killed_are_its_own(box: Box) -> None:
    told = box.says("""
        import os, subprocess
        child = subprocess.Popen(["sleep", "100"])
        os.kill(-1, 9)
        print(child.wait())
    """)
    assert told == "-9"


def test_no_descriptor_and_no_terminal_is_inherited(box: Box) -> None:
    reading, writing = os.pipe()
    os.set_inheritable(writing, True)
    try:
        told = box.says("""
            import os
            print(sorted(int(n) for n in os.listdir("/proc/self/fd"))[:3], len(os.listdir("/proc/self/fd")))
            print(repr(os.read(0, 10)), os.isatty(0), os.getsid(0) == os.getpid())
            try:
                os.open("/dev/tty", os.O_RDWR)
            except OSError:
                print("no terminal")
        """)
    finally:
        os.close(reading)
        os.close(writing)
    # The fourth is the listing's own.
    assert told.splitlines() == ["[0, 1, 2] 4", "b'' False True", "no terminal"]


def test_input_is_what_is_given(box: Box) -> None:
    data = os.urandom(300_000)
    told = box.says("import sys, hashlib; print(hashlib.sha256(sys.stdin.buffer.read()).hexdigest())", stdin=data)
    assert told == hashlib.sha256(data).hexdigest()
