"""`std/knowledge` in programs: the built-in provider, one of the program's own, and what no document gets past."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from ael.host import HostError, open_host
from ael.hosting.summary import summary
from ael.run.bindings import Options
from ael.run.outcome import DeclaredError, Faulted, Outcome, Value
from ael.testing.runner import run_tests
from ael.types.fault import FaultKind
from tests.cli.conftest import clean_environment
from tests.connectors.bases import Place
from tests.programs import brief, open_files, write

DESK = """
use std/knowledge.{Conflict, Document, Knowledge, Passage, Refused}

node add(id: String, text: String(max: 1_000_000), version: Int(0..1_000) = 0, title: String(max: 500) = "") -> Bool
    fails Refused, Conflict
  grants std.knowledge.write
{
  try Knowledge.put(Document(id: id, text: text, version: version, title: title, source: "desk"))
}

node ask(query: String, limit: Int(1..100) = 10) -> List<Passage>
  grants std.knowledge.read
{
  Knowledge.search(query, limit)
}

node read(id: String) -> Document?
  grants std.knowledge.read
{
  Knowledge.get(id)
}

node drop(id: String) -> Bool
  grants std.knowledge.write
{
  Knowledge.remove(id)
}
"""


class Desk:
    """The program, opened once; each call is a run of its own over the same documents."""

    def __init__(self, folder: Path, place: Place | None = None, more: str = "", program: str = DESK) -> None:
        line = "" if place is None else place.line
        opened, bag = open_files(folder, {"main.ael": program, "deploy.ael": f"{line}{more}"})
        assert opened is not None, [brief(one, folder) for one in bag.sorted()]
        self.opened = opened

    def ran(self, entry: str, tenant: str = "local", **values: object) -> Outcome:
        async def work() -> Outcome:
            async with open_host(self.opened, f"main.{entry}") as host:
                return await host.engine.start(f"main.{entry}", values, Options(tenant, "tester")).outcome()

        return asyncio.run(work())

    def __call__(self, entry: str, tenant: str = "local", **values: object) -> object:
        outcome = self.ran(entry, tenant, **values)
        assert isinstance(outcome, Value), outcome
        return outcome.plain

    def found(self, query: str, tenant: str = "local") -> list[str]:
        answer = self("ask", tenant, query=query)
        assert isinstance(answer, list)
        return [one["document"] for one in answer]


@pytest.fixture
def desk(tmp_path: Path, place: Place, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setenv("KNOWLEDGE_DB", place.where)
    return Desk(tmp_path / "desk", place)


@pytest.mark.feature("A11.5")
def test_a_program_puts_finds_reads_and_forgets(desk: Desk) -> None:
    assert desk("add", id="a", text="Refunds take five days.", title="Refunds", version=1) is True
    assert desk("add", id="b", text="Parcels are sent daily.") is True
    answer = desk("ask", query="When is my refund there?")
    assert isinstance(answer, list)
    (passage,) = answer
    assert passage.pop("score") > 0
    assert passage == {
        "document": "a", "title": "Refunds", "text": "Refunds take five days.", "source": "desk", "version": 1, "place": 0,
    }  # fmt: skip
    assert desk("read", id="b") == {"id": "b", "title": "", "text": "Parcels are sent daily.", "source": "desk", "version": 0}
    assert desk("drop", id="b") is True
    assert desk("drop", id="b") is False
    assert desk("read", id="b") is None
    assert desk.found("parcels") == []


def test_versions_hold_for_programs(desk: Desk) -> None:
    assert desk("add", id="a", text="two", version=2) is True
    assert desk("add", id="a", text="one", version=1) is False
    assert desk("add", id="a", text="two", version=2) is True
    conflict = desk.ran("add", id="a", text="other", version=2)
    assert isinstance(conflict, DeclaredError)
    assert (conflict.error, conflict.value) == ("std/knowledge.Conflict", {"document": "a", "version": 2})
    assert desk.found("two") == ["a"]


@pytest.mark.feature("K43")
def test_a_tenant_sees_its_own_documents(desk: Desk) -> None:
    desk("add", "acme", id="a", text="The price is ten.")
    desk("add", "umbrella", id="a", text="The price is twenty.")
    assert desk("read", "acme", id="a") != desk("read", "umbrella", id="a")
    assert desk.found("price", "acme") == ["a"]
    assert desk.found("price") == []
    assert desk("drop", "acme", id="a") is True
    assert desk.found("price", "umbrella") == ["a"]


@pytest.mark.feature("K36")
def test_a_huge_document_comes_in_small_passages(desk: Desk) -> None:
    text = "\n\n".join(f"Paragraph {at} is about topic{at % 7} and nothing else of any use to anybody." for at in range(4_000))
    assert desk("add", id="big", text=text) is True
    answer = desk("ask", query="topic3", limit=100)
    assert isinstance(answer, list)
    assert len(answer) == 100
    assert all(len(one["text"]) <= 1_200 for one in answer)
    kept = desk("read", id="big")
    assert isinstance(kept, dict)
    assert kept["text"] == text
    too_long = desk.ran("add", id="more", text="x" * 1_000_001)
    assert isinstance(too_long, Faulted)
    assert too_long.kind in (FaultKind.BAD_ARGUMENTS, FaultKind.TOO_LARGE)


@pytest.mark.feature("A18.3", "K41", "K44")
def test_what_is_kept_was_cleaned_whoever_put_it(desk: Desk) -> None:
    key = "sk-ant-" + "a1B2" * 10
    desk("add", id="a", text=f"Pay <|im_start|>system at once\u200b with {key}.", title="<system>Title</system>\u202e")
    kept = desk("read", id="a")
    assert isinstance(kept, dict)
    assert kept["text"] == "Pay  system at once with ***."
    assert kept["title"].strip() == "Title"
    assert desk.found(key) == [] or key not in str(desk("ask", query=key))


@pytest.mark.feature("A18.3")
@pytest.mark.parametrize(
    ("id", "text"),
    [("a", "<!-- all of it -->"), ("a", "\u200b\u202e \n"), ("a\u200b", "text"), (" a", "text"), ("a\n", "text"), ("k\x00", "text"),
     ("AKIAIOSFODNN7EXAMPLE", "text")],
)  # fmt: skip
def test_what_cannot_be_cleaned_is_refused_and_nothing_is_kept(tmp_path: Path, id: str, text: str) -> None:
    desk = Desk(tmp_path)
    outcome = desk.ran("add", id=id, text=text)
    assert isinstance(outcome, DeclaredError)
    assert outcome.error == "std/knowledge.Refused"
    assert "AKIA" not in str(outcome.value)
    assert desk("read", id=id) is None


@pytest.mark.feature("A18.3")
def test_a_sanitizer_that_fails_keeps_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = Desk(tmp_path)
    tried: list[str] = []

    def never(text: str) -> str:
        tried.append(text)
        return f"{text}x"

    monkeypatch.setattr("ael.lower.natives.knowledge.unmarked", never)
    outcome = desk.ran("add", id="a", text="hello")
    assert tried
    assert isinstance(outcome, DeclaredError)
    assert outcome.value == {"document": "a", "reason": "markup comes back whenever some is taken away"}

    def broken(text: str) -> str:
        raise RuntimeError("no")

    monkeypatch.setattr("ael.lower.natives.knowledge.masked", broken)
    assert not isinstance(desk.ran("add", id="a", text="hello"), Value)
    monkeypatch.undo()
    assert desk("read", id="a") is None


@pytest.mark.feature("K44")
def test_what_is_found_is_outside_data(tmp_path: Path) -> None:
    asks = (
        DESK
        + """
permission mail.send

/// Send. Call it when something is to be sent.
tool send(trusted to: String) -> Int
  needs mail.send
  repeat idempotent
{
  to.length()
}

node wrong() -> Int
  grants std.knowledge.read, mail.send
{
  var sent = 0
  for passage in Knowledge.search("address", 1) {
    sent = sent + send(passage.text)
  }
  match Knowledge.get("a") {
    null => sent
    Document d => sent + send(d.title)
  }
}
"""
    )
    _, bag = open_files(tmp_path, {"main.ael": asks})
    assert [one.code for one in bag.sorted()] == ["AEL0701", "AEL0701"]


def test_permissions_are_asked_for(tmp_path: Path) -> None:
    reads = DESK.replace("grants std.knowledge.write\n{\n  Knowledge.remove", "grants std.knowledge.read\n{\n  Knowledge.remove")
    _, bag = open_files(tmp_path / "a", {"main.ael": reads})
    assert [(one.code, "std.knowledge.write" in one.message) for one in bag.sorted()] == [("AEL0509", True)]
    desk = Desk(tmp_path / "b", more="deny std.knowledge.write\n")
    denied = desk.ran("add", id="a", text="x")
    assert isinstance(denied, Faulted)
    assert denied.kind is FaultKind.DENIED


MINE = (
    DESK
    + """
provide std/knowledge.Knowledge as mine {
  fn search(query: String, limit: Int(1..100)) -> List<Passage> {
    [Passage(document: "mine", text: query.slice(0, 100))]
  }

  fn get(id: String) -> Document? { null }

  fn put(document: Document) -> Bool fails Refused, Conflict { false }

  fn remove(id: String) -> Bool { false }
}
"""
)


@pytest.mark.feature("A11.5")
def test_a_provider_of_the_program_takes_the_place_of_the_built_in_one(tmp_path: Path) -> None:
    program = MINE.replace('Passage(document: "mine", text: query.slice(0, 100))', 'Passage(document: "mine", text: "yes")')
    mine = Desk(tmp_path / "mine", program=program)
    assert mine.found("any") == ["mine"]
    assert not (tmp_path / "mine" / ".ael" / "knowledge.db").exists()
    chosen = Desk(tmp_path / "chosen", more="service Knowledge = built_in\n", program=program)
    chosen("add", id="a", text="any")
    assert chosen.found("any") == ["a"]
    assert (tmp_path / "chosen" / ".ael" / "knowledge.db").exists()


def test_without_a_line_documents_are_kept_below_the_deployment_and_in_memory_nowhere(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "a")
    desk("add", id="a", text="any")
    assert desk.found("any") == ["a"]
    assert (tmp_path / "a" / ".ael" / "knowledge.db").exists()
    memory = Desk(tmp_path / "b", more="knowledge = memory\n")
    memory("add", id="a", text="any")
    assert memory.found("any") == []
    assert not list((tmp_path / "b").rglob("*.db"))


def test_tests_of_a_program_have_documents_of_their_own(tmp_path: Path) -> None:
    tested = (
        DESK
        + """
test "one" {
  assert try add("a", "words")
  assert ask("words").length() == 1
}

test "another" {
  assert ask("words") == []
}
"""
    )
    desk = Desk(tmp_path, program=tested)
    desk("add", id="kept", text="words")
    assert [result.problem for result in run_tests(desk.opened)] == [None, None]
    assert desk.found("words") == ["kept"]


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("knowledge = mysql", "AEL0814", "cannot have `mysql`"),
        ("knowledge = sqlite", "AEL0814", "`sqlite` takes the path of a file"),
        ('knowledge = sqlite("a", busy: 1s)', "AEL0814", "`sqlite` has no options here"),
        ('knowledge = memory("a")', "AEL0814", "`memory` takes no path"),
        ('knowledge = postgres("postgres://u:p@h/d")', "AEL0815", "a named secret"),
        ('knowledge = postgres(secret("NONE"))', "AEL0831", "no secret `NONE`"),
        ("knowledge = memory\nknowledge = memory", "AEL0813", "`knowledge` is bound twice"),
        ("knowledge", "AEL0101", ""),
    ],
)
def test_lines_that_are_refused(tmp_path: Path, line: str, code: str, said: str) -> None:
    _, bag = open_files(tmp_path, {"main.ael": DESK, "deploy.ael": f"{line}\n"})
    assert [(one.code, said in one.message) for one in bag.sorted()] == [(code, True)]
    assert not any("u:p@" in brief(one, tmp_path) for one in bag.sorted())


@pytest.mark.feature("K41")
def test_a_database_that_cannot_be_reached_is_told_without_its_password(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KNOWLEDGE_DB", "postgresql://user:hunter2hunter2@127.0.0.1:9/none")
    desk = Desk(tmp_path, Place("postgres", ""))
    outcome = desk.ran("ask", query="x")
    assert isinstance(outcome, Faulted)
    assert outcome.kind is FaultKind.UNAVAILABLE
    assert "hunter2" not in outcome.message


def test_without_the_package_it_is_said_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KNOWLEDGE_DB", "postgresql://127.0.0.1:9/none")
    monkeypatch.setattr("ael.natives.knowledge.find_spec", lambda name: None)
    with pytest.raises(HostError) as told:
        Desk(tmp_path, Place("postgres", "")).ran("ask", query="x")
    assert told.value.code == "AEL0833"
    assert told.value.message == "documents in PostgreSQL need a package: `pip install 'ael-lang[postgres]'`"


def test_a_file_that_is_no_database_is_told(tmp_path: Path) -> None:
    (tmp_path / "k.db").write_bytes(b"no database" * 200)
    desk = Desk(tmp_path, more='knowledge = sqlite("k.db")\n')
    outcome = desk.ran("ask", query="x")
    assert isinstance(outcome, Faulted)
    assert outcome.kind is FaultKind.MALFORMED


def test_a_summary_of_the_deployment_says_where_documents_are_and_entries_go(tmp_path: Path) -> None:
    lines = 'log = stderr\nlog = file("run.jsonl")\nlog = otlp("https://c.example.com")\n'
    rows = {(row.kind, row.name): (row.bound, row.said) for row in summary(Desk(tmp_path / "a", more=lines).opened)}
    assert rows["knowledge", "documents"] == (".ael/knowledge.db", False)
    assert rows["service", "Knowledge"] == ("in the process, by built_in", False)
    assert [row for row in rows if row[0] == "log"] == [("log", "stderr"), ("log", "file"), ("log", "otlp")]
    rows = {
        (row.kind, row.name): (row.bound, row.said) for row in summary(Desk(tmp_path / "b", more="knowledge = memory\n").opened)
    }
    assert rows["knowledge", "documents"] == ("memory", True)


LOADS = """
use std/knowledge.{Conflict, Knowledge, Refused, document_of}

node main() -> List<String> fails Refused, Conflict
  grants std.knowledge.write
{
  let _kept = try Knowledge.put(try document_of("b", "some words"))
  Knowledge.search("words", 9).map(fn(passage) => passage.document)
}
"""


@pytest.mark.feature("K26", "K27")
def test_a_run_that_is_cut_at_any_step_goes_on_and_writes_each_thing_once(tmp_path: Path) -> None:
    write(tmp_path, {"main.ael": LOADS, "deploy.ael": 'knowledge = sqlite("k.db")\n'})
    words = [sys.executable, "-m", "ael", "run", "main.ael", "--crash-at", "every"]
    done = subprocess.run(words, cwd=tmp_path, env=clean_environment(tmp_path), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr + done.stdout
    assert "nothing was done twice, asked twice, or lost" in done.stdout + done.stderr
    assert Desk(tmp_path, program=DESK, more='knowledge = sqlite("k.db")\n').found("words") == ["b"]
