"""What a run keeps beside its program: the bindings, pins and prices that it began under (feature B8).

A run that is continued under others would mix what it was told with what holds now, so it is refused with the difference, unless a
person accepts it; that is recorded in its journal.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from functools import cache
from importlib import import_module

from ael.check.program import CheckedProgram
from ael.data import dataclass
from ael.hosting.models import FREE, model_name, short_name
from ael.journal.durable import Held
from ael.journal.entry import Ending, Entry, Kind, State
from ael.project.connectors import possible
from ael.project.deployment import ModelBinding
from ael.project.program import Opened
from ael.project.reach import reachable
from ael.run.ports import Price
from ael.types.canonical import digest

ACCEPTED = "ael.accept_bindings"
"""The target of the record that says a run goes on under other bindings."""
_SHOWN = 120


@dataclass(frozen=True)
class Bound:
    """What a deployment binds a program to. `name` is the program's (its pack's), `values` what each thing is bound to, as text to compare.

    `reads`: the MCP tools whose pinned definition says that they only read. `elsewhere`: the services and nodes that run in another place,
    where no journal of this run is. `reach` gives the names of all that an entry can call.
    """

    name: str = ""
    deployment: str = ""
    values: Mapping[str, str] | None = None
    reads: frozenset[str] = frozenset()
    elsewhere: frozenset[str] = frozenset()
    reach: Callable[[str], frozenset[str]] | None = None

    def kept(self, entry: str) -> dict[str, object]:
        """What of it a run of `entry` keeps."""
        calls = {} if self.reach is None else {"calls": sorted(self.reach(entry))}
        return {"name": self.name, "deployment": self.deployment, "bindings": dict(self.values or {}), **calls}


def bound_of(opened: Opened) -> Bound:
    """What `opened` is bound to: models with settings and prices, services, tools, settings, folders, the pins of servers. No secrets."""
    deployment, program = opened.deployment, opened.program
    values: dict[str, str] = {}
    prices = _prices(opened)
    for name, spec in program.models.items():
        binding = deployment.models.get(name) or ModelBinding(spec.provider or "", spec.model)
        settings = {**dict(spec.settings), **binding.settings}
        told = "".join(f", {word}: {value}" for word, value in sorted(settings.items()))
        values[f"model {short_name(name)}"] = f"{binding.provider} {model_name(spec, binding)}{told}"
        price = prices(binding.provider, model_name(spec, binding))
        if price is not None:
            values[f"price of {short_name(name)}"] = price
    for name, provided in deployment.services.items():
        values[f"service {short_name(name)}"] = short_name(provided)
    for name, tool in deployment.tools.items():
        values[f"tool {short_name(name)}"] = (
            f"timeout {tool.timeout}, approval {tool.approval} {tool.role or ''}, denied {tool.denied}"
        )
    for name, setting in deployment.settings.items():
        values[f"setting {short_name(name)}"] = _cut(str(setting))
    for topic, native in deployment.natives.items():
        shown = getattr(native, "shown", "")
        if shown:
            values[topic] = _cut(shown)
    for server, pins in opened.pins.items():
        kept = {wire: pin.sha256 for wire, pin in (*pins.tools.items(), *pins.prompts.items())}
        values[f"pins of {short_name(server)}"] = digest(kept)[:16]
    pack = opened.project.pack
    return Bound(
        pack.name if pack is not None else opened.project.main,
        deployment.name,
        values,
        frozenset(_reads(opened)),
        frozenset(deployment.placements),
        # Wherever it runs: a service may move while a run lives.
        cache(lambda entry: frozenset(_called(program, reachable(program, entry, connectors=possible(program))))),
    )


def _called(program: CheckedProgram, names: Iterable[str]) -> Iterable[str]:
    """Of these names those under which a journal has records."""
    for name in names:
        if (
            name in program.tools
            or name in program.nodes
            or name in program.operations
            or name.rpartition(".")[0] in program.stores
        ):
            yield name


def _prices(opened: Opened) -> Callable[[str, str], str | None]:
    """A function that tells the price of a model as text; the table is only read where a model can cost money."""
    bindings = opened.deployment.models
    providers = [bindings[n].provider if n in bindings else spec.provider for n, spec in opened.program.models.items()]
    if not opened.deployment.prices and all(provider in FREE or not provider for provider in providers):
        return lambda provider, model: None
    table = import_module("ael.models.prices").PriceTable(opened.deployment.prices)

    def told(provider: str, model: str) -> str | None:
        price: Price | None = table.price(provider, model)
        if price is None:
            return None
        return f"in {price.input}, out {price.output}, cache read {price.cache_read}, cache write {price.cache_write}"

    return told


_PRICE = re.compile(r"in ([\d.]+), out ([\d.]+), cache read ([\d.]+), cache write ([\d.]+)")


def price_of(pinned: Mapping[str, object], model: str) -> Price | None:
    """What a run pays for a model (its qualified name), by the prices that it keeps; None where it keeps none."""
    kept = pinned.get("bindings")
    told = _PRICE.fullmatch(str(kept.get(f"price of {short_name(model)}"))) if isinstance(kept, Mapping) else None
    return None if told is None else Price(Decimal(told[1]), Decimal(told[2]), Decimal(told[3]), Decimal(told[4]))


def _reads(opened: Opened) -> Iterable[str]:
    for name, spec in opened.program.tools.items():
        if spec.remote is None:
            continue
        if spec.remote.kind != "tool":
            yield name
            continue
        pins = opened.pins.get(spec.remote.server)
        pin = pins.tools.get(spec.remote.wire) if pins is not None else None
        said = pin.definition.get("annotations") if pin is not None else None
        if isinstance(said, Mapping) and said.get("readOnlyHint") is True:
            yield name


def differences(held: Held, bound: Bound) -> list[str]:
    """What is bound otherwise than when the run began, or than a person accepted since; nothing where the run keeps no bindings."""
    if bound.values is None:
        return []
    kept = accepted(held.journal.entries()) or held.pinned.get("bindings")
    return compared(kept, bound.values) if isinstance(kept, Mapping) else []


def compared(before: Mapping[str, object], now: Mapping[str, str]) -> list[str]:
    """Each thing that is bound otherwise, as a sentence."""
    told = []
    for name in sorted({*before, *now}):
        was, found = before.get(name), now.get(name)
        if was != found:
            old = f"was `{_cut(str(was))}`" if was is not None else "was not bound"
            new = f"is `{_cut(found)}`" if found is not None else "is not bound any more"
            told.append(f"{name} {old}, and {new} now")
    return told


def accepted(entries: Sequence[Entry]) -> Mapping[str, object] | None:
    """The bindings under which a person let the run go on last."""
    for entry in reversed(entries):
        if entry.target == ACCEPTED and isinstance(entry.value, Mapping):
            found = entry.value.get("bindings")
            return found if isinstance(found, Mapping) else None
    return None


def accept(held: Held, bound: Bound, by: str, what: Sequence[str], now: float) -> None:
    """Record in the journal that the run goes on under what is bound now."""
    journal = held.journal
    value = {"by": by, "differs": list(what), "bindings": dict(bound.values or {})}
    path = f"bindings@{len(journal.entries())}"
    journal.append(Entry(path, State.ANSWERED, Kind.EFFECT, ACCEPTED, "", "", value, Ending.VALUE, now, journal.active))


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
