"""What a server asks in the middle of a call, brought to the person of that call."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from ael.mcp.remote import Policy
from ael.mcp.session import Elicitation
from ael.run.ports import Question, RemoteAnswer, Reply
from ael.types.fault import Fault, FaultKind
from tests.mcp_run.fakes import GET, FakeSession, alone, context, fault_of, remote, text


def _asking(session: FakeSession, lane: Callable[[], Any], said: list[object]) -> Callable[[], Awaitable[RemoteAnswer]]:
    async def ask() -> RemoteAnswer:
        reply = await lane().elicit(Elicitation("How many?", {"type": "object"}))
        said.append((reply.action, reply.content))
        return text(reply.action)

    session.doing = [ask]
    return ask


def test_a_question_reaches_the_person_of_the_one_call_that_may_be_asked() -> None:
    """K40: of two callers beside each other on one connection each gets his own question."""

    async def work() -> None:
        session, said = FakeSession(), list[object]()
        made, opening = remote(session, policy=Policy(elicitation=True))
        _asking(session, lambda: opening.listeners[0], said)

        def person(name: str) -> Callable[[Question], Awaitable[Reply]]:
            async def answer(question: Question) -> Reply:
                await asyncio.sleep(0)
                return {"name": name}

            return answer

        await asyncio.gather(*[made.call(GET, {}, context(), person(name)) for name in "abc"])
        assert said == [("accept", {"name": name}) for name in "abc"]
        await made.close()

    alone(work)


def test_a_question_without_a_call_or_without_leave_is_declined() -> None:
    async def work() -> None:
        session, said = FakeSession(), list[object]()
        made, opening = remote(session)
        _asking(session, lambda: opening.listeners[0], said)

        async def never(question: Question) -> Reply:
            raise AssertionError("the deployment does not allow questions")

        await made.call(GET, {}, context(), never)
        assert said == [("decline", None)]
        await made.close()

    alone(work)


def test_a_person_who_says_no_declines_and_a_failure_to_ask_ends_the_call() -> None:
    async def work() -> None:
        session, said = FakeSession(), list[object]()
        made, opening = remote(session, policy=Policy(elicitation=True))
        _asking(session, lambda: opening.listeners[0], said)

        async def refuses(question: Question) -> Reply:
            return None

        async def breaks(question: Question) -> Reply:
            raise Fault(FaultKind.DIVERGED, "the journal holds another question")

        await made.call(GET, {}, context(), refuses)
        fault = await fault_of(made.call(GET, {}, context(), breaks))
        assert fault.kind is FaultKind.DIVERGED
        assert said == [("decline", None), ("cancel", None)]
        await made.close()

    alone(work)


def test_the_time_of_a_call_stands_still_while_a_person_thinks() -> None:
    async def work() -> None:
        session, said = FakeSession(), list[object]()
        made, opening = remote(session, policy=Policy(elicitation=True, timeout=0.05))
        _asking(session, lambda: opening.listeners[0], said)

        async def thinks(question: Question) -> Reply:
            await asyncio.sleep(0.15)
            return {}

        assert await made.call(GET, {}, context(), thinks) == text("accept")
        await made.close()

    alone(work)


def test_giving_up_a_call_takes_its_question_back() -> None:
    async def work() -> None:
        session, said = FakeSession(), list[object]()
        made, opening = remote(session, policy=Policy(elicitation=True))
        _asking(session, lambda: opening.listeners[0], said)
        asked = asyncio.Event()

        async def waits(question: Question) -> Reply:
            asked.set()
            await asyncio.Event().wait()
            return {}

        task = asyncio.ensure_future(made.call(GET, {}, context(), waits))
        await asked.wait()
        task.cancel()
        await asyncio.wait([task])
        await asyncio.sleep(0)
        await made.close()

    alone(work)
