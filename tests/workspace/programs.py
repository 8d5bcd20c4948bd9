"""Programs that work in a folder, for the tests: written, opened with a deployment, and run on scripted models."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from ael.host import open_host
from ael.models.script import parse_script
from ael.models.scripted import ScriptedConversation, ScriptedProvider
from ael.project.entry import choose
from ael.project.program import Opened
from ael.run.bindings import BoundModel, Options
from ael.run.outcome import DeclaredError, Faulted, Outcome, Value
from ael.run.ports import ApprovalRequest, Decision, ToolAnswer
from tests.programs import open_files

PACK = "pack code {\n  uses std/code\n}\n"
DEPLOY = 'files = folder("./ws", write: true)\ncode = commands(test: ["sh", "tests.sh"], shell: true)\n'
AGENT = """
use std/code.{delete_file, edit, glob, grep, read_file, run_tests, shell, write_file}

model m { provider scripted }

/// Do it.
node main(task: String) -> String fails Uncertain
  model m
  policy loop(steps: 12, tool_calls: 20)
  grants std.code.write, std.code.shell
  tools read_file, glob, grep, edit, write_file, delete_file, run_tests, shell
{
  instructions "Work."
}
"""


def program(folder: Path, main: str, deploy: str = DEPLOY, **files: str) -> Opened:
    """A program beside its folder `ws`, which holds `files` (`a_txt` is `a.txt`)."""
    (folder / "ws").mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / "ws" / name.replace("_", ".")).write_text(text, newline="")
    opened, bag = open_files(folder, {"main.ael": main, "pack.ael": PACK, "deploy.ael": deploy})
    assert opened is not None, [f"{d.code} {d.message}" for d in bag.sorted()]
    return opened


class Person:
    """Says yes or no to whatever is asked, and remembers it."""

    def __init__(self, approved: bool = True, before: Callable[[], object] = bool) -> None:
        self.approved = approved
        self.before = before
        self.asked: list[ApprovalRequest] = []

    async def decide(self, request: ApprovalRequest) -> Decision:
        self.asked.append(request)
        self.before()
        return Decision(self.approved, "ann")


class Played:
    """A run: its outcome, and what the model was answered, in order."""

    def __init__(self, outcome: Outcome, conversations: Sequence[ScriptedConversation]) -> None:
        self.outcome = outcome
        said = [message for one in conversations for message in one.messages or ()]
        self.answers: list[str] = [
            one.content for kind, many in said if kind == "answers" for one in cast(Sequence[ToolAnswer], many)
        ]

    @property
    def value(self) -> Any:
        assert isinstance(self.outcome, Value), self.outcome
        return self.outcome.plain

    @property
    def error(self) -> str:
        assert isinstance(self.outcome, DeclaredError), self.outcome
        return self.outcome.error.rpartition(".")[2]

    @property
    def fault(self) -> str:
        assert isinstance(self.outcome, Faulted), self.outcome
        return self.outcome.kind.value


def play(
    opened: Opened,
    script: object = None,
    values: Mapping[str, object] | None = None,
    *,
    entry: str | None = None,
    approver: Any = None,
    functions: Mapping[str, Callable[..., object]] | None = None,
) -> Played:
    """Run an entry; without a `task` given, it is one."""
    conversations: list[ScriptedConversation] = []
    provider = ScriptedProvider(parse_script(script or []), keep_requests=True)
    provider.requests = conversations
    models = {name: BoundModel(provider, "script", {}, None) for name in opened.program.models}
    given = {"task": "do it"} if values is None and opened.program.models else values or {}
    return Played(asyncio.run(_run(opened, models, entry, given, approver, functions)), conversations)


async def _run(
    opened: Opened,
    models: dict[str, BoundModel],
    entry: str | None,
    values: Mapping[str, object],
    approver: Any,
    functions: Mapping[str, Callable[..., object]] | None,
) -> Outcome:
    async with open_host(opened, models=models, approver=approver, functions=functions) as host:
        return await host.engine.start(choose(opened.program, entry), values, Options("local", "tester", run="test")).outcome()
