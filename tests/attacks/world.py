"""A folder and a server for the cases over `std/files`, `std/http` and `std/web`: real ones, with something beside them worth stealing."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.net.loopback import Answer, Asked, whole

SECRET = "the code is 4711"


def workspace(folder: Path) -> dict[str, bytes]:
    """A fresh `workspace` in the program's folder, and beside it what is not to be seen; what is there, by path."""
    for name in ("workspace", "outside"):
        shutil.rmtree(folder / name, ignore_errors=True)
    for path, text in {
        "workspace/notes.md": "Order A-42 was sent.",
        "workspace/deep/more.md": "More.",
        "workspace/.env": f"KEY={SECRET}",
        "workspace/.git/config": SECRET,
        "outside/secret.txt": SECRET,
    }.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    (folder / "workspace/link").symlink_to(folder / "outside")
    (folder / "workspace/linked.md").symlink_to(folder / "outside/secret.txt")
    return _there(folder)


def changed(folder: Path, before: dict[str, bytes]) -> tuple[str, ...]:
    """What is otherwise than before, anywhere in the program's folder."""
    now = _there(folder)
    found = [f"write {path}" for path, data in now.items() if before.get(path) != data]
    return (*found, *[f"delete {path}" for path in before if path not in now])


def _there(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def answered(asked: Asked) -> Answer:
    """The server: it says hello, and sends whoever asks for it elsewhere."""
    places = {"/away": "http://attacker.example/?from=here", "/inside": "http://169.254.169.254/latest/meta-data/"}
    if asked.path in places:
        return whole(b"", "text/plain", 302, location=places[asked.path])
    return whole(b"hello", "text/plain")
