"""Names, modules, declarations: one mistake is told once, where it was made."""

# ruff: noqa: E501 (messages are quoted whole)

from __future__ import annotations

import pytest

from tests.check.helpers import check, checked, codes, mended, offered, program


def test_a_misspelt_type_used_twenty_times_is_one_error() -> None:
    uses = "\n".join(f"fn f{i}(x: Ordr) -> List<Ordr> {{ [x, x.copy()] }}" for i in range(10))
    assert check("record Order { id: String }\n" + uses) == ["AEL0203 2:10 there is no type `Ordr`; did you mean `Order`?"]


@pytest.mark.feature("C3")
def test_one_bad_import_leaves_what_depends_on_it_silent() -> None:
    text = """use ./shop.{Ordr, find}
fn id(order: Ordr) -> String { order.id }
fn all() -> List<Ordr> { [find("a"), find("b")] }
fn more() -> String fails Ordr { id(find("x")).trim() + 1 }
"""
    shop = "pub record Order { id: String }\npub fn find(id: String) -> Order { Order(id: id) }\nuse ./nowhere.{x}\nfn y() -> Int { x + x(1) }\n"
    assert check(text, shop=shop) == [
        "AEL0205 1:13 the module `./shop` has no `Ordr`; did you mean `Order`?",
        "AEL0310 4:34 `+` does not take `String` and `Int`",
        "shop.ael AEL0802 3:5 there is no module `./nowhere`",
    ]


@pytest.mark.feature("C3", "A17.1")
def test_all_errors_of_all_modules_are_told_in_source_order() -> None:
    text = """use ./other.{wrong}
fn a() -> Int { "one" }
fn b() -> Strng { wrong() }
fn c(x: Int?) -> Int { x + 1 }
node d() -> Int { missing }
"""
    other = "pub fn wrong() -> Int { true }\nfn also() -> Bool { 1 }\n"
    assert check(text, other=other) == [
        "AEL0301 2:17 expected `Int`, found `String`",
        "AEL0203 3:11 there is no type `Strng`; did you mean `String`?",
        "AEL0310 4:24 `+` does not take `Int?` and `Int`",
        "AEL0202 5:19 there is no name `missing`",
        "other.ael AEL0301 1:25 expected `Int`, found `Bool`",
        "other.ael AEL0301 2:21 expected `Bool`, found `Int`",
    ]


def test_a_declaration_that_did_not_parse_is_not_missed_elsewhere() -> None:
    told = codes("record Broken { id String }\nfn f(x: Broken) -> String { x.id }\nfn g() -> Broken { Broken(id: 1) }\n")
    assert told
    assert all(code.startswith("AEL01") for code in told)


@pytest.mark.feature("K53", "C3")
@pytest.mark.parametrize(
    "text",
    [
        'model m {\n  provider openai\n  name "x" "y"\n}\nnode ask() -> String\n  model m\n{\n  instructions "Answer."\n}\n',
        "service S { get(id String) -> String needs p repeat idempotent }\nprovide S { fn get(id: String) -> String { id } }\n",
        "permission p.q q\n/// Look. Call it first.\ntool look() -> Int\n  needs p.q\n  repeat idempotent\n{ 1 }\n",
        "permission p\nrole r r\n/// Pay. Call it last.\ntool pay() -> Int\n  needs p\n  repeat idempotent\n  approval required by r\n{ 1 }\n",
    ],
)
def test_what_did_not_parse_is_told_once_whoever_names_it(text: str) -> None:
    assert codes(text) == ["AEL0101"]


@pytest.mark.feature("K53", "C3")
def test_what_a_comment_or_a_text_says_declares_nothing() -> None:
    """Else a name that nothing declares would pass in silence, and fail when it runs."""
    text = """//! Uses the fn one,
//! and the fn two.

/// See the fn three.
/// The model fast is for it.
const TEXT = "see the fn four"

// The fn five is gone, with permission p.read of the role boss, and the service Shop.
node main() -> String
  model fast
{
  instructions "See the fn six."
}

/// Act. Call it last.
tool act() -> Int  // or the fn seven
  needs p.read
  repeat idempotent
  approval required by boss
{
  one() + two() + three() + four() + five() + six() + seven()
}

provide Shop {
}
"""
    assert codes(text) == ["AEL0609", "AEL0501", "AEL0504", *["AEL0202"] * 7, "AEL0631"]


@pytest.mark.feature("A1.2")
@pytest.mark.parametrize(
    "text", ["fn tool() -> Int { 1 }", "fn f() { let tool = 1 }", "fn f(x: Int) { tool(x) }", "record Tool { id: tool }"]
)
def test_tool_is_no_name(text: str) -> None:
    assert any(code.startswith("AEL01") for code in codes(text))


def test_the_same_name_twice() -> None:
    text = """record A { x: Int, x: Int }
enum B { One, One }
fn a(p: Int, p: Int) -> Int { p }
fn a() -> Int { 1 }
permission p.x
permission p.x
role r
role r
error E {}
fn e() fails E, E { fail E() }
"""
    assert check(text) == [
        "AEL0201 1:20 the field `x` stands here twice",
        "AEL0201 2:15 the variant `One` stands here twice",
        "AEL0201 3:14 the parameter `p` stands here twice",
        "AEL0201 4:4 `a` is declared twice in this module",
        "AEL0201 6:12 the permission `p.x` is declared twice in this pack",
        "AEL0201 8:6 the role `r` is declared twice in this pack",
        "AEL0201 10:17 `E` stands in `fails` twice",
    ]


@pytest.mark.feature("A1.5")
@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("record String { x: Int }", "String"),
        ("error Timeout {}", "Timeout"),
        ("fn log(x: Int) -> Int { x }", "log"),
        ("enum Uncertain { A }", "Uncertain"),
        ("use ./other.{x as Fault}", "Fault"),
    ],
)
def test_names_of_the_language_are_taken(text: str, name: str) -> None:
    (told,) = check(text, other="pub fn x() -> Int { 1 }")
    assert "AEL0204" in told
    assert f"`{name}`" in told


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("record order { id: Int }", "AEL0208 1:8 the name of a record is written `Order`, not `order`"),
        ("fn readAll() -> Int { 1 }", ""),
        ("fn ReadAll() -> Int { 1 }", "AEL0208 1:4 the name of a function is written `read_all`, not `ReadAll`"),
        ("const limit = 1", "AEL0208 1:7 the name of a constant is written `LIMIT`, not `limit`"),
        ("const MAX_2 = 1", ""),
    ],
)
def test_names_are_written_as_their_kind_is(text: str, told: str) -> None:
    assert check(text) == ([told] if told else [])


def test_use_of_modules_and_parts() -> None:
    orders = """pub record Order { id: String }
pub enum Status { Open, Paid }
pub const LIMIT = 3
pub error NotFound { id: String }
pub fn find(id: String) -> Order fails NotFound {
  if id == "" { fail NotFound(id: id) }
  Order(id: id)
}
fn own() -> Int { 1 }
"""
    text = """use ./orders
use ./orders.{Order as O, find}
use ./orders as second
fn a() -> orders.Order { orders.Order(id: "x") }
fn b() -> O { a() }
fn c() -> Int { orders.LIMIT + second.LIMIT }
fn d() -> second.Status { orders.Status.Open }
fn e() -> O fails orders.NotFound { try orders.find("x") }
fn f() -> O { find("x") catch { orders.NotFound n => O(id: n.id) } }
"""
    program(text, orders=orders)
    assert check("use ./orders\nfn a() -> Int { orders.own() + orders.ownn }", orders=orders) == [
        "AEL0206 2:24 `own` is not `pub`, so only `orders` sees it",
        "AEL0205 2:39 the module `orders` has no `ownn`",
    ]


def test_modules_may_use_each_other() -> None:
    a = "use ./b.{two}\npub fn one(n: Int) -> Int { if n == 0 { 0 } else { two(n - 1) } }"
    b = "use ./main.{one}\npub fn two(n: Int) -> Int { one(n) }"
    program(a, b=b)


def test_folders() -> None:
    program(
        "use ./shop/orders.{id}\nfn f() -> String { id() }",
        shop__orders="use ./base.{name}\nuse ../common.{mark}\npub fn id() -> String { name() + mark() }",
        shop__base='pub fn name() -> String { "n" }',
        common='pub fn mark() -> String { "!" }',
    )


def test_an_import_hides_nothing_and_is_not_passed_on() -> None:
    a = "pub fn x() -> Int { 1 }"
    assert codes("use ./a.{x}\nfn x() -> Int { 2 }", a=a) == ["AEL0201"]
    assert check("use ./b.{x}\nfn f() -> Int { x() }", a=a, b="use ./a.{x}\npub fn y() -> Int { x() }") == [
        "AEL0205 1:10 the module `./b` has no `x`"
    ]


def test_a_missing_import_is_offered() -> None:
    shop = 'pub record Order { id: String }\npub fn find() -> Order { Order(id: "a") }'
    text = "use ./shop.{find}\nfn f() -> Order { find() }"
    assert check(text, shop=shop) == ["AEL0203 2:11 there is no type `Order`"]
    assert mended(text, shop=shop) == "use ./shop.{find, Order}\nfn f() -> Order { find() }"
    text = "fn f(o: Order) -> String { o.id }"
    assert mended(text, shop=shop) == "use ./shop.{Order}\nfn f(o: Order) -> String { o.id }"


def test_unused_imports_are_told_and_taken_out() -> None:
    shop = "pub record Order { id: String }\npub record Item { id: String }\npub record Box { id: String }"
    text = "use ./shop.{Order, Item, Box}\nuse ./shop\nfn f(o: Item) -> String { o.id }\n"
    assert codes(text, shop=shop) == ["AEL1102"] * 3
    once = mended(text, shop=shop)
    assert mended(once, shop=shop) == "use ./shop.{Item}\nfn f(o: Item) -> String { o.id }\n"


def test_a_mistake_in_a_skill_is_told_once_wherever_it_is_used() -> None:
    text = """permission crm.read
skill polite { instructions "Be polite." }
model fast {
  provider openai
  name "gpt-5-mini"
}
node answer(q: String) -> String
  model fast
  policy loop(steps: 4, tool_calls: 2)
  grants crm.read
  skills polite
  budget tokens 1_000
{
  instructions "Answer."
}
agent desk(q: String) -> String
  grants crm.read
{
  edge start -> answer(q)
  edge answer -> finish
}
fn ask() -> String { desk("x") }
"""
    assert [told for told in check(text) if not told.startswith("AEL11")] == [
        "AEL0642 2:7 the skill `polite` has no `version`: what uses it shows which one it was written for",
    ]


def test_wrong_kinds_of_names() -> None:
    text = """record Order { id: String }
service Shop { get(id: String) -> Order  needs s.r  repeat idempotent }
permission s.r
fn a() -> Shop { Order }
fn b() -> Timeout { Shop }
fn d(x: Int) -> Int { x() }
fn e() -> Order { Shop.got("x") }
"""
    assert check(text) == [
        "AEL0213 4:11 `Shop` is a service, not a type",
        "AEL0213 4:18 `Order` is a record, not a value: `Order(…)` makes one",
        "AEL0213 5:11 `Timeout` is a fault, met by `catch { Timeout t => … }`; the type of what is bound there is `Fault`",
        "AEL0213 5:21 `Shop` is a service, not a value: call one of its operations, `Shop.…(…)`",
        "AEL0309 6:23 `Int` is not a function, and cannot be called",
        "AEL0214 7:24 `Shop` has no operation `got`; did you mean `get`?",
    ]


def test_locals_may_hide_others_and_slots_are_unique() -> None:
    found = program("fn f(x: Int, x_2: Int) -> Int {\n  let x = x + x_2\n  { let x = x * 2\n x }\n}")
    slots = {local.slot for local in found.modules["main"].tables.locals.values()}
    assert len(slots) == 4


def test_a_wrong_name_has_a_fix_for_the_editor() -> None:
    assert offered("fn f(price: Int) -> Int { prise }", "AEL0202") == "fn f(price: Int) -> Int { price }"


@pytest.mark.feature("A1.6")
def test_a_tool_stands_in_a_node_once() -> None:
    text = """permission a.b
/// Look. Call when asked.
tool look() -> Int
  needs a.b
  repeat idempotent
{ 1 }
model m { provider openai, name "x" }
node n(q: String) -> String
  model m
  policy loop(steps: 2, tool_calls: 2)
  grants a.b
  tools look, look
  budget tokens 100
{ instructions "Answer." }
"""
    assert len([d for d in checked(text)[1] if d.severity.value == "error"]) == 1


@pytest.mark.feature("A1.4")
def test_a_tool_says_what_it_gives() -> None:
    text = "permission a.b\n/// Look. Call when asked.\ntool look(){}\n  needs a.b\n".replace(
        "{}\n  needs a.b", "\n  needs a.b\n  repeat idempotent\n{ }"
    )
    assert check(text) == ["AEL0216 3:6 the tool `look` does not say what it gives: `-> T`, or `-> Unit` for nothing"]
    wrong = 'permission a.b\n/// Look. Call when asked.\ntool look() -> Int\n  needs a.b\n  repeat idempotent\n{ "x" }\n'
    assert check(wrong) == ["AEL0301 6:3 expected `Int`, found `String`"]
