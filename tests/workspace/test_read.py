"""Reading in a workspace: regular files below its root, whole or not at all."""

from __future__ import annotations

import math
import os
import socket
from dataclasses import replace
from pathlib import Path

import pytest

from ael.natives.files import Files
from ael.natives.workspace import Workspace, decoded, version_of
from ael.natives.world import World
from ael.project.bind_files import FilesBinding
from ael.run.clock import SystemClock
from ael.run.ports import CallContext
from ael.types.fault import Failure, Fault, FaultKind
from tests.workspace.programs import play, program
from tests.workspace.support import SECRET, refused, space


def test_a_file_is_read_whole_with_its_version(tmp_path: Path) -> None:
    made = space(tmp_path)
    (made.root / "a.txt").write_bytes(b"one\r\ntwo")
    content = made.read("./a.txt")
    assert content.data == b"one\r\ntwo"
    assert content.version == version_of(b"one\r\ntwo")
    assert content.version.startswith("8-")
    assert version_of(b"one\r\ntwp") != content.version


@pytest.mark.feature("A15.1", "K42")
def test_no_link_is_followed_wherever_it_stands(tmp_path: Path) -> None:
    made = space(tmp_path)
    (made.root / "inside.txt").write_text("inside")
    (made.root / "file").symlink_to("../outside.txt")
    (made.root / "absolute").symlink_to(tmp_path / "outside.txt")
    (made.root / "folder").symlink_to("..")
    (made.root / "within").symlink_to("inside.txt")
    (made.root / "loop").symlink_to("loop")
    (made.root / "nowhere").symlink_to("nothing")
    for path in ("file", "absolute", "folder/outside.txt", "folder/root/inside.txt", "within", "loop", "nowhere", "loop/x"):
        refused(lambda path=path: made.read(path), "OutsideWorkspace")  # type: ignore[misc]
    with pytest.raises(Exception, match="OutsideWorkspace"), made.folder(("folder",), "folder"):
        pass


@pytest.mark.feature("A15.1")
def test_the_workspace_itself_may_be_reached_by_a_link(tmp_path: Path) -> None:
    """The root is the deployment's word; what is below it is anybody's."""
    made = space(tmp_path)
    (made.root / "a.txt").write_text("a")
    (tmp_path / "link").symlink_to("root")
    assert Workspace(tmp_path / "link").read("a.txt").data == b"a"


@pytest.mark.feature("A15.1")
def test_what_is_no_regular_file_is_not_even_opened(tmp_path: Path) -> None:
    """A pipe without a writer would hang whoever opens it."""
    made = space(tmp_path)
    os.mkfifo(made.root / "pipe")
    (made.root / "folder").mkdir()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(made.root / "s"))
        assert refused(lambda: made.read("s"), "NotFile")["reason"] == "it is a socket"
    assert refused(lambda: made.read("pipe"), "NotFile")["reason"] == "it is a pipe"
    assert refused(lambda: made.read("folder"), "NotFile")["reason"] == "it is a folder"
    assert refused(lambda: made.read(""), "NotFile")["reason"] == "it is the workspace's own folder"
    devices = Workspace(Path("/dev"))
    assert refused(lambda: devices.read("zero"), "NotFile")["reason"] == "it is a device"


def test_the_links_of_proc_lead_nowhere() -> None:
    if not Path("/proc/self").exists():
        return
    proc = Workspace(Path("/proc"))
    for path in (
        "self/cmdline",
        f"{os.getpid()}/root/etc/passwd",
        f"{os.getpid()}/cwd/x",
        f"{os.getpid()}/exe",
        f"{os.getpid()}/fd/0",
    ):
        refused(lambda path=path: proc.read(path), "OutsideWorkspace")  # type: ignore[misc]


def test_a_file_that_says_it_is_empty_is_read_up_to_the_limit() -> None:
    """Files of /proc have a size of 0, and a file may grow while it is read."""
    if not Path("/proc/kallsyms").exists():
        return
    refused(lambda: Workspace(Path("/proc"), limit=100).read("kallsyms"), "FileTooLarge")


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    made = space(tmp_path, limit=1_000)
    with (made.root / "huge").open("wb") as file:
        file.truncate(1 << 40)
    assert refused(lambda: made.read("huge"), "FileTooLarge") == {"path": "huge", "size": 1 << 40, "limit": 1_000}
    (made.root / "fits").write_bytes(b"x" * 1_000)
    assert len(made.read("fits").data) == 1_000
    refused(lambda: made.read("fits", 999), "FileTooLarge")


def test_text_is_decoded_strictly() -> None:
    assert decoded("é\r\n".encode(), "a") == "é\r\n"
    assert refused(lambda: decoded(b"\xff\xfe", "a"), "NotText")["reason"] == "it is not UTF-8: byte 0 is 0xff"
    assert "binary" in str(refused(lambda: decoded(b"a\0b", "a"), "NotText")["reason"])
    refused(lambda: decoded(b"\xed\xa0\x80", "a"), "NotText")


def test_what_is_not_there(tmp_path: Path) -> None:
    made = space(tmp_path)
    (made.root / "file").write_text("x")
    for path in ("nothing", "no/folder", "file/below"):
        refused(lambda path=path: made.read(path), "NotFound")  # type: ignore[misc]
    assert made.state("nothing") is None
    assert made.state("no/folder") is None
    assert made.state("") is not None


def test_what_the_system_refuses_is_no_traceback(tmp_path: Path) -> None:
    made = space(tmp_path)
    (made.root / "x" / "y").mkdir(parents=True)
    deep = "x/" * 60 + "y"
    refused(lambda: made.read(deep), "NotFound")


CALL = CallContext("run", "step", "key", "local", "tester", "", math.inf, "")


def files(tmp_path: Path, binding: object) -> Files:
    bindings = {} if binding is None else {"files": binding}
    return Files(World(tmp_path, tmp_path, bindings, frozenset(), {}, None, SystemClock()))  # type: ignore[arg-type]


@pytest.mark.feature("A15.1")
def test_without_a_line_of_the_deployment_there_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(SECRET)
    for binding, path in ((None, "a.txt"), (FilesBinding("gone"), "a")):
        with pytest.raises(Fault) as caught:
            files(tmp_path, binding).read_text(path, call=CALL)
        assert caught.value.kind is FaultKind.UNAVAILABLE


def test_a_folder_is_listed_by_name_without_what_is_hidden(tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_text("bb")
    (tmp_path / "a").mkdir()
    (tmp_path / ".env").write_text("x")
    (tmp_path / "l").symlink_to("b.txt")
    os.mkfifo(tmp_path / "p")
    (tmp_path / "new\nline").write_text("x")
    os.close(os.open(os.fsencode(tmp_path) + b"/\xff\xfe", os.O_CREAT | os.O_WRONLY))
    listed = files(tmp_path, FilesBinding(".")).list("", call=CALL)
    assert listed["entries"] == [
        {"name": "a", "kind": "folder", "size": 0}, {"name": "b.txt", "kind": "file", "size": 2}, {"name": "l", "kind": "link", "size": 0},
        {"name": "p", "kind": "other", "size": 0},
    ]  # fmt: skip
    assert listed["hidden"] == 3
    assert listed["cut"] is False
    assert files(tmp_path, FilesBinding(".")).stat("l", call=CALL) is not None


def test_a_huge_folder_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ael.natives.files.MAX_ENTRIES", 50)
    for number in range(60):
        (tmp_path / f"{number}").touch()
    listed = files(tmp_path, FilesBinding(".")).list("", call=CALL)
    assert len(listed["entries"]) == 50  # type: ignore[arg-type]
    assert listed["cut"] is True


@pytest.mark.feature("K43", "A4.3")
def test_each_tenant_has_a_folder_of_its_own(tmp_path: Path) -> None:
    made = files(tmp_path, FilesBinding(".", write=True))
    acme, other = replace(CALL, tenant="acme"), replace(CALL, tenant="other")
    assert made.write_text("a.txt", "of acme", call=acme)
    assert made.read_text("a.txt", call=acme) == "of acme"
    for path in ("a.txt", "acme/a.txt"):
        refused(lambda path=path: made.read_text(path, call=other), "NotFound")  # type: ignore[misc]
    refused(lambda: made.read_text("../acme/a.txt", call=other), "OutsideWorkspace")
    for name in ("..", "a/b", ".git", "\0", "", "/"):
        with pytest.raises((Fault, Failure)):
            made.read_text("a.txt", call=replace(CALL, tenant=name))


@pytest.mark.feature("K43")
def test_beside_others_the_tenant_without_a_name_has_nothing_of_theirs(tmp_path: Path) -> None:
    main = """
    use std/files.{FileTooLarge, NotFile, NotFound, NotText, OutsideWorkspace, read_text}
    node main(path: String) -> String fails FileTooLarge, NotFile, NotFound, NotText, OutsideWorkspace
      grants std.files.read
    {
      try read_text(path)
    }
    """
    (tmp_path / "ws" / "acme").mkdir(parents=True)
    (tmp_path / "ws" / "acme" / "a.txt").write_text(SECRET)
    (tmp_path / "ws" / "local").mkdir()
    (tmp_path / "ws" / "local" / "a.txt").write_text("of nobody else")
    opened = program(tmp_path, main, 'files = folder("./ws")\ntenant local {}\ntenant acme {}\n')
    assert play(opened, values={"path": "acme/a.txt"}).error == "NotFound"
    assert play(opened, values={"path": "a.txt"}).value == "of nobody else"
