"""Why files are no certificates to use."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path


def unusable(error: OSError, files: Iterable[Path]) -> str:
    """What is wrong with `files`, of which TLS could not be set up: the one that cannot be read by its name, else what `error` says."""
    for file in files:
        try:
            file.open("rb").close()
        except OSError as unread:
            return f"`{file.name}`: {(unread.strerror or type(unread).__name__).lower()}"
    return error.strerror or type(error).__name__
