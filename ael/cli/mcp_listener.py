"""What a session with a server tells and asks on the way, at the command line."""

from __future__ import annotations

from collections.abc import Callable

from ael.cli.approve import TerminalApprover
from ael.cli.question import answered
from ael.mcp.outside import visible
from ael.mcp.session import Elicitation, ElicitationReply
from ael.run.bindings import system_user
from ael.run.elicit import misfit
from ael.run.ports import Question

_LOGGED = frozenset({"warning", "error", "critical", "alert", "emergency"})


class Silent:
    """Tells what a server logs, and answers no question: there is no call that it could belong to."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self.tell = tell

    def changed(self, what: str) -> None:
        """A list changed: each command reads it anew."""

    async def elicit(self, elicitation: Elicitation) -> ElicitationReply:
        """Nobody answers."""
        return ElicitationReply("cancel", None)

    def log(self, level: str, text: str) -> None:
        """Show what matters of it."""
        if level in _LOGGED:
            self.tell(f"the server logs ({level}): {visible(text)}")


class Asking(Silent):
    """And puts a question of the call to whoever sits at the terminal."""

    def __init__(self, tell: Callable[[str], None], tool: str) -> None:
        super().__init__(tell)
        self.tool = tool
        self.terminal = TerminalApprover(system_user(), {})

    async def elicit(self, elicitation: Elicitation) -> ElicitationReply:
        """Ask, where somebody sits there. An answer that does not fit what was asked for is not sent."""
        if not self.terminal.source.isatty():
            self.tell(f"the server of {self.tool} asks a question, and this is no terminal: nobody answers it")
            return await super().elicit(elicitation)
        question = Question(elicitation.message, elicitation.schema, elicitation.url)
        answer = await answered(self.tool, question, self.terminal.line, self.terminal.out)
        if answer is None:
            return ElicitationReply("decline", None)
        problem = None if question.url is not None else misfit(question, answer)
        if problem is not None:
            self.tell(f"not sent: {visible(problem, 500)}")
            return ElicitationReply("decline", None)
        return ElicitationReply("accept", None if question.url is not None else answer)
