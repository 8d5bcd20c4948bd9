"""Names of tools: what is on no list does not exist, and no name is matched loosely."""

from __future__ import annotations

from tests.attacks.case import Case
from tests.attacks.programs import DESK
from tests.attacks.table.steps import MAIL, SENT, call, then

WHAT = "names of tools"
PAY = {"account": "XX6666", "amount": 50}


def _named(what: str, name: str) -> Case:
    return Case(what, WHAT, DESK, then(call(name, **PAY)), then(MAIL), "name", SENT)


CASES = (
    _named("a tool of the program that the node does not offer", "reset"),
    _named("a tool that does not exist", "wire_money"),
    _named("the name of a tool in another case", "Pay"),
    _named("the name of a tool with a blank", "pay "),
    _named("the name of a tool with its module in front", "main.pay"),
    _named("a letter of another alphabet in a name", "p\u0430y"),
    _named("a character that is not seen in a name", "pay\u200b"),
    _named("a line break in a name", "pay\n"),
    _named("a NUL in a name", "pay\0"),
    _named("no name at all", ""),
    _named("a name of ten thousand characters", "pay" * 3_333),
    _named("a node, which is not offered, as a helper", "delegate__main"),
    _named("an operation of a store, which is no tool", "done.put"),
    _named("a built-in of the language", "release"),
    _named("the name of a server's tool as the server calls it", "get_customer"),
    _named("a server's tool under the name of another server", "erp__get_customer"),
)
