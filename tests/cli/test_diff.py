"""`ael diff --api`: what changed for those who use a pack, and the version that it needs."""

from __future__ import annotations

import json

import pytest

from tests.cli.conftest import Ael
from tests.project.packs import pack

TEXT = """\
/// Read.
permission read
/// Write.
permission write includes read

role finance

pub enum State { Open, Closed }

pub record Refund {
  amount: Int(0..100)
  note: String = ""
}

pub error TooMuch { amount: Int }
pub error TooLate {}

pub type Short = String(max: 8)

pub const LIMIT = 3

record Inner {
  x: Int
}

pub fn inner(n: Int = 1) -> Inner {
  Inner(x: n)
}

pub fn plain(a: String(max: 8), b: Int) -> Int fails TooMuch {
  if b > 5 { fail TooMuch(amount: b) }
  b
}

/// Refund. Only when it was paid.
pub tool refund(amount: Int) -> Refund fails TooMuch
  needs read
  repeat idempotent
  timeout 5s
  limit input 8KiB, output 8KiB
{
  fail TooMuch(amount: amount)
}

pub service Orders {
  /// Read one.
  get(id: String(max: 8)) -> Int
    needs read
    repeat idempotent
}

model fast {
  provider openai
  name "gpt-5-mini"
}

/// Answer. To help.
pub node answer(text: String) -> String(max: 80) fails Uncertain
  model fast
  policy one_call
  grants read
  budget tokens 2_000, cost $0.01, time 5s
{
  instructions "Answer."
}

pub store notes: Map<String, Refund> needs read

fn hidden() -> Int {
  1
}
"""


@pytest.fixture
def both(ael: Ael) -> Ael:
    """The command line, and a pack as it was in `old`."""
    ael.write({"old/pack.ael": pack("refunds", "1.4.2"), "old/main.ael": TEXT, "old/_own.ael": "pub fn own() -> Int {\n  1\n}\n"})
    return ael


def changed(ael: Ael, *edits: str, version: str = "1.4.2", own: str = "") -> tuple[int, list[str]]:
    """The pack with edits `old => new` applied: the exit code, and what is told of them."""
    text = TEXT
    for edit in edits:
        before, _, after = edit.partition(" => ")
        assert text.count(before) == 1, before
        text = text.replace(before, after)
    ael.write({"new/pack.ael": pack("refunds", version), "new/main.ael": text, "new/_own.ael": own})
    ended = ael("diff", "--api", "old", "new")
    assert ended.code in (0, 1), ended.err
    return ended.code, ended.out.splitlines()


BREAKING = [
    ("pub fn plain( => fn plain(", "plain: is not there any more"),
    (
        "Refund {\n  amount: Int(0..100) => Refund {\n  amount: Int(0..200)",
        "Refund: has `amount` as Int(0..200), before Int(0..100)",
    ),
    ('  note: String = "" => ', "Refund: has no field `note` any more"),
    ('  note: String = "" =>   note: String', "Refund: must be given `note`, which had a default"),
    ('  note: String = "" =>   note?: String', "Refund: has `note` absent at times"),
    ("{ Open, Closed } => { Open, Closed, Gone }", "State: has a variant `Gone`, and a `match` has to name every one"),
    ("{ Open, Closed } => { Open }", "State: has no variant `Closed` any more"),
    ("TooLate {} => TooLate { at: Int }", "TooLate: has a field `at`, which must be given"),
    ("(max: 8)\n\npub const => (max: 9)\n\npub const", "Short: is String(max: 9), before String(max: 8)"),
    ('LIMIT = 3 => LIMIT = "3"', "LIMIT: is of another type"),
    ("  x: Int\n =>   x: Int?\n", "Inner: has `x` as Int?, before Int"),
    (
        "plain(a: String(max: 8), b: Int) -> Int => plain(a: String(max: 4), b: Int) -> Int",
        "plain: takes `a` as String(max: 4), before String(max: 8)",
    ),
    (
        "plain(a: String(max: 8), b: Int) -> Int => plain(a: String(max: 8), b: Int, c: Int) -> Int",
        "plain: has a parameter `c`, which must be given",
    ),
    ("Int = 1) -> Inner => Int) -> Inner", "inner: must be given `n`"),
    ("-> Int fails TooMuch => -> Int fails TooMuch, TooLate", "plain: may fail with `TooLate`, which its callers must face"),
    ("-> Int fails TooMuch => -> Int? fails TooMuch", "plain: gives Int?, before Int"),
    (
        "  needs read\n  repeat idempotent\n  timeout =>   needs write\n  repeat idempotent\n  timeout",
        "refund: needs `write`, before `read`",
    ),
    ("idempotent\n  timeout 5s => reconcile\n  timeout 5s", "refund: is `reconcile`, before `idempotent`"),
    ("limit input 8KiB, => limit input 4KiB,", "refund: has a limit of 4,096 bytes for its input, before 8,192 bytes"),
    ("output 8KiB => output 4KiB", "refund: has a limit of 4,096 bytes for its result, before 8,192 bytes"),
    (
        "timeout 5s => timeout 5s\n  approval required by finance",
        "refund: runs after an approval by `finance`, before: runs without an approval",
    ),
    ("    needs read\n =>     needs write\n", "Orders.get: needs `write`, before `read`"),
    (
        "get(id: String(max: 8)) => get(id: String(max: 9))",
        "Orders.get: takes `id` as String(max: 9), before String(max: 8); whoever provides it follows",
    ),
    (
        "pub service Orders { => pub service Orders {\n  more() -> Int\n    repeat idempotent\n",
        "Orders.more: is new, and whoever provides the service must have it",
    ),
    ("  grants read\n =>   grants write\n", "answer: is granted `write`"),
    ("tokens 2_000, => tokens 3_000,", "answer: may spend 3,000 tokens, before 2,000 tokens"),
    ("cost $0.01, => ", "answer: may spend any cost, before $0.01"),
    ("time 5s\n => time 6s\n", "answer: may spend 6000 ms, before 5000 ms"),
    (
        "permission write includes read => permission write",
        "permission write: includes `read` no longer: whoever relied on that is not granted it",
    ),
    ("role finance => role boss", "role finance: is not there any more"),
    ("Map<String, Refund> needs read => Map<String, Refund> needs write", "notes: needs `write`, before `read`"),
    ("Map<String, Refund> needs => Map<String, Int> needs", "notes: keeps values of another type"),
]


@pytest.mark.parametrize(("edit", "text"), BREAKING)
def test_what_may_break_others(both: Ael, edit: str, text: str) -> None:
    code, told = changed(both, edit, version="1.5.0")
    assert f"breaking    {text}" in told
    assert code == 1, "a minor version is not enough"
    assert changed(both, edit, version="2.0.0")[0] == 0


def test_a_permission_that_allows_more_is_breaking_for_whoever_granted_it(both: Ael) -> None:
    code, told = changed(
        both, "permission read\n => permission read includes extra\n/// Extra.\npermission extra\n", version="1.5.0"
    )
    assert code == 1
    assert "breaking    permission read: includes `extra`: whoever is granted it may do that too" in told
    assert "breaking    permission write: includes `extra`: whoever is granted it may do that too" in told


COMPATIBLE = [
    ('TooMuch { amount: Int } => TooMuch { amount: Int, why: String = "" }', "TooMuch: has a field `why`, which may be left out"),
    ("  x: Int\n =>   x: Int\n  y: Int = 1\n", "Inner: has a field `y`, which may be left out"),
    ("fn hidden() => pub fn hidden()", "hidden: is new: a function"),
    ('  note: String = "" =>   note: String = "-"', "Refund: has another default for `note`"),
    ('  note: String = "" =>   note: String = ""\n  more?: Int', "Refund: has a field `more`, which may be left out"),
    ("LIMIT = 3 => LIMIT = 4", "LIMIT: has another value"),
    ("plain(a: String(max: 8) => plain(a: String(max: 9)", "plain: takes `a` as String(max: 9), before String(max: 8)"),
    ("b: Int) -> Int fails => b: Int, c: Int = 1) -> Int fails", "plain: has a parameter `c`, which may be left out"),
    ("String(max: 80) fails => String(max: 40) fails", "answer: gives String(max: 40), before String(max: 80)"),
    ("output 8KiB => output 16KiB", "refund: has a limit of 16,384 bytes for its result, before 8,192 bytes"),
    ("timeout 5s => timeout 6s", "refund: has a time limit of 6000 ms, before a time limit of 5000 ms"),
    ("Only when it was paid. => Only when somebody paid.", "refund: is described in other words, which models read"),
    ("tokens 2_000, => tokens 1_000,", "answer: may spend 1,000 tokens, before 2,000 tokens"),
    ("role finance => role finance\nrole boss", "role boss: is new"),
    ("permission read\n => permission read\n/// Extra.\npermission extra\n", "permission extra: is new"),
]


@pytest.mark.parametrize(("edit", "text"), COMPATIBLE)
def test_what_adds_to_a_pack(both: Ael, edit: str, text: str) -> None:
    code, told = changed(both, edit, version="1.4.3")
    assert told == [f"compatible  {text}"]
    assert code == 1, "a patch is not enough"
    assert changed(both, edit, version="1.5.0")[0] == 0


@pytest.mark.parametrize(
    "edit", ["fn hidden() -> Int {\n  1 => fn hidden() -> Int {\n  2", "/// Read.\npermission => /// Read it.\npermission"]
)
def test_what_nobody_else_sees(both: Ael, edit: str) -> None:
    code, told = changed(both, edit)
    assert (code, told) == (1, ["internal    nothing that others see changed"])
    assert changed(both, edit, version="1.4.3")[0] == 0


def test_a_module_that_a_pack_keeps_to_itself_is_no_part_of_it(both: Ael) -> None:
    code, told = changed(both, own="pub fn other() -> Int {\n  1\n}\n", version="1.4.3")
    assert (code, told) == (0, ["internal    nothing that others see changed"])


def test_nothing_changed(both: Ael) -> None:
    ended = both("diff", "--api", "old", "old")
    assert (ended.code, ended.out) == (0, "nothing changed\n")
    assert ended.err == "refunds 1.4.2 → 1.4.2: same, the version is enough\n"


@pytest.mark.parametrize(
    ("old", "edit", "needed"),
    [
        ("1.4.2", "pub fn plain( => fn plain(", "2.0.0"),
        ("1.4.2", "LIMIT = 3 => LIMIT = 4", "1.5.0"),
        ("1.4.2", "{\n  1 => {\n  2", "1.4.3"),
        ("0.4.2", "pub fn plain( => fn plain(", "0.5.0"),
        ("0.4.2", "LIMIT = 3 => LIMIT = 4", "0.4.3"),
        ("0.0.2", "LIMIT = 3 => LIMIT = 4", "0.0.3"),
        ("2.0.0-rc.1", "pub fn plain( => fn plain(", "2.0.0"),
    ],
)
def test_the_version_that_is_needed(both: Ael, old: str, edit: str, needed: str) -> None:
    both.write({"old/pack.ael": pack("refunds", old)})
    before, _, after = edit.partition(" => ")
    both.write({"new/pack.ael": pack("refunds", old), "new/main.ael": TEXT.replace(before, after), "new/_own.ael": ""})
    both.write({"old/_own.ael": ""})
    ended = both("diff", "--api", "old", "new", "--json")
    told = json.loads(ended.out)
    assert (ended.code, told["needed"], told["enough"]) == (1, needed, False)
    both.write({"new/pack.ael": pack("refunds", needed)})
    assert both("diff", "--api", "old", "new").code == 0


def test_what_a_program_must_list_and_the_packs_it_comes_with(both: Ael) -> None:
    ledger = {f"ledger{n}/pack.ael": pack("ledger", f"{n}.0.0") for n in (1, 2)} | {f"ledger{n}/main.ael": "" for n in (1, 2)}
    both.write({**ledger, "old/pack.ael": pack("refunds", "1.4.2", 'depends ledger "1" from "../ledger1"')})
    lines = ("uses server/mcp", 'extern "bank"', 'depends ledger "2" from "../ledger2"')
    both.write(
        {
            "new/pack.ael": pack("refunds", "2.0.0", *lines),
            "new/main.ael": TEXT,
            "new/_own.ael": "pub fn own() -> Int {\n  1\n}\n",
        }
    )
    ended = both("diff", "--api", "old", "new")
    assert ended.out.splitlines() == [
        'breaking    pack: depends on `ledger` "2", before "1": a program has one version of it',
        "breaking    pack: lists `extern bank`, which a program that depends on it must list too",
        "breaking    pack: lists `uses server/mcp`, which a program that depends on it must list too",
    ]
    back = both("diff", "--api", "new", "old")
    assert [line.split()[0] for line in back.out.splitlines()] == ["breaking", "compatible", "compatible"]


def test_json(both: Ael) -> None:
    changed(both, "LIMIT = 3 => LIMIT = 4", version="1.5.0")
    assert json.loads(both("diff", "--api", "old", "new", "--json").out) == {
        "name": "refunds",
        "old": "1.4.2",
        "new": "1.5.0",
        "level": "compatible",
        "needed": "1.5.0",
        "enough": True,
        "changes": [{"level": "compatible", "name": "LIMIT", "text": "has another value"}],
    }


def test_mistakes(both: Ael) -> None:
    assert both("diff", "old", "old").code == 2
    ended = both("diff", "--api", "old", "nowhere")
    assert (ended.code, ended.err) == (2, "ael diff: there is no pack in `nowhere`: it has no `pack.ael`\n")
    both.write({"other/pack.ael": pack("other"), "other/main.ael": "pub fn x() -> Int {\n  1\n}\n"})
    assert "these are two packs" in both("diff", "--api", "old", "other").err
    both.write({"other/main.ael": "pub fn x() -> Int {\n  wrong\n}\n"})
    ended = both("diff", "--api", "old", "other")
    assert ended.code == 2
    assert "AEL0202" in ended.err
    both.write({"empty/pack.ael": pack("refunds")})
    ended = both("diff", "--api", "old", "empty")
    assert (ended.code, "has no modules" in ended.err) == (2, True)
