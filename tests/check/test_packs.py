"""Names of packs in the check alone: what a module means by them, without files."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ael.check.check import check_program
from ael.check.packs import ALONE, PackFacts, apart, foreign, pack_of, private, resolve, shared_name, spelled, written_name
from ael.diagnostics.diagnostic import Bag
from ael.source import Source
from ael.syntax.parse import parse_module

PACKS = {
    "": PackFacts(frozenset({"refunds"})),
    "refunds": PackFacts(frozenset({"ledger"})),
    "ledger": PackFacts(),
}


@pytest.mark.parametrize(
    ("path", "user", "name"),
    [
        ("refunds", "main", "refunds/main"),
        ("refunds/money", "main", "refunds/money"),
        ("refunds/a/b", "tools/mail", "refunds/a/b"),
        ("ledger", "main", None),
        ("ledger", "refunds/main", "ledger/main"),
        ("refunds", "refunds/main", None),
        ("refunds", "ledger/main", None),
        ("./money", "refunds/main", "refunds/money"),
        ("../money", "refunds/tools/mail", "refunds/money"),
        ("../../money", "refunds/tools/mail", None),
        ("../main", "refunds/main", None),
        ("std/text", "refunds/main", "std/text"),
        ("./text", "std/list", "std/text"),
    ],
)
def test_what_use_means(path: str, user: str, name: str | None) -> None:
    assert resolve(path, user, PACKS) == name


@given(
    st.sampled_from(["main", "a/b", "refunds/main", "refunds/a/b", "ledger/main"]),
    st.sampled_from(["main", "x/y", "refunds/money", "ledger/main", "std/text"]),
)
def test_what_is_spelled_is_what_is_meant(user: str, module: str) -> None:
    path = spelled(module, user, PACKS)
    if path is not None:
        assert resolve(path, user, PACKS) == module


@pytest.mark.parametrize(
    ("module", "written", "name"),
    [
        ("main", "read", "read"),
        ("main", "refunds.read", "refunds.read"),
        ("refunds/main", "read", "refunds.read"),
        ("refunds/main", "orders.read", "refunds.orders.read"),
        ("refunds/main", "ledger.post", "ledger.post"),
        ("ledger/main", "post", "ledger.post"),
        ("ledger/main", "refunds.read", "ledger.refunds.read"),
    ],
)
def test_what_a_permission_is_called(module: str, written: str, name: str) -> None:
    assert shared_name(PACKS, module, written) == name
    assert written_name(PACKS, module, name) == written


def test_whose_a_module_is() -> None:
    assert [pack_of(PACKS, name) for name in ("main", "refunds", "refunds/main", "other/main", "std/text")] == [
        "",
        "",
        "refunds",
        "",
        "",
    ]
    assert [foreign(PACKS, name) for name in ("main", "a/b", "refunds/main", "std/text")] == [False, False, True, True]
    assert apart(PACKS, "main", "std/_own")
    assert not apart(ALONE, "main", "a/b")
    assert [private(name) for name in ("main", "_own", "a/_b/c", "a_b")] == [False, True, True, False]


LIBRARY = """\
permission web.fetch

/// Fetch a page. Call it for a page that is known.
pub tool fetch(url: String) -> String
  needs web.fetch
  repeat idempotent
{
  url
}
"""
SHOP = """\
use std/web.{fetch}

permission look includes std.web.fetch

/// Look. Call it first.
pub tool look(url: String) -> String
  needs look
  repeat idempotent
{
  fetch(url)
}
"""
MAIN = "use shop.{look}\nuse std/_own.{hidden}\n\nnode main() -> String\n  grants shop.look\n{\n  look(hidden())\n}\n"


def test_the_librarys_permissions_have_their_own_names_in_every_pack_and_its_private_modules_are_its_own() -> None:
    """A permission of the library has `std` in front in every pack but in the library itself, where it is called by its own name."""
    texts = {"main": MAIN, "shop/main": SHOP, "std/web": LIBRARY, "std/_own": 'pub fn hidden() -> String {\n  "x"\n}\n'}
    bag = Bag()
    trees = {name: parse_module(Source(f"{name}.ael", text), bag) for name, text in texts.items()}
    packs = {"": PackFacts(frozenset({"shop"})), "shop": PackFacts()}
    assert check_program(trees, "main", bag, packs=packs) is None
    assert [(d.code, d.place.source.name) for d in bag.sorted()] == [("AEL0823", "main.ael")]
    trees["main"] = parse_module(Source("main.ael", MAIN.replace("use std/_own.{hidden}\n", "").replace("hidden()", '"x"')), bag)
    good = Bag()
    program = check_program(trees, "main", good, packs=packs)
    assert good.sorted() == []
    assert program is not None
    assert program.permissions["shop.look"].includes == {"shop.look", "std.web.fetch"}


def test_no_permission_of_a_program_has_the_name_of_the_library_in_front() -> None:
    bag = Bag()
    trees = {"main": parse_module(Source("main.ael", "permission std.web.fetch\n\nnode main() -> Int {\n  1\n}\n"), bag)}
    assert check_program(trees, "main", bag) is None
    assert [(d.code, d.notes) for d in bag.sorted()] == [("AEL0825", ("begin its name with another word: `own.std.web.fetch`",))]


def test_natives_are_the_librarys_alone() -> None:
    """What is native is reached through the functions and tools of the library, with their types, permissions and limits."""
    text = """\
permission files.read

/// Read a file. Call it first.
tool read(path: String) -> String
  needs files.read
  repeat idempotent
  extern "std:files.read_text"

node main() -> String {
  native_hash_sha256("a".to_bytes())
}
"""
    bag = Bag()
    assert check_program({"main": parse_module(Source("main.ael", text), bag)}, "main", bag) is None
    assert [d.code for d in bag.sorted()] == ["AEL0519", "AEL0202"]
