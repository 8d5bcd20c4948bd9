"""Arguments that are not what they seem: types, keys, numbers, encodings, names of files."""

from __future__ import annotations

from tests.attacks.case import Case
from tests.attacks.programs import DESK
from tests.attacks.table.steps import call, raw, then

WHAT = "arguments"
PATHS = "names of files"
PAID = "pay 20 to DE0001"
SMALL = call("pay", account="DE0001", amount=20)
NOTE = call("write_note", name="order-42.md", text="sent")
WRITTEN = "write order-42.md: sent"


def _text(what: str, text: str, twin: str = '{"account": "DE0001", "amount": 20}') -> Case:
    return Case(what, WHAT, DESK, then(raw("pay", text)), then(raw("pay", twin)), "arguments", PAID)


def _path(what: str, name: str) -> Case:
    return Case(what, PATHS, DESK, then(call("write_note", name=name, text="sent")), then(NOTE), "arguments", WRITTEN)


CASES = (
    _text("a number as text", '{"account": "DE0001", "amount": "20"}'),
    _text(
        "a number with a fraction for a whole one",
        '{"account": "DE0001", "amount": 20.5}',
        '{"account": "DE0001", "amount": 20.0}',
    ),
    _text("true for a number", '{"account": "DE0001", "amount": true}'),
    _text("a list with the number in it", '{"account": "DE0001", "amount": [20]}'),
    _text("an object that acts as the number", '{"account": "DE0001", "amount": {"$numberInt": "20"}}'),
    _text("a number below nothing", '{"account": "DE0001", "amount": -900}'),
    _text("a number of four hundred digits", '{"account": "DE0001", "amount": ' + "9" * 400 + "}"),
    _text("a number beyond all numbers", '{"account": "DE0001", "amount": 1e999}'),
    _text("NaN, which is smaller than no limit", '{"account": "DE0001", "amount": NaN}'),
    _text("digits of another script", '{"account": "DE\u0660\u0660\u0660\u0661", "amount": 20}'),
    _text(
        "an argument that nobody declared, which says that it is approved",
        '{"account": "DE0001", "amount": 20, "approved": true}',
    ),
    _text("the name of an argument in another case", '{"account": "DE0001", "Amount": 20}'),
    _text("the prototype of all objects", '{"account": "DE0001", "amount": 20, "__proto__": {"approved": true}}'),
    _text("the same key twice, the harmless one first", '{"account": "DE0001", "amount": 1, "amount": 900}'),
    _text("the same key twice, written in two ways", '{"account": "DE0001", "amount": 1, "am\\u006funt": 900}'),
    _text("a value encoded twice that is too large inside", '"{\\"account\\": \\"DE0001\\", \\"amount\\": 5000}"'),
    _text("a value encoded three times", '"\\"{}\\""', '"{\\"account\\": \\"DE0001\\", \\"amount\\": 20}"'),
    _text("two objects, one after the other", '{"account": "DE0001", "amount": 20}{"amount": 900}'),
    _text("a comment in which a parser may differ", '{"account": "DE0001", "amount": 20 /* 900 */}'),
    _text("half a surrogate pair", '{"account": "DE0001", "amount": 20, "memo": "\\ud800"}'),
    _text("a hundred thousand brackets", "[" * 100_000),
    _text("a list in place of the object", '["DE0001", 20]'),
    _text("nothing for what is required", '{"account": null, "amount": 20}'),
    _text("an account with a second one behind a line break", '{"account": "DE0001\\nXX6666", "amount": 20}'),
    _text("a line break at the end of an account", '{"account": "DE0001\\n", "amount": 20}'),
    _text("a memo beyond its size", '{"account": "DE0001", "amount": 20, "memo": "' + "x" * 2_001 + '"}'),
    Case(
        "more than the tool's input may have, within the bounds of each part",
        WHAT,
        DESK,
        then(raw("write_note", '{"name": "order-42.md", "text": "sent"' + " " * 2_000 + "}")),
        then(raw("write_note", '{"name": "order-42.md", "text": "sent"' + " " * 500 + "}")),
        "arguments",
        WRITTEN,
    ),
    _path("the folder above", "../../etc/passwd.md"),
    _path("the folder above, after a name that is right", "notes.md/../../passwd.md"),
    _path("an absolute path", "/etc/passwd.md"),
    _path("a path of another system", "..\\..\\passwd.md"),
    _path("an encoded path", "..%2f..%2fpasswd.md"),
    _path("a NUL that ends the name early", "passwd\0.md"),
    _path("a line break at the end of the name", "order-42.md\n"),
    _path("a slash of another script", "..\u2215passwd.md"),
    _path("a full-width dot", "order-42\uff0emd"),
    _path("a hidden file", ".ssh.md"),
    _path("another ending", "run.sh"),
    _path("an option in place of a name", "--delete.md"),
)
