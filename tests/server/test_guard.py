"""What the guard takes for a message, and for a host: everything else is refused, whatever it is."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ael.server.guard import Refused, _known, identity, strict

SIZE = 4_096
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["jsonrpc", "id", "method", "params", "result", "error", "x"]), inner, max_size=5)
    ),
    max_leaves=12,
)


@given(st.binary(max_size=200) | ANYTHING.map(lambda value: json.dumps(value).encode()))
@settings(max_examples=300, deadline=None)
def test_a_body_is_a_message_or_refused(body: bytes) -> None:
    with suppress(Refused):
        message = strict(body, SIZE)
        assert message["jsonrpc"] == "2.0"
        assert isinstance(message.get("method", ""), str)
        assert isinstance(message.get("params", {}), dict)
        assert "id" not in message or identity(message) is not None


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ({"id": 1, "method": "m"}, '`jsonrpc` is "2.0"'),
        ({"jsonrpc": "2.0", "id": 1.5, "method": "m"}, "`id` is a text or a whole number"),
        ({"jsonrpc": "2.0", "id": True, "method": "m"}, "`id` is a text or a whole number"),
        ({"jsonrpc": "2.0", "id": 1, "method": ["m"]}, "`method` is a text"),
        ({"jsonrpc": "2.0", "id": 1, "method": "m", "params": [1]}, "`params` is an object"),
        ({"jsonrpc": "2.0"}, "it has neither a `method` nor an `id`"),
        ({"jsonrpc": "2.0", "id": 1}, "it has a `method`, a `result` or an `error`"),
        ({"jsonrpc": "2.0", "id": 1, "result": {}, "error": {}}, "it has a `method`, a `result` or an `error`"),
        ({"jsonrpc": "2.0", "id": 1, "result": 3}, "`result` and `error` are objects"),
    ],
)
def test_what_keeps_an_object_from_being_a_message_is_said(message: dict[str, object], told: str) -> None:
    with pytest.raises(Refused) as caught:
        strict(json.dumps(message).encode(), SIZE)
    assert caught.value.message == f"no message of JSON-RPC 2.0: {told}"
    assert caught.value.id == (1 if message.get("id") == 1 and message["id"] is not True else None)


@pytest.mark.parametrize(
    ("host", "known"),
    [
        ("a.example", True), ("a.example:8", True), ("a.example:", False), ("a.example:x", False), ("a.example:8:8", False),
        ("b.example:8", False), ("c.example:80", True), ("c.example", False), ("c.example:81", False),
        ("[::1]", True), ("[::1]:5", True), ("::1", False), ("", False), (":80", False),
    ],
)  # fmt: skip
def test_hosts_with_and_without_ports(host: str, known: bool) -> None:
    assert _known(host, frozenset({"a.example", "c.example:80", "[::1]"})) is known
