"""What a command may use is bounded: output, time, processes, memory, files. Passing a bound is a value, and the machine goes on."""

from __future__ import annotations

import resource
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ael.natives.sandbox import layers
from ael.natives.sandbox_output import Kept
from tests.sandbox.box import Box

pytestmark = pytest.mark.feature("A15.4", "K39")
MEGABYTE = 1 << 20


def test_a_long_output_keeps_its_beginning_and_its_end(box: Box) -> None:
    done = box.py("""
        import sys
        print("first")
        for _ in range(200):
            sys.stdout.write("o" * 1_000_000)
        print("last")
        sys.stderr.write("e" * 100)
    """, output=2_000)  # fmt: skip
    assert done.exit_code == 0
    assert done.stdout.startswith("first\nooo")
    assert done.stdout.endswith("ooolast\n")
    assert "\n[… 199,998,011 bytes left out …]\n" in done.stdout
    assert (done.stdout_cut, done.stderr_cut) == (True, False)
    assert len(done.stdout) < 2_100
    assert done.stderr == "e" * 100


def test_an_endless_output_ends_with_the_time_and_nobody_holds_it(box: Box) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    done = box.run("/bin/sh", "-c", "yes yes yes yes yes & yes no >&2", time=2_000, output=4_096)
    assert done.timed_out
    assert (done.stdout_cut, done.stderr_cut) == (True, True)
    # Kilobytes: far below what came out.
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000


def test_output_that_is_no_text(box: Box) -> None:
    done = box.py(r"import sys; sys.stdout.buffer.write(b'a\x00\xff\xc3(\xe2\x82b')")
    assert done.stdout == "a��" + "�(�b"


@given(st.lists(st.binary(max_size=300), max_size=30), st.integers(2, 400))
def test_what_is_kept_is_bounded_and_true(pieces: list[bytes], limit: int) -> None:
    kept = Kept(limit)
    for piece in pieces:
        kept.feed(piece)
    whole = b"".join(pieces)
    assert kept.total == len(whole)
    assert kept.cut == (len(whole) > limit)
    if not kept.cut:
        assert kept.text() == whole.decode("utf-8", "replace").replace("\0", "�")
    else:
        head, _, rest = kept.text().partition("\n[… ")
        number, _, tail = rest.partition(" bytes left out …]\n")
        assert int(number.replace(",", "")) == len(whole) - limit
        assert len(head.encode()) + len(tail.encode()) <= 3 * limit


def test_time_is_bounded_for_what_spins_and_what_sleeps(box: Box) -> None:
    for code in ("while True: pass", "import time; time.sleep(1000)", "import signal; signal.pause()"):
        done = box.py(code, time=800)
        assert (done.exit_code, done.signal, done.stopped) == (None, 9, "time")


def test_what_starting_takes_counts_where_a_moment_is_the_bound(box: Box) -> None:
    """A call ends at a moment, however long a busy machine takes to start the command in it."""
    done = box.py("import time; time.sleep(1000)", time=600_000, until=time.monotonic())
    assert done.timed_out


def test_the_time_of_the_processor_is_bounded(box: Box) -> None:
    done = box.py("while True: pass", cpu=1_000)
    assert (done.exit_code, done.stopped) == (None, None)
    # SIGXCPU, then SIGKILL for who does not hear it.
    assert done.signal in (24, 9)


STORM = """
    import os, time
    while True:
        try:
            os.fork()
        except OSError:
            time.sleep(0.01)
"""


def test_a_storm_of_forks_is_ended(box: Box) -> None:
    done = box.py(STORM, processes=40)
    assert (done.exit_code, done.signal, done.stopped) == (None, 9, "processes")


def test_threads_count_too(box: Box) -> None:
    done = box.py("""
        import threading, time
        while True:
            try:
                threading.Thread(target=time.sleep, args=(1000,)).start()
            except RuntimeError:
                time.sleep(0.01)
    """, processes=40)  # fmt: skip
    assert done.stopped == "processes"


def test_the_kernel_bounds_processes_too(box: Box) -> None:
    """Between two looks of the supervisor there are no thousands of them, whoever runs AEL: the limit of a user does not bind root."""
    told = box.says("""
        import resource
        print(open("/proc/sys/kernel/pid_max").read().strip(), *resource.getrlimit(resource.RLIMIT_NPROC))
    """, processes=300)  # fmt: skip
    number, *most = told.split()
    assert most == ["364", "364"]
    assert number == "364" or not layers().pids
    done = box.py("""
        import os, signal
        made = 0
        try:
            while os.fork():
                made += 1
            signal.pause()
        except OSError as error:
            print(error.errno, made < 364, flush=True)
            signal.pause()
    """, processes=300)  # fmt: skip
    assert done.stopped == "processes"
    assert done.stdout in ("11 True\n", "")


def test_memory_of_one_process_is_bounded(box: Box) -> None:
    told = box.says("""
        held = []
        try:
            while True:
                held.append(bytearray(8 << 20))
        except MemoryError:
            print(len(held) < 20)
    """, memory=128 * MEGABYTE)  # fmt: skip
    assert told == "True"


@pytest.mark.parametrize(
    "code",
    [
        "for _ in range(8):\n    if os.fork() == 0: hold = bytearray(60 << 20); time.sleep(1000)\ntime.sleep(1000)",
        "m = mmap.mmap(-1, 1 << 30)\nfor n in range(0, 1 << 30, 4096): m[n] = 1\ntime.sleep(1000)",
    ],
    ids=["many processes", "shared memory"],
)
def test_memory_of_all_together_is_bounded(box: Box, code: str) -> None:
    done = box.py("import os, mmap, time\n" + code, memory=128 * MEGABYTE)
    assert (done.exit_code, done.signal, done.stopped) == (None, 9, "memory")


def test_memory_that_processes_share_counts_once(box: Box) -> None:
    told = box.says("""
        import os, time
        hold = bytearray(60 << 20)
        for n in range(0, len(hold), 4096):
            hold[n] = 1
        children = [os.fork() or (time.sleep(1), os._exit(0)) for _ in range(6)]
        print([os.waitpid(pid, 0)[1] for pid in children])
    """, memory=200 * MEGABYTE)  # fmt: skip
    assert told == "[0, 0, 0, 0, 0, 0]"


def test_the_own_tmp_is_memory_and_bounded(box: Box) -> None:
    told = box.says("""
        import os
        written = 0
        try:
            for number in range(200):
                with open(f"/tmp/{number}", "wb") as file:
                    written += file.write(bytes(4 << 20))
        except OSError as error:
            print(error.errno, written <= 64 << 20)
    """, memory=128 * MEGABYTE)  # fmt: skip
    assert told == "28 True"


def test_a_large_file_is_ended(box: Box) -> None:
    done = box.run("/bin/sh", "-c", "exec dd if=/dev/zero of=big bs=1M count=64", file=8 * MEGABYTE)
    # SIGXFSZ.
    assert (done.exit_code, done.signal) == (None, 25)
    assert (box.root / "big").stat().st_size <= 8 * MEGABYTE


def test_many_files_that_fill_the_disk_are_ended(box: Box) -> None:
    done = box.py("""
        import time
        for number in range(64):
            open(f"f{number}", "wb").write(bytes(4 << 20))
            time.sleep(0.02)
        time.sleep(1000)
    """, disk=32 * MEGABYTE)  # fmt: skip
    assert (done.exit_code, done.signal, done.stopped) == (None, 9, "disk")


def test_open_files_are_bounded(box: Box) -> None:
    told = box.says("""
        held = []
        try:
            while True:
                held.append(open("/dev/null"))
        except OSError as error:
            print(error.errno, len(held) < 100)
    """, files=100)  # fmt: skip
    assert told == "24 True"
