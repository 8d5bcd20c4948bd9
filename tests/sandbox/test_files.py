"""What a command in the sandbox sees of files, and what it can change: its workspace, a /tmp of its own, and nothing else."""

from __future__ import annotations

import asyncio
import os
import textwrap
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from ael.natives.sandbox import NotStarted, run
from tests.sandbox.box import PYTHON, SECRET, Box

pytestmark = pytest.mark.feature("A15.4", "K41")

READS = """
    import os, sys
    for path in sys.argv[1:]:
        try:
            if os.path.isdir(path):
                print("LISTED", path, os.listdir(path))
            else:
                print("READ", path, open(path, "rb").read(200))
        except OSError as error:
            print("refused", error.errno)
"""
WRITES = """
    import os, sys
    for path in sys.argv[1:]:
        try:
            with open(path, "ab") as file:
                file.write(b"x")
            print("WROTE", path)
        except OSError as error:
            print("refused", error.errno)
"""


def test_a_command_works_in_its_workspace(box: Box) -> None:
    (box.root / "in.txt").write_text("hello")
    assert box.says("print(open('in.txt').read()); open('out.txt', 'w').write('made')") == "hello"
    assert (box.root / "out.txt").read_text() == "made"
    assert (box.root / "out.txt").stat().st_uid == os.geteuid()


def test_paths_outside_are_not_there(box: Box) -> None:
    """Not by name, not by `..`, not through links, not through what /proc tells of processes."""
    (box.root / "link").symlink_to(box.outside)
    (box.root / "up").symlink_to(box.outside.parent)
    (box.root / "loop").symlink_to("loop")
    home = Path.home()
    paths = [
        str(box.outside), "../outside.txt", "link", "up/outside.txt", "loop", f"/proc/self/root{box.outside}", f"/proc/1/root{box.outside}",
        "/proc/1/cwd/outside.txt", f"/proc/self/cwd/../{box.outside.name}", f"/proc/{os.getpid()}/root{box.outside}", "/etc/shadow",
        "/etc/ssh", "/etc/sudoers", f"{home}/.ssh", f"{home}/.bashrc", f"{home}/.gitconfig", "/var/log", "/run/docker.sock",
        "/var/run/docker.sock", "/sys/kernel", "/boot", "/dev/mem", "/dev/kmsg", "/dev/vda", "/dev/sda", "/dev/tty", "/dev/pts",
        "/proc/kcore", "/proc/keys", "/proc/sysvipc/shm",
    ]  # fmt: skip
    told = box.says(READS, *paths)
    assert SECRET not in told
    bad = [line for line in told.splitlines() if not line.startswith("refused") and "b''" not in line and not line.endswith("[]")]
    assert bad == []


def test_the_home_and_tmp_are_its_own(box: Box) -> None:
    told = box.says("""
        import os
        home = os.path.expanduser("~")
        print(sorted(os.listdir(home)), sorted(os.listdir("/tmp")) == ["home"] or sorted(os.listdir("/tmp")))
        open("/tmp/mine", "w").write("x")
        open(home + "/.config", "w").write("x")
    """)
    assert told.startswith("[]")
    assert not Path("/tmp/mine").exists()
    # Nothing of one command is left for the next.
    assert box.says("import os; print(os.path.exists('/tmp/mine'), os.listdir(os.path.expanduser('~')))") == "False []"


def test_nothing_outside_is_written(box: Box) -> None:
    (box.root / "link").symlink_to(box.outside)
    fresh = box.outside.parent / "new.txt"
    (box.root / "dangling").symlink_to(fresh)
    paths = [
        "/usr/bin/mine", "/usr/lib/mine", "/etc/passwd", "/etc/mine", "/mine", "/bin/mine", "/proc/sys/kernel/core_pattern",
        "/proc/sys/kernel/hostname", "/proc/sysrq-trigger", "/proc/1/oom_score_adj", "/proc/self/attr/current", "/dev/mine", "/var/mine",
        "/run/mine",
    ]  # fmt: skip
    told = box.says(WRITES, *paths)
    assert [line for line in told.splitlines() if not line.startswith("refused")] == []
    # What stands beside the workspace is in the sandbox's own /tmp, if it is anywhere.
    box.says(WRITES, str(box.outside), "../outside.txt", "link", "dangling", str(fresh))
    assert box.outside.read_text() == SECRET
    assert not fresh.exists()


def test_a_workspace_without_write_is_only_read(box: Box) -> None:
    (box.root / "a.txt").write_text("a")
    told = box.says(WRITES + "    print(open('a.txt').read())\n", "a.txt", "b.txt", writable=False)
    assert told.splitlines() == ["refused 30", "refused 30", "a"]


def test_modes_and_owners_outside_stay(box: Box) -> None:
    """Where AEL runs as root, the user of the sandbox owns what root owns."""
    told = box.says("""
        import os
        for path in ("/dev/null", "/usr/bin/env", "/etc/passwd", "/proc/sys/kernel/core_pattern", "/", "/etc", "/proc"):
            for act in (lambda: os.chmod(path, 0o666), lambda: os.utime(path), lambda: os.setxattr(path, "user.x", b"x")):
                try:
                    act()
                    print("CHANGED", path)
                except OSError:
                    print("refused")
    """)
    assert set(told.splitlines()) == {"refused"}


CHANGES = """
    import os, shutil, sys
    for act in (
        lambda: open(sys.argv[1] + "/new", "w"),
        lambda: os.rename(sys.argv[1], "away"),
        lambda: shutil.rmtree(sys.argv[1]),
        lambda: os.symlink("/tmp", sys.argv[1]),
        lambda: os.chmod(sys.argv[1] + "/deep/file", 0o777),
    ):
        try:
            act()
            print("CHANGED")
        except OSError:
            print("refused")
    open("beside", "w").write(open(sys.argv[1] + "/deep/file").read())
"""


def test_what_decides_about_commands_is_only_read(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    """The program and its deployment may lie in the workspace, and AEL itself, in a virtual environment there: a command that changed them
    would be without walls the next time."""
    deep = box.root / "agent" / "deep"
    deep.mkdir(parents=True)
    (deep / "file").write_text("mine")
    command = replace(box.command(PYTHON, "-I", "-c", textwrap.dedent(CHANGES), "agent"), kept=(deep,))
    done = asyncio.run(run(command))
    assert (done.exit_code, done.stdout.split()) == (0, ["refused"] * 5), done
    assert (box.root / "beside").read_text() == "mine"
    again = replace(command, kept=())
    monkeypatch.setattr("ael.natives.sandbox.sys.base_prefix", str(deep))
    assert asyncio.run(run(again)).stdout.split() == ["refused"] * 5
    assert sorted(path.name for path in box.root.iterdir()) == ["agent", "beside"]


def test_a_workspace_that_is_the_program_is_refused(box: Box) -> None:
    for kept in (box.root, box.root / "link" / "deep"):
        (box.root / "link").unlink(missing_ok=True)
        (box.root / "link").symlink_to(box.outside.parent)
        with pytest.raises(NotStarted, match="what decides about commands"):
            asyncio.run(run(replace(box.command("/bin/sh", "-c", "true"), kept=(kept,))))
    done = asyncio.run(run(replace(box.command("/bin/sh", "-c", "true", writable=False), kept=(box.root,))))
    assert done.exit_code == 0


def test_no_second_name_of_a_file_outside_is_made(box: Box) -> None:
    told = box.says("""
        import os
        for source in ("/usr/bin/env", "/etc/passwd", "/proc/self/exe"):
            try:
                os.link(source, "hard")
                print("LINKED", source)
            except OSError as error:
                print("refused")
    """)
    assert told.splitlines() == ["refused"] * 3


def test_a_race_of_links_leads_nowhere(box: Box) -> None:
    """A path that somebody swaps between a folder and a link all the time: what is read is the workspace's or nothing."""
    (box.root / "real").mkdir()
    (box.root / "real" / "outside.txt").write_text("inside")
    (box.root / "away").symlink_to(box.outside.parent)
    (box.root / "path").symlink_to("real")
    stop = threading.Event()

    def swap() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            temporary = box.root / f"t{number % 2}"
            temporary.unlink(missing_ok=True)
            temporary.symlink_to("away" if number % 2 else "real")
            temporary.rename(box.root / "path")

    swapping = threading.Thread(target=swap)
    swapping.start()
    try:
        told = box.says("""
            seen = set()
            for _ in range(3000):
                try:
                    seen.add(open("path/outside.txt").read())
                except OSError as error:
                    seen.add(type(error).__name__)
            print(sorted(seen - {"FileNotFoundError"}))
        """)
    finally:
        stop.set()
        swapping.join()
    assert told in ("['inside']", "[]")


def test_the_working_folder_is_in_the_workspace(box: Box) -> None:
    (box.root / "a" / "b").mkdir(parents=True)
    (box.root / "inner").symlink_to("a/b")
    (box.root / "outer").symlink_to("/usr")
    assert box.says("import os; print(os.getcwd())", folder="a/b") == str(box.root / "a" / "b")
    assert box.says("import os; print(os.getcwd())", folder="inner") == str(box.root / "a" / "b")
    for folder, why in (
        ("outer", "outside"),
        ("..", "outside"),
        ("/usr", "outside"),
        ("none", "no folder"),
        ("a/../..", "outside"),
    ):
        with pytest.raises(NotStarted, match=why):
            box.py("print(1)", folder=folder)


@pytest.mark.parametrize("root", ["/", "/usr", "/tmp", "/proc", "/dev", "/etc"])
def test_the_system_is_no_workspace(box: Box, root: str) -> None:
    box.root = Path(root)
    with pytest.raises(NotStarted, match="cannot be a workspace"):
        box.run("/bin/sh", "-c", "true")


def test_the_workspace_is_no_link(box: Box) -> None:
    """A link could be turned elsewhere between the look and the use."""
    (box.outside.parent / "other").symlink_to(box.root)
    box.root = box.outside.parent / "other"
    with pytest.raises(NotStarted, match="no folder"):
        box.run("/bin/sh", "-c", "true")
