"""Programs that many tests ask about, each analysed once."""

from __future__ import annotations

import pytest

from ael.editor.snapshot import Snapshot
from tests.lsp_features.marked import ROOT, analysed

EXAMPLES = ("support", "coder", "connectors", "refunds", "research", "numbers", "packs", "guard", "mcp-files")


@pytest.fixture(scope="session")
def examples() -> dict[str, Snapshot]:
    """The programs of the examples."""
    return {name: analysed(ROOT / "examples" / name / "main.ael") for name in EXAMPLES}


@pytest.fixture(scope="session")
def library() -> dict[str, Snapshot]:
    """Every module of the standard library as a program."""
    return {path.stem: analysed(path) for path in sorted((ROOT / "stdlib" / "std").glob("*.ael"))}
