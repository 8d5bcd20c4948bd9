"""The server of `serve`: what `ael serve --connect FOLDER` does, on a free port that it prints."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from ael.diagnostics.diagnostic import Bag
from ael.project.program import open_program
from ael.server.garbage import settle
from ael.server.listener import bind
from ael.server.served import Alone, prepare
from ael.server.stop import Stop


async def serve(alone: Alone) -> int:
    """Serve until the process is ended."""
    bound = bind("127.0.0.1", 0, known=False)
    print(json.dumps({"port": bound.getsockname()[1]}), flush=True)
    async with alone.served.host:
        await alone.run(bound, "127.0.0.1", Stop())
    return 0


def main(folder: str) -> None:
    """Serve the program in the folder."""
    bag = Bag()
    opened = open_program(Path(folder), bag)
    assert opened is not None, [problem.message for problem in bag.sorted()]
    alone = prepare(opened)
    settle()
    asyncio.run(serve(alone))


if __name__ == "__main__":
    main(sys.argv[1])
