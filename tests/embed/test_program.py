"""Loading, binding and providing: what does not fit is told before anything runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypedDict

import pytest

import ael
from tests.embed.shop import MAIN, PACK, Order, Orders, Till, loaded, shop
from tests.programs import write

pytestmark = pytest.mark.feature("B22")


def test_problems_are_one_exception_with_all_diagnostics_as_text_and_as_data(tmp_path: Path) -> None:
    write(tmp_path, {"main.ael": 'node main() -> Int { "a" }\nnode other() -> String { 1 }\n'})
    with pytest.raises(ael.LoadError) as raised:
        ael.load(tmp_path / "main.ael")
    error = raised.value
    assert [one.code for one in error.diagnostics] == ["AEL0301", "AEL0301"]
    assert error.code == "AEL0301"
    assert "main.ael:1:" in str(error)
    assert "main.ael:2:" in str(error)
    assert isinstance(error, ael.Error)


def test_a_file_that_is_not_there_and_a_deployment_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ael.LoadError, match="AEL0801"):
        ael.load(tmp_path / "main.ael")
    write(tmp_path, {"main.ael": "node main() -> Int { 1 }\n"})
    with pytest.raises(ael.LoadError, match="there is no deployment `live`"):
        ael.load(tmp_path, deploy="live")


def test_warnings_are_kept_as_data(tmp_path: Path) -> None:
    write(tmp_path, {"main.ael": "node main() -> Int {\n  let unused = 1\n  2\n}\n"})
    assert [one.severity.value for one in ael.load(tmp_path).warnings] == ["warning"]


def test_nodes_are_attributes(tmp_path: Path) -> None:
    program = shop(tmp_path)
    assert list(program.nodes) == ["order", "refund", "much", "count", "same"]
    assert "refund" in dir(program.nodes)
    with pytest.raises(AttributeError, match="did you mean `refund`"):
        program.nodes.refnd  # noqa: B018
    outcome = asyncio.run(program.nodes.refund(id="A-1"))
    assert outcome.unwrap() == "refunded 5.00 for A-1"


# --- functions as tools ------------------------------------------------------------------------------------------------


def _needs_more(id: str, amount: Decimal, reason: str | None, customer: str) -> str:
    return id


def _takes_less(id: str) -> str:
    return id


def _wrong_type(id: str, amount: float, reason: str | None = None) -> str:
    return id


def _wrong_result(id: str, amount: Decimal, reason: str | None = None) -> int:
    return 1


def _must_be_there(id: str, amount: Decimal, reason: str) -> str:
    return id


def _by_position(id: str, /, amount: Decimal, reason: str | None = None) -> str:
    return id


def _generator(id: str, amount: Decimal, reason: str | None = None) -> Iterator[str]:
    yield id


async def _stream(id: str, amount: Decimal, reason: str | None = None) -> AsyncIterator[str]:
    yield id


def _promise(id: str, amount: Decimal, reason: str | None = None) -> asyncio.Future[str]:
    return asyncio.Future()


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (_needs_more, "it needs `customer`, which `refund_order` does not have"),
        (_takes_less, "it does not take `amount: Decimal`"),
        (_wrong_type, "`amount`: `float` does not hold `Decimal`"),
        (_wrong_result, "its result: `int` does not hold `String(max: 60)`"),
        (_must_be_there, "`reason` may be absent: give it a default, or `| None`"),
        (_by_position, "`id` is passed by name, and it takes it by position only"),
        (_generator, "it is a generator: a call gives one value"),
        (_stream, "it is a generator: a call gives one value"),
        (_promise, "it gives something to be awaited: make it an `async def`"),
        (Till, "it is a class, and no function"),
        ("refund", "it is a str, and no function"),
    ],
)
def test_a_function_that_does_not_fit_is_refused_when_it_is_bound(tmp_path: Path, function: Any, told: str) -> None:
    with pytest.raises(ael.BindError) as raised:
        loaded(tmp_path).bind("refund_order", function)
    assert raised.value.code == "AEL0890"
    assert told in raised.value.notes


def _loose(**given: Any) -> str:
    return "yes"


def _unannotated(id, amount, reason=None):  # type: ignore[no-untyped-def]
    return id


class _Callable:
    async def __call__(self, id: str, amount: Decimal, reason: str | None = None) -> str:
        return id


def _named(prefix: str, id: str, amount: Decimal, reason: str | None = None) -> str:
    return prefix + id


@pytest.mark.parametrize("function", [_loose, _unannotated, _Callable(), partial(_named, "n-")])
def test_functions_of_every_kind_are_called(tmp_path: Path, function: Callable[..., Any]) -> None:
    program = loaded(tmp_path)
    program.bind("refund_order", function)
    outcome = asyncio.run(program.run("refund", {"id": "yes"}))
    assert outcome.unwrap() in ("yes", "n-yes")


def test_bind_is_a_decorator_and_gives_the_function_back(tmp_path: Path) -> None:
    program = loaded(tmp_path)

    @program.bind("refund_order")
    def refund(id: str, amount: Decimal, reason: str | None) -> str:
        return f"{id} {reason}"

    assert refund("a", Decimal(1), "b") == "a b"
    # A parameter without a default is `None` where the argument is absent.
    assert asyncio.run(program.run("refund", {"id": "A-1"})).unwrap() == "A-1 None"


def test_a_tool_that_is_not_there_or_has_a_body(tmp_path: Path) -> None:
    program = loaded(tmp_path)
    with pytest.raises(ael.BindError, match="did you mean `refund_order`"):
        program.bind("refund_oder", _loose)
    with pytest.raises(ael.BindError, match="has a body of its own"):
        program.bind("double", _loose)


@pytest.mark.feature("A1.16", "A1.18")
def test_an_extern_tool_that_nothing_is_bound_to_is_told_before_the_run(tmp_path: Path) -> None:
    program = loaded(tmp_path)
    with pytest.raises(ael.OpenError) as raised:
        asyncio.run(program.run("refund", {"id": "A-1"}))
    assert raised.value.code == "AEL0832"
    # Another node does not need it.
    program.provide("Orders", Orders())
    assert asyncio.run(program.run("count")).unwrap() == 3


# --- objects as services -------------------------------------------------------------------------------------------------


class _Half:
    def get(self, id: int) -> Order:
        raise AssertionError(id)


class _Wide(TypedDict):
    id: str


class _Dicts:
    def get(self, id: str) -> _Wide:
        return {"id": id}

    def all(self, limit: Literal[1, 2] = 1) -> list[Order]:
        return []


def test_an_object_that_does_not_fit_is_refused_with_all_its_problems(tmp_path: Path) -> None:
    program = loaded(tmp_path)
    with pytest.raises(ael.BindError) as raised:
        program.provide("Orders", _Half())
    assert raised.value.code == "AEL0891"
    assert raised.value.notes == ("`get`: `id`: `int` does not hold `String(max: 20)`", "it has no method `all`")
    with pytest.raises(ael.BindError) as raised:
        program.provide("Orders", _Dicts())
    assert raised.value.notes == (
        "`get`: its result: `_Wide` has no field `total`",
        "`all`: `limit`: `Literal[1, 2]` does not hold `Int`",
    )
    with pytest.raises(ael.BindError, match="`Orders` is a class: give an object of it"):
        program.provide("Orders", Orders)
    with pytest.raises(ael.BindError, match="no service `Order`; did you mean `Orders`"):
        program.provide("Order", Orders())


def test_a_service_that_the_deployment_places_elsewhere_is_not_provided_here(tmp_path: Path) -> None:
    deploy = 'service Orders = https("https://orders.example.com")\nrole boss = ["local"]\n'
    with pytest.raises(ael.BindError, match="places `Orders` elsewhere"):
        loaded(tmp_path, deploy=deploy).provide("Orders", Orders())


def test_python_takes_the_place_of_a_provider_in_the_program(tmp_path: Path) -> None:
    own = """
provide Orders {
  fn get(id: String(max: 20)) -> Order fails NotFound { fail NotFound(id: id) }
  fn all(limit?: Int) -> List<Order> { [] }
}
"""
    program = loaded(tmp_path, main=MAIN + own)
    assert asyncio.run(program.run("count")).unwrap() == 0
    program.provide("Orders", Orders())
    assert asyncio.run(program.run("count")).unwrap() == 3


PAY = """/// Pay. Call it when money is due.
pub tool pay(n: Int) -> Int
  needs money.pay
  repeat idempotent
  timeout 60s
  extern "shop:pay"
"""
MAIN_OF_TWO = """use ./left.{pay}
use ./right

permission money.pay

node main(n: Int) -> Int
  grants money.pay
{ pay(n) + right.pay(n) }
"""


def test_names_of_other_modules_are_found_and_told_apart(tmp_path: Path) -> None:
    write(tmp_path, {"pack.ael": PACK, "left.ael": PAY, "right.ael": PAY, "main.ael": MAIN_OF_TWO})
    program = ael.load(tmp_path)

    async def left(n: int) -> int:
        return n + 1

    with pytest.raises(ael.BindError) as raised:
        program.bind("pay", left)
    assert raised.value.notes == ("write it whole: left.pay, right.pay",)
    program.bind("left.pay", left)
    program.bind("right.pay", lambda n: n * 100)
    assert asyncio.run(program.run(None, {"n": 1})).unwrap() == 102
