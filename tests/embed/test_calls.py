"""Python functions as tools and as providers: called through the checks of every call, with its key, and with errors as AEL knows them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from decimal import Decimal
from functools import wraps
from pathlib import Path
from typing import Any

import pydantic
import pytest

import ael
from tests.embed.shop import Order, Orders, Till, loaded, shop

pytestmark = pytest.mark.feature("B22")


def ran(program: ael.Program, node: str, **input: object) -> ael.Outcome[Any]:
    return asyncio.run(program.run(node, input))


def test_a_declared_error_is_one(tmp_path: Path) -> None:
    outcome = ran(shop(tmp_path), "order", id="gone")
    assert isinstance(outcome, ael.DeclaredError)
    assert (outcome.error, outcome.name, outcome.fields) == ("NotFound", "main.NotFound", {"id": "gone"})


@pytest.mark.parametrize(
    ("id", "kind", "told"),
    [
        ("odd", ael.FaultKind.MALFORMED, "the error `NotFound` of `main.Orders.get` does not fit its type"),
        ("other", ael.FaultKind.CRASHED, "the undeclared error `NotListed`"),
        ("broken", ael.FaultKind.CRASHED, "`Orders.get` failed: ValueError: no such shelf"),
    ],
)
def test_what_is_not_declared_is_a_fault_without_a_traceback(tmp_path: Path, id: str, kind: ael.FaultKind, told: str) -> None:
    outcome = ran(shop(tmp_path), "order", id=id)
    assert isinstance(outcome, ael.Faulted)
    assert outcome.kind is kind
    assert told in outcome.message
    shown = f"{outcome.message}{outcome.details}"
    assert "Traceback" not in shown
    assert "shop.py" not in shown


def test_a_result_that_does_not_fit_is_a_fault(tmp_path: Path) -> None:
    program = loaded(tmp_path)
    program.bind("refund_order", lambda id, amount, reason=None: 7)
    outcome = ran(program, "refund", id="A-1")
    # It may have paid before it gave nonsense: nobody is told that it did not.
    assert isinstance(outcome, ael.Uncertain)
    assert outcome.operation == "refund_order"


@pytest.mark.feature("K26", "A8.5")
def test_a_refund_that_breaks_is_uncertain_and_never_made_again(tmp_path: Path) -> None:
    program = loaded(tmp_path)
    calls: list[str] = []

    def lost(id: str, amount: Decimal, reason: str | None = None, *, ctx: ael.CallContext) -> str:
        calls.append(ctx.key)
        raise ConnectionError("gone")

    program.bind("refund_order", lost)
    outcome = ran(program, "refund", id="A-1")
    assert isinstance(outcome, ael.Uncertain)
    assert calls == [outcome.key]


NEVER = """\
permission mail.send

service Mail {
  send(text: String(max: 100)) -> Unit
    needs mail.send
    repeat never
    timeout 60s
}

node main(text: String(max: 100)) -> Unit fails Uncertain
  grants mail.send
{ try Mail.send(text) }
"""


def test_a_parameter_may_be_called_as_the_context_is(tmp_path: Path) -> None:
    main = NEVER.replace("send(text: String(max: 100))", "send(call: String(max: 100), ctx: Int)").replace(
        "send(text)", "send(text, 3)"
    )
    program = loaded(tmp_path, main=main, deploy="")
    sent: list[object] = []

    class Mail:
        def send(self, call: str, ctx: int) -> None:
            sent.append((call, ctx))

    program.provide("Mail", Mail())
    assert ran(program, "main", text="hello").unwrap() is None
    assert sent == [("hello", 3)]


class _Mail:
    def __init__(self, error: Exception) -> None:
        self.error = error
        self.sent: list[str] = []

    def send(self, text: str) -> None:
        self.sent.append(text)
        raise self.error


@pytest.mark.feature("K26", "A8.5")
@pytest.mark.parametrize("error", [TimeoutError(), ConnectionError(), ValueError("half sent")])
def test_an_operation_of_python_that_breaks_is_uncertain_where_it_must_not_be_repeated(tmp_path: Path, error: Exception) -> None:
    mail = _Mail(error)
    program = loaded(tmp_path, main=NEVER, deploy="")
    program.provide("Mail", mail)
    outcome = ran(program, "main", text="hello")
    assert isinstance(outcome, ael.Uncertain)
    assert outcome.operation == "Mail.send"
    assert mail.sent == ["hello"]


class Amount(pydantic.BaseModel):
    id: str

    @pydantic.field_validator("id")
    @classmethod
    def known(cls, id: str) -> str:
        if id == "A-0":
            raise ValueError("no such order")
        return id


def test_a_class_that_refuses_an_argument_does_so_before_the_call(tmp_path: Path) -> None:
    main = NEVER.replace("send(text: String(max: 100)) -> Unit", "send(text: Letter) -> Unit").replace(
        "service", "record Letter { id: String(max: 20) }\n\nservice"
    )
    program = loaded(tmp_path, main=main.replace("(text: String(max: 100))", "(text: Letter)"), deploy="")
    called: list[str] = []

    class Mail:
        def send(self, text: Amount) -> None:
            called.append(text.id)

    program.provide("Mail", Mail())
    refused = ran(program, "main", text={"id": "A-0"})
    assert isinstance(refused, ael.Faulted)
    assert refused.kind is ael.FaultKind.BAD_ARGUMENTS
    assert "no such order" in refused.message
    assert called == []
    assert ran(program, "main", text=Amount(id="A-1")).unwrap() is None
    assert called == ["A-1"]


def _logged(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def wrapper(*given: Any, **named: Any) -> Any:
        return function(*given, **named)

    return wrapper


def _awaited(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    async def wrapper(*given: Any, **named: Any) -> Any:
        return function(*given, **named)

    return wrapper


async def _async(id: str, amount: Decimal, reason: str | None = None) -> str:
    return id


def _plain(id: str, amount: Decimal, reason: str | None = None) -> str:
    return id


@pytest.mark.parametrize("function", [_logged(_async), _logged(_plain), _awaited(_plain)])
def test_wrapped_functions_are_called_as_what_they_are(tmp_path: Path, function: Callable[..., Any]) -> None:
    program = loaded(tmp_path)
    program.bind("refund_order", function)
    assert ran(program, "refund", id="A-1").unwrap() == "A-1"


class _Slow(Orders):
    """A provider that loses its first two calls."""

    async def get(self, id: str, *, ctx: ael.CallContext) -> Order:
        found = await super().get(id, ctx=ctx)
        if len(self.contexts) < 3:
            raise TimeoutError
        return found


@pytest.mark.feature("A8.7", "A16.1", "A1.12")
def test_all_attempts_of_a_call_have_one_key_and_the_trace_of_the_run(tmp_path: Path) -> None:
    slow = _Slow()
    program = loaded(tmp_path)
    program.provide("Orders", slow)
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    main = (
        (tmp_path / "main.ael")
        .read_text()
        .replace("idempotent\n    timeout 60s\n\n  /// All", "idempotent\n    retry 3\n    timeout 60s\n\n  /// All")
    )
    again = loaded(tmp_path, main=main)
    again.provide("Orders", slow)
    outcome = asyncio.run(again.run("order", {"id": "A-1"}, caller="ann", tenant="acme", trace_parent=parent, deadline=300))
    assert isinstance(outcome, ael.Value)
    assert list(slow.keys.values()) == [3]
    context = slow.contexts[0]
    assert (context.caller, context.tenant, context.permission, context.run) == ("ann", "acme", "orders.read", outcome.run)
    assert context.headers["Idempotency-Key"] == context.key
    assert context.headers["traceparent"].split("-")[1] == parent.split("-")[1]
    assert 0 < context.deadline < float("inf")


def test_the_permission_is_checked_before_the_function_is_called(tmp_path: Path) -> None:
    orders = Orders()
    program = shop(tmp_path, orders=orders)
    outcome = asyncio.run(program.run("order", {"id": "A-1"}, grants=["orders.refund"]))
    assert isinstance(outcome, ael.Faulted)
    assert outcome.kind is ael.FaultKind.DENIED
    assert orders.contexts == []


@pytest.mark.feature("K39", "A16.1")
def test_a_function_in_a_thread_hears_that_its_call_is_given_up(tmp_path: Path) -> None:
    program = loaded(tmp_path)
    began, heard = threading.Event(), threading.Event()
    threads: list[str] = []

    def slow(id: str, amount: Decimal, reason: str | None = None, *, ctx: ael.CallContext) -> str:
        threads.append(threading.current_thread().name)
        began.set()
        for _ in range(6_000):
            if ctx.cancelled():
                heard.set()
                break
            heard.wait(0.01)
        return "late"

    program.bind("refund_order", slow)

    async def go() -> ael.Outcome[Any]:
        async with program.open("refund") as session:
            run = session.start("refund", {"id": "A-1"})
            await asyncio.to_thread(began.wait, 60)
            run.cancel("not any more")
            return await run

    outcome = asyncio.run(go())
    assert heard.wait(60)
    assert isinstance(outcome, ael.Faulted | ael.Uncertain)
    assert threads != [threading.current_thread().name]


@pytest.mark.feature("K40")
def test_sessions_in_loops_of_their_own_do_not_share_anything(tmp_path: Path) -> None:
    orders = Orders()
    program = shop(tmp_path, orders=orders)
    outcomes: list[ael.Outcome[Any]] = []

    def one(id: str) -> None:
        outcomes.append(asyncio.run(program.run("order", {"id": id}, result_type=Order)))

    threads = [threading.Thread(target=one, args=(f"A-{n}",)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcome.unwrap().id for outcome in outcomes) == ["A-0", "A-1", "A-2", "A-3"]
    assert len(orders.keys) == 4


BOUNDED = """\
permission mail.read

service Mail {
  read(id: String(max: 20)) -> String(max: 20)
    needs mail.read
    repeat idempotent
    timeout 60s
    limit concurrent 1
}

node main(id: String(max: 20)) -> String(max: 20)
  grants mail.read
{ Mail.read(id) }
"""


def test_no_more_calls_of_an_operation_run_at_once_than_it_says(tmp_path: Path) -> None:
    program = loaded(tmp_path, main=BOUNDED, deploy="runs = memory\n")

    async def go() -> None:
        began, on = asyncio.Event(), asyncio.Event()

        class Mail:
            async def read(self, id: str) -> str:
                began.set()
                await on.wait()
                return id

        program.provide("Mail", Mail())
        async with program.open() as session:
            first = session.start("main", {"id": "a"})
            await began.wait()
            second = await session.run("main", {"id": "b"})
            assert isinstance(second, ael.Faulted)
            assert second.kind is ael.FaultKind.UNAVAILABLE
            on.set()
            assert (await first).unwrap() == "a"
            assert (await session.run("main", {"id": "c"})).unwrap() == "c"

    asyncio.run(go())


def test_what_a_function_does_to_its_arguments_and_its_result_later_changes_nothing(tmp_path: Path) -> None:
    kept: list[Any] = []

    class Keeping:
        def get(self, id: str) -> dict[str, Any]:
            raise AssertionError(id)

        def all(self, limit: int | None = None) -> list[Any]:
            kept.append([])
            return kept[0]  # type: ignore[no-any-return]

    program = loaded(tmp_path)
    program.provide("Orders", Keeping())
    outcome = ran(program, "count")
    kept[0].append("more")
    assert outcome.unwrap() == 0


def test_the_result_of_python_is_outside_data(tmp_path: Path) -> None:
    program = shop(tmp_path)

    async def go() -> None:
        async with program.open(durable=False) as session:
            run = session.start("order", {"id": "A-1"})
            await run
            assert run._execution.seen == {"service:Orders.get"}

    asyncio.run(go())


def test_amounts_are_exact(tmp_path: Path) -> None:
    till = Till()
    assert ran(shop(tmp_path, till=till), "refund", id="A-1", amount=Decimal("0.10")).unwrap() == "refunded 0.10 for A-1"
    assert till.amounts == [Decimal("0.10")]
