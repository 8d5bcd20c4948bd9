"""What people say of runs that wait for them: approvals, and calls whose outcome nobody knows (features A4.5 to A4.11, A8.10)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal

from ael.data import dataclass
from ael.journal.durable import DurableStore, RunRow, RunState
from ael.journal.entry import Ending, Entry, Kind, State
from ael.run.human import fitting, question_in, within_of
from ael.run.ports import Decision, Question
from ael.types.fault import Fault, FaultKind


@dataclass(frozen=True, slots=True)
class Open:
    """Something that a run waits for a person to answer.

    `step` is the place of the call in the run; `path` that of the answer in the journal. `arguments` are those of the call, exactly;
    `preview` is what it would do, where its tool says that (outside text). `asked`: when, in seconds since the epoch; `due` until when
    an answer counts, None for as long as it takes.
    """

    row: RunRow
    kind: Literal["approval", "uncertain"]
    step: str
    path: str
    target: str
    role: str | None
    reason: str
    arguments: object
    key: str
    asked: float
    entry: Entry
    due: float | None = None
    preview: str = ""
    question: Question | None = None
    """What the program asks, where it is no approval: `arguments` of a decision are then the answer."""

    @property
    def run(self) -> str:
        return self.row.header.run


_UNCERTAIN = "uncertain at "
_WORKER = re.compile(r"w[0-9a-f]{16}")
"""The name of a worker, as `ael.durable.execute.new_owner` makes it (feature A4.8)."""
_KINDS = ("approval", "uncertain", "time")


def still_waits(row: RunRow, more: str) -> str:
    """What a run waits for that could not go on: `more`, and the calls that a person has still to settle."""
    return "; ".join([*(part for part in row.waits.split("; ") if part.startswith(_UNCERTAIN)), more])


def waits_of(row: RunRow) -> list[tuple[Literal["approval", "uncertain", "time"], str]]:
    """What a parked run waits for, and at which places: the rest of what is told of it may quote its deployment."""
    found: list[tuple[Literal["approval", "uncertain", "time"], str]] = []
    if row.state is not RunState.PARKED:
        return found
    for part in row.waits.split("; "):
        kind, at, place = part.partition(" at ")
        if at and kind == "approval":
            found.append(("approval", place))
        elif at and kind == "uncertain":
            found.append(("uncertain", place))
    return found or [("time", "")]


class DecideError(Exception):
    """A decision that cannot be made; the sentence says why, `note` what to do."""

    def __init__(self, message: str, note: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.note = note


def open_in(row: RunRow, entries: Sequence[Entry], limit: float | None = None) -> list[Open]:
    """What a run waits for: approvals asked and not answered, calls that started and were never answered.

    `limit`: the seconds that a person has for an approval.
    """
    last: dict[str, Entry] = {}
    proposed: dict[str, Entry] = {}
    for entry in entries:
        last[entry.path] = entry
        if entry.state is State.PROPOSED:
            proposed[entry.path] = entry
    waits = row.waits.split("; ")
    uncertain = {part.removeprefix(_UNCERTAIN) for part in waits if part.startswith(_UNCERTAIN)}
    told = {place for kind, _, place in (part.partition(" at ") for part in waits) if kind in _KINDS}
    # What a run asked for in a branch that has failed since, it does not wait for any more.
    exact = row.state is RunState.PARKED and len(told) == len(waits)
    found: list[Open] = []
    for path, entry in last.items():
        if entry.kind is Kind.APPROVAL and entry.state is State.PROPOSED and isinstance(entry.value, Mapping):
            asked = entry.value
            if "arguments" not in asked or (exact and path not in told):
                continue
            role = asked.get("role")
            question = question_in(asked)
            step = path.removesuffix("/approval" if question is None else "/question")
            known = [seconds for seconds in (limit, within_of(asked)) if seconds is not None]
            found.append(
                Open(
                    row, "approval", step, path, entry.target, None if role is None else str(role), str(asked.get("reason", "")),
                    asked["arguments"], entry.key, entry.at, entry, entry.at + min(known) if known else None,
                    str(asked.get("preview", "")), question,
                )
            )  # fmt: skip
        elif path in uncertain and entry.state is State.STARTED:
            arguments = _edited(last.get(f"{path}/approval")) or (proposed[path].value if path in proposed else None)
            why = "it started, and nobody knows if it took effect"
            found.append(Open(row, "uncertain", path, path, entry.target, None, why, arguments, entry.key, entry.at, entry))
    return found


def _edited(decision: Entry | None) -> object:
    """The arguments that a person put in place of those proposed: what really went out. None where nobody did."""
    if decision is None or decision.state is not State.ANSWERED or not isinstance(decision.value, Mapping):
        return None
    return decision.value.get("arguments")


async def waiting(store: DurableStore, *, tenant: str | None = None, most: int = 1_000, limit: float | None = None) -> list[Open]:
    """Everything that up to `most` parked runs wait for a person to answer, the oldest first. `limit` as for `open_in`."""
    found: list[Open] = []
    for row in await store.rows(states=[RunState.PARKED], tenant=tenant, limit=most):
        found += open_in(row, await store.entries(row.header.run), limit)
    return sorted(found, key=lambda one: one.asked)


async def find(
    store: DurableStore, run: str, step: str | None, kind: Literal["approval", "uncertain"], limit: float | None = None
) -> Open:
    """The one thing of this kind that a run waits for, at `step` where there are several. Raises `DecideError`."""
    row = await store.find(run)
    if row is None:
        raise DecideError(f"there is no run {run}", "`ael runs` lists them")
    if row.state in (RunState.ENDED, RunState.DEAD):
        raise DecideError(f"the run {run} has ended", f"`ael runs show {run}` says how")
    here = [one for one in open_in(row, await store.entries(run), limit) if one.kind == kind]
    what = "an approval" if kind == "approval" else "a person to settle a call"
    if not here:
        raise DecideError(f"the run {run} does not wait for {what}", f"`ael runs show {run}` says what it waits for")
    if step is not None:
        here = [one for one in here if step in (one.step, one.path)]
        if not here:
            raise DecideError(f"the run {run} does not wait for {what} at {step}", f"`ael runs show {run}` lists the steps")
    if len(here) > 1:
        if all(one.question is not None for one in here):
            what = "an answer"
        steps = ", ".join(one.step for one in here)
        raise DecideError(f"the run {run} waits for {what} at {len(here)} steps", f"say which with `--step`: {steps}")
    return here[0]


def asked_json(asked: Open) -> object:
    """The question of the program's as JSON, with the JSON Schema of its answer; None for an approval."""
    return None if asked.question is None else {"message": asked.question.message, "schema": asked.question.schema}


async def decide(
    store: DurableStore,
    asked: Open,
    *,
    approved: bool,
    by: str,
    reason: str,
    arguments: Mapping[str, object] | None,
    members: Mapping[str, Sequence[str]],
    now: float,
    here: bool = True,
) -> None:
    """Answer an approval, or a question of the program's, with `arguments` as the answer. Raises `DecideError`.

    Only a member of its role decides; a no has a reason, which the model reads.

    `here`: `by` is somebody at this machine, for whom `local` in a role stands.
    """
    if asked.due is not None and now >= asked.due:
        raise DecideError("the time for this decision is over", "the run goes on without it: nobody decided in time")
    known = members.get(asked.role, ()) if asked.role is not None else (by,)
    if by not in known and not (here and "local" in known):
        raise DecideError(
            f"`{asked.role}` decides about this, and {by} is no member of it",
            f'the deployment lists them: `role {asked.role} = ["{by}"]`',
        )
    if _WORKER.fullmatch(by):
        raise DecideError("a worker decides nothing, about whatever it is", "say who decides: `--as NAME`")
    if not approved and not reason.strip():
        raise DecideError("a no needs a reason: the model reads it", 'add `--reason "…"`')
    if asked.question is not None and approved:
        said = fitting(asked.question, Decision(True, by, reason, arguments))
        if not said.approved:
            raise DecideError(said.reason, f"it is asked: {asked.question.message[:500]}")
        arguments = said.arguments
    value = {"approved": approved, "by": by, "reason": reason, "arguments": None if arguments is None else dict(arguments)}
    await _answer(store, asked, Ending.VALUE, value, now)


async def settle(store: DurableStore, call: Open, *, result: object, failed: bool, by: str, now: float) -> None:
    """Say what became of a call whose outcome nobody knows: its result, or that it did not take effect. Raises `DecideError`.

    The result is checked against the type of the call when the run goes on.
    """
    if failed:
        fault = Fault(FaultKind.TOOL_FAILED, f"{by} settled it: it did not take effect", settled=by)
        await _answer(store, call, Ending.FAULT, fault.value(), now)
    else:
        await _answer(store, call, Ending.VALUE, result, now)


async def _answer(store: DurableStore, asked: Open, ending: Ending, value: object, now: float) -> None:
    entry = asked.entry._replace(state=State.ANSWERED, value=value, ending=ending, at=now)
    if not await store.answer(asked.run, entry):
        raise DecideError(f"somebody else has answered {asked.step} of the run {asked.run} already")
