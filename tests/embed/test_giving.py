"""What a Python function may say that it gives: narrower than the AEL type is right, and what can never fit is told when it is bound."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any, Literal, Never, TypedDict

import pytest

import ael
from tests.programs import write

pytestmark = pytest.mark.feature("B22")

MAIN = """\
permission a.b

enum Status { Open, Closed }
enum Shape {
  Circle(radius: Float)
  Square(side: Float)
  Nothing
}
record Part { id: String, size: Float, status: Status, shape?: Shape, word: "on" | "off" | null, more?: Int }

/// Make a part. Call it when one is needed.
tool make() -> Part?
  needs a.b
  repeat idempotent
  timeout 60s
  extern "app:make"

/// Count parts. Call it when a number is needed.
tool count() -> Int
  needs a.b
  repeat idempotent
  timeout 60s
  extern "app:count"

node main() -> Part?
  grants a.b
{ make() }

node number() -> Int
  grants a.b
{ count() }
"""


class Status(Enum):
    Closed = 2


class Word(Enum):
    ON = "on"


@dataclass
class Circle:
    radius: int


@dataclass
class Part:
    id: Literal["a", "b"]
    size: int
    status: Status
    word: Word | None
    shape: Circle | Literal["Nothing"] | None = None


class PartDict(TypedDict):
    id: str
    size: float
    status: Literal["Open"]
    word: Literal["on"]


def whole() -> Part:
    return Part("a", 1, Status.Closed, Word.ON, Circle(2))


def small() -> Part | None:
    return Part("b", 2, Status.Closed, None)


def plain() -> PartDict:
    return {"id": "a", "size": 1.0, "status": "Open", "word": "on"}


def none() -> None:
    return None


def never() -> Never:
    raise ValueError("always")


def unsaid():  # type: ignore[no-untyped-def]
    return whole()


@pytest.fixture
def program(tmp_path: Path) -> ael.Program:
    files = {"main.ael": MAIN, "pack.ael": 'pack parts {\n  version "1.0"\n  extern "app"\n}\n', "deploy.ael": "runs = memory\n"}
    write(tmp_path, files)
    return ael.load(tmp_path)


FULL = {"id": "a", "size": 1, "status": "Closed", "word": "on", "shape": {"kind": "Circle", "radius": 2}}


@pytest.mark.parametrize(
    ("function", "wanted"),
    [
        (whole, FULL),
        (small, {"id": "b", "size": 2, "status": "Closed", "word": None}),
        (plain, {"id": "a", "size": 1.0, "status": "Open", "word": "on"}),
        (none, None),
        (unsaid, FULL),
    ],
)
def test_what_is_narrower_is_taken(program: ael.Program, function: Callable[[], Any], wanted: object) -> None:
    program.bind("make", function)
    assert asyncio.run(program.run("main")).unwrap() == wanted


def test_a_function_that_gives_nothing_ends_the_call_as_it_says(program: ael.Program) -> None:
    program.bind("make", never)
    outcome = asyncio.run(program.run("main"))
    assert isinstance(outcome, ael.Faulted)
    assert outcome.message == "`make` failed: ValueError: always"


class Extra(Enum):
    Open = 1
    Lost = 2


@dataclass
class Lost(Part):
    owner: str = ""


@dataclass
class BadSize(Part):
    size: str  # type: ignore[assignment]  # that is what is refused


@dataclass
class BadStatus(Part):
    status: Extra  # type: ignore[assignment]  # that is what is refused


def text() -> str:
    return ""


def either() -> Part | str:
    return ""


def lost() -> Lost:
    raise AssertionError


def bad_size() -> BadSize:
    raise AssertionError


def bad_status() -> BadStatus:
    raise AssertionError


def later() -> Awaitable[Part]:
    raise AssertionError


def real() -> float:
    return 1.5


def exact() -> Decimal:
    return Decimal(1)


@pytest.mark.parametrize(
    ("tool", "function", "told"),
    [
        ("make", text, "its result: `str` does not hold `Part`"),
        ("make", either, "its result: `str` does not hold `Part`"),
        ("make", lost, "its result: `Lost` has the field `owner`, and `Part` has none of that name"),
        ("make", bad_size, "its result: `size`: `str` does not hold `Float`"),
        ("make", bad_status, "its result: `status`: `Status` has no `Lost`"),
        ("make", later, "it gives something to be awaited: make it an `async def`"),
        ("count", real, "its result: `float` does not hold `Int`"),
        ("count", exact, "its result: `Decimal` does not hold `Int`"),
    ],
)
def test_what_can_never_fit_is_refused(program: ael.Program, tool: str, function: Callable[..., Any], told: str) -> None:
    with pytest.raises(ael.BindError) as raised:
        program.bind(tool, function)
    assert raised.value.notes == (told,)
