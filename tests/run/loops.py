"""One model-driven node with its tools, a body that counts, and the answers that a model got."""

from __future__ import annotations

from typing import Any

from ael.run.ports import ToolAnswer
from tests.run.fakes import FakeModel, model
from tests.run.helpers import (
    engine,
    node,
    parameter,
    unit,
)


class Body:
    """A tool body that counts how often it ran."""

    def __init__(self, *values: object) -> None:
        self.values = list(values)
        self.got: list[tuple[object, ...]] = []

    async def __call__(self, k: Any, *arguments: object) -> object:
        self.got.append(arguments)
        value = self.values.pop(0) if len(self.values) > 1 else self.values[0]
        if isinstance(value, BaseException):
            raise value
        return value


def program(
    *replies: Any, tools: Any = (), forever: bool = False, model_: FakeModel | None = None, bound: Any = None, **settings: Any
) -> tuple[Any, FakeModel]:
    fake = model_ or model(*replies, forever=forever)
    settings.setdefault("parameters", (parameter("q"),))
    parameters = settings.pop("parameters")
    names = [one.spec.name.partition(".")[2] for one in tools]
    made = unit(tools=tools, nodes=[node("answer", *parameters, tools=names, **settings)])
    return engine(made, fake, **(bound or {})), fake


def answers(fake: FakeModel, at: int = -1) -> list[ToolAnswer]:
    """The answers that the model had got when it was asked the `at`-th time."""
    found: list[ToolAnswer] = []
    for role, message in fake.conversations[-1].messages if at == -1 else fake.asked[at].messages:
        if role == "answers":
            found += message  # type: ignore[arg-type]
    return found


ASK = {"q": "hello"}
