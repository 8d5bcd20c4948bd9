"""Faults of plain code, and endings as compiled code meets them.

Python's own exceptions that a program can cause (`ZeroDivisionError` for `1 div 0`) are not looked for at each operator: they are
turned into the fault that they mean where something catches them, or where they leave compiled code (`ending_of`, `guarded`). One
that did not come out of compiled code itself is a mistake of the implementation, and becomes `Crashed`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from decimal import DecimalException
from typing import Any, NoReturn

from ael.lower.unit import DEPTH_MAX
from ael.types.fault import Failure, Fault, FaultKind, Uncertain

MARK = "__ael__"
"""A global that the namespace of compiled code has, and no other."""

NATIVE = (ArithmeticError, IndexError, RecursionError, MemoryError)
"""What Python raises for a user's arithmetic, index, recursion or size."""


def int_too_large() -> NoReturn:
    raise Fault(FaultKind.ARITHMETIC, "an Int of more than 4,096 bits")


def float_too_large() -> NoReturn:
    raise Fault(FaultKind.ARITHMETIC, "a Float that is no finite number")


def text_too_large() -> NoReturn:
    raise Fault(FaultKind.TOO_LARGE, "a String of more than 16,777,216 characters")


def too_many() -> NoReturn:
    raise Fault(FaultKind.TOO_LARGE, "a List or Map of more than 1,000,000 entries")


def too_deep(halt: list[Any]) -> NoReturn:
    """Recursion may go no deeper: because it is too deep, or because the run is to stop."""
    if halt[0] is not None:
        raise halt[0]
    raise Fault(FaultKind.TOO_DEEP, f"more than {DEPTH_MAX:,} calls within each other")


def loop_limit(limit: int) -> NoReturn:
    raise Fault(FaultKind.LOOP_LIMIT, f"a `while` ran {limit:,} times and was not done", limit=limit)


def item(items: list[Any], index: int) -> Any:
    """`items[index]`; an index below zero is out of range, and never counts from the end."""
    if 0 <= index < len(items):
        return items[index]
    raise Fault(FaultKind.OUT_OF_RANGE, f"index {index} of a list of {len(items)}", index=index, length=len(items))


def unmatched(_value: object) -> NoReturn:
    """No arm of a `match` fits: the check said that this cannot be."""
    raise Fault(FaultKind.CRASHED, "a value that no arm of a `match` takes, which the check had excluded")


def again_fault(value: dict[str, Any]) -> Fault:
    """The fault that a value bound in a `catch` was."""
    return Fault(FaultKind(value["kind"]), value["message"], **value.get("details", {}))


def again_uncertain(value: dict[str, Any]) -> Uncertain:
    """The ending that a value bound in a `catch` was."""
    return Uncertain(value["key"], value["operation"], value["step"])


def fault_kind(value: object) -> object:
    """The kind of a fault's record."""
    return value.get("kind") if type(value) is dict else None


def ending_of(error: BaseException) -> BaseException:
    """What an exception means: itself where it is an ending, a fault for what Python raised, `Crashed` for the unexpected."""
    if isinstance(error, Fault | Failure | Uncertain) or not isinstance(error, Exception):
        return error
    if type(error).__module__ == "bdb":
        return error  # someone left the debugger
    made = _meaning(error) if _came_from_compiled_code(error) or isinstance(error, RecursionError | MemoryError) else None
    if made is None:
        made = Fault(FaultKind.CRASHED, f"{type(error).__name__}: {error}"[:500])
    made.__cause__ = error
    return made.with_traceback(error.__traceback__)


def _meaning(error: Exception) -> Fault | None:
    match error:
        case ZeroDivisionError():
            return Fault(FaultKind.ARITHMETIC, "division by zero")
        case DecimalException():
            return Fault(FaultKind.ARITHMETIC, "a Decimal that is too large, too small or no number")
        case ArithmeticError():
            return Fault(FaultKind.ARITHMETIC, "a number or time that is too large")
        case IndexError():
            return Fault(FaultKind.OUT_OF_RANGE, "an index beyond the end of a list")
        case RecursionError():
            return Fault(FaultKind.TOO_DEEP, "too many calls within each other")
        case MemoryError():
            return Fault(FaultKind.TOO_LARGE, "a value too large for the memory of this machine")
        case _:
            return None


def _came_from_compiled_code(error: Exception) -> bool:
    """Whether the innermost frame is a program's, not one of the implementation."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and MARK in trace.tb_frame.f_globals


def ending_value(ending: BaseException) -> object:
    """What a `catch` arm binds."""
    match ending:
        case Failure():
            return ending.value
        case Fault() | Uncertain():
            return ending.value()
        case _:
            return None


def guarded(body: Callable[..., Any]) -> Callable[..., Any]:
    """Code that does not act, so that only endings come out of it."""

    def call(*arguments: object) -> Any:
        try:
            return body(*arguments)
        except Exception as error:
            ending = ending_of(error)
            if ending is error:
                raise
            raise ending from error

    call.__name__ = body.__name__
    return call


def guarded_acting(body: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """Code that acts, so that only endings (and the cancellation of its task) come out of it."""

    async def call(*arguments: object) -> Any:
        try:
            return await body(*arguments)
        except Exception as error:
            ending = ending_of(error)
            if ending is error:
                raise
            raise ending from error

    call.__name__ = body.__name__
    return call
