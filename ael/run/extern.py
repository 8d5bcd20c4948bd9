"""Python functions as tool bodies: asynchronous ones awaited, others in a thread of their own with the time limit of their tool.

A thread cannot be stopped from outside: the call ends at its time limit, the function is told through `call.cancelled()`, and the run
waits for it at its end, for at most its grace.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable
from functools import partial

from ael.data import replace
from ael.run.codec import snapshot
from ael.run.human import put_question
from ael.run.ports import CallContext
from ael.run.scope import Scope
from ael.run.step import Step
from ael.run.trace import child_of
from ael.types.fault import Failure, Fault, FaultKind
from ael.types.problem import DecodeError
from ael.types.type import Named


class Extern:
    """A Python function, and how it is called: keywords by parameter name, absent optional ones left out, `call` if it takes one."""

    __slots__ = ("asynchronous", "context", "fails", "function")

    def __init__(self, function: Callable[..., object], fails: frozenset[str]) -> None:
        self.function = function
        self.fails = fails
        self.asynchronous = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)
        self.context = context_keyword(function)

    async def run(self, scope: Scope, step: Step, permission: str, arguments: dict[str, object]) -> object:
        """Call it. The arguments and the result are copies: neither side sees what the other does to them later."""
        given = {name: snapshot(value) for name, value in arguments.items()}
        stopped = threading.Event()
        if self.context is not None:
            given[self.context] = replace(
                context_of(scope, step, permission, stopped.is_set), ask=partial(put_question, scope, step)
            )
        try:
            if self.asynchronous:
                result = self.function(**given)
                assert inspect.isawaitable(result)
                return scope.run.world.masker.incoming(snapshot(await result))
            return scope.run.world.masker.incoming(
                snapshot(await in_thread(scope.run.hold, partial(self.function, **given), stopped))
            )
        except (TimeoutError, ConnectionError) as error:
            kind = FaultKind.TIMEOUT if isinstance(error, TimeoutError) else FaultKind.DISCONNECTED
            raise Fault(kind, f"`{step.target}` lost its connection: {type(error).__name__}") from error
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            raise RuntimeError("it was cancelled from inside") from error
        except Failure as failure:
            raise self._declared(scope, step, failure) from None
        except Fault as fault:
            if fault.details.get("sent") is False:
                # Its own word that nothing was done, whatever its repeat safety is.
                step.sent = False
            raise

    def _declared(self, scope: Scope, step: Step, failure: Failure) -> Failure | Fault:
        """The declared error that a Python function raised, if its fields are what was declared."""
        error, value = full_name(self.fails, failure.error), dict(failure.value)
        if error in self.fails:
            try:
                scope.run.world.codecs.value(Named(error)).encode(value)
            except DecodeError as problem:
                message = f"the error `{failure.error}` of `{step.target}` does not fit its type: {problem.text}"
                return Fault(FaultKind.MALFORMED, message)
        return Failure(error, value)


CONTEXT = "\0call"
"""The keyword under which a function that the host made gets the context: no parameter of a program has this name."""


def context_keyword(function: Callable[..., object]) -> str | None:
    """The keyword under which a function gets the context of a call: what it says in `ael_context`, else a keyword-only `call`."""
    said: str | None = getattr(function, "ael_context", None)
    if said is not None:
        return said
    try:
        parameter = inspect.signature(function).parameters.get("call")
    except (TypeError, ValueError):
        return None
    return "call" if parameter is not None and parameter.kind is inspect.Parameter.KEYWORD_ONLY else None


def full_name(fails: frozenset[str], error: str) -> str:
    """The declared error that a Python function means by a short name."""
    if error in fails:
        return error
    found = [name for name in fails if name.rpartition(".")[2] == error]
    return found[0] if len(found) == 1 else error


def context_of(scope: Scope, step: Step, permission: str | None, cancelled: Callable[[], bool]) -> CallContext:
    """Identity, key and time left of a call, as what is outside gets it: explicit, so it holds in threads too (K40)."""
    run = scope.run
    left = scope.deadline.left()
    deadline = float("inf") if left is None else run.world.clock.now() + left
    return CallContext(
        run.id,
        step.path,
        step.key,
        run.tenant,
        run.caller,
        permission or "",
        deadline,
        child_of(run.trace_parent, scope.span),
        {},
        cancelled,
    )


async def in_thread(
    hold: Callable[[asyncio.Future[object]], None], function: Callable[[], object], stopped: threading.Event
) -> object:
    """Run `function` in a daemon thread of its own, so that one that hangs keeps neither the loop nor the process.

    One that is given up is told so by `stopped`, and handed to `hold`, which may wait for its end.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[object] = loop.create_future()

    def finish(value: object, error: BaseException | None) -> None:
        if future.done():
            return
        if error is None:
            future.set_result(value)
        else:
            future.set_exception(error)

    def work() -> None:
        value: object = None
        failure: BaseException | None = None
        try:
            value = function()
        except BaseException as error:
            failure = (
                RuntimeError(f"{type(error).__name__}")
                if isinstance(error, StopIteration | SystemExit | KeyboardInterrupt)
                else error
            )
        try:
            loop.call_soon_threadsafe(finish, value, failure)
        except RuntimeError:
            return

    threading.Thread(target=work, name="ael-extern", daemon=True).start()
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        stopped.set()
        if not future.done():
            future.add_done_callback(_seen)
            hold(future)
        raise


def _seen(future: asyncio.Future[object]) -> None:
    """Whatever a function ends with after it was given up is of no interest, and not reported as forgotten."""
    if not future.cancelled():
        future.exception()
