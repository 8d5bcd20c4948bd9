"""What is known of a `var` ends where something else may have been assigned to it, whichever way led there."""

from __future__ import annotations

import pytest

from tests.check.helpers import codes

HEAD = """
error Full { what: String }
fn may_fail() -> Unit fails Full { fail Full(what: "x") }
"""
STALE = {
    "a branch, after it was assigned before": "if y { x = null }\n  x.upper()",
    "the other branch": 'if y { log("y") } else { x = null }\n  x.upper()',
    "a branch inside of a branch": "if y { if y { x = null } }\n  x.upper()",
    "an arm": 'match y {\n    true => { x = null }\n    false => { log("y") }\n  }\n  x.upper()',
    "what was caught": 'let a = ({\n    x = null\n    try may_fail()\n    "a"\n  }) catch { Full f => "b" }\n  a + x.upper()',
    "an arm that meets it": 'let a = ({\n    x = null\n    try may_fail()\n    "a"\n  }) catch { Full f => x.upper() }\n  a',
    "an arm that assigns": "(may_fail()) catch { Full f => { x = null } }\n  x.upper()",
    "a compensation runs later": 'compensate { log(x.upper()) }\n  x = null\n  try may_fail()\n  "a"',
    "a block": 'let a = {\n    x = null\n    "a"\n  }\n  a + x.upper()',
    "what comes after in a condition": 'var z = given\n  if z != null and ({\n    z = null\n    true\n  }) { return z.upper() }\n  ""',
    "a condition": 'let a = y or ({\n    x = null\n    true\n  })\n  "${a}" + x.upper()',
    "a loop": "for i in 1..2 { x = null }\n  x.upper()",
}
KNOWN = {
    "a branch that changes nothing": 'if y { log("y") }\n  x.upper()',
    "a branch that does not come back": 'if y {\n    x = null\n    return "a"\n  }\n  x.upper()',
    "a fault that changes nothing": '(may_fail()) catch { Full f => log("f") }\n  x.upper()',
    "a compensation asks itself": 'compensate { log((x ?? "").upper()) }\n  try may_fail()\n  x.upper()',
    "the rest after a compensation": "compensate { x = null }\n  try may_fail()\n  x.upper()",
    "a block that changes nothing": 'let a = { "a" }\n  a + x.upper()',
}


def program(code: str) -> str:
    assigned = 'var x: String? = null\n  x = given\n  if x == null { return "" }'
    return f"{HEAD}fn f(given: String?, y: Bool) -> String fails Full {{\n  try may_fail()\n  {assigned}\n  {code}\n}}\n"


@pytest.mark.parametrize("case", STALE)
def test_what_may_be_assigned_is_not_known(case: str) -> None:
    assert codes(program(STALE[case])) == ["AEL0313"]


@pytest.mark.parametrize("case", KNOWN)
def test_what_is_not_assigned_stays_known(case: str) -> None:
    assert codes(program(KNOWN[case])) == []
