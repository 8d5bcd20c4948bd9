"""Changing a workspace: in one step, never outside, never half, and never over what somebody else wrote."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from ael.natives.workspace_write import append, changing, delete, make_folder, move, put
from ael.types.fault import Fault, FaultKind
from tests.workspace.support import SECRET, refused, space


@pytest.mark.feature("A15.2")
def test_a_file_is_replaced_in_one_step_and_keeps_its_mode(tmp_path: Path) -> None:
    made = space(tmp_path)
    assert put(made, "a.sh", b"one\r\ntwo")
    (made.root / "a.sh").chmod(0o750)
    before = os.stat(made.root / "a.sh").st_ino
    assert not put(made, "a.sh", b"three")
    state = os.stat(made.root / "a.sh")
    assert (state.st_ino != before, stat.S_IMODE(state.st_mode)) == (True, 0o750)
    assert (made.root / "a.sh").read_bytes() == b"three"
    assert os.listdir(made.root) == ["a.sh"], "nothing is left beside it"
    assert not put(made, "a.sh", b"three")
    assert os.stat(made.root / "a.sh").st_ino == state.st_ino, "what is there already is not written again"


def test_a_new_file_is_refused_where_something_is(tmp_path: Path) -> None:
    made = space(tmp_path)
    (made.root / "a").write_text("old")
    refused(lambda: put(made, "a", b"new", new=True), "Exists")
    assert not put(made, "a", b"old", new=True), "the same again is the same"
    assert put(made, "b", b"new", new=True)


@pytest.mark.feature("A15.1", "K42")
def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    made = space(tmp_path)
    outside = tmp_path / "outside.txt"
    (made.root / "file").symlink_to(outside)
    (made.root / "folder").symlink_to(tmp_path)
    (made.root / "dangling").symlink_to(tmp_path / "made.txt")
    for path in ("file", "folder/outside.txt", "folder/made.txt", "dangling"):
        refused(lambda path=path: put(made, path, b"x"), "OutsideWorkspace")  # type: ignore[misc]
        refused(lambda path=path: append(made, path, b"x"), "OutsideWorkspace")  # type: ignore[misc]
        refused(lambda path=path: make_folder(made, f"{path}/x"), "OutsideWorkspace")  # type: ignore[misc]
    refused(lambda: delete(made, "folder/outside.txt"), "OutsideWorkspace")
    refused(lambda: move(made, "folder/outside.txt", "x"), "OutsideWorkspace")
    refused(lambda: move(made, "file", "x"), "OutsideWorkspace")
    assert outside.read_text() == SECRET
    assert not (tmp_path / "made.txt").exists()
    assert delete(made, "file"), "a link itself can go"
    assert outside.read_text() == SECRET


@pytest.mark.feature("A15.1")
def test_the_other_name_of_a_file_keeps_its_content(tmp_path: Path) -> None:
    """A hard link may lead out as a symbolic one does, and does not show it."""
    made = space(tmp_path)
    os.link(tmp_path / "outside.txt", made.root / "linked")
    refused(lambda: append(made, "linked", b"x"), "NotFile")
    put(made, "linked", b"new")
    assert (made.root / "linked").read_text() == "new"
    assert (tmp_path / "outside.txt").read_text() == SECRET


def test_a_workspace_without_leave_to_write(tmp_path: Path) -> None:
    made = space(tmp_path, write=False)
    (made.root / "a").write_text("a")
    for act in (
        lambda: put(made, "a", b"x"), lambda: append(made, "a", b"x"), lambda: make_folder(made, "b"), lambda: delete(made, "a"),
        lambda: move(made, "a", "b"), lambda: changing(made, "a").__enter__(),
    ):  # fmt: skip
        refused(act, "ReadOnly")
    refused(lambda: put(made, "../x", b"x"), "OutsideWorkspace")
    assert os.listdir(made.root) == ["a"]


def test_what_is_too_large_is_not_written(tmp_path: Path) -> None:
    made = space(tmp_path, limit=10)
    refused(lambda: put(made, "a", b"x" * 11), "FileTooLarge")
    assert append(made, "a", b"x" * 8) == 8
    refused(lambda: append(made, "a", b"xyz"), "FileTooLarge")
    assert append(made, "a", b"xy") == 10
    assert (made.root / "a").read_bytes() == b"x" * 9 + b"y"


def test_special_files_are_not_written_to(tmp_path: Path) -> None:
    made = space(tmp_path)
    os.mkfifo(made.root / "pipe")
    (made.root / "folder").mkdir()
    for path in ("pipe", "folder"):
        refused(lambda path=path: put(made, path, b"x"), "NotFile")  # type: ignore[misc]
        refused(lambda path=path: append(made, path, b"x"), "NotFile")  # type: ignore[misc]


def test_folders_are_made_deleted_and_moved(tmp_path: Path) -> None:
    made = space(tmp_path)
    assert make_folder(made, "a/b/c")
    assert not make_folder(made, "a/b/c")
    put(made, "a/b/x", b"x")
    refused(lambda: make_folder(made, "a/b/x/y"), "NotFile")
    refused(lambda: delete(made, "a"), "NotFile")
    move(made, "a/b", "d")
    assert (made.root / "d" / "x").read_bytes() == b"x"
    refused(lambda: move(made, "a/b", "e"), "NotFound")
    refused(lambda: move(made, "d", "a"), "Exists")
    refused(lambda: move(made, "d", "d/e"), "NotFile")
    refused(lambda: move(made, "d/x", ".env"), "OutsideWorkspace")
    refused(lambda: put(made, "no/folder", b"x"), "NotFound")
    assert delete(made, "a")
    assert not delete(made, "a")
    assert not delete(made, "no/folder")


def test_what_somebody_else_wrote_meanwhile_stays(tmp_path: Path) -> None:
    made = space(tmp_path)
    (made.root / "a").write_text("one")
    with changing(made, "a") as (content, change):
        assert content.data == b"one"
        (made.root / "a").write_text("another")
        refused(lambda: change.to(b"two"), "Stale")
    assert (made.root / "a").read_text() == "another"
    assert os.listdir(made.root) == ["a"]
    with changing(made, "a") as (_, change):
        (made.root / "a").unlink()
        refused(lambda: change.to(b"two"), "Stale")
    assert os.listdir(made.root) == []


def test_of_many_who_add_none_is_lost(tmp_path: Path) -> None:
    made = space(tmp_path)
    (made.root / "count").write_text("0")

    def add() -> None:
        for _ in range(25):
            with changing(made, "count") as (content, change):
                change.to(str(int(content.data) + 1).encode())
            append(made, "log", b"x")

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (made.root / "count").read_text() == "100"
    assert (made.root / "log").stat().st_size == 100


def test_a_folder_that_somebody_keeps_locked_is_not_waited_for_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = space(tmp_path)
    monkeypatch.setattr("ael.natives.workspace_write._PATIENCE", 0.05)
    other = os.open(made.root, os.O_RDONLY)
    try:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(Fault) as caught:
            put(made, "a", b"x")
        assert (caught.value.kind, caught.value.details["sent"]) == (FaultKind.UNAVAILABLE, False)
        assert os.listdir(made.root) == []
    finally:
        os.close(other)
    assert put(made, "a", b"x")


def test_a_full_disk_leaves_the_old_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = space(tmp_path)
    put(made, "a", b"old")
    writes = os.write
    left = [3]

    def full(number: int, data: bytes) -> int:
        if not left[0]:
            raise OSError(errno.ENOSPC, "No space left on device")
        done = writes(number, bytes(data[: left[0]]))
        left[0] -= done
        return done

    monkeypatch.setattr(os, "write", full)
    for act in (lambda: put(made, "a", b"newer"), lambda: append(made, "a", b" and more")):
        left[0] = 3
        with pytest.raises(Fault) as caught:
            act()
        assert caught.value.kind is FaultKind.UNAVAILABLE
    monkeypatch.undo()
    assert made.read("a").data == b"old"
    assert os.listdir(made.root) == ["a"]


_WRITER = """
import sys
from pathlib import Path
from ael.natives.workspace import Workspace
from ael.natives.workspace_write import put
space = Workspace(Path(sys.argv[1]), write=True)
print("ready", flush=True)
size = 200_000
while True:
    put(space, "a.txt", b"A" * size)
    put(space, "a.txt", b"B" * size)
"""


@pytest.mark.feature("A15.2")
def test_a_writer_that_is_killed_leaves_the_old_content_or_the_new(tmp_path: Path) -> None:
    made = space(tmp_path)
    put(made, "a.txt", b"A" * 200_000)
    for _ in range(5):
        with subprocess.Popen([sys.executable, "-c", _WRITER, str(made.root)], stdout=subprocess.PIPE) as writer:
            assert writer.stdout is not None
            assert writer.stdout.readline() == b"ready\n"
            time.sleep(0.02)
            writer.send_signal(signal.SIGKILL)
            writer.wait()
        data = made.read("a.txt").data
        assert (len(data), set(data) <= {ord("A")} or set(data) <= {ord("B")}) == (200_000, True)
    # What the killed ones left beside it is hidden, and goes with the next write.
    put(made, "a.txt", b"end")
    assert os.listdir(made.root) == ["a.txt"]


def test_a_crash_before_the_step_leaves_the_old_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = space(tmp_path)
    put(made, "a.txt", b"old")

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "rename", killed)
    with pytest.raises(KeyboardInterrupt):
        put(made, "a.txt", b"new")
    monkeypatch.undo()
    assert made.read("a.txt").data == b"old"
    assert os.listdir(made.root) == ["a.txt"]


def test_what_lies_in_the_place_of_the_new_content_is_not_written_through(tmp_path: Path) -> None:
    """Whoever knows the name of the file beside may put a link there first."""
    made = space(tmp_path)
    put(made, "a.txt", b"old")
    names: list[str] = []
    open_before = os.open

    def seen(path: object, *rest: object, **named: object) -> int:
        if isinstance(path, str) and path.endswith(".ael-tmp"):
            names.append(path)
        return open_before(path, *rest, **named)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(os, "open", seen)
        put(made, "a.txt", b"new")
    (made.root / names[0]).symlink_to(tmp_path / "outside.txt")
    put(made, "a.txt", b"newer")
    assert (tmp_path / "outside.txt").read_text() == SECRET
    assert made.read("a.txt").data == b"newer"
