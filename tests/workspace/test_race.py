"""Somebody swaps files, folders and links while a workspace is read and written: nothing outside is ever seen or touched."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from ael.natives.workspace import Workspace
from ael.natives.workspace_walk import Walk
from ael.natives.workspace_write import append, delete, put
from ael.types.fault import Failure
from tests.workspace.support import SECRET, refused, space

ROUNDS = 3_000


@contextmanager
def flipping(flip: Callable[[], None]) -> Iterator[None]:
    """Somebody who does it over and over."""
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            with suppress(OSError):
                flip()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def swapped(folder: Path, name: str, other: str) -> Callable[[], None]:
    """Put a link to the outside in the place of something, and back again, each in one step."""
    real, link, at = folder / f"{name}.real", folder / f"{name}.link", folder / name

    def flip() -> None:
        os.rename(at, real)
        os.rename(link, at)
        os.rename(at, link)
        os.rename(real, at)

    link.symlink_to(other)
    return flip


def tries(act: Callable[[], object]) -> None:
    """Do it over and over, whatever is refused."""
    for _ in range(ROUNDS):
        with suppress(Failure):
            act()


@pytest.mark.feature("A15.1", "K42")
def test_a_folder_that_becomes_a_link_while_files_are_read(tmp_path: Path) -> None:
    made = space(tmp_path)
    (made.root / "sub").mkdir()
    (made.root / "sub" / "outside.txt").write_text("inside")
    seen: set[bytes] = set()
    with flipping(swapped(made.root, "sub", "..")):
        tries(lambda: seen.add(made.read("sub/outside.txt").data))
    assert seen <= {b"inside"}
    assert made.read("sub/outside.txt").data == b"inside"


@pytest.mark.feature("A15.1", "K42")
def test_a_file_that_becomes_a_link_while_it_is_read(tmp_path: Path) -> None:
    made = space(tmp_path)
    (made.root / "a").write_text("inside")
    seen: set[bytes] = set()
    with flipping(swapped(made.root, "a", "../outside.txt")):
        tries(lambda: seen.add(made.read("a").data))
    assert seen <= {b"inside"}
    assert made.read("a").data == b"inside"


@pytest.mark.feature("A15.1", "K42")
@pytest.mark.parametrize("name", ["a", "sub"])
def test_a_file_that_becomes_a_link_after_it_was_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """The worst moment: between the look at what it is and the opening."""
    made = space(tmp_path)
    (made.root / "a").write_text("inside")
    (made.root / "sub").mkdir()
    (made.root / "sub" / "outside.txt").write_text("inside")
    opens = os.open

    def swapping(path: str, *rest: int, **named: int) -> int:
        if path == name:
            os.rename(made.root / name, made.root / "away")
            (made.root / name).symlink_to("../outside.txt" if name == "a" else "..")
        return opens(path, *rest, **named)

    monkeypatch.setattr(os, "open", swapping)
    refused(lambda: made.read("a" if name == "a" else "sub/outside.txt"), "OutsideWorkspace")


@pytest.mark.feature("A15.1", "K42")
def test_a_folder_that_becomes_a_link_while_files_are_written(tmp_path: Path) -> None:
    made = space(tmp_path)
    (made.root / "sub").mkdir()
    before = sorted(os.listdir(tmp_path))
    with flipping(swapped(made.root, "sub", "..")):
        for number in range(200):
            with suppress(Failure):
                put(made, "sub/outside.txt", f"{number}".encode())
            with suppress(Failure):
                append(made, "sub/log", b"x")
            with suppress(Failure):
                delete(made, "sub/outside.txt")
    assert (tmp_path / "outside.txt").read_text() == SECRET
    assert sorted(os.listdir(tmp_path)) == before


@pytest.mark.feature("A15.1", "K42")
def test_a_file_that_becomes_a_link_while_it_is_written(tmp_path: Path) -> None:
    made = space(tmp_path)
    (made.root / "a").write_text("inside")
    with flipping(swapped(made.root, "a", "../outside.txt")):
        for number in range(200):
            with suppress(Failure):
                put(made, "a", f"{number}".encode())
            with suppress(Failure):
                append(made, "a", b"x")
    assert (tmp_path / "outside.txt").read_text() == SECRET


@pytest.mark.feature("A15.3", "K42")
def test_a_folder_that_becomes_a_link_while_everything_is_gone_through(tmp_path: Path) -> None:
    made = Workspace(space(tmp_path).root)
    (made.root / "sub").mkdir()
    (made.root / "sub" / "inside.txt").touch()
    paths: set[str] = set()
    with flipping(swapped(made.root, "sub", "..")):
        for _ in range(500):
            paths |= {found.path for found in Walk(made).files((), "")}
    assert {path.partition("/")[2] for path in paths} <= {"inside.txt"}
    assert [found.path for found in Walk(made).files((), "")] == ["sub/inside.txt"]
