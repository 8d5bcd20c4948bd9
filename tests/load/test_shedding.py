"""Four times the load that a served node takes, in a process of its own, over real sockets: its limit holds, the rest is told so in a type,
and what was let in gets its own answer."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.load.clients import PROTOCOLS, Load, client
from tests.load.served import LIMIT, LINE, Command, command
from tests.transports.test_context import until

LISTEN = f"listen = http(concurrent: {LIMIT}, queue: {LINE}, drain: 60s)\nserve = [score]\nruns = memory\n"
AT_ONCE = 4 * (LIMIT + LINE)
CALLS = 1_200


def clients(protocols: str, served: Command) -> Load:
    """Four times as many clients as the server has room for."""
    words = PROTOCOLS if protocols == "all" else (protocols,)
    return Load([client(words[n % len(words)], served) for n in range(AT_ONCE)])


@pytest.mark.feature("A11.4", "A13.7", "K45")
@pytest.mark.parametrize("protocols", [*PROTOCOLS, "all"])
def test_calls_that_last(protocols: str, tmp_path: Path) -> None:
    """As many as there is room for are let in, to the last place; every other is refused at once; all that were let in are answered."""
    room = LIMIT + LINE

    async def scenario(served: Command) -> None:
        async with clients(protocols, served) as load:
            calls = [asyncio.ensure_future(one.score(-n)) for n, one in enumerate(load.clients, 1)]
            await until(lambda: sum(call.done() for call in calls) == AT_ONCE - room and len(served.did("begin")) == LIMIT)
            refused = [call.result() for call in calls if call.done()]
            assert {(end.kind, end.after) for end in refused} == {("refused", 1.0)}, refused
            assert all(f"{LIMIT} calls are in flight and {LINE} wait" in end.said for end in refused)
            (served.folder / "go").touch()
            ends = {n: await call for n, call in enumerate(calls, 1)}
            values = {n: end.value for n, end in ends.items() if end.kind == "value"}
            assert values == {n: 1 - 2 * n for n in values}, "each has its own answer"
            assert len(values) == room
            assert sorted(served.did("end")) == sorted(-n for n in values)
            assert served.most == LIMIT

    with command(tmp_path, LISTEN) as served:
        asyncio.run(scenario(served))


@pytest.mark.feature("A11.4", "A13.7", "K39", "K45")
@pytest.mark.parametrize("protocols", [*PROTOCOLS, "all"])
def test_load_that_goes_on(protocols: str, tmp_path: Path) -> None:
    """Each call ends with its own answer or with the refusal, the counts add up, and no socket is left behind."""

    async def scenario(served: Command) -> None:
        before = served.files
        async with clients(protocols, served) as load, Load([client("connect", served) for _ in range(LIMIT)]) as held:
            lasting = [asyncio.ensure_future(one.score(-n)) for n, one in enumerate(held.clients, 1)]
            await until(lambda: len(served.did("begin")) == LIMIT)
            running = asyncio.ensure_future(load.run(CALLS))
            await until(lambda: load.count("refused") >= CALLS // 4)
            (served.folder / "go").touch()
            await asyncio.gather(running, *lasting)
            assert load.count("value") + load.count("refused") == CALLS, load.ends
            assert load.count("value") > 0
            assert all(end.after == 1.0 for end in load.ends.values() if end.kind == "refused")
            assert all(load.ends[n].value == 2 * n + 1 for n in load.numbers("value")), "each has its own answer"
            done = sorted([*load.numbers("value"), *range(-LIMIT, 0)])
            assert sorted(served.did("begin")) == sorted(served.did("end")) == done, "what was refused was not done"
            assert served.most == LIMIT, "to the last place, and never above"
        # The ledger is opened with the first call.
        await until(lambda: served.files <= before + 1)

    with command(tmp_path, LISTEN) as served:
        asyncio.run(scenario(served))
