"""How things end other than with a value: faults, declared errors and `Uncertain` (language.md, section 4)."""

from __future__ import annotations

from enum import StrEnum


class FaultKind(StrEnum):
    """The built-in failures of doing things in the world. They pass on by themselves and can be caught by name."""

    DENIED = "Denied"
    BAD_ARGUMENTS = "BadArguments"
    TIMEOUT = "Timeout"
    DISCONNECTED = "Disconnected"
    MALFORMED = "Malformed"
    TOO_LARGE = "TooLarge"
    UNAVAILABLE = "Unavailable"
    BUDGET_EXHAUSTED = "BudgetExhausted"
    DEADLINE_EXCEEDED = "DeadlineExceeded"
    CANCELLED = "Cancelled"
    MODEL_UNAVAILABLE = "ModelUnavailable"
    MODEL_REFUSED = "ModelRefused"
    CONTENT_FILTERED = "ContentFiltered"
    CONTEXT_OVERFLOW = "ContextOverflow"
    MODEL_CUT = "ModelCut"
    INVALID_OUTPUT = "InvalidOutput"
    TOOL_FAILED = "ToolFailed"
    DEFINITION_CHANGED = "DefinitionChanged"
    APPROVAL_DENIED = "ApprovalDenied"
    NO_EDGE = "NoEdge"
    DIVERGED = "Diverged"
    LOOP_LIMIT = "LoopLimit"
    TOO_DEEP = "TooDeep"
    ARITHMETIC = "Arithmetic"
    OUT_OF_RANGE = "OutOfRange"
    ASSERTION_FAILED = "AssertionFailed"
    CRASHED = "Crashed"


FAULT_NAMES = frozenset(kind.value for kind in FaultKind)


class Fault(Exception):
    """A fault on its way. `details` are plain JSON values (`transcript`, `usage`, `limit`, `path` …); `place` an AEL place, if known."""

    def __init__(self, kind: FaultKind, message: str, **details: object) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.details = details

    def value(self) -> dict[str, object]:
        """The value a `catch { Timeout t => … }` binds: `kind`, `message`, `details`."""
        return {"kind": self.kind.value, "message": self.message, "details": self.details}


class Failure(Exception):
    """A declared error on its way: its qualified name and its record."""

    def __init__(self, error: str, value: dict[str, object]) -> None:
        super().__init__(error)
        self.error = error
        self.value = value


class Uncertain(Exception):
    """A call whose effect may or may not have happened. No fault: it never passes on by itself (the checker sees to it)."""

    def __init__(self, key: str, operation: str, step: str, **details: object) -> None:
        super().__init__(f"{operation} may or may not have taken effect")
        self.key = key
        self.operation = operation
        self.step = step
        self.details = details

    def value(self) -> dict[str, object]:
        """The value that `catch { Uncertain u => … }` binds."""
        return {"key": self.key, "operation": self.operation, "step": self.step}
