"""Files that the conformance suite's tools answer with: a small image and a small sound."""

from __future__ import annotations

import base64

from ael.types.value import File

_PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
_WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA="


def image() -> File:
    """One red dot."""
    return File("image/png", base64.b64decode(_PNG))


def sound() -> File:
    """Nothing to hear."""
    return File("audio/wav", base64.b64decode(_WAV))


def resource() -> File:
    """A file of another kind."""
    return File("application/octet-stream", b"This is an embedded resource content.")
