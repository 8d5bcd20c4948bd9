"""`history summarize`: when a history nears the window, the model itself sums up what is old, in one step of the node's budget."""

from __future__ import annotations

import asyncio
import hashlib
import json

from ael.journal.entry import Ending, Kind
from ael.run.conversation import Link, Setup, Talk
from ael.run.given_up import OTHER, given_up
from ael.run.message import GUARD, marked
from ael.run.ports import OutputShape
from ael.run.scope import Scope
from ael.run.step import Step, error_of
from ael.run.turn import estimated_tokens, from_record, to_record, transcript
from ael.types.fault import Fault, FaultKind

NEAR = 0.7
"""How full the window is when the history is summed up."""
KEPT = 2
"""The newest pairs, which stay as they are."""
_ASK = (
    "Sum up the conversation that you are given, for whoever goes on with it: what was asked, what was found out and by which calls, "
    "what was done, what is open. Keep identifiers and numbers exact. Write nothing else."
)
_SYSTEM = f"{GUARD}\n\n{_ASK}"
_SETUP = Setup(
    _SYSTEM,
    (),
    OutputShape({"type": "string"}, True, "summary"),
    "none",
    False,
    None,
    hashlib.sha256(_SYSTEM.encode()).hexdigest(),
)


def crowded(talk: Talk) -> bool:
    """Whether the history has come near the window of the model that would be asked next."""
    window = talk.window
    return window is not None and len(talk.exchanges) > KEPT and estimated_tokens(talk.size) > window * NEAR


async def shared_step(scope: Scope, path: str) -> int | None:
    """One model step from the accounts that the run shares, unless the journal has the answer at `path`; what is left of them."""
    run = scope.run
    known = run.journal.last(path) if run.journal.continued else None
    if run.purse is None or (known is not None and known.ending is not None):
        return None
    return await run.purse.take("steps")


async def summarise(scope: Scope, talk: Talk, model: str, path: str) -> None:
    """Replace all but the newest pairs by their summary. It is a model call like any other: journaled, reserved, charged."""
    run = scope.run
    scope.account.take_step(run.tell)
    await shared_step(scope, f"{path}/summary")
    told = json.dumps(transcript(talk.first, talk.exchanges[:-KEPT]), ensure_ascii=False)
    links = [Link(link.name, link.bound, _SETUP, link.price) for link in talk.chain]
    inner = Talk(scope, _SETUP, links, marked("conversation", told, []), [])
    step = Step(run, f"{path}/summary", Kind.MODEL, model, inner.digest(), "", scope.last)
    if run.inspect is not None:
        run.inspect(step.path, inner)
    known = step.replayed()
    if known is not None:
        if known.ending is not Ending.VALUE:
            raise given_up(known) or error_of(known)
        turn, usage, _, failed = from_record(known.value)
        for used in failed:
            inner.charge(used, links[0])
        _, over = inner.charge(usage, links[0])
    else:
        waiting = step.start()
        try:
            if waiting is not None:
                await waiting
            asked = await inner.ask(step.path, True, None)
        except Fault as fault:
            step.fail(fault)
            raise
        except asyncio.CancelledError:
            step.give_up(Fault(FaultKind.CANCELLED, "the summary was given up"), scope.deadline.cut_by() or OTHER)
            raise
        turn, over = asked.turn, asked.over
        step.answer(Ending.VALUE, to_record(turn, asked.usage, False, inner.failed, asked.cost), scope.seen)
    if over is not None:
        raise over
    talk.fold(marked("summary of the conversation so far", turn.text, []), KEPT)
