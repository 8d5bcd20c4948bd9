"""Counts of a server, for Prometheus: calls, runs, models, tools, and how full it is (docs/serving.md).

The text format is https://prometheus.io/docs/instrumenting/exposition_formats. Labels are names of the program alone, so their number is
bounded: no name from a caller, no tenant, no content. Nothing is counted before anybody can want to know it (`on`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

from ael.host import Host
from ael.run import events as e
from ael.run.run import Run
from ael.server.gate import Gate

TYPE = "text/plain; version=0.0.4; charset=utf-8"
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
"""Seconds."""
OTHER = "other"
"""Stands for what is no name of the program: a tool that a model made up, a model of another machine."""
Labels = tuple[tuple[str, str], ...]


class Breakers(Protocol):
    """What sends calls elsewhere, each operation behind a breaker."""

    def breakers(self) -> Mapping[str, str]:
        """Operation -> `closed`, `open` or `half open`."""


class Metrics:
    """What one process has done. `on`: whether it is counted; a first look turns it on."""

    def __init__(self, host: Host, gate: Gate | None, *, on: bool) -> None:
        """`gate`: what calls go through; None where none are served."""
        self.on = False
        self._host = host
        self._gate = gate
        self._models = frozenset(host.unit.models)
        self._tools = frozenset(_names((*host.unit.tools, *host.unit.operations, *host.unit.nodes)))
        self._counts: Counter[tuple[str, Labels]] = Counter()
        self._times: dict[Labels, list[float]] = {}
        self._active = 0
        if on:
            self.begin()

    def begin(self) -> None:
        """Count from now on: the calls, and every run that begins in this process."""
        if not self.on:
            self.on = True
            self._host.engine.world.observer = self._run

    # --- what happens -------------------------------------------------------------------------------------------------

    def call(self, protocol: str, method: str, ending: Mapping[str, object] | None, seconds: float) -> None:
        """A call was answered; `ending` None: its client went away before."""
        if not self.on:
            return
        outcome, code = ("left", "") if ending is None else (str(ending.get("outcome")), "")
        if ending is not None:
            told = ending.get("kind", ending.get("fault")) if outcome == "fault" else ending.get("error")
            code = "" if told is None else str(told).rpartition(".")[2]
        own = (("method", method), ("protocol", protocol))
        self._counts["ael_calls_total", (*own, ("outcome", outcome), ("code", code))] += 1
        times = self._times.setdefault(own, [0.0] * (len(BUCKETS) + 2))
        times[bisect_left(BUCKETS, seconds)] += 1
        times[-1] += seconds

    def refused(self, protocol: str, status: int) -> None:
        """A request was not let in."""
        if self.on:
            self._counts["ael_requests_refused_total", (("protocol", protocol), ("status", str(status)))] += 1

    def _run(self, run: Run) -> None:
        self._active += 1
        run.follow(self, near=True)

    def put(self, event: e.Event) -> None:
        """An event of a run."""
        match event:
            case e.RunFinished(ending=ending):
                self._add("ael_runs_total", 1, outcome=ending)
            case e.TurnFinished(model=model, usage=usage, cost=cost):
                known = model if model in self._models else OTHER
                self._add("ael_model_turns_total", 1, model=known)
                for kind in ("input", "cache_read", "cache_write", "output", "reasoning"):
                    if number := getattr(usage, kind):
                        self._add("ael_model_tokens_total", number, model=known, kind=kind)
                if cost is not None:
                    self._add("ael_model_cost_dollars_total", float(cost), model=known)
            case e.ToolFinished(tool=tool, ending=ending):
                self._add("ael_tool_calls_total", 1, tool=tool if tool in self._tools else OTHER, outcome=ending)
            case e.Retried(target=target):
                self._add("ael_retries_total", 1, of="model" if target in self._models else "call")
            case e.ApprovalAsked():
                self._add("ael_approvals_asked_total", 1)
            case _:
                pass

    def close(self) -> None:
        """A run ended."""
        self._active -= 1

    def _add(self, name: str, number: float, **labels: str) -> None:
        self._counts[name, tuple(labels.items())] += number  # type: ignore[assignment]  # money is no whole number

    # --- what is told -------------------------------------------------------------------------------------------------

    def text(self, store: float | None = None) -> str:
        """All of it. `store`: the seconds that the store of the runs took to answer, infinity where it did not."""
        return "".join(self._lines(store))

    def _lines(self, store: float | None) -> Iterator[str]:
        yield from _family("ael_runs_active", "gauge", "Runs that are executed in this process.", [((), self._active)])
        for name, kind, words, found in () if self._gate is None else _fullness(self._gate):
            yield from _family(name, kind, words, [((), found)])
        for name, words in _COUNTERS.items():
            yield from _family(name, "counter", words, [(labels, n) for (one, labels), n in self._counts.items() if one == name])
        yield from _histogram("ael_call_seconds", "Seconds from a request to its answer.", self._times)
        yield from _family("ael_breaker_state", "gauge", _STATES, self._breakers())
        if store is not None:
            words = "Seconds that the store of the runs took to answer just now; +Inf where it did not."
            yield from _family("ael_store_seconds", "gauge", words, [((), store)])

    def _breakers(self) -> list[tuple[Labels, float]]:
        found: list[tuple[Labels, float]] = []
        bindings = self._host.bindings
        for name, sender in (*bindings.placements.items(), *bindings.servers.items()):
            states = getattr(sender, "breakers", None)
            for target, state in (states() if callable(states) else {}).items():
                found.append(((("of", name), ("operation", target)), _NUMBERS[state]))
        return found


def _fullness(gate: Gate) -> tuple[tuple[str, str, str, int], ...]:
    return (
        ("ael_calls_in_flight", "gauge", "Calls that have a slot.", gate.taken),
        ("ael_calls_waiting", "gauge", "Calls that wait for a slot.", gate.waiting),
        ("ael_calls_limit", "gauge", "Calls that may be in flight at once.", gate.limit),
        ("ael_calls_shed_total", "counter", "Calls that found no room.", gate.shed),
    )


_NUMBERS = {"closed": 0.0, "half open": 1.0, "open": 2.0}
_STATES = "The breaker of an operation elsewhere: 0 closed, 1 half open, 2 open."
_COUNTERS = {
    "ael_calls_total": "Calls that were answered.",
    "ael_requests_refused_total": "Requests that were not let in, by status.",
    "ael_runs_total": "Runs that ended in this process, or were parked.",
    "ael_model_turns_total": "Turns of models.",
    "ael_model_tokens_total": "Tokens, in classes that have nothing in common.",
    "ael_model_cost_dollars_total": "What turns cost, where their price is known.",
    "ael_tool_calls_total": "Tool calls that models proposed.",
    "ael_retries_total": "What was tried again.",
    "ael_approvals_asked_total": "Approvals that were asked for.",
}


def _names(qualified: Iterable[str]) -> Iterator[str]:
    """A name as source, a model and a path write it."""
    for name in qualified:
        yield from (name, name.partition(".")[2], name.rpartition(".")[2])


def _family(name: str, kind: str, words: str, found: Iterable[tuple[Labels, float]]) -> Iterator[str]:
    yield f"# HELP {name} {words}\n# TYPE {name} {kind}\n"
    for labels, number in found:
        yield _sample(name, labels, number)


def _histogram(name: str, words: str, found: Mapping[Labels, list[float]]) -> Iterator[str]:
    yield f"# HELP {name} {words}\n# TYPE {name} histogram\n"
    for labels, times in found.items():
        count = 0.0
        for most, number in zip((*map(str, BUCKETS), "+Inf"), times, strict=False):
            count += number
            yield _sample(f"{name}_bucket", (*labels, ("le", most)), count)
        yield _sample(f"{name}_sum", labels, times[-1]) + _sample(f"{name}_count", labels, count)


def _sample(name: str, labels: Labels, number: float) -> str:
    inside = ",".join(f'{key}="{_escaped(value)}"' for key, value in labels)
    return f"{name}{f'{{{inside}}}' if inside else ''} {'+Inf' if number == float('inf') else f'{number:.15g}'}\n"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
