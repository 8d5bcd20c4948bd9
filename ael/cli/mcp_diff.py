"""`ael mcp diff`: what changed at the servers since it was pinned."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence

from ael.cli.mcp import split_words
from ael.cli.mcp_compare import Compared, compare
from ael.cli.mcp_open import Listed, open_program, report_failures


async def act(args: argparse.Namespace) -> int:
    """Compare. Exit code 1 when something that the program uses is not as it was pinned, or a server could not be reached."""
    names, path = split_words(args.words)
    program = open_program(path, args.deploy)
    listed, failed = await program.list(program.chosen(names))
    found = [(one, compare(one, program.pins.get(one.server.name))) for one in listed]
    if args.format == "json":
        program.out(json.dumps({"servers": {one.server.name: plain(all_) for one, all_ in found}}, ensure_ascii=True, indent=2))
    else:
        for line in [line for one, all_ in found for line in lines(one, all_)]:
            program.out(line)
    differs = any(one.state != "same" for _, all_ in found for one in all_)
    if not differs and not failed:
        count = sum(len(all_) for _, all_ in found)
        program.tell(f"nothing changed ({count} pinned)" if count else "nothing is pinned, and nothing is used")
    return max(report_failures(failed), int(differs))


def lines(listed: Listed, compared: Sequence[Compared]) -> list[str]:
    """The differences of one server."""
    words = {
        "new": "is used and not pinned: `ael mcp pin` pins it",
        "changed": "changed since it was pinned:",
        "missing": "is used and not there any more:",
        "refused": "has no exact type:",
    }
    told = []
    for one in compared:
        if one.state != "same":
            told += [f"{listed.server.name}, {one.title} {words[one.state]}", *(f"  {line}" for line in one.lines)]
    return told


def plain(compared: Sequence[Compared]) -> list[dict[str, object]]:
    """The same as JSON."""
    return [{"kind": one.kind, "name": one.wire, "state": one.state, "difference": list(one.lines)} for one in compared]
