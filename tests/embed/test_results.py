"""What goes in and what comes out as Python types, both checked against the AEL types before anything runs."""

from __future__ import annotations

import asyncio
import dataclasses
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum, StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, NewType, NotRequired, TypedDict

import pydantic
import pytest

import ael
from tests.embed.shop import PLACED, Order, Status, shop
from tests.programs import write

pytestmark = pytest.mark.feature("B22")

MAIN = """\
enum Priority { Low, High }

enum Shape {
  Circle(radius: Float)
  Square(side: Float)
  Nothing
}

type Level = Int(min: 0, max: 9)

record Part { name: String, parts: List<Part> }

record Ticket {
  id: String
  priority: Priority
  level: Level
  price: Decimal
  ratio: Float
  at: Timestamp
  day: Date
  takes: Duration
  blob: Bytes
  shape: Shape
  word: "on" | "off"
  either: Int | String
  maybe: String?
  left_out?: Int
  tags: List<String>
  counts: Map<String, Int>
  more: Json
  ok: Bool
}

node echo(ticket: Ticket) -> Ticket { ticket }
node tree(part: Part) -> Part { part }
node priority(high: Bool) -> Priority { if high { Priority.High } else { Priority.Low } }
node level() -> Level { 3 }
node shapes(shapes: List<Shape>) -> List<Shape> { shapes }
node maybe(give: Bool) -> Part? { if give { Part(name: "p", parts: []) } else { null } }
node nothing() -> Unit { }
"""


class Priority(Enum):
    Low = 1
    High = 2


class Word(StrEnum):
    ON = "on"
    OFF = "off"


@dataclass
class Circle:
    radius: float


@dataclass
class Square:
    side: float


@dataclass
class Ticket:
    id: str
    priority: Priority
    level: int
    price: Decimal
    ratio: float
    at: datetime
    day: date
    takes: timedelta
    blob: bytes
    shape: Circle | Square | Literal["Nothing"]
    word: Word
    either: int | str
    maybe: str | None
    tags: tuple[str, ...]
    counts: Mapping[str, int]
    more: Any
    ok: bool
    left_out: int | None = None


@dataclass
class Part:
    name: str
    parts: list[Part]


TICKET = Ticket(
    "T-1", Priority.High, 3, Decimal("1.10"), 0.5, PLACED, date(2026, 1, 2), timedelta(seconds=90), b"\x00\xff",
    Circle(2.0), Word.OFF, 7, None, ("a", "b"), {"x": 1}, {"k": [1, None]}, True,
)  # fmt: skip
PLAIN = {
    "id": "T-1", "priority": "High", "level": 3, "price": Decimal("1.10"), "ratio": 0.5, "at": PLACED, "day": date(2026, 1, 2),
    "takes": timedelta(seconds=90), "blob": b"\x00\xff", "shape": {"kind": "Circle", "radius": 2.0}, "word": "off", "either": 7,
    "maybe": None, "tags": ["a", "b"], "counts": {"x": 1}, "more": {"k": [1, None]}, "ok": True,
}  # fmt: skip


@pytest.fixture
def program(tmp_path: Path) -> ael.Program:
    write(tmp_path, {"main.ael": MAIN, "deploy.ael": "runs = memory\n"})
    return ael.load(tmp_path)


def given(program: ael.Program, node: str, input: dict[str, object], result_type: object = None) -> Any:
    return asyncio.run(program.run(node, input, result_type=result_type)).unwrap()


def test_a_dataclass_goes_in_and_comes_out_as_it_was(program: ael.Program) -> None:
    assert given(program, "echo", {"ticket": TICKET}, Ticket) == TICKET
    changed = dataclasses.replace(TICKET, shape="Nothing", either="seven", maybe="x", left_out=4, priority=Priority.Low)
    assert given(program, "echo", {"ticket": changed}, Ticket) == changed
    assert given(program, "echo", {"ticket": dataclasses.replace(TICKET, shape=Square(1.5))}, Ticket).shape == Square(1.5)


def test_without_a_type_values_are_plain_python(program: ael.Program) -> None:
    assert given(program, "echo", {"ticket": TICKET}) == PLAIN
    assert given(program, "echo", {"ticket": PLAIN}) == PLAIN
    # So is what JSON has no type for, as it stands in JSON.
    json = {**PLAIN, "price": "1.10", "at": "2026-11-30T12:00:00Z", "day": "2026-01-02", "takes": "PT1M30S", "blob": "AP8="}
    assert given(program, "echo", {"ticket": json}) == PLAIN


class ByName(Enum):
    on = 1
    off = 2


class ByValue(Enum):
    LOW = "Low"
    HIGH = "High"


def test_an_enum_has_the_names_or_the_values_of_the_variants_on_both_ways(program: ael.Program) -> None:
    @dataclass
    class Other(Ticket):
        word: ByName  # type: ignore[assignment]  # another one
        priority: ByValue  # type: ignore[assignment]  # another one

    # Their annotations are found here: the classes are of the module.
    other = Other(**{**vars(TICKET), "word": ByName.off, "priority": ByValue.HIGH})
    assert given(program, "echo", {"ticket": other}, Other) == other
    assert given(program, "echo", {"ticket": other}) == PLAIN


def test_types_may_hold_themselves(program: ael.Program) -> None:
    part = Part("a", [Part("b", []), Part("c", [Part("d", [])])])
    assert given(program, "tree", {"part": part}, Part) == part


Name = NewType("Name", str)


class PartDict(TypedDict):
    name: Name
    parts: Sequence[Any]
    more: NotRequired[int]


class PartTuple(NamedTuple):
    name: Annotated[str, "its name"]
    parts: list[dict[str, Any]]
    seen: bool = False


class PartModel(pydantic.BaseModel):
    title: str = pydantic.Field(alias="name")
    parts: list[PartModel]


@pytest.mark.parametrize(
    ("node", "input", "result_type", "wanted"),
    [
        ("tree", {"part": Part("a", [])}, PartDict, {"name": "a", "parts": []}),
        ("tree", {"part": {"name": "a", "parts": []}}, PartTuple, PartTuple("a", [])),
        ("tree", {"part": PartModel(name="a", parts=[])}, PartModel, PartModel(name="a", parts=[])),
        ("tree", {"part": {"name": "a", "parts": []}}, dict[str, Any], {"name": "a", "parts": []}),
        ("priority", {"high": True}, Priority, Priority.High),
        ("priority", {"high": False}, str, "Low"),
        ("priority", {"high": False}, Literal["Low", "High", "Middle"], "Low"),
        ("level", {}, int, 3),
        ("level", {}, float, 3.0),
        ("level", {}, object, 3),
        ("shapes", {"shapes": [Circle(1.0), "Nothing", Square(2.0)]}, list[Circle | Square | str], [Circle(1.0), "Nothing", Square(2.0)]),
        ("shapes", {"shapes": [Circle(1.0)]}, list[dict[str, Any] | str], [{"kind": "Circle", "radius": 1.0}]),
        ("maybe", {"give": True}, Part | None, Part("p", [])),
        ("maybe", {"give": False}, Part | None, None),
        ("nothing", {}, type(None), None),
    ],
)  # fmt: skip
def test_results_are_what_was_asked_for(
    program: ael.Program, node: str, input: dict[str, object], result_type: object, wanted: object
) -> None:
    assert given(program, node, input, result_type) == wanted


class Low(Enum):
    Low = 1


@dataclass
class NoParts:
    name: str


@dataclass
class Wanting:
    name: str
    parts: list[Part]
    owner: str


@dataclass
class Deep:
    name: str
    parts: list[NoParts]


@dataclass
class OrderWithoutDefault:
    id: str
    total: Decimal
    status: Status
    placed: datetime
    tags: list[str]
    note: str


class WantingModel(pydantic.BaseModel):
    name: str
    owner: str


@pytest.mark.parametrize(
    ("node", "result_type", "told"),
    [
        ("tree", NoParts, "`NoParts` has no field `parts`"),
        ("tree", Wanting, "`Wanting` has the field `owner`, and `Part` has none of that name"),
        ("tree", WantingModel, "`WantingModel` has the field `owner`, and `Part` has none of that name"),
        ("tree", Deep, "`parts`: `NoParts` has no field `parts`"),
        ("tree", list[Part], "`list[tests.embed.test_results.Part]` does not hold `Part`"),
        ("priority", Low, "the enum `Low` has no `High`"),
        ("priority", Literal["Low"], "`Literal['Low']` has no `High`"),
        ("priority", int, "`int` does not hold `Priority`"),
        ("level", str, "`str` does not hold `Int(0..9)`"),
        ("level", bool, "`bool` does not hold `Int(0..9)`"),
        ("maybe", Part, "`Part` does not hold `null`"),
        ("shapes", list[Circle], "no alternative is a class `Square` for the variant of that name"),
        ("shapes", tuple[Circle, Square], "does not hold `List<Shape>`"),
        ("nothing", str, "`str` does not hold `Unit`"),
    ],
)
def test_a_type_that_cannot_hold_the_result_is_refused_before_the_run(
    program: ael.Program, node: str, result_type: object, told: str
) -> None:
    async def ask() -> None:
        async with program.open() as session:
            with pytest.raises(ael.BindError) as raised:
                session.start(node, {}, result_type=result_type)
            assert raised.value.code == "AEL0892"
            assert told in raised.value.message

    asyncio.run(ask())


def test_a_field_that_may_be_absent_needs_a_default_or_none(tmp_path: Path) -> None:
    program = shop(tmp_path)
    with pytest.raises(ael.BindError, match=r"`note`: it may be absent: give it a default, or `\| None`"):
        asyncio.run(program.run("order", {"id": "A-1"}, result_type=OrderWithoutDefault))
    order = asyncio.run(program.run("order", {"id": "A-1"}, result_type=Order)).unwrap()
    assert order == Order("A-1", Decimal("12.50"), Status.Paid, PLACED, ("new",))


class Strict(pydantic.BaseModel):
    name: str
    parts: list[Any]

    @pydantic.field_validator("name")
    @classmethod
    def long(cls, name: str) -> str:
        if len(name) < 3:
            raise ValueError("too short a name")
        return name


def test_a_model_that_refuses_the_value_is_told_with_the_value(program: ael.Program) -> None:
    with pytest.raises(ael.ResultError, match="too short a name") as raised:
        given(program, "tree", {"part": Part("a", [])}, Strict)
    assert raised.value.code == "AEL0892"
    assert raised.value.value == {"name": "a", "parts": []}
    assert given(program, "tree", {"part": Part("abc", [])}, Strict) == Strict(name="abc", parts=[])


@pytest.mark.parametrize("input", [{"part": object()}, {"part": {"name": datetime(2026, 1, 1), "parts": []}}])
def test_an_input_that_is_no_data_is_told_before_the_run(program: ael.Program, input: dict[str, object]) -> None:
    with pytest.raises(ael.RequestError) as raised:
        given(program, "tree", input)
    assert raised.value.code == "AEL0841"


def test_an_annotation_that_is_not_there_at_run_time_holds_everything(program: ael.Program) -> None:
    class Mine:
        """Nobody outside of this function finds it."""

    @dataclass
    class Base:
        name: str

    @dataclass
    class Local(Base):
        parts: list[Mine]

    class Typed(TypedDict):
        name: str
        parts: NotRequired[list[Mine]]

    value = {"name": "a", "parts": [{"name": "b", "parts": []}]}
    assert given(program, "tree", {"part": value}, Local) == Local("a", value["parts"])  # type: ignore[arg-type]  # as it says
    assert given(program, "tree", {"part": value}, Typed) == value

    @dataclass
    class Wrong:
        name: int
        parts: list[Mine]

    with pytest.raises(ael.BindError, match="`int` does not hold `String`"):
        given(program, "tree", {"part": value}, Wrong)


def test_an_input_that_does_not_fit_is_the_fault_of_the_run(program: ael.Program) -> None:
    outcome = asyncio.run(program.run("tree", {"part": {"name": 7, "parts": []}}))
    assert isinstance(outcome, ael.Faulted)
    assert outcome.kind is ael.FaultKind.BAD_ARGUMENTS
    assert "part.name" in outcome.message


def test_a_node_that_is_not_there(program: ael.Program) -> None:
    with pytest.raises(ael.RequestError, match="did you mean `tree`") as raised:
        given(program, "tre", {})
    assert raised.value.code == "AEL0840"


def test_utc_is_what_comes_back(program: ael.Program) -> None:
    assert given(program, "echo", {"ticket": TICKET}, Ticket).at.tzinfo is UTC


def test_pydantic_is_asked_only_where_somebody_has_loaded_it() -> None:
    assert "pydantic" in sys.modules
