"""Services and providers: what an implementation owes its service."""

from __future__ import annotations

import pytest

from tests.check_facts.support import check

SERVICE = """
error Missing

service Names {
  /// The name.
  get(id: Int) -> String fails Missing
    repeat idempotent
    timeout 2s
    retry 4
}

provide Names as names {
  fn get(id: Int) -> String fails Missing {
    if id == 0 {
      fail Missing()
    }
    "name"
  }
}
"""


def test_a_service_and_its_provider() -> None:
    program = check(SERVICE).good
    operation = program.operations["main.Names.get"]
    assert (operation.permission, operation.timeout) == (None, 2_000)
    assert operation.retry is not None
    assert operation.retry.attempts == 4
    assert program.services["main.Names"].operations == (operation,)
    assert program.provides["main.names"].service == "main.Names"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("fn get(id: Int)", "fn get(ident: Int)"),
        ("fn get(id: Int)", "fn get(id: Int(0..5))"),
        ("fn get(id: Int)", "fn get(trusted id: Int)"),
        ("fn get(id: Int)", "fn get()"),
        ("fn get(id: Int) -> String fails Missing", "fn get(id: Int) -> String fails Missing, Uncertain"),
    ],
)
def test_a_provider_has_the_operations_signature(old: str, new: str) -> None:
    source = SERVICE.replace(old, new)
    if new == "fn get()":
        source = source.replace("if id == 0", "if true")
    assert "AEL0628" in check(source).codes


def test_wider_parameters_and_fewer_errors_are_fine() -> None:
    source = SERVICE.replace("  get(id: Int)", "  get(id: Int(0..5))")
    assert check(source).found == []


def test_missing_and_foreign_operations() -> None:
    assert check(
        SERVICE.replace(
            '  fn get(id: Int) -> String fails Missing {\n    if id == 0 {\n      fail Missing()\n    }\n    "name"\n  }\n', ""
        )
    ).codes == ["AEL0627"]
    found = check(
        SERVICE.replace("provide Names as names {", "provide Names as names {\n  fn put(id: Int) -> Int {\n    id\n  }\n")
    ).one("AEL0626")
    assert "no operation `put`" in found.message


def test_clauses_have_their_places() -> None:
    assert check(SERVICE.replace("    timeout 2s\n", "    approval required\n")).codes == ["AEL0517"]
    assert check(SERVICE.replace("as names {", "as names\n  needs a.b\n{")).codes == ["AEL0517"]


def test_a_store_is_a_map_with_a_permission() -> None:
    program = check("permission n.w\nstore notes: Map<String, Int> needs n.w\n").good
    assert program.stores["main.notes"].permission == "n.w"
    assert check("store notes: List<Int>\n").codes == ["AEL0624"]
    assert check("permission a\npermission b\nstore notes: Map<String, Int> needs a, b\n").codes == ["AEL0506"]
