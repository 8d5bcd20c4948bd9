"""`ael mcp list`: what servers offer, as text or JSON."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence

from ael.cli.mcp import split_words
from ael.cli.mcp_offer import (
    SAYS,
    Offer,
    definition_lines,
    description,
    hints,
    prompt_signature,
    signature,
    text_of,
    why,
)
from ael.cli.mcp_open import Listed, Program, open_program, report_failures
from ael.mcp.manifest import digest_of
from ael.mcp.outside import visible


async def act(args: argparse.Namespace) -> int:
    """List. Exit code 1 when a server could not be reached."""
    names, path = split_words(args.words)
    program = open_program(path, args.deploy)
    listed, failed = await program.list(program.chosen(names), everything=True)
    if args.format == "json":
        program.out(
            json.dumps({"servers": {one.server.name: plain(program, one) for one in listed}}, ensure_ascii=True, indent=2)
        )
    else:
        for at, one in enumerate(listed):
            for line in [*([""] if at else []), *lines(program, one, full=args.full)]:
                program.out(line)
    return report_failures(failed)


def lines(program: Program, listed: Listed, *, full: bool) -> Iterator[str]:
    """One server as text."""
    yield f"{listed.server.name}: {listed.described} ({listed.server.where})"
    yield f"tools: {len(listed.tools)}" if listed.tools else "tools: none"
    for wire, one in listed.offers.items():
        yield from _tool(program, listed, wire, one, full)
    for (kind, wire), reason in listed.broken.items():
        yield f"  {kind} {visible(wire, 128)} refused, {visible(reason)}"
    if listed.nameless:
        yield f"  and {listed.nameless} without a name, which nobody can use"
    for title, said in (("resources", listed.resources), ("resource templates", listed.templates), ("prompts", listed.prompts)):
        if said:
            yield f"{title}: {len(said)}"
        for definition in said:
            yield from _other(program, listed, definition, title, full)


def _tool(program: Program, listed: Listed, wire: str, one: Offer, full: bool) -> Iterator[str]:
    marks = _marks(program, listed, "tool", wire, one.definition)
    if one.types is None:
        assert one.refused is not None
        yield f"  {visible(wire, 128)} refused, {why(one.refused)}{marks}"
    else:
        yield f"  {visible(wire, 128)}{signature(one.types)}{marks}"
        for line in definition_lines(one.types):
            yield f"      {line}"
    for line in description(one.definition, full=full):
        yield f"      {line}"
    said = hints(one.definition)
    if said:
        yield f"      {SAYS} it {', '.join(said)}"


def _other(program: Program, listed: Listed, definition: Mapping[str, object], title: str, full: bool) -> Iterator[str]:
    if title == "prompts":
        wire = definition.get("name")
        marks = _marks(program, listed, "prompt", wire, definition) if isinstance(wire, str) else ""
        yield f"  {text_of(wire)}{prompt_signature(definition)}{marks}"
    else:
        uri = definition.get("uri" if title == "resources" else "uriTemplate")
        used = "  [used]" if listed.server.uses("resource", str(uri)) else ""
        media = definition.get("mimeType")
        kind = f" {text_of(media, 64)}" if isinstance(media, str) else ""
        yield f"  {text_of(uri, 240)}{kind}  {SAYS} {text_of(definition.get('name'))}{used}"
    for line in description(definition, full=full):
        yield f"      {line}"


def _marks(program: Program, listed: Listed, kind: str, wire: str, definition: Mapping[str, object]) -> str:
    marks = [*(["used"] if listed.server.uses(kind, wire) else []), *_pinned(program, listed, kind, wire, definition)]
    return f"  [{', '.join(marks)}]" if marks else ""


def _pinned(program: Program, listed: Listed, kind: str, wire: str, definition: Mapping[str, object]) -> Sequence[str]:
    pins = program.pins.get(listed.server.name)
    old = None if pins is None else (pins.tools if kind == "tool" else pins.prompts).get(wire)
    if old is None:
        return ()
    return ("pinned",) if old.sha256 == digest_of(definition) else ("pinned, changed since",)


# --- JSON ----------------------------------------------------------------------------------------------------------------


def plain(program: Program, listed: Listed) -> dict[str, object]:
    """One server as JSON: `definition` and what is in it are the server's own words."""
    return {
        "protocol": listed.protocol,
        "server": dict(listed.info),
        "capabilities": dict(listed.capabilities),
        "where": listed.server.where,
        "broken": [{"kind": kind, "name": wire, "reason": reason} for (kind, wire), reason in listed.broken.items()],
        "tools": [_plain_tool(program, listed, wire, one) for wire, one in listed.offers.items()],
        "resources": [dict(one) for one in listed.resources],
        "resourceTemplates": [dict(one) for one in listed.templates],
        "prompts": [_plain_prompt(program, listed, one) for one in listed.prompts],
    }


def _plain_tool(program: Program, listed: Listed, wire: str, one: Offer) -> dict[str, object]:
    told: dict[str, object] = {"name": wire, **_state(program, listed, "tool", wire, one.definition)}
    if one.types is not None:
        told |= {"signature": signature(one.types), "types": definition_lines(one.types)}
    elif one.refused is not None:
        told["refused"] = {"keyword": one.refused.keyword, "path": one.refused.path, "reason": one.refused.reason}
    return {**told, "hints": hints(one.definition), "definition": dict(one.definition)}


def _plain_prompt(program: Program, listed: Listed, definition: Mapping[str, object]) -> dict[str, object]:
    wire = str(definition.get("name"))
    state = _state(program, listed, "prompt", wire, definition)
    return {"name": wire, **state, "signature": prompt_signature(definition).strip(), "definition": dict(definition)}


def _state(program: Program, listed: Listed, kind: str, wire: str, definition: Mapping[str, object]) -> dict[str, object]:
    pinned = _pinned(program, listed, kind, wire, definition)
    state = "no" if not pinned else "same" if pinned == ("pinned",) else "changed"
    return {"used": listed.server.uses(kind, wire), "pinned": state}
