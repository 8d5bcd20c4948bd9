"""What a name means in a comment: what it would in the module that it stands in."""

from __future__ import annotations

import pytest

from tests.documenting.conftest import Reader

FILES = {
    "pack.ael": 'pack shop {\n  version "1.0.0"\n}\n',
    "main.ael": "use ./orders as o\nuse ./orders.{Order as Bought, Topic}\nuse std/text\n\npermission orders.read\n\n"
    "fn f(x: Bought, t: Topic) -> Int { o.g() + text.words(x.id).length() }\n",
    "orders.ael": "pub record Order { id: String }\npub enum Topic { One, Two }\npub fn g() -> Int { 1 }\nfn hidden() -> Int { 1 }\n",
}


@pytest.mark.parametrize(
    ("name", "meaning"),
    [
        ("f", "fn.f"), ("Bought", "record.Order"), ("Bought.id", "record.Order.id"), ("Topic.One", "enum.Topic.One"),
        ("o.g", "fn.g"), ("o", ""), ("orders.g", "fn.g"), ("orders.read", "permission.orders.read"),
        ("./orders.Order", "record.Order"),
        ("text.words", "fn.words"), ("std/text.words", "fn.words"), ("std/csv", ""),
        ("std/csv.parse_csv", "fn.parse_csv"), ("std/csv.nope", None),
        ("Order", None), ("o.hidden", None), ("Topic.Three", None), ("f.x", None), ("nope", None), ("std/nope", None),
        ("std/../secrets", None), ("orders.write", None),
    ],
)  # fmt: skip
def test_a_name(read: Reader, name: str, meaning: str | None) -> None:
    made = read(FILES, private=True)
    found = made.names.find("main", name)
    assert (None if found is None else found.anchor) == meaning
