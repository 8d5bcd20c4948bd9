"""Where this machine lacks a part of the sandbox, a test of what the sandbox does asserts that nothing is run there, and that the refusal
says what is missing."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from ael.natives.sandbox import Unavailable, layers, run
from tests.sandbox.box import Box


@pytest.fixture
def box(tmp_path: Path) -> Box:
    """A workspace that commands run in."""
    return Box(tmp_path.resolve())


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    if "box" not in pyfuncitem.fixturenames or not layers().missing:
        return None
    box: Box = pyfuncitem.funcargs["box"]
    with pytest.raises(Unavailable, match="this machine has no sandbox for commands"):
        asyncio.run(run(box.command("/bin/sh", "-c", "echo > ran")))
    assert not (box.root / "ran").exists()
    return True
