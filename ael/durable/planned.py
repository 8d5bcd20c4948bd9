"""Forks that are planned: where each begins, what is otherwise in it, and what it may take; nothing is made yet (features B7, A12.16)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from ael.durable.change import ChangeError, Original, changed, rebound
from ael.durable.estimate import Estimate, estimate
from ael.durable.execute import Execution, new_owner
from ael.durable.fork import Changes
from ael.durable.pinned import bound_of
from ael.durable.place import END, Places
from ael.durable.sweep import Variant
from ael.host import Host, open_preview
from ael.journal.durable import DurableStore, RunRow
from ael.journal.entry import Entry, Kind
from ael.project.program import Opened
from ael.run.ports import Price


@dataclass(frozen=True)
class Plan:
    """A fork that is not made yet. `label`: what a sweep varies in it; `program`: bound as the fork wants it."""

    label: str
    program: Opened
    execution: Execution
    changes: Changes
    at: str
    estimate: Estimate


async def plans(
    store: DurableStore,
    row: RunRow,
    program: Opened,
    at: str | None,
    asked: Sequence[tuple[str, str]],
    sweep: Sequence[Variant] = ((),),
    *,
    allow: Sequence[str] = (),
    detached: bool = False,
) -> list[Plan]:
    """Every fork that is wanted, checked before the first is made: at the step `at`, with the changes `asked`; one for each of `sweep`.

    `detached`: it is left to the workers. Raises `ChangeError`, `PlaceError` and `StoreError`.
    """
    run = row.header.run
    entries, given = await store.entries(run), await store.given(run)
    assert given is not None
    input, pinned = given
    if not isinstance(input, dict):
        raise ChangeError(
            f"the content of the run {run} was forgotten, so it cannot be forked", "`ael trace` shows what is left of it"
        )
    original = Original(program, Places(run, row.header.started, entries), entries, input)
    found = []
    for variant in sweep:
        changes = Changes()
        for what, text in (*asked, *variant):
            changes = changed(original, changes, what, text)
        if detached and (changes.models or changes.settings):
            raise ChangeError(
                "workers have the models of the deployment, so a fork with others runs here", "leave out `--detach`"
            )
        place = original.places.find(at) if at is not None else _where(original, changes, run)
        bound = rebound(program, changes.models, changes.settings)
        host = open_preview(bound, frozenset(bound.program.nodes))
        execution = Execution(host.engine, store, new_owner(), bound.deployment.runs.lease, bound_of(bound))
        price, doers = partial(_price, host), execution.doers
        guess = estimate(entries, place, changes, pinned=pinned, bound=price, doers=doers, allow=allow)
        found.append(Plan(", ".join(f"{what}={text}" for what, text in variant), bound, execution, changes, place, guess))
    return found


def _price(host: Host, name: str) -> Price | None:
    """Of a model by its qualified name, as it is bound."""
    model, prices = host.bindings.models.get(name), host.bindings.prices
    return None if model is None or prices is None else prices.price(model.provider.name, model.model)


def _where(original: Original, changes: Changes, run: str) -> str:
    """The step at which a fork begins that says none: the first that a change can have an effect on."""
    places = original.places
    asked = [entry for entry in original.entries if entry.kind is Kind.MODEL and _replaced(entry, changes)]
    if changes.input is not None:
        return places.paths[0] if places.paths else END
    if asked:
        return asked[0].path
    if changes.answers:
        return places.after(list(changes.answers))
    if changes.models or changes.settings:
        raise ChangeError(f"the run {run} did not ask this model", "say where the fork begins: `--at STEP`")
    if changes.budget is not None:
        return END
    raise ChangeError("say where: `--at STEP`, or what is otherwise: `--set WHAT=JSON`", f"`ael runs show {run}` lists the steps")


def _replaced(entry: Entry, changes: Changes) -> bool:
    """Whether a turn is of a model that is bound otherwise."""
    return entry.target in changes.models or entry.target in changes.settings
