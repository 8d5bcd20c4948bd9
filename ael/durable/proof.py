"""What crashed runs prove: how often each effect was really sent, under which keys, and whether anything was done twice or lost (D1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from ael.data import dataclass, field
from ael.durable.sends import KEPT, Send, placed
from ael.journal.entry import Ending, Entry, Kind, State
from ael.lower.unit import CompiledUnit
from ael.types.signature import Repeat

_UNSURE = frozenset({Ending.UNCERTAIN})
_CHANGING = frozenset({"std.now", "std.today", "std.new_id", "std.random_int"})
"""Effects whose value is another one each time that they are made."""


@dataclass(frozen=True, slots=True)
class Life:
    """One process of a run: what its journal had answered when it began, and what it sent."""

    answered: frozenset[str]
    sends: Sequence[Send]


@dataclass(frozen=True, slots=True)
class Crashed:
    """A run that was crashed at `point`, and resumed until it ended: `outcome` as JSON, `entries` as its journal has them in the end."""

    point: str
    lives: Sequence[Life]
    entries: Sequence[Entry]
    outcome: Mapping[str, object]

    @property
    def uncertain(self) -> list[str]:
        """The calls of which nobody knows whether they took effect."""
        told = [entry.path for entry in self.entries if entry.ending in _UNSURE]
        waits = self.outcome.get("waits")
        if isinstance(waits, list):
            told += [str(wait["path"]) for wait in waits if wait["kind"] == "uncertain"]
        return told


@dataclass(slots=True)
class Effect:
    """One effect of the program over all crashed runs. `sent`: in how many runs it was sent so often; `endings`: how it was answered."""

    path: str
    target: str
    repeat: str
    key: str
    sent: Counter[int] = field(default_factory=Counter)
    endings: Counter[str] = field(default_factory=Counter)


@dataclass(slots=True)
class Proof:
    """What was found. `problems` are broken promises, `notes` what a reader should know."""

    runs: int
    effects: list[Effect]
    uncertain: Counter[str]
    endings: Counter[str]
    problems: list[str]
    notes: list[str]


def repeats(unit: CompiledUnit) -> dict[str, Repeat]:
    """The repeat safety of everything that can be called, by its name."""
    found = {name: tool.spec.repeat for name, tool in unit.tools.items()}
    nodes = {name: node.spec.signature.effects.repeat for name, node in unit.nodes.items()}
    return {**found, **nodes, **{name: spec.repeat for name, spec in unit.operations.items()}}


def prove(
    unit: CompiledUnit, whole: Crashed, crashed: Sequence[Crashed], *, same_models: bool, memory: Sequence[str] = ()
) -> Proof:
    """Judge crashed runs beside `whole`, the run that was left alone.

    `same_models`: asking a model again gives the same turn. `memory`: stores of the program that die with their process.
    """
    known = repeats(unit)
    effects: dict[str, Effect] = {}
    problems: list[str] = []
    uncertain: Counter[str] = Counter()
    endings: Counter[str] = Counter()
    exact = same_models and not any(entry.target in _CHANGING for entry in whole.entries)
    differs = False
    for run in (whole, *crashed):
        problems += [f"{run.point}: {problem}" for problem in broken(run, known)]
        if run is whole and crashed:
            continue
        _count(run, known, effects)
        endings[str(run.outcome.get("outcome"))] += 1
        unsure = run.uncertain
        uncertain.update(unsure)
        if not unsure and (told := difference(whole.outcome, run.outcome, exact)):
            differs = True
            problems.append(f"{run.point}: {told}")
    notes: list[str] = []
    if not exact:
        notes.append("models, times or ids differ from run to run here, so only how each run ended was compared, not its value")
    if differs and memory:
        notes.append(f"in memory, and lost with its process: {', '.join(memory)} (bind it to `sqlite(…)` in the deployment)")
    return Proof(len(crashed) or 1, sorted(effects.values(), key=_order(whole)), uncertain, endings, problems, notes)


def broken(run: Crashed, known: Mapping[str, Repeat]) -> list[str]:
    """Promises that a run did not keep."""
    problems: list[str] = []
    last = {entry.path: entry for entry in run.entries}
    sent: dict[str, list[Send]] = {}
    for life in run.lives:
        for send in placed(life.sends, run.entries):
            sent.setdefault(send.path, []).append(send)
            if send.path in life.answered:
                what = "a finished model turn was asked again" if send.kind == "model" else "a finished call was made again"
                problems.append(f"{what}: {send.path} ({send.target})")
    for path, sends in sent.items():
        entry = last.get(path)
        if entry is None:
            problems.append(f"{path} ({sends[0].target}) was sent, and is not in the journal")
            continue
        repeat = known.get(entry.target, Repeat.IDEMPOTENT)
        if repeat.can_be_uncertain and len(sends) > 1 and not all(send.kind == KEPT for send in sends):
            problems.append(f"{path} ({entry.target}) is `repeat {repeat.word}`, and was sent {len(sends)} times")
        if len({send.key for send in sends}) > 1:
            problems.append(f"{path} ({entry.target}) was sent under different keys")
    if run.outcome.get("outcome") != "parked":
        problems += [
            f"{entry.path} ({entry.target}) was never answered"
            for entry in last.values()
            if entry.state is not State.ANSWERED and entry.kind is not Kind.CANCEL
        ]
    return problems


def difference(whole: Mapping[str, object], crashed: Mapping[str, object], exact: bool) -> str:
    """How the end of a crashed run differs from that of the one that was left alone; "" when it does not."""
    words = ("outcome", "value", "error", "kind", "message", "operation") if exact else ("outcome", "error", "kind")
    for word in words:
        if whole.get(word) != crashed.get(word):
            return f"it ended with {_shown(crashed)}, without the crash it ends with {_shown(whole)}"
    return ""


def _shown(outcome: Mapping[str, object]) -> str:
    said = outcome.get("value", outcome.get("message", ""))
    text = str(said)
    return f"{outcome.get('outcome')} {text if len(text) <= 120 else text[:119] + '…'}".strip()


def _count(run: Crashed, known: Mapping[str, Repeat], effects: dict[str, Effect]) -> None:
    times: Counter[str] = Counter()
    for life in run.lives:
        times.update(send.path for send in placed(life.sends, run.entries))
    last: dict[str, Entry] = {entry.path: entry for entry in run.entries}
    for path in times.keys() | effects.keys():
        entry = last.get(path)
        effect = effects.get(path)
        if effect is None:
            if entry is None:
                continue
            repeat = "" if entry.kind is Kind.MODEL else known.get(entry.target, Repeat.IDEMPOTENT).word
            effect = effects[path] = Effect(path, entry.target, repeat, entry.key)
        effect.sent[times[path]] += 1
        if entry is not None:
            effect.endings[entry.ending.value if entry.ending is not None else "open"] += 1


def _order(whole: Crashed) -> _Place:
    return _Place({entry.path: at for at, entry in reversed(list(enumerate(whole.entries)))})


class _Place:
    """Where the uncrashed run has an effect; what it has not comes last, by name."""

    def __init__(self, places: Mapping[str, int]) -> None:
        self.places = places

    def __call__(self, effect: Effect) -> tuple[int, str]:
        return self.places.get(effect.path, len(self.places)), effect.path


def answered(entries: Iterable[Entry]) -> frozenset[str]:
    """The places that have their answer."""
    return frozenset(entry.path for entry in entries if entry.state is State.ANSWERED)
