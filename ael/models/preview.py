"""A model that is measured and never asked: what a preview has where a model cannot be used yet (no key, no weights, no script)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ael.models.wire import encode
from ael.run.ports import ConversationSpec, ModelError, ModelErrorKind, ModelEvent, ModelTurn, ToolAnswer
from ael.types.value import File

MAX_OUTPUT = 4_096


@dataclass(frozen=True, slots=True)
class Unbound:
    """A provider that asks nobody. `name` is the provider's that it stands for, by which it is priced."""

    name: str

    @property
    def window(self) -> int | None:
        return None

    @property
    def max_output(self) -> int:
        return MAX_OUTPUT

    def converse(self, spec: ConversationSpec) -> UnboundConversation:
        return UnboundConversation(spec)

    async def close(self) -> None:
        return None


class UnboundConversation:
    """Counts the bytes of what is said."""

    def __init__(self, spec: ConversationSpec) -> None:
        tools = [{"name": tool.name, "description": tool.description, "parameters": dict(tool.schema)} for tool in spec.tools]
        self.size = len(encode({"system": spec.system, "tools": tools, "output": dict(spec.output.schema)}))

    def user(self, text: str, files: Sequence[File] = ()) -> None:
        attached = sum([4 * len(file.data or b"") // 3 for file in files])
        self.size += len(encode({"role": "user", "content": text})) + attached

    def turn(self, turn: ModelTurn) -> None:
        self.size += len(encode([turn.text, turn.final or "", [[call.name, call.arguments or ""] for call in turn.calls]]))

    def answers(self, answers: Sequence[ToolAnswer]) -> None:
        self.size += sum(len(encode(answer.content)) for answer in answers)

    async def ask(self, max_tokens: int, last: bool, on_event: Callable[[ModelEvent], None] | None) -> ModelTurn:
        raise ModelError(ModelErrorKind.BAD_REQUEST, "this model is only previewed")
