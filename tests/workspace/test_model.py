"""A workspace against a plain model of one: whatever is done, in whatever order, and with links lying around."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ael.natives.workspace import Workspace
from ael.natives.workspace_write import append, delete, make_folder, move, put
from ael.types.fault import Failure

OURS = ["a", "b", "d", "d/a", "d/e", "d/e/a"]
NAMES = st.sampled_from([*OURS, "link/a", "link", "out/secret", "out", "../secret", "/secret", ".env", "d/../a"])
DATA = st.binary(max_size=6)
ACTS = st.one_of(
    st.tuples(st.just("put"), NAMES, DATA),
    st.tuples(st.just("append"), NAMES, DATA),
    st.tuples(st.just("folder"), NAMES),
    st.tuples(st.just("delete"), NAMES.filter(lambda name: name not in ("link", "out"))),
    st.tuples(st.just("move"), NAMES, NAMES),
)


def act(space: Workspace, said: tuple[object, ...]) -> None:
    word, path, *rest = said
    acts: dict[object, Callable[..., object]] = {
        "put": put,
        "append": append,
        "folder": make_folder,
        "delete": delete,
        "move": move,
    }
    acts[word](space, path, *rest)


def model(files: dict[str, bytes | None], said: tuple[object, ...]) -> None:
    """The same over a dictionary of paths: None is a folder. Raises KeyError for what is refused."""
    word, path, *rest = said
    assert isinstance(path, str)
    for one in (path, *(one for one in rest if isinstance(one, str))):
        if one.startswith(("link", "out", "../", "/", ".env")) or "/../" in one:
            raise KeyError(one)
    above = path.rpartition("/")[0]
    held = [name for name in files if name.startswith(f"{path}/")]
    if word == "delete":
        if files.get(path, b"") is None and held:
            raise KeyError(path)
        files.pop(path, None)
    elif word == "folder":
        parts = path.split("/")
        for depth in range(1, len(parts) + 1):
            if files.get("/".join(parts[:depth])) is not None:
                raise KeyError(path)
            files["/".join(parts[:depth])] = None
    elif word == "move":
        to = str(rest[0])
        target = to.rpartition("/")[0]
        inside = to.startswith(f"{path}/")
        if path not in files or to in files or inside or (target and files.get(target, b"") is not None):
            raise KeyError(path)
        for name in [path, *held]:
            files[to + name[len(path) :]] = files.pop(name)
    else:
        if (above and files.get(above, b"") is not None) or (path in files and files[path] is None):
            raise KeyError(path)
        old = files.get(path) if word == "append" else b""
        files[path] = (old or b"") + bytes(rest[0])  # type: ignore[call-overload]


def found(root: Path) -> dict[str, bytes | None]:
    """What is really there, links aside."""
    paths = (path for path in sorted(root.rglob("*")) if not path.is_symlink() and "link" not in path.parts)
    return {str(path.relative_to(root)): None if path.is_dir() else path.read_bytes() for path in paths}


@pytest.mark.feature("A15.1", "K42")
@settings(deadline=None, max_examples=150)
@given(st.lists(ACTS, max_size=12))
def test_it_does_what_a_plain_model_of_it_does(acts: list[tuple[object, ...]]) -> None:
    with tempfile.TemporaryDirectory() as name:
        outside, root = Path(name), Path(name) / "root"
        root.mkdir()
        (outside / "secret").write_bytes(b"outside")
        (root / "out").symlink_to("..")
        (root / "link").symlink_to("../secret")
        space = Workspace(root, write=True)
        files: dict[str, bytes | None] = {}
        for said in acts:
            before = dict(files)
            expected = True
            try:
                model(files, said)
            except KeyError:
                expected, files = False, before if said[0] != "folder" else files
            done = False
            with suppress(Failure):
                act(space, said)
                done = True
            assert done is expected, said
            assert found(root) == files, said
        assert (outside / "secret").read_bytes() == b"outside"
        assert sorted(os.listdir(outside)) == ["root", "secret"]
