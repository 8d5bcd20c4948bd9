"""Structured concurrency: `parallel` runs its branches beside each other; the first failure cancels the rest and is what it fails with.

A branch that parks stops none of the others: when they have ended or parked too, the whole parks. A call whose outcome nobody knows is
told before any failure beside it, whichever came first: it has to be faced (K26).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from ael.run.given_up import GivenUp
from ael.run.park import Parked, joined
from ael.types.fault import Fault, FaultKind, Uncertain

T = TypeVar("T")
F = TypeVar("F")
_ROUNDS = 32
"""Rounds of the event loop that a branch may take over the journal: two or three for each `parallel` in it."""


async def each(
    frames: Sequence[F],
    items: Sequence[object],
    limit: int | None,
    body: Callable[[F, object], Awaitable[object]],
    workers: set[asyncio.Task[None]],
    left: Callable[[], None],
    *,
    replays: bool = False,
) -> list[object]:
    """`body` for each item, at most `limit` at once, results in the order of the items."""

    def bound(index: int) -> Callable[[], Awaitable[object]]:
        return lambda: body(frames[index], items[index])

    return await branches([bound(index) for index in range(len(items))], workers, left, limit, replays=replays)


async def branches(
    parts: Sequence[Callable[[], Awaitable[T]]],
    workers: set[asyncio.Task[None]],
    left: Callable[[], None],
    limit: int | None = None,
    *,
    replays: bool = False,
) -> list[T]:
    """Run `parts`, at most `limit` at once. All have ended when this returns or raises; the failure that came first is raised.

    Each worker takes the next part, so that a list of 10,000 items at `up to 4` costs four tasks. `workers` knows the tasks while they run;
    `left` is called when the code of a part was left by a failure, before anything else runs. `replays`: the journal may answer for the
    parts, which then come as far as they once came before a failure cancels them.
    """
    if not parts:
        return []
    width = len(parts) if limit is None else max(1, min(limit, len(parts)))
    if width == 1:
        return [await part() for part in parts]
    results: list[Any] = [None] * len(parts)
    failure: list[BaseException] = []
    parked: list[Parked] = []
    given_up: list[GivenUp] = []
    unsure: list[Uncertain] = []
    waiting = iter(range(len(parts)))

    over = False

    async def worker() -> None:
        nonlocal over
        for index in waiting:
            if over:
                return
            try:
                results[index] = await parts[index]()
            except Parked as waiting_for:
                parked.append(waiting_for)
            except GivenUp as stopped:
                # Here an earlier execution cancelled this branch: by the failure of another one, which comes, or from around all of them.
                given_up.append(stopped)
                return
            except BaseException as caught:
                left()
                error: BaseException = caught
                if isinstance(caught, asyncio.CancelledError):
                    task = asyncio.current_task()
                    if failure or (task is not None and task.cancelling()):
                        raise
                    error = Fault(FaultKind.CANCELLED, "a branch was cancelled from inside")
                if isinstance(error, Uncertain):
                    unsure.append(error)
                if not failure:
                    failure.append(error)
                    others = [task for task in tasks if task is not asyncio.current_task()]
                    if replays:
                        await _caught_up(others)
                    over = True
                    for task in others:
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
        unsettled = [one for one in parked if any(wait.kind == "uncertain" for wait in one.waits)]
        raise unsure[0] if unsure else joined(unsettled) if unsettled else failure[0]
    if given_up:
        raise given_up[0]
    if parked:
        raise joined(parked)
    for task in tasks:
        task.result()
    return results


async def _caught_up(tasks: Sequence[asyncio.Task[None]]) -> None:
    """Let other branches come as far as the journal answers for them, which takes no time but some rounds of the event loop."""
    for _ in range(_ROUNDS):
        if all(task.done() for task in tasks):
            return
        await asyncio.sleep(0)


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
