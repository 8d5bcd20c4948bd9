"""Workspaces for the tests, and what is refused in them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ael.natives.workspace import Workspace
from ael.types.fault import Failure

SECRET = "the text that stands outside"


def space(folder: Path, **settings: Any) -> Workspace:
    """A workspace in `folder`, which may be written to, with a file outside of it."""
    root = folder / "root"
    root.mkdir(exist_ok=True)
    (folder / "outside.txt").write_text(SECRET)
    settings.setdefault("write", True)
    return Workspace(root, **settings)


def refused(act: Callable[[], object], error: str) -> dict[str, object]:
    """The fields of the declared error that `act` ends with."""
    with pytest.raises(Failure) as caught:
        act()
    assert caught.value.error == error, caught.value.value
    return caught.value.value
