"""`ael mcp call`: one tool, by hand: arguments checked by its type, the result as JSON on standard output."""

from __future__ import annotations

import argparse
import asyncio
import json
import secrets
import sys
from collections.abc import Mapping

from ael.cli.approve import TerminalApprover
from ael.cli.mcp_error import CommandError
from ael.cli.mcp_listener import Asking
from ael.cli.mcp_offer import Offer, signature, why
from ael.cli.mcp_open import Listed, Program, Server, open_program
from ael.cli.outcome import print_outcome
from ael.cli.progress import clean
from ael.cli.question import said_yes
from ael.data import replace
from ael.mcp.difference import difference
from ael.mcp.failure import McpError
from ael.mcp.outside import visible, visible_lines
from ael.mcp.session import Session
from ael.run.bindings import system_user
from ael.run.outcome import Faulted, Outcome, Unsettled, Value
from ael.run.ports import RemoteAnswer
from ael.run.remote import joined
from ael.run.repeat import LOST_ANSWER
from ael.types.canonical import encode
from ael.types.decode import decoder
from ael.types.fault import FaultKind
from ael.types.json import JsonError, read
from ael.types.problem import DecodeError
from ael.types.signature import Repeat

MAX_ARGUMENTS = 16 * 1024 * 1024
"""Bytes of arguments that are read; the tool's own limits are smaller."""
_SAID = 2_000


async def act(args: argparse.Namespace) -> int:
    """Call. Exit code as `ael run`: 0 for a value, 1 for another ending, 2 for arguments that do not fit, 130 when interrupted."""
    program = open_program(args.path, args.deploy)
    server, name = _target(program, args.tool)
    text = (
        sys.stdin.buffer.read(MAX_ARGUMENTS + 1) if args.arguments == "-" else args.arguments.encode("utf-8", "surrogateescape")
    )
    arguments = _object(text)
    async with program.connected(server, Asking(program.tell, f"{server.short}.{visible(name, 128)}")) as session:
        listed = await program.listed(server, session)
        offer = _offered(listed, name)
        _checked(offer, arguments)
        _as_pinned(program, listed, offer)
        if not args.yes and _repeat(server, offer) < Repeat.IDEMPOTENT:
            await _confirmed(server, offer, arguments)
        outcome = await _call(program, session, server, offer, arguments)
    return print_outcome(_masked(program, outcome), whole=args.json)


# --- what is called, and with what ----------------------------------------------------------------------------------------


def _target(program: Program, word: str) -> tuple[Server, str]:
    """The server and the tool that `files.read_text_file` or `main.files.read-text-file` names."""
    for server in program.servers:
        for prefix in (f"{server.name}.", f"{server.own}."):
            if word.startswith(prefix) and len(word) > len(prefix):
                return program.chosen([server.name])[0], word.removeprefix(prefix)
    program.chosen([word.partition(".")[0]])
    raise CommandError("AEL0864", f"`{visible(word)}` names no tool", "say which: `ael mcp call SERVER.TOOL '{…}'`")


def _object(text: bytes) -> dict[str, object]:
    try:
        value = read(text, max_bytes=MAX_ARGUMENTS)
    except JsonError as error:
        raise CommandError("AEL0865", f"the arguments are no JSON: {error.message}", _QUOTES) from None
    if not isinstance(value, dict):
        raise CommandError("AEL0865", "the arguments are an object with a key for each parameter", _QUOTES)
    return value


_QUOTES = """on a command line they stand in single quotes: '{"path": "a.txt"}'"""


def _offered(listed: Listed, name: str) -> Offer:
    """The tool as the server lists it now. Raises `CommandError` where it lists none, or one that has no type."""
    wire = next((want.wire for want in listed.server.wanted if want.kind == "tool" and want.name == name), name)
    offer = listed.offers.get(wire)
    if offer is None:
        names = ", ".join(f"`{visible(one, 64)}`" for one in list(listed.offers)[:20])
        more = f" and {len(listed.offers) - 20} more" if len(listed.offers) > 20 else ""
        raise CommandError(
            "AEL0864", f"`{listed.server.short}` has no tool `{visible(name, 128)}`", f"it lists {names or 'none'}{more}"
        )
    if offer.refused is not None:
        raise CommandError(
            "AEL0864", f"the tool `{visible(wire, 128)}` has no exact type, so it is not called", why(offer.refused)
        )
    return offer


def _checked(offer: Offer, arguments: Mapping[str, object]) -> None:
    assert offer.types is not None
    try:
        decoder(offer.types.input, offer.types.definitions)(arguments)
    except DecodeError as error:
        notes = [str(problem) for problem in error.problems]
        message = f"the arguments do not fit {visible(offer.wire, 128)}{signature(offer.types)}"
        raise CommandError("AEL0865", message, *map(visible, notes)) from None


def _as_pinned(program: Program, listed: Listed, offer: Offer) -> None:
    """Refuse what is not as the program knows it: a changed definition is never called (feature A9.5)."""
    pins = program.pins.get(listed.server.name)
    old = pins.tools.get(offer.wire) if pins is not None else None
    changed = difference(old.definition, offer.definition) if old is not None else []
    if changed:
        message = f"`{listed.server.short}.{visible(offer.wire, 128)}` is not as it was pinned, so it is not called"
        raise CommandError(
            "AEL0863",
            message,
            *(f"  {line}" for line in changed),
            "look at it, and pin it as it is now: `ael mcp pin`",
            exit_code=1,
        )


def _repeat(server: Server, offer: Offer) -> Repeat:
    """What the program declares; what it does not use is `never`, whatever the server says of it."""
    return next((w.repeat for w in server.wanted if w.kind == "tool" and w.wire == offer.wire), Repeat.NEVER)


async def _confirmed(server: Server, offer: Offer, arguments: Mapping[str, object]) -> None:
    """Ask, where there is somebody to ask. Raises `CommandError` for a no."""
    called = f"{server.short}.{visible(offer.wire, 128)}"
    terminal = TerminalApprover(system_user(), {})
    if not terminal.source.isatty():
        message = f"`{called}` is not declared `repeat idempotent`, so a call of it needs a yes"
        raise CommandError("AEL0866", message, "this is no terminal, where it could be asked: say `--yes`")
    print(clean(f"{called} may change something:\n{json.dumps(arguments, ensure_ascii=False, indent=2)}"), file=sys.stderr)
    if not await said_yes(terminal.line, "call it?"):
        raise CommandError("AEL0866", f"`{called}` was not called: the answer was no", exit_code=1)


# --- the call -------------------------------------------------------------------------------------------------------------


async def _call(program: Program, session: Session, server: Server, offer: Offer, arguments: Mapping[str, object]) -> Outcome:
    key = secrets.token_hex(16)
    called = f"{server.short}.{visible(offer.wire, 128)}"
    uncertain = _repeat(server, offer).can_be_uncertain

    def progressed(done: float, total: float | None, text: str) -> None:
        of = "" if total is None else f" of {total:g}"
        program.tell(f"{called}: {done:g}{of} {visible(text)}".rstrip())

    try:
        answer = await session.call(
            offer.wire,
            arguments,
            meta={"idempotencyKey": key},
            deadline=program.timeout(server),
            idle=program.idle(server),
            on_progress=progressed,
        )
    except McpError as error:
        if uncertain and error.sent and error.kind in LOST_ANSWER:
            return Unsettled(key, called, "call", {"message": error.message})
        return Faulted(error.kind, visible(error.message, _SAID), {"sent": error.sent})
    except asyncio.CancelledError:
        if uncertain:
            program.tell(f"{called} was interrupted: it may or may not have taken effect (key {key})")
        raise
    return _ending(program, called, offer, answer, key, uncertain)


def _ending(program: Program, called: str, offer: Offer, answer: RemoteAnswer, key: str, uncertain: bool) -> Outcome:
    assert offer.types is not None
    if answer.is_error:
        # Masked before it is cut short, so that no half of a secret is left at its end.
        said = program.masked(joined(answer.parts).strip()) or "(nothing)"
        return Faulted(FaultKind.TOOL_FAILED, f"{called} failed, its server says: {_lines(said)}", {})
    if offer.types.text:
        text = joined(answer.parts)
        return Value(text, text)
    why_ = "there is no structured content, which the server declares"
    try:
        if answer.structured is not None:
            value = decoder(offer.types.result, offer.types.definitions)(answer.structured)
            return Value(value, json.loads(encode(value)))
    except DecodeError as error:
        why_ = error.text
    if uncertain:
        return Unsettled(key, called, "call", {"message": why_})
    return Faulted(FaultKind.MALFORMED, f"the result of {called} does not fit its type: {visible(why_, _SAID)}", {})


def _lines(said: str) -> str:
    """What a server says of its failure, which may have lines: those stay, and nothing in them can pass for a line of `ael`."""
    first, *more = visible_lines(said[:_SAID] + ("…" if len(said) > _SAID else ""), limit=_SAID)
    return "".join([first, *(f"\n  | {line}" for line in more)])


def _masked(program: Program, outcome: Outcome) -> Outcome:
    """The outcome without the secrets that are known: the server has them, and may say them again."""
    mask = program.masker()
    match outcome:
        case Value(plain=plain):
            return replace(outcome, plain=mask.value(plain))
        case Faulted(message=message):
            return replace(outcome, message=mask.text(message))
        case Unsettled(details={"message": str(message)}):
            return replace(outcome, details={"message": mask.text(message)})
        case _:
            return outcome
