"""Approvals asked on the terminal: what would run, with which arguments, and who asks. Anything but a clear yes is a no."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Mapping
from typing import TextIO

from ael.cli.progress import clean
from ael.cli.question import answered, takes_yes, told_program
from ael.data import replace
from ael.mcp.outside import visible_lines
from ael.run.human import NOBODY
from ael.run.ports import ApprovalRequest, Decision
from ael.run.role import not_a_member

_BLOCK = 65_536
PREVIEW_LINES, PREVIEW_LINE = 2_000, 1_000
"""Lines of what a call would do that are shown, and characters of each: what is not seen is not approved, so hardly anything is cut."""


class TerminalApprover:
    """Asks the person at the terminal. `members`: role -> who may decide for it; nobody else can.

    `parks`: the run can wait parked for a person who is not here.

    What is typed is read from the terminal itself, line by line and without a thread, so that a question that waits ends
    with its run.
    """

    def __init__(
        self,
        user: str,
        members: Mapping[str, tuple[str, ...]],
        source: TextIO | None = None,
        out: TextIO | None = None,
        *,
        parks: bool = False,
    ) -> None:
        self.user = user
        self.members = members
        self.parks = parks
        self.source = source if source is not None else sys.stdin
        self.out = out if out is not None else sys.stderr
        self._turn = asyncio.Lock()
        self._typed = b""

    async def decide(self, request: ApprovalRequest) -> Decision | None:
        """Ask, one question at a time. None: somebody else decides later, and the run waits parked."""
        refusal = not_a_member(request, self.user, self.members)
        waits = request.question is None or request.question.waits
        if self.parks and waits and (refusal is not None or not self.source.isatty()):
            return None
        if refusal is not None:
            return refusal
        if not self.source.isatty():
            # A question that no person saw is no person's no.
            by = self.user if request.question is None else NOBODY
            return Decision(False, by, "nobody could be asked: this is no terminal (see `--approve` and `--deny`)")
        async with self._turn:
            if request.question is None:
                return await self._ask(request)
            if request.question.waits:
                told = await told_program(request.tool, request.question, self.line, self.out)
                if told is None:
                    return None if self.parks else Decision(False, NOBODY, "the person at the terminal did not answer")
                return replace(told, by=self.user)
            answer = await answered(request.tool, request.question, self.line, self.out)
            return Decision(answer is not None, self.user, "" if answer is not None else "the person said no", answer)

    async def _ask(self, request: ApprovalRequest) -> Decision | None:
        arguments = json.dumps(request.arguments, ensure_ascii=False, indent=2, default=str)
        role = f" (as {request.role})" if request.role else ""
        print(clean(f"\n{request.tool} needs your approval{role}:\n{arguments}"), file=self.out)
        if request.preview:
            print("what it would do:", file=self.out)
            for line in visible_lines(request.preview, PREVIEW_LINES, PREVIEW_LINE):
                print(f"  | {line}", file=self.out)
        answer = await self.line(f"run it? [y]es, [n]o, [e]dit the arguments{', [l]ater' if self.parks else ''}: ")
        if self.parks and (answer is None or answer.lower() in ("l", "later")):
            return None
        if answer is None:
            return Decision(False, self.user, "nobody answered")
        if answer.lower() in ("y", "yes"):
            return Decision(True, self.user)
        if answer.lower() in ("e", "edit"):
            try:
                edited = json.loads(await self.line("the arguments, as one line of JSON: ") or "")
            except ValueError:
                return Decision(False, self.user, "the edited arguments were no JSON")
            if not isinstance(edited, dict):
                return Decision(False, self.user, "the edited arguments were no object")
            return Decision(True, self.user, "with edited arguments", edited)
        reason = await self.line("the reason, which the model is told: ")
        return Decision(False, self.user, reason or "the person said no")

    async def line(self, question: str) -> str | None:
        """Print a question and wait for a line; None at the end of the input."""
        print(question, end="", file=self.out, flush=True)
        number = self.source.fileno()
        while b"\n" not in self._typed:
            data = await _readable(number)
            if not data:
                return None
            self._typed += data
        line, _, self._typed = self._typed.partition(b"\n")
        return line.decode("utf-8", "replace").strip()


async def _readable(number: int) -> bytes:
    """What there is to read, once there is something."""
    loop = asyncio.get_running_loop()
    ready = loop.create_future()

    def tell() -> None:
        if not ready.done():
            ready.set_result(None)

    loop.add_reader(number, tell)
    try:
        await ready
    finally:
        loop.remove_reader(number)
    try:
        return os.read(number, _BLOCK)
    except OSError:
        # The terminal is gone: nobody answers any more.
        return b""


class FixedApprover:
    """Answers every request the same way, for `--approve` and `--deny`; roles hold all the same."""

    def __init__(self, approved: bool, user: str, members: Mapping[str, tuple[str, ...]]) -> None:
        self.approved = approved
        self.user = user
        self.members = members

    async def decide(self, request: ApprovalRequest) -> Decision:
        """Answer at once."""
        refusal = not_a_member(request, self.user, self.members)
        if refusal is not None:
            return refusal
        question = request.question
        if self.approved and question is not None and question.waits and not takes_yes(question):
            return Decision(False, NOBODY, "`--approve` says yes, which answers no such question")
        return Decision(self.approved, self.user, "" if self.approved else "denied on the command line")
