"""What a caller says of its arguments, in a header or in an item of a queue: read strictly, and never taken for more than it is (A14.3)."""

from __future__ import annotations

from typing import Any, cast
from urllib.parse import quote

import pytest

from ael.run.handed import Handed
from ael.server.caller import Caller
from ael.server.guard import Refused
from ael.server.incoming import incoming
from ael.services.queue import Item, Unreadable, item_of
from ael.types.canonical import encode

SAID = Handed(("model:fast",), ("/id",))


def given(*headers: str) -> Handed | None:
    named = {"ael-given": list(headers)} if headers else {}
    return incoming(named, Caller("c"), cast("Any", None), None, trusts=False).handed


@pytest.mark.feature("A14.3", "A11.1")
def test_a_header_says_it_and_none_says_nothing() -> None:
    assert given(quote(SAID.text(), safe="")) == SAID
    assert given() is None


@pytest.mark.parametrize("header", ["{", "%7B%7D", quote('{"sources": [], "clean": [1]}', safe=""), "\u00e9", "a b", ""])
def test_a_header_that_is_not_as_it_should_be_is_refused(header: str) -> None:
    with pytest.raises(Refused, match="ael-given"):
        given(header)
    with pytest.raises(Refused, match="ael-given"):
        given(quote(SAID.text(), safe=""), quote(SAID.text(), safe=""))


@pytest.mark.feature("A14.3", "A11.1")
def test_an_item_of_a_queue_says_it_and_one_of_an_older_sender_says_nothing() -> None:
    item = Item("p", "get", b"{}", "k", "acme", "lin", 1.0, handed=SAID.text())
    assert item_of(item.text()) == item
    older = item_of(item.text().replace(b',"given":' + encode(SAID.text()), b""))
    assert older.handed == ""
    with pytest.raises(Unreadable):
        item_of(Item("p", "get", b"{}", "k", "acme", "lin", 1.0, handed="{}").text())
