"""Python functions behind tools that give away the environment of their process, and the files beside them, however they end."""

from __future__ import annotations

import json
import os
from pathlib import Path


def _all() -> str:
    kept = [path.read_text() for path in sorted(Path().glob("*.key"))]
    return json.dumps({**{name: os.environ[name] for name in sorted(os.environ) if name.startswith("PLANTED")}, "files": kept})


def told(q: str) -> str:
    """It all."""
    return _all()


def raises(q: str) -> str:
    """It all, in an exception with a cause."""
    try:
        raise KeyError(_all())
    except KeyError as error:
        raise RuntimeError(f"no way: {_all()}") from error
