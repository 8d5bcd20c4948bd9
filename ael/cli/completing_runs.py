"""The kept runs of a program, for completion: those of a store that answers at once."""

from __future__ import annotations

import asyncio
from pathlib import Path

from ael.cli.runs_open import Stopped, opened

_MOST = 50
_SECONDS = 2.0
"""How long a shell waits for a store."""


def runs(program: Path, deploy: str | None) -> dict[str, str]:
    """Ids of the newest runs, with their state and entry."""

    async def rows() -> dict[str, str]:
        async with opened(program, deploy) as store:
            found = await store.rows(limit=_MOST)
        return {row.header.run: f"{row.state.value} {row.header.entry}" for row in found}

    try:
        return asyncio.run(asyncio.wait_for(rows(), _SECONDS))
    except (Stopped, TimeoutError):
        return {}
