"""Where the files that ship with AEL are: the standard library, the grammar, the pages of diagnostics.

In an installed package they lie in `ael/_shipped`; in a checkout at the top level. Both are found the same way.
"""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent.parent
_CHECKOUT = {"stdlib": Path("stdlib"), "grammar": Path("grammar"), "errors": Path("docs", "errors")}


def shipped(what: str) -> Path:
    """The folder `what`: one of `stdlib`, `grammar`, `errors`. Raises `KeyError` for another."""
    inside = _CHECKOUT[what]
    installed = _PACKAGE / "_shipped" / what
    return installed if installed.is_dir() else _PACKAGE.parent / inside
