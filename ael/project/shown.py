"""How messages show a path."""

from __future__ import annotations

import os
from pathlib import Path


def shown(path: Path) -> str:
    """A path as messages show it: relative to the working folder where that is shorter."""
    try:
        relative = os.path.relpath(path)
    except ValueError:
        return str(path)
    return str(path) if relative.startswith("..") and path.is_absolute() else relative
