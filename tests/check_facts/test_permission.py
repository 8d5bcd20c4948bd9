"""Permissions: declared once, closed under `includes`, covered by tools, nodes and providers through any depth of calls."""

from __future__ import annotations

import pytest

from tests.check_facts.support import MODEL, TOOL, at, check, label_texts, node

BOOK = """
permission book.read
permission book.write includes book.read

store book: Map<String, String> needs book.write

service Book {
  /// One entry.
  get(id: String) -> String
    needs book.read
    repeat idempotent

  /// Change an entry.
  put(id: String, text: String) -> Unit
    needs book.write
    repeat idempotent
}

provide Book as kept
  grants book.write
{
  fn get(id: String) -> String {
    book.get(id) ?? ""
  }

  fn put(id: String, text: String) -> Unit {
    book.put(id, text)
  }
}
"""


def test_includes_is_closed_over_all_modules() -> None:
    program = check(
        "use ./other.{one}\npermission a includes b\nnode main() -> Int {\n  one()\n}\n",
        {"other": "permission b includes c\npermission c\npub fn one() -> Int {\n  1\n}\n"},
    ).good
    assert program.permissions["a"].includes == {"a", "b", "c"}
    assert program.permissions["c"].includes == {"c"}


def test_a_cycle_of_includes_is_told_once_with_its_path() -> None:
    found = check("permission a includes b\npermission b includes c\npermission c includes a\n").one("AEL0503")
    assert "`a` → `b` → `c` → `a`" in found.message


def test_a_permission_that_includes_itself() -> None:
    assert "`a` → `a`" in check("permission a includes a\n").one("AEL0503").message


def test_an_unknown_permission_is_suggested() -> None:
    found = check(TOOL.replace("needs orders.read", "needs orders.raed")).one("AEL0501")
    assert "did you mean `orders.read`" in found.message
    assert found.fix is not None
    assert found.fix.edits[0].text == "orders.read"


def test_an_unknown_permission_of_the_library_comes_with_its_module() -> None:
    """Nobody can declare one, so nobody is told to."""
    notes = check("node main() -> Int grants std.files.read { 1 }\n").one("AEL0501").notes
    assert notes == ("a permission of the standard library comes with its module: `use std/NAME.{…}`",)
    notes = check("node main() -> Int grants files.read { 1 }\n").one("AEL0501").notes
    assert notes == ("declare it: `permission files.read`",)


@pytest.mark.feature("A1.1")
def test_a_tool_names_exactly_one_permission() -> None:
    assert check(TOOL.replace("  needs orders.read\n", "")).one("AEL0506").message.startswith("the tool `look_up`")
    two = TOOL.replace("needs orders.read", "needs orders.read, other").replace(
        "permission orders.read", "permission orders.read\npermission other"
    )
    assert "names 2" in check(two).one("AEL0506").message


@pytest.mark.feature("A1.1", "D3")
def test_a_tool_has_permission_repeat_safety_and_types() -> None:
    tool = check(TOOL).good.tools["main.look_up"]
    assert tool.permission == "orders.read"
    assert tool.repeat.word == "idempotent"
    assert tool.signature.effects.permissions == {"orders.read"}
    assert tool.signature.effects.acts
    assert not tool.signature.effects.uncertain


@pytest.mark.feature("D3")
def test_what_a_tool_calls_needs_its_permission_through_any_depth() -> None:
    source = (
        BOOK
        + """
/// Read an entry. Call this first.
tool read(id: String) -> String
  needs book.read
  repeat idempotent
{
  one(id)
}

fn one(id: String) -> String {
  two(id)
}

fn two(id: String) -> String {
  Book.put(id, "seen")
  Book.get(id)
}
"""
    )
    found = check(source).one("AEL0507")
    assert "`Book.put`, which needs `book.write`" in found.message
    assert at(found) == "one(id)"
    labels = label_texts(found)
    assert ("needs book.read", "`read` has this permission and what it includes") in labels
    assert ('Book.put(id, "seen")', "which calls `Book.put` here") in labels
    assert ("two(id)", "which calls `two` here") in labels
    assert any(text == "needs book.write" for text, _ in labels)
    assert (
        check(
            source.replace("needs book.read\n  repeat idempotent\n{\n  one", "needs book.write\n  repeat idempotent\n{\n  one")
        ).found
        == []
    )


def test_an_included_permission_is_enough() -> None:
    source = (
        BOOK
        + """
/// Read an entry. Call this first.
tool read(id: String) -> String
  needs book.write
  repeat idempotent
{
  Book.get(id)
}
"""
    )
    assert check(source).found == []


@pytest.mark.feature("D3", "A2.2")
def test_a_function_has_the_permissions_of_what_it_calls() -> None:
    source = (
        BOOK
        + """
fn change(id: String) -> Unit {
  Book.put(id, Book.get(id))
}

fn plain(x: Int) -> Int {
  x + 1
}

node main(id: String) -> Unit
  grants book.write
{
  change(id)
}
"""
    )
    program = check(source).good
    change = program.effects["main.change"]
    assert change.permissions == {"book.read", "book.write"}
    assert change.acts
    assert change.repeat.word == "idempotent"
    assert not program.effects["main.plain"].acts
    assert program.effects["main.plain"].repeat.word == "pure"
    assert program.nodes["main.main"].grants == {"book.read", "book.write"}
    assert program.nodes["main.main"].model is None


@pytest.mark.feature("D3")
def test_a_function_value_counts_where_it_is_passed() -> None:
    source = (
        BOOK
        + """
node main(ids: List<String>) -> List<String> {
  twice(ids, fn(id) => Book.get(id))
}

fn twice(ids: List<String>, f: fn(String) -> String) -> List<String> {
  ids.map(f)
}
"""
    )
    found = check(source).one("AEL0509")
    assert "`book.read`" in found.message
    named = source.replace("fn(id) => Book.get(id)", "entry") + "\nfn entry(id: String) -> String {\n  Book.get(id)\n}\n"
    assert "through `entry`" in check(named).one("AEL0509").message
    program = check(source.replace("List<String> {\n  twice", "List<String>\n  grants book.read\n{\n  twice")).good
    assert not program.effects["main.twice"].permissions


def test_recursion_comes_to_a_fixpoint() -> None:
    source = (
        BOOK
        + """
fn even(n: Int, id: String) -> String {
  if n == 0 { Book.get(id) } else { odd(n - 1, id) }
}

fn odd(n: Int, id: String) -> String {
  if n == 0 { "" } else { even(n - 1, id) }
}
"""
    )
    program = check(source).good
    assert program.effects["main.odd"].permissions == {"book.read"}
    assert program.effects["main.even"].permissions == {"book.read"}


@pytest.mark.feature("A4.3")
def test_grants_cover_the_tools() -> None:
    found = check(node("tools look_up")).one("AEL0508")
    assert at(found) == "look_up"
    assert ("needs orders.read", "`look_up` needs it") in label_texts(found)
    assert found.fix is not None
    assert not found.fix.safe
    assert check(node("grants orders.read\n  tools look_up")).found == []


def test_a_fix_that_grants_is_never_applied_by_itself_and_is_right() -> None:
    source = node("grants other\n  tools look_up").replace("permission orders.read", "permission orders.read\npermission other")
    found = next(d for d in check(source).found if d.code == "AEL0508")
    assert found.fix is not None
    edit = found.fix.edits[0]
    mended = source[: edit.place.span.start] + edit.text + source[edit.place.span.end :]
    assert "grants other, orders.read" in mended
    assert check(mended).errors == []


def test_grants_shrink_on_the_way_down() -> None:
    source = (
        BOOK
        + MODEL
        + """
node inner(id: String) -> String
  grants book.write
{
  Book.put(id, "x")
  Book.get(id)
}

node outer(id: String) -> String
  grants book.read
{
  inner(id)
}
"""
    )
    found = check(source).one("AEL0510")
    assert "the node `outer` is not granted `book.write`, which `inner` is granted" in found.message
    assert check(source.replace("grants book.read\n{\n  inner", "grants book.write\n{\n  inner")).found == []


def test_a_node_offered_as_a_delegate_is_covered_too() -> None:
    source = (
        node(
            "grants orders.read\n  tools look_up",
            head="/// Answer. Call this when asked.\nnode inner(question: String) -> String",
        )
        + """
node outer(question: String) -> String
  model fast
  tools inner
{
  instructions "Answer."
}
"""
    )
    assert at(check(source).one("AEL0510")) == "inner"


def test_a_provider_runs_under_its_own_grants() -> None:
    found = check(BOOK.replace("\n  grants book.write\n{", " {")).one("AEL0511")
    assert "not granted `book.write`" in found.message
    # and whoever calls an operation needs only the operation's permission
    source = BOOK + '\nnode main() -> String\n  grants book.read\n{\n  Book.get("a")\n}\n'
    assert check(source).found == []


def test_a_grant_that_nothing_needs_is_advice() -> None:
    found = check(node("grants orders.read")).one("AEL1123")
    assert at(found) == "orders.read"


def test_a_clause_stands_once() -> None:
    found = check(TOOL.replace("  needs orders.read\n", "  needs orders.read\n  timeout 1s\n  timeout 2s\n")).one("AEL0516")
    assert label_texts(found) == [("timeout 1s", "it stands here already")]


def test_an_unknown_role() -> None:
    source = "role finance\n" + TOOL.replace("  repeat idempotent\n", "  repeat idempotent\n  approval required by finanse\n")
    assert "did you mean `finance`" in check(source).one("AEL0504").message
    tool = check(source.replace("finanse", "finance")).good.tools["main.look_up"]
    assert tool.approval is not None
    assert tool.approval.role == "finance"
