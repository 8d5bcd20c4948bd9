"""What the pages say: permissions, repeat safety, errors, budgets, effects and who calls what, of all that a pack shows."""

from __future__ import annotations

import pytest

from ael.documenting.item import Item
from tests.documenting.conftest import Reader, said

SHOP = {
    "pack.ael": '//! The shop.\n\npack shop {\n  version "1.2.0"\n}\n',
    "main.ael": """\
//! Answers about orders. See [lookup_order].
use ./orders.{Order, NotFound, Orders, spare}

/// Read orders.
permission orders.read
permission orders.refund includes orders.read

role finance

/// Read one [Order].
tool lookup_order(id: String(max: 64)) -> Order fails NotFound
  needs orders.read
  repeat idempotent
  timeout 5s
  limit input 8KiB
{
  try Orders.get(id)
}

/// Give money back.
tool refund(trusted id: String(max: 64)) -> Bool
  needs orders.refund
  repeat never
  approval required by finance
{
  true
}

model fast {
  provider anthropic
  name "claude-haiku-4-5"
}

/// Answer.
node answer(question: String(max: 500)) -> String(max: 1_000) fails Uncertain
  model fast
  policy loop(steps: 4, tool_calls: 6)
  grants orders.refund
  tools lookup_order, refund
  budget tokens 10_000, cost $0.05, time 30s
{
  instructions "Answer."
}

node plain(text: String) -> String { shout(text) }

/// Ask, then shout.
agent desk(question: String(max: 500)) -> String
  grants orders.refund
  budget time 5min
{
  edge start -> answer(question)
  edge answer -> plain(answer)
  edge answer -> plain(question) on Uncertain, Fault
  edge plain -> finish
}

fn shout(text: String) -> String { "${text}!" }
fn unused_here() -> Int { 1 }
""",
    "orders.ael": """\
//! Orders.

/// An order.
pub record Order {
  /// Its number.
  id: String(max: 64)
  status: Status
}

enum Status { Open, Paid }

pub error NotFound { id: String(max: 64) }

/// Where orders are.
pub service Orders {
  /// One of them.
  get(id: String(max: 64)) -> Order fails NotFound
    needs orders.read
    repeat idempotent
}

provide Orders as memory
  grants orders.read
{
  fn get(id: String(max: 64)) -> Order fails NotFound {
    fail NotFound(id: id)
  }
}

pub fn spare() -> Int { 1 }
fn hidden() -> Int { 2 }
""",
    "_own.ael": "//! For the pack alone.\npub fn inner() -> Int { 1 }\n",
}
SHOP["main.ael"] = SHOP["main.ael"].replace(", spare}", "}")


@pytest.mark.feature("C8")
def test_what_is_called_says_permissions_repeat_safety_errors_and_budget(read: Reader) -> None:
    shop = read(SHOP)
    lookup, answer, desk = said(shop.item("lookup_order")), said(shop.item("answer")), said(shop.item("desk"))
    assert (lookup["permissions"], lookup["errors"], lookup["budget"]) == (["orders.read"], ["NotFound"], ["that of its caller"])
    assert lookup["repeat"] == ["idempotent: doing it again changes nothing more"]
    assert (answer["permissions"], answer["errors"]) == (["orders.refund"], ["Uncertain"])
    assert answer["budget"] == ["tokens 10,000", "cost $0.05", "time 30s", "steps 4", "tool calls 6"]
    assert answer["repeat"][0].startswith("never: ")
    assert (desk["permissions"], desk["budget"], desk["errors"]) == (["orders.refund"], ["time 5min"], ["none"])


def test_the_other_facts(read: Reader) -> None:
    shop = read(SHOP)
    lookup, refund, answer = said(shop.item("lookup_order")), said(shop.item("refund")), said(shop.item("answer"))
    assert (lookup["timeout"], lookup["limits"], lookup["calls"]) == (["5s"], ["input 8KiB"], ["Orders.get"])
    assert lookup["offered_by"] == ["answer"]
    assert (refund["trusted"], refund["approval"]) == (["`id`"], ["required by finance"])
    assert "can end Uncertain" in refund["effects"]
    assert (answer["model"], answer["tools"]) == (["fast"], ["lookup_order", "refund"])
    assert answer["policy"] == ["a loop of at most 4 steps, 6 tool calls"]
    assert answer["called_by"] == ["desk"]
    assert said(shop.item("desk"))["nodes"] == ["answer", "plain"]
    assert said(shop.item("finance"))["approves"] == ["refund"]
    assert said(shop.item("orders.read"))["needed_by"] == ["lookup_order", "Orders.get"]
    assert said(shop.item("orders.refund"))["includes"] == ["orders.read"]
    assert said(shop.item("NotFound", "orders"))["failed_by"] == ["lookup_order", "Orders.get", "memory.get"]
    (get,) = shop.item("Orders", "orders").parts
    assert (said(get)["permissions"], said(get)["called_by"]) == (["orders.read"], ["lookup_order"])
    assert said(shop.item("memory", "orders"))["service"] == ["Orders"]


def test_a_page_says_what_its_module_needs(read: Reader) -> None:
    page = read(SHOP).page("main")
    told = {fact.key: len(fact.values) for fact in page.facts}
    assert told == {"permissions": 2, "errors": 2}


def test_what_is_shown(read: Reader) -> None:
    shop = read(SHOP)
    assert shop.book.title == "shop"
    assert shop.book.version == "1.2.0"
    assert shop.book.intro is not None
    assert shop.book.intro.text == "The shop."
    assert [page.module for page in shop.book.pages] == ["main", "orders"]
    assert [item.name for item in shop.page("orders").items] == ["Orders", "memory", "spare", "Order", "Status", "NotFound"]
    own = read(SHOP, private=True)
    assert [page.module for page in own.book.pages] == ["main", "_own", "orders"]
    assert own.item("hidden", "orders").public is False
    assert own.item("shout").public is False


def test_a_program_without_a_pack_shows_everything(read: Reader) -> None:
    alone = read("fn f() -> Int { 1 }\nnode main() -> Int { f() }\n")
    assert [item.name for item in alone.page("main").items] == ["main", "f"]


def signature(item: Item) -> str:
    return "".join(piece.text for piece in item.pieces)


def test_a_signature_is_what_stands_before_the_body_with_its_names_as_links(read: Reader) -> None:
    shop = read(SHOP)
    lookup = shop.item("lookup_order")
    assert signature(lookup) == (
        "tool lookup_order(id: String(max: 64)) -> Order fails NotFound\n  needs orders.read\n  repeat idempotent\n  timeout 5s\n"
        "  limit input 8KiB"
    )
    assert [(piece.text, piece.target.anchor) for piece in lookup.pieces if piece.target is not None] == [
        ("Order", "record.Order"), ("NotFound", "error.NotFound"), ("orders.read", "permission.orders.read"),
    ]  # fmt: skip
    assert signature(shop.item("Order", "orders")) == "pub record Order {\n  id: String(max: 64)\n  status: Status\n}"
    assert signature(shop.item("desk")).endswith("budget time 5min")
    assert shop.item("desk").picture.startswith("<svg")


def test_a_provider_may_have_the_name_of_its_service(read: Reader) -> None:
    made = read(
        "permission bank.use\n\nservice Bank {\n  send(x: Int) -> Int\n    needs bank.use\n    repeat idempotent\n}\n\n"
        "fn twice(x: Int) -> Int { x * 2 }\n\nprovide Bank {\n  fn send(x: Int) -> Int { twice(x) }\n}\n"
    )
    provider = next(item for item in made.page("main").items if item.kind == "provide")
    assert said(provider)["calls"] == ["twice"]
    assert said(provider)["service"] == ["Bank"]


def test_a_line_of_a_windows_file_is_one_line(read: Reader) -> None:
    made = read("/// One.\r\n///\r\n/// [f]\r\nfn f(\r\n  a: Int,\r\n) -> Int {\r\n  a\r\n}\r\n")
    item = made.item("f")
    assert signature(item) == "fn f(\n  a: Int,\n) -> Int"
    assert item.comment is not None
    assert item.comment.text == "One.\n\n[f]"
    place = item.comment.place(2, 1, 2)
    assert place.source.text[place.span.start : place.span.end] == "f"
