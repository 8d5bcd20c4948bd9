"""Where the files that ship with AEL are: the standard library, the grammar, the pages of diagnostics, the guide for coding agents.

In an installed package they lie in `ael/_shipped`; in a checkout at the top level. Both are found the same way.
"""

from __future__ import annotations

import os
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent.parent
_CHECKOUT = {"stdlib": Path("stdlib"), "grammar": Path("grammar"), "errors": Path("docs", "errors"), "guide": Path("docs")}


def shipped(what: str) -> Path:
    """The folder `what`: one of `stdlib`, `grammar`, `errors`, `guide`. Raises `KeyError` for another."""
    inside = _CHECKOUT[what]
    installed = _PACKAGE / "_shipped" / what
    return installed if installed.is_dir() else _PACKAGE.parent / inside


def cache_folder() -> Path:
    """The user's cache: `AEL_CACHE`, else `ael` in `XDG_CACHE_HOME`, else `~/.cache/ael`."""
    chosen = os.environ.get("AEL_CACHE")
    return Path(chosen) if chosen else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ael"
