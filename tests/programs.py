"""Programs given as text, for the tests: files by name, checked, and run on scripted models."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ael.cli.approve import FixedApprover
from ael.diagnostics.diagnostic import Bag, Diagnostic
from ael.diagnostics.render import render
from ael.host import Host, open_host
from ael.models.script import parse_script
from ael.models.scripted import ScriptedConversation, ScriptedProvider
from ael.project.entry import choose
from ael.project.lock import lock_bytes
from ael.project.program import Opened, open_program
from ael.run.bindings import BoundModel, Options
from ael.run.outcome import Outcome
from ael.run.ports import Span
from ael.run.trace import SpanList
from ael.types.pin import ServerPins, pin


@dataclass
class Block:
    """A fenced block of a Markdown page: its language, the other words of its info string, its text, the line it starts on."""

    language: str
    words: dict[str, str]
    text: str
    line: int
    heading: str


def blocks(page: str) -> Iterator[Block]:
    """The fenced blocks of a page, in order."""
    heading, line = "", 0
    lines = page.split("\n")
    while line < len(lines):
        if lines[line].startswith("#"):
            heading = lines[line].lstrip("# ").strip()
        fence = re.match(r"^(`{3,})(\S+)?(.*)$", lines[line])
        if fence is None:
            line += 1
            continue
        start = line + 1
        line = start
        while line < len(lines) and lines[line].rstrip() != fence[1]:
            line += 1
        words = {word.partition("=")[0]: word.partition("=")[2] for word in fence[3].split()}
        yield Block(fence[2] or "", words, "\n".join(lines[start:line]) + "\n", start, heading)
        line += 1


def write(folder: Path, files: Mapping[str, str]) -> None:
    """Write the files of a program into a folder."""
    for name, text in files.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8", newline="")


def open_files(folder: Path, files: Mapping[str, str], main: str = "main.ael") -> tuple[Opened | None, Bag]:
    """Write a program into a folder and open it."""
    write(folder, files)
    bag = Bag()
    return open_program(folder / main, bag), bag


def brief(diagnostic: Diagnostic, folder: Path, main: str = "main.ael") -> str:
    """`AEL0301 3:5 message`, with the file in front when it is not the main one."""
    at = diagnostic.place.source.position(diagnostic.place.span.start)
    path = diagnostic.place.source.path
    name = path.resolve().relative_to(folder.resolve()).as_posix() if path is not None else diagnostic.place.source.name
    lead = "" if name == main else f"{name} "
    return f"{lead}{diagnostic.code} {at.line}:{at.column} {diagnostic.message}"


def rendered(diagnostic: Diagnostic, folder: Path) -> str:
    """The plain rendering, with paths relative to the program's folder."""
    return re.sub(rf"(--> ){re.escape(str(folder.resolve()))}/|(--> )\S*/(?=[\w.]+\.ael:)", r"\1\2", render(diagnostic))


@dataclass
class Ran:
    """What a run gave."""

    outcome: Outcome
    spans: list[Span] = field(default_factory=list)
    conversations: list[ScriptedConversation] = field(default_factory=list)


def run(
    opened: Opened,
    values: object = None,
    script: object = None,
    entry: str | None = None,
    *,
    approve: bool = True,
    tenant: str = "local",
    caller: str = "tester",
) -> Ran:
    """Run an entry; `script` is a list of turns for every model, or an object by model name."""
    spans = SpanList()
    approver = FixedApprover(approve, "tester", dict.fromkeys(opened.program.roles, ("tester",)))
    conversations: list[ScriptedConversation] = []
    host = open_host(opened, models=_models(opened, script, conversations), approver=approver, sinks=[spans])
    given = values if isinstance(values, Mapping) else {}
    options = Options(tenant, caller, run="test", content=True)
    outcome = asyncio.run(_run(host, choose(opened.program, entry), given, options))
    return Ran(outcome, spans.spans, conversations)


async def _run(host: Host, entry: str, values: Mapping[str, object], options: Options) -> Outcome:
    async with host:
        return await host.engine.start(entry, values, options).outcome()


def _models(opened: Opened, script: object, conversations: list[ScriptedConversation]) -> dict[str, BoundModel]:
    shared = _scripted(script if isinstance(script, list) else [], conversations)
    bound = {}
    for name, spec in opened.program.models.items():
        turns = script.get(name.rpartition(".")[2]) if isinstance(script, Mapping) else None
        provider = shared if turns is None else _scripted(turns, conversations)
        bound[name] = BoundModel(provider, spec.model or "script", {}, spec.fallback)
    return bound


def _scripted(turns: object, conversations: list[ScriptedConversation]) -> ScriptedProvider:
    """A provider that plays the turns, and adds its conversations to those of the others."""
    provider = ScriptedProvider(parse_script(turns), keep_requests=True)
    provider.requests = conversations
    return provider


def loads(text: str) -> object:
    """JSON of a page's block."""
    return json.loads(text)


def files_of(sequence: Sequence[Block]) -> dict[str, str]:
    """The files that blocks with `file=` hold; one without is `main.ael`. `bom` and `crlf` write a file that way.

    A block `mcp file=ael.lock` has the definitions that servers are pinned with: `{"main.crm": {"tools": […], "prompts": […]}}`.
    """
    return {block.words.get("file", "main.ael"): _as_written(block) for block in sequence}


def lock_of(text: str) -> str:
    """The `ael.lock` of servers whose definitions are given in short: qualified name -> what they list."""
    said = json.loads(text)
    pins = {
        name: ServerPins(
            "2025-06-18",
            tools={tool["name"]: pin(tool) for tool in listed.get("tools", ())},
            prompts={prompt["name"]: pin(prompt) for prompt in listed.get("prompts", ())},
        )
        for name, listed in said.items()
    }
    return lock_bytes(pins).decode()


def _as_written(block: Block) -> str:
    if block.language == "mcp":
        return lock_of(block.text)
    text = block.text.replace("\n", "\r\n") if "crlf" in block.words else block.text
    return f"\ufeff{text}" if "bom" in block.words else text
