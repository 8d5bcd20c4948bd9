"""Between the two sides: lost answers, connections that are refused, answers that are none; what is left open, and what is not."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from ael.run.outcome import Faulted, Outcome, Unsettled, Value
from ael.types.fault import FaultKind
from tests.transports.places import Placed, Setting, placed
from tests.transports.programs import SHOP
from tests.transports.proxy import Proxy, between


def over(tmp_path: Path, act: Callable[[Placed, Proxy], object], options: str = "", runs: str = "runs = memory\n") -> None:
    """Run `act` (a coroutine function) with a program behind a proxy."""
    proxies: list[Proxy] = []

    async def scenario() -> None:
        setting = Setting(through=between(proxies), options=options, runs=runs)
        async with placed("https", tmp_path, SHOP, setting) as program:
            await act(program, proxies[0])  # type: ignore[misc]

    asyncio.run(scenario())


@pytest.mark.feature("A11.4", "A8.5", "K34", "K26")
def test_a_lost_answer(tmp_path: Path) -> None:
    """Idempotent with retries: asked again, and the recorded answer comes. `never` and `reconcile`: `Uncertain`, and not asked again."""

    async def act(program: Placed, proxy: Proxy) -> None:
        proxy.plan = ["lose", "pass"]
        assert isinstance(await program.run("retried", {"id": "R"}), Value)
        assert [call["what"] for call in program.ledger] == ["R"], "done once, told twice"
        assert len(proxy.requests) == 2
        proxy.plan = ["lose"]
        plain = await program.run("get", {"id": "G"})
        assert isinstance(plain, Faulted)
        assert plain.kind is FaultKind.DISCONNECTED
        for entry in ("pay", "book"):
            proxy.plan, before = ["lose"], len(proxy.requests)
            outcome = await program.run(entry, {"id": entry})
            assert isinstance(outcome, Unsettled), outcome
            assert outcome.operation == f"Orders.{entry}"
            assert len(proxy.requests) == before + 1
            assert [call["what"] for call in program.ledger].count(entry) == 1

    over(tmp_path, act)


@pytest.mark.feature("A11.4", "A8.5")
def test_a_refused_connection_is_known_to_have_done_nothing(tmp_path: Path) -> None:
    """A server that is not there is unavailable, also for what must not be done twice: nothing was sent."""

    async def scenario() -> None:
        async with placed("https", tmp_path, SHOP) as program:
            assert program.alone is not None
            program.stop()
            async with asyncio.timeout(60):
                while (
                    not isinstance(outcome := await program.run("pay", {"id": "P"}), Faulted) or "reached" not in outcome.message
                ):
                    await asyncio.sleep(0.05)
            assert outcome.kind is FaultKind.UNAVAILABLE
            assert outcome.details["sent"] is False

    asyncio.run(scenario())


def body(status: str, text: bytes, kind: str = "application/json") -> Callable[[bytes], bytes]:
    """An answer of this status, whatever the server said."""
    head = f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {len(text)}\r\nconnection: close\r\n\r\n"
    return lambda _: head.encode() + text


FOREIGN = json.dumps({"code": "unavailable", "message": "no upstream"}).encode()
NO = json.dumps({"code": "permission_denied", "message": "not you"}).encode()
BROKEN = b'{"code": "internal", "details": [{"type": "ael.v1.Ending", "value": "!!"}]}'
TWICE = b'{"id": "a", "id": "b", "total": 1}'
MANGLED: list[tuple[str, Callable[[bytes], bytes], FaultKind, bool]] = [
    ("no HTTP", lambda _: b"hello\r\n\r\n", FaultKind.MALFORMED, True),
    ("cut in the head", lambda answer: answer[:20], FaultKind.DISCONNECTED, True),
    ("cut in the body", lambda answer: answer[:-3], FaultKind.DISCONNECTED, True),
    ("nothing", lambda _: b"", FaultKind.DISCONNECTED, True),
    ("no JSON", body("200 OK", b"{"), FaultKind.MALFORMED, True),
    ("another type", body("200 OK", b'{"id": 1, "total": 2}'), FaultKind.MALFORMED, True),
    ("a key twice", body("200 OK", TWICE), FaultKind.MALFORMED, True),
    ("not a number", body("200 OK", b'{"id": "a", "total": NaN}'), FaultKind.MALFORMED, True),
    ("a page", body("200 OK", b"<html>", "text/html"), FaultKind.MALFORMED, True),
    ("oversize", body("200 OK", b'{"id": "' + b"x" * 1_000_000 + b'", "total": 1}'), FaultKind.TOO_LARGE, True),
    ("deep", body("200 OK", b"[" * 100_000), FaultKind.MALFORMED, True),
    ("a gateway's page", body("502 Bad Gateway", b"<html>", "text/html"), FaultKind.UNAVAILABLE, True),
    ("a foreign error", body("503 Service Unavailable", FOREIGN), FaultKind.UNAVAILABLE, True),
    ("a refusal", body("403 Forbidden", NO), FaultKind.DENIED, False),
    (
        "a detail that is none",
        body("500 X", BROKEN),
        FaultKind.DISCONNECTED,
        True,
    ),
    ("a limit of a proxy", body("429 Too Many Requests", b""), FaultKind.UNAVAILABLE, False),
]


@pytest.mark.feature("K21", "K36", "K47", "A11.4", "A8.5")
def test_answers_that_are_none(tmp_path: Path) -> None:
    """Each is a typed fault for what may be repeated; for `never` it leaves open what happened, but where the other side refused."""

    async def act(program: Placed, proxy: Proxy) -> None:
        for name, mangle, kind, lost in MANGLED:
            proxy.mangle = mangle
            outcome = await program.run("get", {"id": "A"})
            assert isinstance(outcome, Faulted), (name, outcome)
            assert outcome.kind is kind, (name, outcome)
            once = await program.run("pay", {"id": "A"})
            assert isinstance(once, Unsettled if lost else Faulted), (name, once)
        proxy.mangle = None
        assert isinstance(await program.run("get", {"id": "A"}), Value)

    over(tmp_path, act, options="failures: 1_000")


@pytest.mark.feature("A11.4", "K45")
def test_the_breaker_of_an_operation(tmp_path: Path) -> None:
    """It counts failures on the wire, attempts too, and no answers of the program; open, nothing is sent; a probe closes it again."""

    async def act(program: Placed, proxy: Proxy) -> None:
        for _ in range(6):
            assert isinstance(await program.run("get", {"id": "lose"}), Faulted)
        sent = len(proxy.requests)
        assert sent == 6, "a fault that the other side tells is no failure of the wire"
        proxy.plan = ["lose"] * 100
        await program.run("retried", {"id": "R"})
        await program.run("retried", {"id": "R"})
        assert len(proxy.requests) == sent + 4, "open at the fourth failure, in the middle of the second call"
        shut = await program.run("retried", {"id": "R"})
        assert isinstance(shut, Faulted)
        assert shut.kind is FaultKind.UNAVAILABLE
        assert "its circuit is open after 4 failures in a row" in shut.message
        assert len(proxy.requests) == sent + 4
        proxy.plan = []
        assert isinstance(await program.run("get", {"id": "A"}), Value), "another operation has another"
        async with asyncio.timeout(60):
            while not isinstance(outcome := await program.run("retried", {"id": "R"}), Value):
                assert "circuit" in str(outcome)
                await asyncio.sleep(0.1)

    over(tmp_path, act, options="failures: 4, cooldown: 5s")


@pytest.mark.feature("A11.4", "A8.6")
def test_a_request_that_arrives_twice_is_one_call(tmp_path: Path) -> None:
    async def act(program: Placed, proxy: Proxy) -> None:
        proxy.plan = ["duplicate"]
        assert isinstance(await program.run("pay", {"id": "P"}), Value)
        assert [call["what"] for call in program.ledger] == ["P"]

    over(tmp_path, act)


@pytest.mark.feature("A11.4", "A8.5", "A8.6", "K34")
def test_many_calls_in_bad_weather(tmp_path: Path) -> None:
    """Every effect of an idempotent operation happened exactly once, every other is accounted for as done or `Uncertain`."""

    async def act(program: Placed, proxy: Proxy) -> None:
        words = ("pass", "lose", "duplicate", "pass", "refuse")
        proxy.plan = [words[(7 * n) % 5] for n in range(2_000)]
        many = [program.run("retried", {"id": f"R-{n}"}) for n in range(100)]
        once = [program.run("pay", {"id": f"P-{n}"}) for n in range(100)]
        ended: list[Outcome] = await asyncio.gather(*many, *once)
        done = [call["what"] for call in program.ledger]
        assert len(done) == len(set(done)), "nothing was done twice"
        for n, outcome in enumerate(ended[:100]):
            if isinstance(outcome, Value):
                assert f"R-{n}" in done
        assert sum(isinstance(outcome, Value) for outcome in ended[:100]) > 50
        for n, outcome in enumerate(ended[100:]):
            assert isinstance(outcome, Value | Unsettled | Faulted)
            if isinstance(outcome, Value):
                assert f"P-{n}" in done
            if isinstance(outcome, Faulted):
                assert f"P-{n}" not in done, "a plain fault says that nothing was done"

    over(tmp_path, act, options="failures: 1_000")
