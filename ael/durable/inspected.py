"""One step of a kept run with what belongs to it: who approved it, the attempts that failed, the calls that a turn proposed (A16.7)."""

from __future__ import annotations

from collections.abc import Sequence

from ael.durable.pinned import price_of
from ael.durable.seen import Seen
from ael.journal.entry import Entry, Kind
from ael.observe.effect import effect_json, effects


def step_of(seen: Seen, path: str) -> dict[str, object]:
    """The step at `path`, which is there, as JSON: what of its values is shown is in `seen`."""
    by = {one[-1].path: one for one in effects(seen.entries)}

    def shown(records: Sequence[Entry]) -> dict[str, object]:
        return effect_json(records, price_of(seen.pinned, records[-1].target))

    step = shown(by[path])
    approval = by.get(f"{path}/approval")
    if approval is not None:
        step["approval"] = shown(approval)
    step["failed"] = [shown(one) for at, one in by.items() if at.startswith(f"{path}~") and "/" not in at[len(path) :]]
    if step["kind"] == Kind.MODEL.value:
        calls = [(at, shown(one)) for at, one in by.items() if _is_call(at, path)]
        approvals = {at: by.get(f"{at}/approval") for at, _ in calls}
        step["calls"] = [
            {**call, "approval": shown(decided)} if (decided := approvals[at]) is not None else call for at, call in calls
        ]
    return step


def _is_call(path: str, turn: str) -> bool:
    """Whether a path is that of a call of this turn, and not of what happened in it."""
    rest = path.removeprefix(f"{turn}/")
    return rest != path and "/" not in rest and "~" not in rest and rest != "summary"
