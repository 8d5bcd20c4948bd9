"""What the native functions of the standard library do: a file for each topic, a function of its own name for each.

Each is pure and total, takes time linear in what it is given, and bounds what it gives (`ael.lower.abi.size`). The signatures are in
`ael.check.natives`; `tests/lower/test_natives.py` holds the two together.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any


def implementation(name: str) -> Callable[..., Any]:
    """The function behind `native.hash.sha256`."""
    _, topic, own = name.split(".")
    found: Callable[..., Any] = getattr(import_module(f"{__name__}.{topic}"), own)
    return found
