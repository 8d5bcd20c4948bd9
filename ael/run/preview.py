"""What a person is shown of a call before saying yes: what it would do, made by the side that would do it.

Arguments alone do not tell what an edit of a file comes to. A Python function of the library may bring a second one, which gets the same
arguments, does nothing, and gives text (`previewed`). An error that the call would end with ends it before anybody is asked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ael.run.call import crashed
from ael.run.deadline import Deadline, Expired, Within
from ael.run.extern import Extern
from ael.run.scope import Scope
from ael.run.step import Step
from ael.types.fault import Failure, Fault, FaultKind

MOST = 32_768
"""Characters that are shown."""
_ATTRIBUTE = "ael_preview"
F = TypeVar("F", bound=Callable[..., object])


def previewed(function: F, preview: Callable[..., object]) -> F:
    """Have `preview` called, with the same arguments, before a person is asked about a call of `function`. It gives text, and does nothing.

    `function` is a Python function, and is given back.
    """
    vars(function)[_ATTRIBUTE] = preview
    return function


def preview_behind(function: Callable[..., object]) -> Callable[..., object] | None:
    """What `previewed` gave a function; None where it did not."""
    shows = getattr(function, _ATTRIBUTE, None)
    return shows if callable(shows) else None


class Preview:
    """What shows calls of one tool. `timeout` in seconds."""

    __slots__ = ("_extern", "_permission", "_short", "_timeout")

    def __init__(
        self, function: Callable[..., object], fails: frozenset[str], short: str, permission: str, timeout: float | None
    ) -> None:
        self._extern = Extern(function, fails)
        self._short = short
        self._permission = permission
        self._timeout = timeout

    async def made(self, scope: Scope, step: Step, arguments: dict[str, object]) -> str:
        """The text for one call. Raises a declared error of the tool, or `Fault`."""
        limit = Deadline(scope.run.world.clock, self._timeout, f"what `{self._short}` would do", scope.deadline)
        try:
            text = await Within(self._extern.run(scope, step, self._permission, arguments), limit)
        except Expired as expired:
            if expired.deadline is not limit:
                raise
            raise Fault(
                FaultKind.TIMEOUT, f"`{self._short}` took longer than {self._timeout:g} s to say what it would do"
            ) from None
        except Failure as failure:
            if failure.error in self._extern.fails:
                raise
            raise crashed(self._short, failure, scope.run.world.masker.text) from failure
        except Fault:
            raise
        except Exception as error:
            raise crashed(self._short, error, scope.run.world.masker.text) from error
        if not isinstance(text, str):
            raise Fault(FaultKind.CRASHED, f"`{self._short}` said what it would do with a {type(text).__name__}")
        return text if len(text) <= MOST else f"{text[:MOST]}\n… ({len(text) - MOST:,} more characters)"


def preview_of(
    function: Callable[..., object] | None, fails: frozenset[str], short: str, permission: str, timeout: float | None
) -> Preview | None:
    """What shows the calls of a tool whose body is `function`; None where nothing does."""
    shows = None if function is None else preview_behind(function)
    return None if shows is None else Preview(shows, fails, short, permission, timeout)
