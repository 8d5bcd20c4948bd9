"""More keys than a server remembers answers of: what must not be done twice is not, what may be repeated is done again under the same keys,
and the memory that they take is bounded."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from ael.server import keys
from ael.server.keys import Keys
from tests.server.support import Reply
from tests.transports.places import Placed, Setting, ledger, placed, serving
from tests.transports.programs import SHOP
from tests.transports.test_context import until
from tests.transports.test_protocol import post

LISTEN = "runs = memory\nlisten = http(concurrent: 64, queue: 512)\n"


async def ask(port: int, operation: str, id: str) -> Reply:
    """Call an operation under a key that is its own and the id's."""
    body = json.dumps({"id": id}).encode()
    return await post(port, f"/shop.Orders/{operation}", body, {"Idempotency-Key": f"{operation}-{id}"})


def uncertain(reply: Reply) -> str:
    """Why an effect is in doubt."""
    ending = reply.json["details"][0]["debug"]
    assert ending["outcome"] == "uncertain", ending
    return str(ending["details"]["why"])


@pytest.mark.feature("A11.4", "A8.6", "K26")
def test_a_key_outlives_its_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A request that comes late, after as many others as the server remembers: `never` is not done again, `idempotent` is."""
    monkeypatch.setattr(keys, "KEPT", 10)

    async def scenario() -> None:
        async with serving(tmp_path, SHOP, LISTEN) as (alone, port, _):
            for operation in ("Pay", "Book", "Get"):
                assert (await ask(port, operation, "first")).status == 200
            for n in range(20):
                assert (await ask(port, "Pay", str(n))).status == 200
            assert len(alone.served.dispatch._answers) == 10
            for operation in ("Pay", "Book"):
                late = await ask(port, operation, "first")
                assert uncertain(late) == "the call was made, and what it gave is not kept any more"
            assert (await ask(port, "Get", "first")).status == 200
            assert (await ask(port, "Pay", "19")).json == {"result": "19"}
        made = [(call["what"], call["key"]) for call in ledger(tmp_path)]
        assert len([one for one in made if one[0] != "first"]) == 20
        assert [what for what, _ in made].count("first") == 4
        assert len({key for what, key in made if what == "first"}) == 3, "what was repeated had its key again"

    asyncio.run(scenario())


@pytest.mark.feature("A11.4", "A8.6", "K26")
def test_a_fault_of_what_is_not_repeated_stands(tmp_path: Path) -> None:
    """A second run would do again what the first did before it failed. A call that found no room did nothing, and may come again."""
    main = SHOP.replace("  book(id: String) -> String\n", "  book(id: String) -> String\n    limit concurrent 1\n") + BOOKED

    async def scenario() -> None:
        async with serving(tmp_path, main, LISTEN + "serve = [Orders, booked]\n") as (_, port, _):
            first, again = [await booked(port, "A") for _ in range(2)]
            assert first.json == again.json
            assert first.json["details"][0]["debug"]["kind"] == "OutOfRange"
            lasting = asyncio.ensure_future(ask(port, "Book", "wait:go"))
            await until(lambda: any(call["what"] == "wait:go" for call in ledger(tmp_path)))
            full = await ask(port, "Book", "B")
            assert (full.status, full.headers["retry-after"]) == (503, "1")
            (tmp_path / "go").touch()
            assert (await lasting).status == 200
            assert (await ask(port, "Book", "B")).status == 200
        assert [call["what"] for call in ledger(tmp_path)] == ["A", "wait:go", "B"]

    asyncio.run(scenario())


BOOKED = """
node booked(id: String) -> String fails Uncertain
  grants world.act
{
  let done = [try strike(id)]
  done[1]
}
"""


async def booked(port: int, id: str) -> Reply:
    """Call the node `booked` under one key."""
    return await post(port, "/shop.Nodes/Booked", json.dumps({"id": id}).encode(), {"Idempotency-Key": f"booked-{id}"})


def test_the_memory_of_keys_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """In number and bytes of answers, and in number of keys; an answer that is replaced counts once."""
    monkeypatch.setattr(keys, "KEPT", 100)
    monkeypatch.setattr(keys, "ROOM", 10_000)
    monkeypatch.setattr(keys, "SPENT", 50)
    known: Keys[int] = Keys()
    for n in range(300):
        known.keep(("t", "c", str(n)), n, 1, once=n % 2 == 0)
        known.keep(("t", "c", str(n)), n, 10, once=n % 2 == 0)
    assert len(known) == 100
    assert known.find(("t", "c", "299")) == 299
    assert known.find(("t", "c", "199")) is None
    assert known.spent(("t", "c", "198"))
    assert not known.spent(("t", "c", "199")), "what may be repeated leaves nothing behind"
    assert not known.spent(("t", "c", "0")), "the longest known are forgotten"
    assert not known.spent(("u", "c", "198")), "a key is its caller's own"
    known.keep(("t", "c", "large"), 1, 9_500, once=True)
    assert len(known) == 51
    known.keep(("t", "c", "too large"), 1, 10_001, once=True)
    assert len(known) == 0
    assert known.spent(("t", "c", "too large"))


@pytest.mark.feature("A11.4", "K39")
def test_an_answer_that_is_kept_holds_nothing_of_its_run(tmp_path: Path) -> None:
    """Neither the request, nor the run, nor the value: a text, of a size that is counted."""

    async def scenario() -> None:
        async with placed("https", tmp_path, SHOP, Setting(server="listen = http(body: 1MiB)\n")) as program:
            await filled(program)

    asyncio.run(scenario())


async def filled(program: Placed) -> None:
    assert program.alone is not None
    dispatch = program.alone.served.dispatch
    for n in range(20):
        await program.run("get", {"id": f"{n:0>2000}"})
    assert dispatch.in_flight == 0
    assert not dispatch._under_way
    assert 20 * 2_000 < dispatch._answers._bytes < 20 * 4_000
