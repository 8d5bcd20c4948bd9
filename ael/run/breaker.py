"""A circuit breaker for one tool or operation of what is outside: after failures in a row nothing is sent for a while, then one call at a
time tries. Shared by the adapters that send calls (MCP servers, services placed elsewhere).

What counts is a call on the wire that failed for the server's side (K45): no cancel, no refusal of what was asked, no `isError`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ael.run.ports import Clock


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Failures in a row that open it, seconds that it stays open, successes in a row that close it again."""

    failures: int = 5
    cooldown: float = 30.0
    successes: int = 2


@dataclass(slots=True)
class Pass:
    """A call that was let through; `probe` while the breaker tries whether the server is back."""

    probe: bool


@dataclass(frozen=True, slots=True)
class Open:
    """No call is let through: again in `wait` seconds, None when it never is."""

    wait: float | None
    failures: int


class Breaker:
    """Closed, open, or half open. Used by one event loop."""

    __slots__ = ("_clock", "_failures", "_good", "_limits", "_probing", "_until", "state")

    def __init__(self, clock: Clock, limits: Thresholds) -> None:
        self._clock = clock
        self._limits = limits
        self.state: Literal["closed", "open", "half open"] = "closed"
        self._failures = 0
        self._good = 0
        self._until = 0.0
        self._probing = False

    def admit(self) -> Pass | Open:
        """Let a call through, or say when it may come again. What is let through is told to `end`, on every path."""
        if self._limits.failures <= 0:
            return Open(None, 0)
        now = self._clock.monotonic()
        if self.state == "open":
            if now < self._until:
                return Open(self._until - now, self._failures)
            self.state, self._good, self._probing = "half open", 0, False
        if self.state == "half open":
            if self._probing:
                return Open(_SOON, self._failures)
            self._probing = True
            return Pass(True)
        return Pass(False)

    def end(self, passed: Pass, outcome: Literal["good", "bad", "neither"]) -> None:
        """How a call that was let through ended. One that began before the breaker opened changes nothing any more."""
        if passed.probe:
            self._probing = False
            if self.state == "half open":
                self._probed(outcome)
        elif self.state == "closed":
            if outcome == "good":
                self._failures = 0
            elif outcome == "bad":
                self._failures += 1
                if self._failures >= self._limits.failures:
                    self._open()

    def _probed(self, outcome: Literal["good", "bad", "neither"]) -> None:
        if outcome == "bad":
            self._open()
        elif outcome == "good":
            self._good += 1
            if self._good >= self._limits.successes:
                self.state, self._failures = "closed", 0

    def _open(self) -> None:
        self.state = "open"
        self._until = self._clock.monotonic() + self._limits.cooldown


_SOON = 0.1
"""Seconds after which a call that met a probe may come again."""
