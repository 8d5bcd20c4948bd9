"""Attempts to make an effect happen twice, get lost or hide, in real programs."""

from __future__ import annotations

import asyncio
import sqlite3
import zlib
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from ael.run.ports import Decision
from ael.run.store import SqliteStore
from ael.run.stored import Kept
from tests.programs import open_files
from tests.run.fakes import FakeApprover
from tests.run.helpers import fault_of, uncertain_of, value_of
from tests.run.test_programs import opened, run


def with_bank(tmp_path: Path, bank: str, text: str) -> Any:
    """A program whose Python functions are those of `bank`. Python keeps modules by name: each text has its own."""
    module = f"bank_{zlib.crc32(bank.encode())}"
    (tmp_path / f"{module}.py").write_text(bank)
    pack = f'pack bank_test {{\n  version "0.1.0"\n  extern "{module}"\n}}\n'
    program, bag = open_files(tmp_path, {"pack.ael": pack, "main.ael": text.replace('"bank:', f'"{module}:')})
    if program is None:
        pytest.fail(str([f"{d.code} {d.message}" for d in bag.sorted()]))
    return program


SLOW_BANK = """import asyncio

async def send(amount):
    await asyncio.sleep(30)

async def fail():
    await asyncio.sleep(0)
    raise ValueError("no")
"""

GIVEN_UP = """permission p
/// Send money.
tool send(amount: Int) -> String needs p repeat reconcile extern "bank:send"
/// Fail.
tool fails() -> String needs p repeat idempotent extern "bank:fail"
fn guarded(amount: Int) -> String { send(amount) catch { Uncertain u => "met in the branch" } }
node main() -> String grants p {
  let both = CALLS
  "nothing happened"
}
"""


@pytest.mark.feature("D2")
@pytest.mark.parametrize(
    "calls",
    [
        '(parallel { a: guarded(1), b: fails() }) catch { _ => parallel { a: "", b: "" } }',
        "(parallel n in [0, 1] { if n == 0 { guarded(1) } else { fails() } }) catch { Fault f => [] }",
        '(parallel { a: (parallel { c: guarded(1), d: "" }).c, b: fails() }) catch { _ => parallel { a: "", b: "" } }',
    ],
)
def test_a_call_that_another_branch_s_failure_gave_up_has_to_be_faced(tmp_path: Path, calls: str) -> None:
    """The branch's own `catch` never ran: its code was cancelled. So the whole `parallel` ends `Uncertain`."""
    program = with_bank(tmp_path, SLOW_BANK, GIVEN_UP.replace("CALLS", calls))
    assert uncertain_of(run(program, {})).operation == "send"


@pytest.mark.feature("D2")
def test_whoever_meets_it_around_the_parallel_learns_of_it(tmp_path: Path) -> None:
    arms = '{ Uncertain u => parallel { a: u.operation, b: "" }\n _ => parallel { a: "", b: "" } }'
    calls = f"(parallel {{ a: send(1), b: fails() }}) catch {arms}"
    text = GIVEN_UP.replace("CALLS", calls).replace('"nothing happened"', "both.a")
    assert value_of(run(with_bank(tmp_path, SLOW_BANK, text), {})) == "send"


def test_a_parallel_that_gave_up_nothing_fails_with_its_first_failure(tmp_path: Path) -> None:
    text = GIVEN_UP.replace("CALLS", "parallel { a: fails(), b: 1 }")
    assert fault_of(run(with_bank(tmp_path, SLOW_BANK, text), {})).kind == "Crashed"


KEYED = """permission p
role boss
/// Pay an invoice.
tool pay(invoice: String) -> String needs p repeat idempotent key invoice approval required by boss { "${invoice} ${call.key}" }
node main(invoice: String) -> String grants p { pay(invoice) }
"""


@pytest.mark.feature("A4.6", "A8.2")
def test_an_edited_call_has_the_key_of_what_is_really_done(tmp_path: Path) -> None:
    program = opened(tmp_path, KEYED)
    plain = value_of(run(program, {"invoice": "i-2"}, approver=FakeApprover(Decision(True, "ann"))))
    edit = FakeApprover(Decision(True, "ann", "", {"invoice": "i-2"}))
    assert value_of(run(program, {"invoice": "i-1"}, approver=edit)) == plain
    unedited = value_of(run(program, {"invoice": "i-1"}, approver=FakeApprover(Decision(True, "ann"))))
    assert str(unedited).split(" ")[1] != str(plain).split(" ")[1]


RETRIED = """permission p
permission st
store notes: Map<String, String> needs st
service Work { once() -> String needs p repeat idempotent timeout 60ms retry 2 }
provide Work grants st {
  fn once() -> String {
    let again = notes.has("seen")
    notes.put("seen", if again { "twice" } else { "once" })
    if not again {
      var n = 0
      while true up to 4_000_000_000 { n = n + 1 }
    }
    "done"
  }
}
node main() -> String grants p, st {
  let said = Work.once()
  "${said} ${notes.get("seen") ?? "nothing"}"
}
"""


@pytest.mark.feature("A8.2")
def test_another_write_in_the_same_place_is_not_taken_for_the_first_one_again(tmp_path: Path) -> None:
    """The second attempt sees what the first one wrote, and writes something else."""
    assert value_of(run(opened(tmp_path, RETRIED), {})) == "done twice"


class Reluctant(sqlite3.Connection):
    """Twice another connection is just changing the journal's mode: SQLite then refuses at once, without waiting."""

    refusals = 2

    def execute(self, sql: str, *given: Any) -> sqlite3.Cursor:
        if "journal_mode" in sql and Reluctant.refusals:
            Reluctant.refusals -= 1
            error = sqlite3.OperationalError("database is locked")
            error.sqlite_errorcode = sqlite3.SQLITE_BUSY
            raise error
        return super().execute(sql, *given)


def test_stores_that_share_a_file_may_open_it_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=Reluctant))

    async def opens() -> object:
        store = SqliteStore(tmp_path / "s.db", "notes")
        await store.put("k", "v", "t")
        found = await store.get("k")
        await store.close()
        return found

    assert asyncio.run(opens()) == Kept("v", None)
    assert Reluctant.refusals == 0


ODD_BANK = """import asyncio
from ael.types.fault import Failure

class Mute(Exception):
    def __str__(self):
        raise RuntimeError("no words")

def mute(n):
    raise Mute()

async def cancelled(n):
    raise asyncio.CancelledError()

def cancelled_in_a_thread(n):
    raise asyncio.CancelledError()

def odd_error(n):
    raise Failure("Bad", {"wrong": n})

def no_fields(n):
    raise Failure("Bad", {})
"""

ODD = """permission p
error Bad { x: Int }
/// Do it.
tool act(n: Int) -> String fails Bad needs p repeat REPEAT extern "bank:NAME"
node main() -> String grants p {
  act(1) catch {
    Bad b => "bad ${b.x}"
    Uncertain u => "uncertain"
    Fault f => f.kind
  }
}
"""


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("mute", "Crashed"),
        ("cancelled", "Crashed"),
        ("cancelled_in_a_thread", "Crashed"),
        ("odd_error", "Malformed"),
        ("no_fields", "Malformed"),
    ],
)
def test_what_a_python_function_ends_with_is_always_typed(tmp_path: Path, name: str, kind: str) -> None:
    text = ODD.replace("NAME", name)
    assert value_of(run(with_bank(tmp_path, ODD_BANK, text.replace("REPEAT", "idempotent")), {})) == kind
    assert value_of(run(with_bank(tmp_path, ODD_BANK, text.replace("REPEAT", "never")), {})) == "uncertain"
