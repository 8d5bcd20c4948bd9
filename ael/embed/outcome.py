"""How a run ended, for Python: five classes that a `match` goes through, and `assert_never` shows that none is forgotten.

An uncertain outcome is one of them: whoever looks at a result has to say what becomes of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, NoReturn, TypeAlias, TypeVar

from ael.embed.error import OutcomeError
from ael.run.outcome import Spent
from ael.run.park import Wait
from ael.types.fault import FaultKind

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Value(Generic[T]):
    """The run gave a value: plain Python, or an object of the `result_type` that was asked for. `run` is the run's id."""

    value: T
    run: str
    spent: Spent

    def unwrap(self) -> T:
        """The value."""
        return self.value


@dataclass(frozen=True, slots=True)
class DeclaredError:
    """The run failed with an error that its signature lists: `error` is its short name, `name` the whole one, `fields` its record."""

    error: str
    fields: Mapping[str, object]
    name: str
    run: str
    spent: Spent

    def unwrap(self) -> NoReturn:
        """Raises `OutcomeError`."""
        shown = ", ".join(f"{key}={value!r}" for key, value in self.fields.items())
        raise OutcomeError(self, f"the run {self.run} failed with {self.error}({shown})")


@dataclass(frozen=True, slots=True)
class Faulted:
    """The run ended with a fault. `details` are plain JSON, as the kind has them (`limit`, `path`, `transcript` …)."""

    kind: FaultKind
    message: str
    details: Mapping[str, object]
    run: str
    spent: Spent

    def unwrap(self) -> NoReturn:
        """Raises `OutcomeError`."""
        raise OutcomeError(self, f"the run {self.run} ended with {self.kind.value}: {self.message}")


@dataclass(frozen=True, slots=True)
class Uncertain:
    """A call of the run may or may not have taken effect. Look there, under `key`, before it is done again: nothing was repeated."""

    key: str
    operation: str
    step: str
    run: str
    spent: Spent

    def unwrap(self) -> NoReturn:
        """Raises `OutcomeError`."""
        raise OutcomeError(self, f"{self.operation} may or may not have taken effect (key {self.key}, run {self.run})")


@dataclass(frozen=True, slots=True)
class Suspended:
    """The run is parked until one of `waits`, or until `wake` (seconds since the epoch); `Session.resume` goes on with it."""

    waits: tuple[Wait, ...]
    wake: float | None
    run: str
    spent: Spent

    def unwrap(self) -> NoReturn:
        """Raises `OutcomeError`."""
        told = ", ".join(f"{wait.kind} at {wait.path}" for wait in self.waits)
        raise OutcomeError(self, f"the run {self.run} waits for {told or 'another worker'}")


Outcome: TypeAlias = Value[T] | DeclaredError | Faulted | Uncertain | Suspended
