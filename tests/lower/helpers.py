"""Programs from source to compiled code, and a frame that stands for the run time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ael.check.check import check_program
from ael.check.program import CheckedProgram
from ael.diagnostics.diagnostic import Bag
from ael.lower.lower import lower
from ael.lower.unit import CompiledUnit
from ael.source import Source
from ael.syntax.parse import parse_module
from ael.types.fault import Fault, FaultKind


def checked(text: str, *, path: Path | None = None, **others: str) -> CheckedProgram:
    """A program of one module `main` (and `others`), which must check."""
    bag = Bag()
    modules = {name: parse_module(Source(f"{name}.ael", source), bag) for name, source in others.items()}
    modules["main"] = parse_module(Source("main.ael", text, path), bag)
    program = check_program(modules, "main", bag, extern_allowed=frozenset(), uses=frozenset())
    assert program is not None, "\n".join(
        f"{d.code} {d.message} at {d.place.source.text[slice(*d.place.span)]!r}" for d in bag.sorted()
    )
    return program


def compiled(text: str, *, path: Path | None = None, **others: str) -> CompiledUnit:
    """A compiled program."""
    return lower(checked(text, path=path, **others))


def run(text: str, name: str = "f", *arguments: object) -> Any:
    """What a pure function gives."""
    return compiled(text).functions[f"main.{name}"](*arguments)


Effect = Callable[..., object]


@dataclass
class World:
    """What all frames of one run share: effects by name, and what happened."""

    effects: Mapping[str, Effect] = field(default_factory=dict)
    calls: list[tuple[str, str, tuple[object, ...]]] = field(default_factory=list)
    """Path, target, arguments."""
    scripts: list[tuple[str, list[object]]] = field(default_factory=list)
    tested: list[tuple[str, str, dict[str, object]]] = field(default_factory=list)
    released: list[tuple[object, str]] = field(default_factory=list)
    max_depth: int = 100


class FakeFrame:
    """A frame without steps: effects are Python functions, paths are as in the run time."""

    def __init__(self, world: World, path: str = "", depth: int = 0) -> None:
        self.world = world
        self.path = path
        self.depth = depth
        self.visits: dict[int, int] = {}

    @property
    def key(self) -> str:
        return f"key{self.path}"

    def _at(self, site: int) -> str:
        visit = self.visits[site] = self.visits.get(site, 0) + 1
        return f"{self.path}/{site}.{visit}"

    def enter(self, site: int) -> FakeFrame:
        if self.depth >= self.world.max_depth:
            raise Fault(FaultKind.TOO_DEEP, "too deep")
        return FakeFrame(self.world, self._at(site), self.depth + 1)

    async def act(self, site: int, target: str, arguments: tuple[object, ...]) -> object:
        self.world.calls.append((self._at(site), target, arguments))
        await asyncio.sleep(0)
        made = self.world.effects[target](*arguments)
        return await made if isinstance(made, Awaitable) else made

    async def parallel_for(
        self, site: int, items: Sequence[object], limit: int | None, body: Callable[[Any, object], Awaitable[object]]
    ) -> list[object]:
        frames = [FakeFrame(self.world, f"{self._at(site)}[{i}]", self.depth + 1) for i in range(len(items))]
        return list(await asyncio.gather(*(body(k, x) for k, x in zip(frames, items, strict=True))))

    async def parallel_record(
        self, site: int, branches: Sequence[tuple[str, Callable[[Any], Awaitable[object]]]]
    ) -> dict[str, object]:
        frames = [FakeFrame(self.world, f"{self._at(site)}[{name}]", self.depth + 1) for name, _ in branches]
        results = await asyncio.gather(*(body(k) for k, (_, body) in zip(frames, branches, strict=True)))
        return {name: result for (name, _), result in zip(branches, results, strict=True)}

    def release(self, site: int, value: object, reason: str) -> object:
        self.world.released.append((value, reason))
        return value

    async def script(self, site: int, name: str, turns: Sequence[object]) -> None:
        self.world.scripts.append((name, list(turns)))

    async def test(self, site: int, what: str, target: str, given: Mapping[str, object]) -> object:
        self.world.tested.append((what, target, dict(given)))
        return sum(name == target for _, name, _ in self.world.calls)


def act(body: Callable[..., Awaitable[Any]], *arguments: object, world: World | None = None) -> Any:
    """Run acting code to its end."""
    frame = FakeFrame(world or World())

    async def main() -> Any:
        return await body(frame, *arguments)

    return asyncio.run(main())
