"""Structured concurrency: `parallel` runs its branches beside each other; the first failure cancels the rest and is what it fails with.

A branch that parks stops none of the others: when they have ended or parked too, the whole parks.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from ael.run.park import Parked, joined
from ael.types.fault import Fault, FaultKind

T = TypeVar("T")
F = TypeVar("F")


async def each(
    frames: Sequence[F],
    items: Sequence[object],
    limit: int | None,
    body: Callable[[F, object], Awaitable[object]],
    workers: set[asyncio.Task[None]],
    left: Callable[[], None],
) -> list[object]:
    """`body` for each item, at most `limit` at once, results in the order of the items."""

    def bound(index: int) -> Callable[[], Awaitable[object]]:
        return lambda: body(frames[index], items[index])

    return await branches([bound(index) for index in range(len(items))], workers, left, limit)


async def branches(
    parts: Sequence[Callable[[], Awaitable[T]]],
    workers: set[asyncio.Task[None]],
    left: Callable[[], None],
    limit: int | None = None,
) -> list[T]:
    """Run `parts`, at most `limit` at once. All have ended when this returns or raises; the failure that came first is raised.

    Each worker takes the next part, so that a list of 10,000 items at `up to 4` costs four tasks. `workers` knows the tasks while they run;
    `left` is called when the code of a part was left by a failure, before anything else runs.
    """
    if not parts:
        return []
    width = len(parts) if limit is None else max(1, min(limit, len(parts)))
    if width == 1:
        return [await part() for part in parts]
    results: list[Any] = [None] * len(parts)
    failure: list[BaseException] = []
    parked: list[Parked] = []
    waiting = iter(range(len(parts)))

    async def worker() -> None:
        for index in waiting:
            if failure:
                return
            try:
                results[index] = await parts[index]()
            except Parked as waiting_for:
                parked.append(waiting_for)
            except BaseException as caught:
                left()
                error: BaseException = caught
                if isinstance(caught, asyncio.CancelledError):
                    task = asyncio.current_task()
                    if failure or (task is not None and task.cancelling()):
                        raise
                    error = Fault(FaultKind.CANCELLED, "a branch was cancelled from inside")
                if not failure:
                    failure.append(error)
                    for task in tasks:
                        if task is not asyncio.current_task():
                            task.cancel()
                return

    loop = asyncio.get_running_loop()
    tasks = [loop.create_task(worker()) for _ in range(width)]
    workers.update(tasks)
    try:
        await asyncio.wait(tasks)
    except asyncio.CancelledError:
        await _stop(tasks)
        raise
    finally:
        workers.difference_update(tasks)
    if failure:
        raise failure[0]
    if parked:
        raise joined(parked)
    for task in tasks:
        task.result()
    return results


async def _stop(tasks: Sequence[asyncio.Task[None]]) -> None:
    """Cancel and join. A second cancel while joining is remembered by the caller's own cancellation."""
    for task in tasks:
        task.cancel()
    while any(not task.done() for task in tasks):
        try:
            await asyncio.wait(tasks)
        except asyncio.CancelledError:
            for task in tasks:
                task.cancel()
