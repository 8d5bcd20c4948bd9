"""Sessions, and `ael repl` as it is typed."""

from __future__ import annotations

from tests.cli.conftest import ael

__all__ = ["ael"]
