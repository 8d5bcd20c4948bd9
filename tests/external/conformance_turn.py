"""Runs the client under test when it is its turn: `python -m tests.external.conformance_turn URL`.

The suite starts the clients of all its scenarios at once, which is more than a small machine does in time.
"""

from __future__ import annotations

import os
import runpy
import sys
import zlib
from pathlib import Path

if sys.platform != "win32":
    import fcntl

TURNS = "AEL_CONFORMANCE_TURNS"
"""The variable that names a folder for the locks; without it nobody waits."""


def main() -> None:
    folder = os.environ.get(TURNS)
    if folder is None or sys.platform == "win32":
        run()
        return
    lanes = max(2, os.cpu_count() or 2)
    lane = zlib.crc32(os.environ["MCP_CONFORMANCE_SCENARIO"].encode()) % lanes
    with Path(folder, f"lane-{lane}").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        run()


def run() -> None:
    runpy.run_module("tests.external.conformance_client", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
