"""Python functions of served test programs: they wait until a test lets them go on, and count what happens to them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field


@dataclass
class State:
    """What the functions did. `release` lets all that wait go on."""

    release: asyncio.Event = field(default_factory=asyncio.Event)
    entered: asyncio.Event = field(default_factory=asyncio.Event)
    inside: int = 0
    most: int = 0
    done: int = 0
    cancelled: int = 0
    callers: list[tuple[str, str]] = field(default_factory=list)


class Now:
    """The state of the test under way."""

    state = State()


def fresh() -> State:
    """A new state, for a new test."""
    Now.state = State()
    return Now.state


async def hold(*, call: object) -> int:
    """Wait to be let go."""
    state = Now.state
    state.inside += 1
    state.most = max(state.most, state.inside)
    state.callers.append((getattr(call, "caller", ""), getattr(call, "tenant", "")))
    state.entered.set()
    try:
        await state.release.wait()
        state.done += 1
    except asyncio.CancelledError:
        state.cancelled += 1
        raise
    finally:
        state.inside -= 1
    return state.done


def crash() -> int:
    """Fail inside, with something that nobody outside may see."""
    raise ValueError("the password is hunter2, in /srv/app/secret.py")


def lost() -> int:
    """Lose the reply."""
    raise TimeoutError("no answer")
