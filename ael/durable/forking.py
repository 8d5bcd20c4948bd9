"""Making a fork: a new run with the beginning of another's journal, ready for any worker that has its program."""

from __future__ import annotations

from collections.abc import Collection

from ael.data import replace
from ael.durable.change import ChangeError
from ael.durable.execute import Execution, options_of
from ael.durable.fork import Changes, Fork, Recorded, above, allows, cut
from ael.journal.durable import RunRow
from ael.journal.entry import Entry, Kind
from ael.types.spec import BudgetSpec

__all__ = ["forked"]


async def forked(
    execution: Execution,
    of: RunRow,
    at: str,
    *,
    changes: Changes | None = None,
    allow: Collection[str] = (),
    keep: bool = False,
) -> str:
    """Fork the run `of` at the step `at` (`""`: at its end); the id of the new run, which belongs to whoever forks.

    `allow`: what is called for real. Other models and settings are kept to be told, and bound by the caller. `keep`: the owner of
    `execution` has the run, for a lease, and no worker takes it; else it is ready for any.
    Raises what `Engine.header` raises, `ChangeError`, and `StoreError`.
    """
    store, engine = execution.store, execution.engine
    changes = changes or Changes()
    run = of.header.run
    entries: list[Entry] = await store.entries(run)
    given = await store.given(run)
    assert given is not None
    input, pinned = given
    assert isinstance(input, dict)
    _no_right(execution, entries, changes, allow)
    _reached(execution, entries, changes, allow)
    beginning, rest = cut(entries, at, changes.answers)
    record = tuple(acting(execution, entries, rest))
    fork = Fork(run, at, record, frozenset(allow), changes.models, changes.settings, changes.said)
    options = replace(options_of(pinned), tenant=of.header.tenant)
    options = replace(options, budget=_limits(options.budget, changes.budget))
    header, form = engine.header(of.header.entry, input if changes.input is None else changes.input, options)
    if changes.input is not None and not header.input:
        raise ChangeError("the changed input does not fit the parameters of the entry", "`ael run --help-entry` lists them")
    held = store.fresh(
        header, form, {**execution.pinned(header.entry, options), "fork": fork.kept()}, execution.owner, execution.lease
    )
    held.journal.begin()
    for entry in beginning:
        held.journal.append(entry)
    # Whoever takes it, here or in another worker, replays its beginning: both of these wait until that is written.
    if keep:
        await store.pulse(execution.owner, {header.run: held.row.epoch}, execution.lease)
    else:
        await store.release(header.run, held.row.epoch)
    return header.run


def acting(execution: Execution, entries: Collection[Entry], rest: Collection[Recorded]) -> list[Recorded]:
    """Of the calls after the point of a fork those that may have changed something: what can serve."""
    kinds = {entry.path: entry.kind for entry in entries}
    doers = execution.doers
    return [one for one in rest if doers.act(kinds[one.path], one.target)]


def _no_right(execution: Execution, entries: Collection[Entry], changes: Changes, allow: Collection[str]) -> None:
    """Raise `ChangeError` for a decision that would let a call be made: a role gives approvals, never a fork (K30)."""
    targets = {entry.path: entry.target for entry in entries if entry.kind is Kind.APPROVAL}
    doers = execution.doers
    for path, answer in changes.answers.items():
        target = targets.get(path)
        if target is None or not isinstance(answer.value, dict) or not answer.value.get("approved"):
            continue
        if allows(allow, target) or not doers.act(Kind.TOOL, target):
            note = "leave it out: the fork asks for an approval of its own"
            raise ChangeError(f"a fork cannot approve a call of `{target}` that it makes for real", note)


def _reached(execution: Execution, entries: Collection[Entry], changes: Changes, allow: Collection[str]) -> None:
    """Raise `ChangeError` for an answer that nothing would come to: in a call that is served or blocked as a whole."""
    calls = {entry.path: entry for entry in entries if entry.kind in (Kind.TOOL, Kind.OPERATION)}
    for path in changes.answers:
        # An approval is of the call that it stands below, and goes before it.
        for around in [calls[one] for one in above(path.removesuffix("/approval")) if one in calls]:
            whole = execution.doers.act(around.kind, around.target) and not allows(allow, around.target)
            if whole and around.path not in changes.answers:
                name = around.target.partition(".")[2]
                note = f"replace the answer of that call, or have it run: `--allow {name}`"
                raise ChangeError(f"{path} is inside of a call of `{name}`, which is served or blocked as a whole", note)


def _limits(budget: BudgetSpec, changed: BudgetSpec | None) -> BudgetSpec:
    """The budget of the original with the limits that were changed."""
    if changed is None:
        return budget
    limits = {word: getattr(changed, word) for word in ("tokens", "cost", "time", "steps", "tool_calls")}
    return replace(budget, **{word: limit for word, limit in limits.items() if limit is not None})
