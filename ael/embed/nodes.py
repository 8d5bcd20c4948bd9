"""Nodes and agents as functions: `await session.nodes.answer(id="A-1")`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from typing import Any, Unpack

from ael.embed.options import Asked
from ael.embed.outcome import Outcome
from ael.project.entry import EntryError, choose, entries
from ael.project.program import Opened

Start = Callable[..., Awaitable[Outcome[Any]]]


class NodeCall:
    """One node: called with its parameters by name, it runs and gives its outcome."""

    def __init__(self, name: str, run: Start, keywords: dict[str, Any]) -> None:
        self._name = name
        self._run = run
        self._keywords = keywords

    def using(self, *, result_type: object = None, **asked: Unpack[Asked]) -> NodeCall:
        """The same node with keywords of `Session.run`: `nodes.answer.using(caller="ann", result_type=Ticket)(id="A-1")`."""
        chosen = {} if result_type is None else {"result_type": result_type}
        return NodeCall(self._name, self._run, {**self._keywords, **chosen, **asked})

    async def __call__(self, **input: object) -> Outcome[Any]:
        """Run it. Raises what `Session.run` raises."""
        return await self._run(self._name, input, **self._keywords)

    def __repr__(self) -> str:
        return f"<node {self._name}>"


class Nodes:
    """The nodes and agents of a program's main module, by name."""

    def __init__(self, opened: Opened, run: Start) -> None:
        self._opened = opened
        self._run = run

    def __getattr__(self, name: str) -> NodeCall:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            choose(self._opened.program, name)
        except EntryError as error:
            raise AttributeError(str(error)) from None
        return NodeCall(name, self._run, {})

    __getitem__ = __getattr__

    def __iter__(self) -> Iterator[str]:
        """Their names."""
        return iter(entries(self._opened.program))

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self]
