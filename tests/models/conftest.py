"""A real llama.cpp server with a tiny model of random weights, one for all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ael.models.local import Engine
from tests.models.tiny_gguf import write

LLAMA_KEY = "llama-key-0123456789"


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("model") / "tiny.gguf")


@pytest.fixture(scope="session")
def llama(tiny_model: Path) -> Iterator[str]:
    """The address of the server."""
    engine = Engine(tiny_model, 2_048, LLAMA_KEY, slots=4, threads=1)
    yield engine.address
    engine.stop()


@pytest.fixture(scope="session")
def calling_llama(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server whose model begins with `{` wherever it may, and so calls a tool at once."""
    engine = Engine(write(tmp_path_factory.mktemp("model") / "calling.gguf", prefer="{"), 2_048, LLAMA_KEY, threads=1)
    yield engine.address
    engine.stop()
