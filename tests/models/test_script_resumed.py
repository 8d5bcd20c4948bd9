"""A script goes on where it was: turns that a journal gives back are not played again."""

from __future__ import annotations

import asyncio

from ael.models.registry import Binding, open_provider
from ael.models.script import parse_script
from ael.run.ports import ModelTurn
from tests.models.test_replay import spec


def script() -> Binding:
    return Binding("scripted", "m", script=parse_script([{"text": "one"}, {"text": "two"}, {"text": "three"}], "a script"))


def test_a_conversation_over_replayed_turns_asks_for_the_next_one() -> None:
    async def main() -> None:
        first = open_provider(script()).converse(spec())
        first.user("hello")
        turns: list[ModelTurn] = []
        for _ in range(2):
            turns.append(await first.ask(100, False, None))
            first.turn(turns[-1])
        again = open_provider(script()).converse(spec())
        again.user("hello")
        for turn in turns:
            again.turn(turn)
        assert (await again.ask(100, False, None)).text == "three"

    asyncio.run(main())
