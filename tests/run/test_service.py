"""Services in the process, stores and built-in effects: whose rights, whose budget, whose values."""

from __future__ import annotations

import asyncio
import sqlite3
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from ael.journal.memory import MemoryJournal
from ael.run.bindings import Options
from ael.run.events import Logged
from ael.run.permission import Layer
from ael.run.store import MemoryStore, SqliteStore
from ael.run.stored import Kept, Origin
from ael.types.fault import Failure, Fault, FaultKind
from ael.types.signature import Repeat
from ael.types.spec import LimitSpec, RetrySpec, StoreSpec
from ael.types.type import DecimalType, IntType
from tests.run.fakes import FakeClock
from tests.run.helpers import (
    ORDER,
    Collected,
    code,
    engine,
    error_of,
    fault_of,
    operation,
    parameter,
    run,
    tool,
    uncertain_of,
    unit,
    value_of,
)
from tests.run.loops import Body

GET = operation("get", parameter("id"), result=ORDER, fails=frozenset({"main.NotFound"}))


def calling(
    body: Any,
    spec: Any = GET,
    *,
    grants: frozenset[str] = frozenset({"read"}),
    provider: frozenset[str] = frozenset({"db"}),
    **bound: Any,
) -> Any:
    async def main(k: Any) -> object:
        return await k.act(0, spec.name, ("A",) if spec.signature.parameters else ())

    made = unit(
        tools=[tool("query", Body("row"), permission="db"), tool("read", Body("row"))],
        nodes=[code("main", main, grants=grants, result=spec.signature.result)],
        operations={spec: body},
        provider_grants=provider,
    )
    return run(engine(made, **bound), "main", options=bound.pop("options", None))


def test_the_caller_needs_the_operations_permission_and_the_body_has_the_providers() -> None:
    """The body may do what its caller may not; and nothing that the provider may not."""

    async def body(k: Any, id: str) -> object:
        await k.act(0, "main.query", ())
        return {"id": id, "total": 1}

    assert value_of(calling(body)) == {"id": "A", "total": 1}
    fault = fault_of(calling(body, grants=frozenset({"db"})))
    assert fault.kind is FaultKind.DENIED
    assert "`main.Orders.get` needs the permission `read`" in fault.message

    async def greedy(k: Any, id: str) -> object:
        return await k.act(0, "main.read", ())

    fault = fault_of(calling(greedy))
    assert "which the provider `main.Orders` does not grant" in fault.message


def test_the_operator_denies_in_a_providers_body_too() -> None:
    async def body(k: Any, id: str) -> object:
        return await k.act(0, "main.query", ())

    fault = fault_of(calling(body, operator=Layer("the operator's allow-list", denied={"db"})))
    assert "the operator's allow-list" in fault.message


def test_declared_errors_pass_and_undeclared_ones_are_a_crash() -> None:
    assert error_of(calling(Body(Failure("main.NotFound", {"id": "A"})))).plain == {"id": "A"}
    fault = fault_of(calling(Body(Failure("main.Other", {}))))
    assert fault.kind is FaultKind.CRASHED
    assert "undeclared error `main.Other`" in fault.message


def test_a_deadline_of_an_operation_is_its_own() -> None:
    clock = FakeClock()

    async def slow(k: Any, id: str) -> object:
        clock.advance(1)
        await asyncio.sleep(3600)
        return None

    for repeat in (Repeat.IDEMPOTENT, Repeat.RECONCILE):
        spec = operation("get", parameter("id"), result=ORDER, timeout=500, repeat=repeat)
        outcome = calling(slow, spec, clock=clock)
        if repeat is Repeat.IDEMPOTENT:
            assert fault_of(outcome).kind is FaultKind.TIMEOUT
        else:
            assert uncertain_of(outcome).operation == "Orders.get"


def test_what_an_operation_gives_is_checked() -> None:
    """K47: the fault names the operation and the path."""
    fault = fault_of(calling(Body({"id": "A", "total": -1})))
    assert fault.kind is FaultKind.MALFORMED
    assert "`Orders.get`" in fault.message
    assert "`total`" in fault.message


@pytest.mark.parametrize(("retry", "ending"), [(None, "fault"), (RetrySpec(9, "fixed", 1), "value")])
def test_a_provider_runs_no_more_calls_at_once_than_its_limit(retry: RetrySpec | None, ending: str) -> None:
    """Beyond it a call is unavailable, with a hint when to come again; what is repeatable comes again by itself."""
    running, most = 0, 0

    async def get(k: Any, id: str) -> object:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.001)
        running -= 1
        return {"id": id, "total": 1}

    async def main(k: Any) -> object:
        found = await k.parallel_for(0, ["a", "b", "c", "d"], None, lambda k, id: k.act(0, "main.Orders.get", (id,)))
        return "".join(one["id"] for one in found)

    spec = operation("get", parameter("id"), result=ORDER, retry=retry)
    made = unit(nodes=[code("main", main)], operations={spec: get}, provider_limit=LimitSpec(concurrent=2))
    outcome = run(engine(made), "main")
    assert most == 2
    if ending == "value":
        assert value_of(outcome) == "abcd"
    else:
        assert fault_of(outcome).kind is FaultKind.UNAVAILABLE
        assert fault_of(outcome).details["retry_after"]


def test_a_service_that_nothing_provides_is_unavailable() -> None:
    async def main(k: Any) -> object:
        return await k.act(0, "main.Orders.get", ("A",))

    made = unit(nodes=[code("main", main)], operations={GET: Body("x")})
    fault = fault_of(run(engine(made, provides={"main.Orders": "elsewhere"}), "main"))
    assert fault.kind is FaultKind.UNAVAILABLE


# --- stores --------------------------------------------------------------------------------------------------------------------------


def store(kind: str, folder: Path) -> Any:
    return MemoryStore() if kind == "memory" else SqliteStore(folder / "notes.db", "main.notes")


KINDS = pytest.mark.parametrize("kind", ["memory", "sqlite"])


@KINDS
def test_a_store_keeps_values_by_key_and_writes_once_for_a_token(kind: str, tmp_path: Path) -> None:
    async def whole() -> None:
        port = store(kind, tmp_path)
        assert await port.get("a") is None
        await port.put("b", {"n": 1}, "t1")
        await port.put("a", [1, "x", None], "t2")
        await port.put("a", "again", "t2")
        first, second = Kept([1, "x", None], None), Kept({"n": 1}, None)
        assert await port.get("a") == first
        assert await port.entries(10) == [("a", first), ("b", second)]
        assert await port.entries(1) == [("a", first)]
        assert await port.remove("a", "t3") is True
        await port.put("a", "new", "t4")
        assert await port.remove("a", "t3") is True, "the same removal again tells what it did, and does nothing"
        assert await port.get("a") == Kept("new", None)
        assert await port.remove("zz", "t5") is False
        await port.close()
        await port.close()

    asyncio.run(whole())


def test_a_sqlite_store_is_durable_shared_and_logs_ahead(tmp_path: Path) -> None:
    async def write() -> None:
        first, second = SqliteStore(tmp_path / "x.db", "a"), SqliteStore(tmp_path / "x.db", "b")
        await asyncio.gather(*[s.put(f"k{n}", n, f"{s}{n}") for n in range(20) for s in (first, second)])
        await first.close()
        await second.close()

    async def look() -> list[Any]:
        port = SqliteStore(tmp_path / "x.db", "a")
        try:
            return await port.entries(100)
        finally:
            await port.close()

    asyncio.run(write())
    assert len(asyncio.run(look())) == 20
    db = sqlite3.connect(tmp_path / "x.db")
    assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    db.close()


@pytest.mark.parametrize("content", [None, b"this is no database at all, but long enough to be looked at" * 20])
def test_a_store_that_cannot_be_opened_is_a_typed_fault(content: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "no" / "x.db" if content is None else tmp_path / "x.db"
    if content is not None:
        path.write_bytes(content)

    async def whole() -> FaultKind:
        port = SqliteStore(path, "a")
        with pytest.raises(Fault) as caught:
            await port.get("k")
        await port.close()
        return caught.value.kind

    assert asyncio.run(whole()) is (FaultKind.UNAVAILABLE if content is None else FaultKind.MALFORMED)


@KINDS
def test_a_program_uses_a_store_through_its_permission_and_types(kind: str, tmp_path: Path) -> None:
    spec = StoreSpec("main.notes", DecimalType(min=Decimal(0)), "write")

    async def main(k: Any) -> object:
        await k.act(0, "main.notes.put", ("a", Decimal("1.10")))
        await k.act(1, "main.notes.put", ("b", Decimal(2)))
        found = await k.act(2, "main.notes.get", ("a",))
        missing = await k.act(3, "main.notes.get", ("zz",))
        entries = await k.act(4, "main.notes.entries", ())
        gone = await k.act(5, "main.notes.remove", ("a",))
        there = await k.act(6, "main.notes.has", ("a",))
        return f"{found} {missing} {list(entries)} {gone} {there}"

    port = store(kind, tmp_path)
    for grants, ending in ((frozenset({"write"}), "value"), (frozenset({"read"}), "fault")):
        made = unit(stores=[spec], nodes=[code("main", main, grants=grants)])
        outcome = run(engine(made, stores={"main.notes": port}), "main", during=None)
        if ending == "value":
            assert value_of(outcome) == "1.10 None ['a', 'b'] True False"
        else:
            assert fault_of(outcome).kind is FaultKind.DENIED
    asyncio.run(port.close())


def test_a_put_replayed_or_sent_again_acts_once() -> None:
    """The token is the structural key: the same run over its journal writes nothing twice, another run writes its own."""

    class Counting(MemoryStore):
        puts = 0

        async def put(self, key: str, value: object, token: str, origin: Origin | None = None) -> None:
            self.puts += 1
            await super().put(key, value, token, origin)

    port, journal = Counting(), MemoryJournal()

    async def main(k: Any) -> object:
        await k.act(0, "main.notes.put", ("a", 1))
        return "x"

    made = unit(stores=[StoreSpec("main.notes", IntType(), None)], nodes=[code("main", main)])
    for _ in range(3):
        run(engine(made, stores={"main.notes": port}, journal=journal), "main", options=Options(caller="c", run="r1"))
    assert port.puts == 1


def test_what_is_stored_and_no_longer_fits_is_malformed() -> None:
    port = MemoryStore()
    asyncio.run(port.put("a", "text", "t"))

    async def main(k: Any) -> object:
        return await k.act(0, "main.notes.get", ("a",))

    made = unit(stores=[StoreSpec("main.notes", IntType(), None)], nodes=[code("main", main)])
    assert fault_of(run(engine(made, stores={"main.notes": port}), "main")).kind is FaultKind.MALFORMED


# --- built-in effects -----------------------------------------------------------------------------------------------------------------


def test_effects_are_journaled_and_replayed() -> None:
    """Time, ids and random numbers are the same when the run is run over its journal, whatever the clock says then."""
    clock, journal = FakeClock(), MemoryJournal()
    seen: list[list[object]] = []

    async def main(k: Any) -> object:
        seen.append([await k.act(site, f"std.{name}", args) for site, (name, args) in enumerate(CALLS)])
        return "x"

    made = unit(nodes=[code("main", main)])
    numbers = iter([n / 97 for n in range(90)])
    for _ in range(2):
        run(
            engine(made, clock=clock, journal=journal, random=lambda: next(numbers)),
            "main",
            options=Options(caller="c", run="r1"),
        )
        clock.advance(100_000)
    assert seen[0] == seen[1]
    now, today, new_id, number, again, wide = seen[0]
    assert now == datetime.fromtimestamp(1_700_000_000, UTC)
    assert today == date(2023, 11, 14)
    assert isinstance(new_id, str)
    assert len(new_id) == 20
    assert isinstance(number, int)
    assert 1 <= number <= 6
    assert again == 5
    assert isinstance(wide, int)
    assert -(10**40) <= wide <= 10**40


CALLS: list[tuple[str, tuple[object, ...]]] = [
    ("now", ()),
    ("today", ()),
    ("new_id", ()),
    ("random_int", (1, 6)),
    ("random_int", (5, 5)),
    ("random_int", (-(10**40), 10**40)),
]


def test_the_log_is_an_event() -> None:
    events = Collected()

    async def main(k: Any) -> object:
        return await k.act(0, "std.log", ("hello",)) or ""

    run(engine(unit(nodes=[code("main", main)])), "main", options=Options(caller="c", on_event=events))
    assert [event.text for event in events.of(Logged)] == ["hello"]


def test_random_int_refuses_an_empty_range() -> None:
    async def main(k: Any) -> object:
        return await k.act(0, "std.random_int", (2, 1))

    assert fault_of(run(engine(unit(nodes=[code("main", main)])), "main")).kind is FaultKind.OUT_OF_RANGE
