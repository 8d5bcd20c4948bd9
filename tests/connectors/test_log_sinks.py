"""Log sinks written in AEL: what they get, under whose rights and in whose time, and that no run is any the worse for one."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ael.host import open_host
from ael.run.bindings import Options
from ael.run.outcome import Faulted, Outcome, Value
from tests.programs import brief, open_files

HEAD = """
use std/log.{Entry}

permission book.write
permission mail.send

store book: Map<String, Entry> needs book.write
"""
KEEPS = """
provide std/log.Sink as keeps
  grants book.write
{
  fn write(entries: List<Entry>(max: 64)) -> Unit {
    for entry in entries {
      book.put("${entry.span}-${entry.kind}", entry)
    }
  }
}
"""
MAIN = """
/// Look. Call it first.
tool look(text: String) -> String
  needs mail.send
  repeat idempotent
{
  log("warning: looked at ${text}")
  text
}

node main(text: String = "hello") -> String
  grants mail.send
{
  look(text)
}
"""
LINE = 'store book = sqlite("book.db")\n'


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine under load takes its time."""
    monkeypatch.setattr("ael.observe.waiting.FLUSH", 60.0)


def ran(folder: Path, program: str, deploy: str, *, tenants: tuple[str, ...] = ("local",), **values: object) -> list[Outcome]:
    """Run `main` once for each tenant, with the sinks of the deployment."""
    opened, bag = open_files(folder, {"main.ael": program, "deploy.ael": deploy})
    assert opened is not None, [brief(one, folder) for one in bag.sorted()]

    async def work() -> list[Outcome]:
        async with open_host(opened, "main.main", exports=True, models={}) as host:
            runs = [host.engine.start("main", values, Options(tenant, "c", run=f"r-{tenant}")) for tenant in tenants]
            return [await one.outcome() for one in runs]

    return asyncio.run(work())


def kept(folder: Path, store: str = "main.book", file: str = "book.db") -> list[Any]:
    """What stands in a store, in the order of its keys."""
    with closing(sqlite3.connect(folder / file)) as db:
        rows = db.execute("SELECT value FROM entry WHERE store = ? ORDER BY key", (store,)).fetchall()
    return [json.loads(value) for (value,) in rows]


@pytest.mark.feature("A11.5")
def test_a_sink_gets_what_was_logged_and_every_step_of_the_runs(tmp_path: Path) -> None:
    (outcome,) = ran(tmp_path, HEAD + KEEPS + MAIN, LINE + "log = keeps\n", text="A-42")
    assert isinstance(outcome, Value)
    found = {(one["kind"], one["name"]): one for one in kept(tmp_path)}
    assert set(found) == {("log", ""), ("tool", "main.look"), ("node", "main"), ("run", "main")}
    entry = found["log", ""]
    assert (entry["text"], entry["level"], entry["run"], entry["tenant"]) == ("looked at A-42", "Warning", "r-local", "local")
    assert entry["path"].startswith("main/look")
    assert found["tool", "main.look"]["outcome"] == "value"
    assert all("content" not in one for one in found.values())
    assert len({one["trace"] for one in found.values()}) == 1
    assert found["tool", "main.look"]["above"] == found["node", "main"]["span"]


def test_a_level_and_content_are_the_lines_word(tmp_path: Path) -> None:
    ran(tmp_path, HEAD + KEEPS + MAIN, LINE + 'log = keeps(level: "warning")\n', text="A-42")
    assert [one["text"] for one in kept(tmp_path)] == ["looked at A-42"]
    more = tmp_path / "more"
    ran(more, HEAD + KEEPS + MAIN, LINE + "log = keeps(content: true)\n", text="A-42")
    (tool,) = [one for one in kept(more) if one["kind"] == "tool"]
    assert "A-42" in json.dumps(tool["content"])


@pytest.mark.feature("K36")
def test_no_content_is_too_much_for_a_sink(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = MAIN.replace('node main(text: String = "hello") -> String', "node main(text: Json) -> String").replace(
        "look(text)\n", 'look("x")\n'
    )
    deep: Any = 1
    for _ in range(28):
        deep = [deep]
    for name, text in (("deep", deep), ("wide", [0] * 9_000), ("long", "x" * 60_000), ("odd", {"": [None, 1e308, "\x00\u202e"]})):
        lines = f"{LINE}limit input 200KB, depth 32\nlog = keeps(content: true)\n"
        (outcome,) = ran(tmp_path / name, HEAD + KEEPS + program, lines, text=text)
        assert isinstance(outcome, Value)
        assert len(kept(tmp_path / name)) == 4
    assert "log entries" not in capsys.readouterr().err


@pytest.mark.feature("K41")
def test_no_secret_comes_to_a_sink(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANTED", "planted-secret-9271")
    lines = 'secret PLANTED = env("PLANTED")\nlog = keeps(content: true)\nlog = file("run.jsonl", content: true)\n'
    ran(tmp_path, HEAD + KEEPS + MAIN, LINE + lines, text="it is planted-secret-9271, you see")
    assert len(kept(tmp_path)) == 4
    for text in (json.dumps(kept(tmp_path)), (tmp_path / "run.jsonl").read_text()):
        assert "***" in text
        assert "9271" not in text


@pytest.mark.feature("K43")
def test_a_sink_acts_for_the_tenant_whose_entries_it_gets(tmp_path: Path) -> None:
    ran(tmp_path, HEAD + KEEPS + MAIN, LINE + "log = keeps\n", tenants=("acme", "umbrella"), text="A-42")
    for tenant in ("acme", "umbrella"):
        assert {one["run"] for one in kept(tmp_path, f"{tenant}:main.book")} == {f"r-{tenant}"}
    assert kept(tmp_path) == []


def test_several_sinks_each_get_all_and_what_one_logs_goes_nowhere(tmp_path: Path) -> None:
    second = KEEPS.replace("as keeps", "as also").replace("book.put", 'log("error: from a sink")\n      more.put')
    second = second.replace("book.write", "more.write")
    declared = "permission more.write\nstore more: Map<String, Entry> needs more.write\n"
    lines = 'store more = sqlite("book.db")\nlog = keeps\nlog = also\nlog = file("run.jsonl")\n'
    ran(tmp_path, HEAD + declared + KEEPS + second + MAIN, LINE + lines)
    assert kept(tmp_path) == kept(tmp_path, "main.more")
    assert len(kept(tmp_path)) == len((tmp_path / "run.jsonl").read_text().splitlines()) == 4
    assert "from a sink" not in json.dumps(kept(tmp_path)) + (tmp_path / "run.jsonl").read_text()


@pytest.mark.feature("A11.5")
@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("fail_now(1)", "Arithmetic"),
        ("forever()", "DeadlineExceeded"),
        ("slow()", "DeadlineExceeded"),
        ("send()", "Denied"),
        ('for i in 1..2_000 { look("x") }', "BudgetExhausted"),
    ],
)
def test_a_sink_that_fails_loses_entries_and_no_run_notices(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, body: str, said: str
) -> None:
    monkeypatch.setattr("ael.hosting.sinks.TIME", 700)
    functions = """
fn fail_now(n: Int) -> Int { n div (n - 1) }

fn forever() -> Int {
  var n = 0
  while true up to 1_000_000_000 { n = n + 1 }
  n
}

/// Wait. Call it never.
tool slow() -> Int needs mail.send repeat idempotent extern "slowly:wait"

/// Send. Call it last.
tool send() -> Int needs book.write repeat idempotent { 1 }
"""
    head = "provide std/log.Sink as bad\n  grants mail.send, book.write\n{\n  fn write(entries: List<Entry>(max: 64)) -> Unit {\n    "
    sink = f"{head}{body}\n  }}\n}}\n"
    files = {
        "main.ael": HEAD + functions + sink + MAIN,
        "pack.ael": 'pack desk {\n  version "1.0.0"\n  extern "slowly"\n}\n',
        "slowly.py": "import asyncio\nasync def wait():\n    await asyncio.sleep(3600)\n",
        "deploy.ael": f'log = bad\nlog = file("run.jsonl")\n{"deny book.write" if said == "Denied" else ""}\n',
    }
    opened, bag = open_files(tmp_path, files)
    assert opened is not None, [brief(one, tmp_path) for one in bag.sorted()]

    async def work() -> Outcome:
        async with open_host(opened, "main.main", exports=True) as host:
            return await host.engine.start("main", {}, Options("local", "c")).outcome()

    assert isinstance(asyncio.run(work()), Value)
    told = capsys.readouterr().err
    assert "log entries do not reach the sink `bad`" in told
    assert f"log entries did not reach the sink `bad`: {said}" in told or "there was no time left" in told
    assert len((tmp_path / "run.jsonl").read_text().splitlines()) == 4


def test_a_sink_draws_from_nobodys_budget(tmp_path: Path) -> None:
    calls = KEEPS.replace("      book.put", '      look("x")\n      book.put').replace(
        "grants book.write", "grants book.write, mail.send"
    )
    lines = LINE + 'budget tool_calls 1\ntenant local { grants mail.send budget tool_calls 1 }\nlog = keeps(level: "warning")\n'
    (outcome,) = ran(tmp_path, HEAD + calls + MAIN, lines)
    assert isinstance(outcome, Value)
    assert outcome.spent.tool_calls == 1
    assert len(kept(tmp_path)) == 1


def test_a_sink_asks_no_model(tmp_path: Path) -> None:
    talks = """
model fast {
  provider openai
  name "gpt-5-mini"
}

node say(text: String) -> String
  model fast
  policy one_call
  budget tokens 1_000, time 10s
{
  instructions "Say it."
}

fn told(text: String) -> String { say(text) }

provide std/log.Sink as talks {
  fn write(entries: List<Entry>(max: 64)) -> Unit {
    told(entries[0].text)
  }
}
"""
    _, bag = open_files(tmp_path, {"main.ael": HEAD + talks + MAIN, "deploy.ael": "log = talks\n"})
    assert [brief(one, tmp_path) for one in bag.sorted()] == [
        "deploy.ael AEL0814 1:7 the sink `talks` asks the model `fast`, and a log sink asks none"
    ]


def test_a_durable_run_feeds_the_sinks_of_its_deployment(tmp_path: Path) -> None:
    opened, _ = open_files(tmp_path, {"main.ael": HEAD + KEEPS + MAIN, "deploy.ael": LINE + "log = keeps\n"})
    assert opened is not None

    async def work() -> Outcome:
        async with open_host(opened, "main.main", durable=True) as host:
            return await host.engine.start("main", {}, Options("local", "c")).outcome()

    assert isinstance(asyncio.run(work()), Value)
    assert len(kept(tmp_path)) == 4


def test_only_the_program_that_is_asked_for_is_fed(tmp_path: Path) -> None:
    """A preview, a test, a host without exports: nothing goes to a sink, and none is opened."""
    opened, _ = open_files(tmp_path, {"main.ael": HEAD + KEEPS + MAIN, "deploy.ael": LINE + "log = keeps\n"})
    assert opened is not None

    async def work() -> Outcome:
        async with open_host(opened, "main.main") as host:
            return await host.engine.start("main", {}, Options("local", "c")).outcome()

    assert not isinstance(asyncio.run(work()), Faulted)
    assert not (tmp_path / "book.db").exists()


def test_a_provider_is_a_sink_only_where_a_line_says_so_and_only_of_the_service(tmp_path: Path) -> None:
    other = """
permission a.b

service Other {
  write(n: Int) -> Int
    needs a.b
    repeat idempotent
}

provide Other as other {
  fn write(n: Int) -> Int { n }
}
"""
    _, bag = open_files(tmp_path, {"main.ael": HEAD + KEEPS + other + MAIN, "deploy.ael": LINE + "log = other\n"})
    (found,) = bag.sorted()
    assert (found.code, found.message) == ("AEL0814", "`other` is no log sink")
    assert "`keeps`" in found.notes[0]
    ran(tmp_path / "b", HEAD + KEEPS + MAIN, LINE)
    assert not (tmp_path / "b" / "book.db").exists()
