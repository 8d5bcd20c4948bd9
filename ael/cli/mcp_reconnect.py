"""`ael mcp reconnect`: a fresh connection to each server, from nothing kept: time, protocol, and what is not as it was pinned."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping

from ael.cli.mcp import split_words
from ael.cli.mcp_compare import compare
from ael.cli.mcp_diff import lines as differences
from ael.cli.mcp_diff import plain as plain_differences
from ael.cli.mcp_open import Listed, Program, open_program, report_failures
from ael.mcp.outside import visible


async def act(args: argparse.Namespace) -> int:
    """Probe. Exit code 1 when a server could not be reached, or something that the program uses changed."""
    names, path = split_words(args.words)
    program = open_program(path, args.deploy)
    listed, failed = await program.list(program.chosen(names), everything=True, ping=True)
    found = [(one, compare(one, program.pins.get(one.server.name))) for one in listed]
    if args.format == "json":
        program.out(
            json.dumps({"servers": {one.server.name: _plain(program, one) for one in listed}}, ensure_ascii=True, indent=2)
        )
    else:
        for one, all_ in found:
            for line in [*_lines(program, one), *(f"  {line}" for line in differences(one, all_))]:
                program.out(line)
    return max(report_failures(failed), int(any(one.state != "same" for _, all_ in found for one in all_)))


def _lines(program: Program, listed: Listed) -> list[str]:
    times = ", ".join(f"{what} {seconds * 1000:,.0f} ms" for what, seconds in listed.times.items())
    kinds = (("tool", listed.tools), ("resource", listed.resources), ("prompt", listed.prompts))
    counts = ", ".join(f"{len(found)} {kind}{'' if len(found) == 1 else 's'}" for kind, found in kinds)
    told = [f"{listed.server.name}: connected to {listed.described} ({listed.server.where})", f"  {times}", f"  {counts}"]
    return told + [f"  {key}: {old} → {new}" for key, old, new in _moved(program, listed)]


def _moved(program: Program, listed: Listed) -> list[tuple[str, str, str]]:
    """What beside the definitions is not as the lock has it: it decides nothing, and explains much."""
    pins = program.pins.get(listed.server.name)
    if pins is None:
        return []
    facts = [("protocol", pins.protocol, listed.protocol), *_versions(pins.server, listed.info)]
    return [(key, visible(str(old), 64), visible(str(new), 64)) for key, old, new in facts if old != new]


def _versions(old: Mapping[str, object], new: Mapping[str, object]) -> list[tuple[str, object, object]]:
    return [(f"server's {key}", old.get(key), new.get(key)) for key in ("name", "version")]


def _plain(program: Program, listed: Listed) -> dict[str, object]:
    pins = program.pins.get(listed.server.name)
    return {
        "protocol": listed.protocol,
        "server": dict(listed.info),
        "milliseconds": {what: round(seconds * 1000, 3) for what, seconds in listed.times.items()},
        "moved": [{"what": key, "pinned": old, "now": new} for key, old, new in _moved(program, listed)],
        "pins": plain_differences(compare(listed, pins)),
    }
