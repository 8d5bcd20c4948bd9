"""Which process measures which side: AEL's and the plain Python ones in this environment, each peer's in its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from benches.envs import Peer, python_of
from benches.harness import Side, SideFailed


def started(
    name: str, python: Path, module: str, environment: Mapping[str, str] | None = None, slow: bool = False
) -> Side | None:
    """The side, or None where it cannot be started, which standard error tells: the others are still measured."""
    try:
        return Side(name, python, module, environment, slow)
    except SideFailed as failure:
        print(f"benches: {failure}", file=sys.stderr)
        return None


def ael_side(benchmark: str, environment: Mapping[str, str] | None = None) -> Side | None:
    """AEL's side of a benchmark."""
    return started("ael", Path(sys.executable), f"benches.ael_side.{benchmark}", environment)


def plain_side(name: str, module: str) -> Side | None:
    """A side in plain Python, in this environment."""
    return started(name, Path(sys.executable), f"benches.peers.{module}")


def peer_side(peer: Peer, environment: Mapping[str, str] | None = None) -> Side | None:
    """A peer's side, in its own environment."""
    try:
        python = python_of(peer)
    except (subprocess.CalledProcessError, OSError) as failure:
        print(f"benches: no environment for {peer.title}: {failure}", file=sys.stderr)
        return None
    return started(peer.title, python, f"benches.peers.{peer.name}", environment, peer.slow)
