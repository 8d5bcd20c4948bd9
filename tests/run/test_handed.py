"""What goes with the arguments of a call to another process: which of them are the caller's own (feature A14.3)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ael.durable.execute import kept_options, options_of
from ael.run.bindings import Options
from ael.run.handed import LONGEST, Handed, handed, handed_of
from ael.run.placement import PlacedAnswer, PlacedCall
from ael.run.ports import Decision
from ael.run.scope import Scope
from ael.types.type import StringType
from tests.run.fakes import FakeApprover, call, calls, model, said
from tests.run.helpers import code, engine, node, operation, parameter, run, tool, unit, value_of
from tests.run.loops import Body


def scope(*arguments: object, seen: frozenset[str] = frozenset({"tool:fetch"})) -> Scope:
    return cast("Scope", SimpleNamespace(seen=seen, run=SimpleNamespace(clean=None, handed=None, arguments=arguments)))


def test_only_what_equals_an_input_is_handed_on_as_clean() -> None:
    found = handed(
        scope({"a": "mine", "n": 1}, "other"), {"x": "mine", "y": {"a/b": "theirs", "c~d": ["mine", "theirs"]}, "z": 1.0}
    )
    assert found == Handed(("tool:fetch",), ("/x", "/y/c~0d/0", "/z"))
    assert list(found.values({"x": "mine", "y": {"a/b": "theirs", "c~d": ["mine", "theirs"]}, "z": 1.0})) == ["mine", "mine", 1.0]
    assert handed(scope("mine", seen=frozenset()), {"x": "theirs"}) is None, "nothing from outside had a hand in it"


@given(st.lists(st.text(max_size=80), max_size=300), st.lists(st.text(max_size=300), max_size=120))
def test_its_text_is_short_and_says_no_more_than_is_so(sources: list[str], clean: list[str]) -> None:
    made = Handed(tuple(sources), tuple(clean))
    text = made.text()
    assert len(text) <= LONGEST
    assert text.isascii()
    back = handed_of(text)
    assert back is not None
    assert back.clean == made.clean[: len(back.clean)], "what has no room is not clean, never the other way round"
    assert back.sources in (made.sources, ("outside",))


@pytest.mark.parametrize(
    "text",
    ["{", "[]", "null", "1", '{"sources": []}', '{"clean": []}', '{"sources": "x", "clean": []}', '{"sources": [], "clean": [1]}',
     '{"sources": [null], "clean": []}', "[" * LONGEST, " " * (LONGEST + 1)],
)  # fmt: skip
def test_what_is_not_as_it_should_be_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        handed_of(text)


@given(st.lists(st.text(alphabet="/~01ab", max_size=6), max_size=8))
def test_a_pointer_that_leads_nowhere_gives_nothing(pointers: list[str]) -> None:
    for value in Handed((), tuple(pointers)).values({"a": {"b": ["x"]}, "": 1}):
        assert value in ("x", ["x"], {"b": ["x"]}, 1, {"a": {"b": ["x"]}, "": 1})


@pytest.mark.feature("A14.3", "B18")
@pytest.mark.parametrize(
    ("clean", "asked"), [((), 1), (("/q",), 0), (("/order/to",), 1), (("/order",), 1), (("/nowhere", ""), 1)]
)
def test_a_run_that_was_called_trusts_what_it_was_told_to(clean: tuple[str, ...], asked: int) -> None:
    """Its records begin with the sources that it was told."""
    body, approver = Body("sent"), FakeApprover(Decision(False, "ann", "no"))
    made = unit(
        tools=[tool("send", body, parameter("to", StringType(), trusted=True))],
        nodes=[node("answer", parameter("q"), tools=["send"])],
    )
    fake = model(calls(call("send", {"to": "ann"})), said("done"))
    options = Options(caller="c", handed=Handed(("tool:fetch",), clean))
    started: list[Any] = []
    value_of(run(engine(made, fake, approver=approver), "answer", {"q": "ann"}, options, during=started.append))
    entries = [entry for entry in started[0].journal.entries() if entry.ending is not None and entry.taint]
    assert len(approver.requests) == asked
    assert all(entry.taint[-1] == "tool:fetch" for entry in entries)
    assert entries


class There:
    """Implements `Placement`: remembers what it was asked."""

    own = keeps = False

    def __init__(self) -> None:
        self.calls: list[PlacedCall] = []

    async def call(self, call: PlacedCall) -> PlacedAnswer:
        self.calls.append(call)
        return PlacedAnswer(b'{"result": "x"}', None, frozenset({"model:there"}))

    async def close(self) -> None:
        """Nothing was opened."""


@pytest.mark.feature("A14.3", "A11.1")
def test_it_goes_with_every_call_elsewhere_in_which_outside_data_had_a_hand() -> None:
    async def main(k: Any, q: str) -> object:
        await k.act(0, "main.Orders.get", (q,))
        found = await k.act(1, "main.fetch", ())
        await k.act(2, "main.Orders.get", (found,))
        await k.act(3, "main.Orders.get", (q,))
        return ""

    there = There()
    made = unit(
        tools=[tool("fetch", None)],
        nodes=[code("main", main, parameter("q"))],
        operations={operation("get", parameter("id")): Body("x")},
    )
    bound = engine(made, externs={"main.fetch": lambda: "evil"}, placements={"main.Orders": there})
    started: list[Any] = []
    value_of(run(bound, "main", {"q": "mine"}, during=started.append))
    assert [handed_of(call.handed) for call in there.calls] == [
        None,
        Handed(("model:there", "tool:fetch"), ()),
        Handed(("model:there", "tool:fetch"), ("/id",)),
    ]
    last = [entry for entry in started[0].journal.entries() if entry.ending is not None][-1]
    assert last.taint == ("model:there", "tool:fetch")


def test_a_run_keeps_it_for_whoever_goes_on() -> None:
    options = Options(caller="c", handed=Handed(("tool:fetch",), ("/q",)))
    assert options_of(kept_options(options)).handed == options.handed
    assert options_of(kept_options(Options(caller="c"))).handed is None
