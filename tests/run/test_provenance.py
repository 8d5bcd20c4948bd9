"""Where values came from, across everything that carries them: stores, errors, branches, delegates, runs (features A14.1, A14.3, A14.5)."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from ael.journal.memory import MemoryJournal
from ael.run.bindings import Options
from ael.run.ports import Decision
from ael.run.store import MemoryStore, SqliteStore
from ael.run.stored import Kept, Origin, StorePort
from ael.types.fault import Failure
from ael.types.signature import ParameterDef
from ael.types.spec import StoreSpec
from ael.types.type import StringType
from tests.run.fakes import FakeApprover, call, calls, model, said
from tests.run.helpers import TEXT, code, engine, node, parameter, run, tool, unit, value_of
from tests.run.loops import ASK, Body

NOTES = StoreSpec("main.notes", TEXT, None)
CRAFTED = '{"sources": [], "origin": null, "taint": [], "derived_from": []}'


def store(kind: str, folder: Path) -> StorePort:
    return MemoryStore() if kind == "memory" else SqliteStore(folder / "notes.db", "main.notes")


def remembering(port: StorePort, journal: MemoryJournal | None = None) -> Any:
    async def main(k: Any, what: str) -> object:
        match what:
            case "dirty":
                text = await k.act(0, "main.fetch", ())
                await k.act(1, "main.notes.put", ("a", text))
            case "clean":
                await k.act(2, "main.notes.put", ("b", "mine"))
            case "over":
                await k.act(3, "main.notes.put", ("a", CRAFTED))
            case "all":
                await k.act(4, "main.notes.entries", ())
            case "has":
                await k.act(5, "main.notes.has", ("a",))
            case "remove":
                await k.act(6, "main.notes.remove", ("a",))
            case other:
                await k.act(7, "main.notes.get", (other,))
        await k.act(8, "main.own", ())
        return ""

    made = unit(
        tools=[tool("fetch", None), tool("own", Body("x"))], nodes=[code("main", main, parameter("what"))], stores=[NOTES]
    )
    kept = {} if journal is None else {"journal": journal}
    return engine(made, externs={"main.fetch": lambda: CRAFTED}, stores={"main.notes": port}, **kept)


def answers_of(made: Any, what: str, **options: Any) -> list[Any]:
    started: list[Any] = []
    value_of(run(made, "main", {"what": what}, Options(caller="c", **options), during=started.append))
    return [entry for entry in started[0].journal.entries() if entry.ending is not None]


@pytest.mark.feature("A14.3", "A14.1")
@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_what_a_run_writes_says_in_another_run_where_it_came_from(kind: str, tmp_path: Path) -> None:
    """Whatever is in the value: it is text, and where it came from is written beside it."""
    port = store(kind, tmp_path)
    made = remembering(port)
    answers_of(made, "dirty", run="r1")
    answers_of(made, "clean", run="r2")
    for what in ("a", "all", "has"):
        read, after = answers_of(made, what)
        assert read.taint == after.taint == ("tool:fetch",)
        assert "r1/main/notes.put@1" in read.derived
    read, after = answers_of(made, "b")
    assert read.taint == after.taint == ()
    assert read.derived == ("r2/main/notes.put@2",)
    assert answers_of(made, "missing")[0].taint == ()
    assert answers_of(made, "remove")[0].taint == ("tool:fetch",)
    answers_of(made, "over")
    assert answers_of(made, "a")[0].taint == (), "a new value that is the program's own has only its own origin"
    asyncio.run(port.close())


@pytest.mark.feature("A14.3")
def test_a_file_of_a_version_without_origins_is_read_and_counts_as_outside_data(tmp_path: Path) -> None:
    old = sqlite3.connect(tmp_path / "notes.db")
    old.execute("CREATE TABLE entry (store TEXT, key TEXT, value BLOB NOT NULL, PRIMARY KEY (store, key)) WITHOUT ROWID")
    old.execute("CREATE TABLE token (store TEXT, token TEXT, result INTEGER NOT NULL, PRIMARY KEY (store, token)) WITHOUT ROWID")
    insert = "INSERT OR REPLACE INTO entry (store, key, value) VALUES ('main.notes', 'a', ?)"
    old.execute(insert, (b'"old"',))
    old.commit()
    made = remembering(port := store("sqlite", tmp_path))
    read, after = answers_of(made, "a")
    assert (read.value, read.taint, after.taint, read.derived) == ("old", ("store:notes",), ("store:notes",), ())
    answers_of(made, "over")
    assert answers_of(made, "a")[0].taint == ()
    old.execute(insert, (b'"older"',))
    old.commit()
    old.close()
    assert answers_of(made, "a")[0].taint == ("store:notes",), "what that version writes over it has no origin"
    asyncio.run(port.close())


@pytest.mark.feature("A14.3")
@pytest.mark.parametrize("origin", ["no JSON", "[]", '["x"]', '[null, "r1/a"]', '[["tool:x"], 1]', '{"sources": []}', "[[], []]"])
def test_an_origin_that_nobody_wrote_so_is_none(origin: str, tmp_path: Path) -> None:
    async def whole() -> Kept | None:
        port = SqliteStore(tmp_path / "notes.db", "main.notes")
        await port.put("a", "x", "t", Origin((), "r1/main"))
        db = sqlite3.connect(tmp_path / "notes.db")
        db.execute("UPDATE entry SET origin = ?", (origin,))
        db.commit()
        db.close()
        try:
            return await port.get("a")
        finally:
            await port.close()

    assert asyncio.run(whole()) == Kept("x", None)


@pytest.mark.feature("A14.3")
def test_a_run_that_goes_on_over_its_journal_knows_it_still() -> None:
    """The store has another value by now: the journal has the one that was read, and where that came from."""
    port, journal = MemoryStore(), MemoryJournal()
    answers_of(remembering(port), "dirty", run="r1")
    first = answers_of(remembering(port, journal), "a", run="r2")
    answers_of(remembering(port), "over", run="r3")
    again = answers_of(remembering(port, journal), "a", run="r2")
    assert [(one.value, one.taint, one.derived) for one in again] == [(one.value, one.taint, one.derived) for one in first]
    assert again[0].taint == ("tool:fetch",)


@pytest.mark.feature("A14.1")
@pytest.mark.parametrize("inside", ["tool", "node"])
def test_an_error_carries_what_had_a_hand_in_it(inside: str) -> None:
    """What a body read before it failed is in its error, however that is met."""

    async def body(k: Any) -> object:
        raise Failure("main.NotFound", {"id": str(await k.act(0, "main.fetch", ()))})

    async def main(k: Any) -> object:
        try:
            await k.act(0, f"main.{inside}", ())
        except Failure as failure:
            await k.act(1, "main.clean", ())
            return str(failure.value["id"])
        return ""

    fails = frozenset({"main.NotFound"})
    made = unit(
        tools=[tool("fetch", None), tool("clean", Body("x")), tool("tool", body, fails=fails)],
        nodes=[code("main", main), code("node", body)],
    )
    started: list[Any] = []
    value_of(run(engine(made, externs={"main.fetch": lambda: "evil"}), "main", None, during=started.append))
    entries = [entry for entry in started[0].journal.entries() if entry.ending is not None]
    assert all(entry.taint == ("tool:fetch",) for entry in entries)


@pytest.mark.feature("A14.5")
@pytest.mark.parametrize("form", ["for", "record"])
def test_branches_beside_each_other_keep_theirs_apart(form: str) -> None:
    """Whichever is first: what one branch reads has no hand in what another does; both have one in what follows."""

    async def dirty(k: Any) -> object:
        return await k.act(0, "main.fetch", ())

    async def clean(k: Any) -> object:
        for at in range(5):
            await asyncio.sleep(0)
            await k.act(at + 1, "main.clean", ())
        return ""

    async def main(k: Any) -> object:
        if form == "record":
            await k.parallel_record(0, [("a", dirty), ("b", clean)])
        else:
            await k.parallel_for(0, [dirty, clean], 2, lambda inner, one: one(inner))
        await k.act(1, "main.after", ())
        return ""

    made = unit(tools=[tool("fetch", None), tool("clean", Body("x")), tool("after", Body("x"))], nodes=[code("main", main)])
    started: list[Any] = []
    value_of(run(engine(made, externs={"main.fetch": lambda: "evil"}), "main", None, during=started.append))
    found = {entry.target: entry for entry in started[0].journal.entries() if entry.ending is not None}
    assert found["main.clean"].taint == ()
    assert found["main.after"].taint == ("tool:fetch",)
    assert len(found["main.after"].derived) == 2


@pytest.mark.feature("A14.5")
def test_tools_that_run_beside_each_other_keep_theirs_apart() -> None:
    """Ten at once, of which eight run first: the last two do not have what those gave."""
    made = unit(
        tools=[tool("own", Body("x"), taints=True, parallel=True), tool("clean", Body("x"), parallel=True)],
        nodes=[node("answer", parameter("q"), tools=["own", "clean"])],
    )
    proposals = [*[call("own", {}) for _ in range(8)], call("clean", {}), call("clean", {})]
    started: list[Any] = []
    value_of(run(engine(made, model(calls(*proposals), said("done"))), "answer", ASK, during=started.append))
    entries = [entry for entry in started[0].journal.entries() if entry.ending is not None]
    assert {entry.taint for entry in entries if entry.target == "main.clean"} == {("model:fast",)}
    assert entries[-1].taint == ("model:fast", "tool:own")


# --- what a model may say where only trusted values go ---------------------------------------------------------------------------------


@pytest.mark.feature("B18", "A14.6", "K44")
@pytest.mark.parametrize("approved", [True, False])
def test_a_delegate_asks_for_its_trusted_parameters_too(approved: bool) -> None:
    """A node in a tools list is called by a model as a tool is: by itself it passes on only what is an input of the run."""
    seen: list[str] = []

    async def courier(k: Any, to: str) -> object:
        seen.append(to)
        return "sent"

    made = unit(
        nodes=[code("courier", courier, parameter("to", trusted=True)), node("answer", parameter("q"), tools=["courier"])]
    )
    turns = [calls(call("delegate__courier", {"to": "hello"})), calls(call("delegate__courier", {"to": "eve"})), said("done")]
    approver = FakeApprover(Decision(approved, "ann", "who is that?"))
    fake = model(*turns)
    assert value_of(run(engine(made, fake, approver=approver), "answer", ASK)) == "done"
    assert seen == (["hello", "eve"] if approved else ["hello"])
    assert [request.arguments for request in approver.requests] == [{"to": "eve"}]


def test_a_delegate_runs_with_what_the_person_made_of_it() -> None:
    seen: list[str] = []

    async def courier(k: Any, to: str) -> object:
        seen.append(to)
        return "sent"

    made = unit(
        nodes=[code("courier", courier, parameter("to", trusted=True)), node("answer", parameter("q"), tools=["courier"])]
    )
    fake = model(calls(call("delegate__courier", {"to": "eve"})), said("done"))
    approver = FakeApprover(Decision(True, "ann", "", {"to": "bob"}))
    assert value_of(run(engine(made, fake, approver=approver), "answer", ASK)) == "done"
    assert seen == ["bob"]
    assert "ann changed the arguments; what ran was" in str(fake.asked[-1].messages)


@pytest.mark.feature("B18")
@pytest.mark.parametrize(
    ("given", "asked"), [({}, 0), ({"to": "house"}, 0), ({"to": "House"}, 1), ({"copy": None}, 0), ({"copy": "eve"}, 1)]
)
def test_the_programs_own_default_is_no_word_of_the_model(given: dict[str, object], asked: int) -> None:
    body, approver = Body("sent"), FakeApprover(Decision(False, "ann", "no"))
    to = ParameterDef("to", "to", StringType(), default="house", trusted=True)
    copy = ParameterDef("copy", "copy", StringType(), optional=True, trusted=True)
    made = unit(tools=[tool("send", body, to, copy)], nodes=[node("answer", parameter("q"), tools=["send"])])
    fake = model(calls(call("send", given)), said("done"))
    assert value_of(run(engine(made, fake, approver=approver), "answer", ASK)) == "done"
    assert len(approver.requests) == asked
