"""What people do here: decide, answer, settle, cancel, go on, fork, start. Each is what the command of `ael runs` of that name does, by the
same rules; what it cannot do is told as that command tells it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ael.data import replace
from ael.durable.decide import DecideError, Open, decide, find, open_in, settle, waiting
from ael.durable.execute import Execution, new_owner
from ael.durable.fitting import fits, result_of
from ael.durable.forking import forked
from ael.durable.pinned import bound_of
from ael.durable.planned import Plan, plans
from ael.durable.told import open_json
from ael.host import open_preview
from ael.hosting.failure import HostError
from ael.hosting.whom import options_for
from ael.journal.durable import RunState
from ael.project.program import Opened
from ael.run.entry import decoded
from ael.run.human import ANSWER
from ael.run.masker import MASK
from ael.studio.crew import Crew
from ael.studio.desk import Desk
from ael.studio.form import problems_of
from ael.studio.guard import Refused
from ael.types.problem import DecodeError

_OPEN = 200
"""Runs whose questions are shown at once."""
Body = Mapping[str, object]


async def inbox(desk: Desk, crew: Crew, run: str | None) -> list[dict[str, object]]:
    """What waits for a person (`run`: in this run), the oldest first, with everything that is needed to decide. That it is read is recorded
    first."""
    limit = desk.runs.approval
    if desk.empty:
        return []
    if run is None:
        found = await waiting(desk.store, most=_OPEN, limit=limit)
    else:
        row = await desk.row(run)
        found = open_in(row, await desk.store.entries(run), limit) if row.state is RunState.PARKED else []
    for name in dict.fromkeys(one.run for one in found):
        await desk.note(name, "ael studio: approvals")
    await desk.program.now()
    now, roles = desk.now(), desk.program.deployment.roles
    return [
        {
            **_masked(desk, open_json(one, now)),
            "digest": one.entry.digest,
            "may": _may(one, desk.user, roles),
            "by": desk.user,
            "here": crew.mine(one.run),
        }
        for one in found
    ]


def _masked(desk: Desk, told: dict[str, object]) -> dict[str, object]:
    shown = desk.masker.value(told)
    assert isinstance(shown, dict)
    return shown


def _may(one: Open, user: str, roles: Mapping[str, Sequence[str]]) -> bool:
    """Whether a click would be of use; who may is decided when it is made."""
    known = roles.get(one.role, ()) if one.role is not None else (user,)
    return user in known or "local" in known


async def decided(desk: Desk, crew: Crew, run: str, body: Body) -> dict[str, object]:
    """Approve, deny, answer or settle one thing that a run waits for. Raises `DecideError`, `Refused`."""
    word, step = _text(body, "decision"), _text(body, "step")
    reason = _text(body, "reason", "")
    if word not in ("approve", "deny", "answer", "settle", "failed"):
        raise Refused(400, "a decision is `approve`, `deny`, `answer`, `settle` or `failed`")
    kind = "uncertain" if word in ("settle", "failed") else "approval"
    # Who may decide is read as it is now: somebody may have been taken off the list since the page was opened.
    await desk.program.now()
    asked = await find(desk.store, run, step, "uncertain" if kind == "uncertain" else "approval", desk.runs.approval)
    if _text(body, "digest") != asked.entry.digest:
        raise Refused(409, "what the run waits for has changed since it was shown", "look at it again")
    now = desk.now()
    if kind == "uncertain":
        result = result_of(await _program(desk), asked, body.get("result")) if word == "settle" else None
        await settle(desk.store, asked, result=result, failed=word == "failed", by=desk.user, now=now)
    else:
        edited = body.get("arguments")
        if edited is not None and not isinstance(edited, dict):
            raise Refused(400, "`arguments` is an object")
        if word == "answer":
            if asked.question is None:
                raise DecideError(f"`{asked.target}` asks nothing: it waits for an approval")
            edited = {ANSWER: body.get("answer")}
        elif asked.question is not None and word == "approve":
            raise DecideError(f"`{asked.target}` asks a question: it takes an answer")
        elif edited is not None:
            if word == "deny":
                raise Refused(400, "a no takes no arguments")
            if MASK in str(edited) and desk.masker.value(asked.arguments) != asked.arguments:
                raise Refused(
                    409,
                    f"a secret is shown as `{MASK}` in these arguments, and would be sent as that",
                    "approve them as they are",
                )
            fits(await _program(desk), asked, edited)
        await decide(
            desk.store, asked, approved=word != "deny", by=desk.user, reason=reason, arguments=edited,
            members=desk.program.deployment.roles, now=now,
        )  # fmt: skip
    told: dict[str, object] = {"run": run, "step": asked.step, "decision": word, "by": desk.user}
    if body.get("resume") is True and not crew.mine(run):
        try:
            await crew.go_on(await _program(desk), run)
        except (Refused, HostError) as error:
            # The decision is made, whatever becomes of the run here.
            return {**told, "not_here": error.message, "notes": list(error.notes)}
    return told


async def cancelled(desk: Desk, crew: Crew, run: str, body: Body) -> dict[str, object]:
    """Ask for the end of a run."""
    reason = _text(body, "reason", "") or "cancelled from outside"
    if not await desk.store.cancel(run, reason):
        raise Refused(409, f"the run {run} has ended")
    # One that is executed here need not wait for its next heartbeat.
    crew.cancel(run, reason)
    return {"run": run}


async def resumed(desk: Desk, crew: Crew, run: str, body: Body) -> dict[str, object]:
    """Go on with a run here."""
    accepting = desk.user if body.get("accept") is True else None
    await crew.go_on(await _program(desk), run, accepting=accepting)
    return {"run": run}


async def fork(desk: Desk, crew: Crew, run: str, body: Body) -> dict[str, object]:
    """A fork: what it would take (`estimate`), or the new run, executed here or left to the workers. Raises `ChangeError`, `PlaceError`."""
    row = await desk.row(run)
    program = await _program(desk)
    at, detached = body.get("at"), body.get("detached") is True
    changes, allow = _pairs(body.get("changes")), _texts(body.get("allow"))
    if at is not None and not isinstance(at, str):
        raise Refused(400, "`at` is a text")
    plan = (await plans(desk.store, row, program, at, changes, allow=allow, detached=detached))[0]
    told = _estimate(plan)
    if body.get("estimate") is True:
        return told
    if detached:
        made = await forked(plan.execution, row, plan.at, changes=plan.changes, allow=allow)
    else:
        execution = replace(plan.execution, owner=await crew.owner(program))
        made = await forked(execution, row, plan.at, changes=plan.changes, allow=allow, keep=True)
        await crew.go_on(program, made)
    return {"run": made, **told}


def _estimate(plan: Plan) -> dict[str, object]:
    return {"at": plan.at or "end", "with": list(plan.changes.said), **plan.estimate.plain()}


async def started(desk: Desk, crew: Crew, body: Body) -> dict[str, object]:
    """A new run of an entry, executed here or left to the workers. What does not fit is told field by field. Raises `HostError`."""
    program = await _program(desk)
    entry, values = _text(body, "entry"), body.get("input", {})
    if not isinstance(values, dict):
        raise Refused(400, "`input` is an object with a key for each parameter")
    if entry not in program.program.nodes:
        raise Refused(404, f"the program has no entry `{entry[:200]}`")
    options = options_for(program.deployment, _maybe(body, "tenant"), _maybe(body, "caller"))
    # What is kept for another process holds no secret, whichever of them that process will need.
    engine = open_preview(program, frozenset(), keyring=True).engine
    try:
        decoded(engine.input(entry), values)
    except DecodeError as error:
        raise Refused(422, "the input does not fit", more={"problems": problems_of(error.problems)}) from None
    if body.get("detached") is True:
        execution = Execution(engine, desk.store, new_owner(), desk.runs.lease, bound_of(program))
        made, _ = await execution.create(entry, values, options)
    else:
        made = await crew.start(program, entry, values, options)
    return {"run": made}


async def _program(desk: Desk) -> Opened:
    program = await desk.program.now()
    if program is None:
        raise Refused(409, "the program has errors", *desk.program.problems)
    return program


def _text(body: Body, name: str, otherwise: str | None = None) -> str:
    found = body.get(name, otherwise)
    if not isinstance(found, str):
        raise Refused(400, f"`{name}` is a text")
    return found


def _maybe(body: Body, name: str) -> str | None:
    return _text(body, name, "") or None


def _texts(found: object) -> list[str]:
    if found is None:
        return []
    if not isinstance(found, list) or len(found) > 100 or not all(isinstance(one, str) for one in found):
        raise Refused(400, "`allow` is a list of names")
    return found


def _pairs(found: object) -> list[tuple[str, str]]:
    if found is None:
        return []
    if not isinstance(found, list) or len(found) > 100:
        raise Refused(400, "`changes` is a list of pairs")
    pairs = []
    for one in found:
        if not (isinstance(one, list) and len(one) == 2 and all(isinstance(part, str) and part for part in one)):
            raise Refused(400, "a change is what it changes, and the value as JSON")
        pairs.append((one[0], one[1]))
    return pairs
