"""Messages: read strictly, within bounds, and always to an end (fault kinds K12, K13, K24)."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ael.mcp import message
from ael.mcp.message import BadMessage, Notice, RemoteError, Reply, Request, decode, reply_id
from ael.types.canonical import EncodeError

FIXED = settings(max_examples=150, deadline=None, derandomize=True, database=None)
MIB = 1_024 * 1_024

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]))
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4), max_leaves=20
)
ids = st.integers(-(2**53), 2**53) | st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


def test_each_kind_of_message() -> None:
    assert decode(b'{"jsonrpc":"2.0","id":1,"result":{"a":1}}', MIB) == [Reply(1, {"a": 1}, None)]
    assert decode(b'{"jsonrpc":"2.0","id":"x","error":{"code":-1,"message":"m","data":[1]}}', MIB) == [
        Reply("x", None, RemoteError(-1, "m", [1]))
    ]
    assert decode(b'{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"m"}}', MIB) == [
        Reply(None, None, RemoteError(-1, "m"))
    ]
    assert decode(b'{"jsonrpc":"2.0","id":null,"result":{}}', MIB) == [Reply(None, {}, None)]
    assert decode(b'{"jsonrpc":"2.0","id":2,"method":"ping"}', MIB) == [Request(2, "ping", {})]
    assert decode(b'{"jsonrpc":"2.0","method":"n","params":{"a":1}}', MIB) == [Notice("n", {"a": 1})]
    assert decode(b'[{"jsonrpc":"2.0","method":"n"},{"jsonrpc":"2.0","id":1,"result":{}}]', MIB) == [
        Notice("n", {}),
        Reply(1, {}, None),
    ]


@pytest.mark.parametrize(
    ("data", "id", "meant"),
    [
        (b"", None, False),
        (b"hello", None, False),
        (b"{not json", None, False),
        (b"7", None, False),
        (b'"text"', None, False),
        (b"[]", None, True),
        (b"[7]", None, False),
        (b"\xff\xfe", None, False),
        (b'\xef\xbb\xbf{"jsonrpc":"2.0","id":1,"result":{}}', 1, False),
        (b'{"jsonrpc":"2.0","id":1,"result":{"x":NaN}}', 1, True),
        (b'{"jsonrpc":"2.0","id":1,"result":{"x":1e999}}', 1, True),
        (b'{"jsonrpc":"2.0","id":1,"result":{"x":' + b"9" * 5_000 + b"}}", 1, True),
        (b'{"jsonrpc":"2.0","id":"a-b","result":{"x":"\\udc00"}}', "a-b", True),
        (b'{"jsonrpc":"2.0","id":1,"result":{"a":{"b":{"k":1,"k":2}}}}', 1, True),
        (b'{"jsonrpc":"2.0","id":1,"result":{"k":1,"\\u006b":2}}', 1, True),
        (b'{"jsonrpc":"2.0","id":1,"result":' + b"[" * 4_096, 1, True),
        (b"[" * 4_096, None, False),
        (b'{"jsonrpc":"2.0","result":{"id":5},"id":1,"id":2}', 1, True),
        (b'{"jsonrpc":"2.0","id":1.5,"result":{}}', None, True),
        (b'{"jsonrpc":"2.0","id":true,"result":{}}', None, True),
        (b'{"jsonrpc":"2.0","id":[],"result":{}}', None, True),
        (b'{"jsonrpc":"2.0","result":{}}', None, True),
        (b'{"jsonrpc":"2.0","id":1,"result":null}', 1, True),
        (b'{"jsonrpc":"2.0","id":1,"error":{"code":"x","message":"m"}}', 1, True),
        (b'{"jsonrpc":"2.0","id":1,"error":{"code":1}}', 1, True),
        (b'{"jsonrpc":"2.0","id":1,"method":7}', None, True),
        (b'{"jsonrpc":"2.0","id":1,"method":"m","params":[]}', None, True),
        (b'{"jsonrpc":"2.0","id":null,"method":"m"}', None, True),
        (b'{"jsonrpc":"2.0","method":"m","id":1,"params":{"x":NaN}}', None, True),
    ],
)
def test_what_is_no_message_says_whose_reply_it_was(data: bytes, id: int | str | None, meant: bool) -> None:
    with pytest.raises(BadMessage) as caught:
        decode(data, MIB)
    assert caught.value.id == id
    assert caught.value.meant is meant
    assert len(caught.value.text) < 400


@pytest.mark.parametrize(
    ("data", "reply"),
    [
        (b'{"jsonrpc":"2.0","result":{}}', True),
        (b'{"jsonrpc":"2.0","result":{"x":NaN}}', True),
        (b'{"jsonrpc":"2.0","id":1,"method":null}', True),
        (b'{"jsonrpc":"2.0","id":null,"result":7}', False),
        (b'{"jsonrpc":"2.0","id":null}', False),
        (b'{"jsonrpc":"2.0","id":null,"method":"m"}', False),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"m"}', False),
        (b'{"jsonrpc":"1.0","id":1,"method":"m"}', False),
        (b'{"jsonrpc":"2.0","method":"m","params":[]}', False),
        (b'{"jsonrpc":"2.0","method":7}', False),
        (b'{"jsonrpc":"2.0","method":"m","params":{"x":NaN}}', False),
        (b'{"jsonrpc":"2.0","method":"m","params":{"x":"' + b"x" * MIB + b'"}}', False),
    ],
)
def test_what_is_no_message_says_if_somebody_may_wait_for_it(data: bytes, reply: bool) -> None:
    with pytest.raises(BadMessage) as caught:
        decode(data, MIB)
    assert caught.value.reply is reply


def test_a_message_over_the_cap_is_too_large() -> None:
    with pytest.raises(BadMessage) as caught:
        decode(b'{"jsonrpc":"2.0","id":9,"result":{"x":"' + b"x" * MIB + b'"}}', MIB)
    assert caught.value.too_large
    assert caught.value.id == 9


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, {1, 2}, "\ud800", {1: 2}, object(), [{"deep": math.nan}]])
def test_what_json_cannot_say_never_leaves(value: object) -> None:
    with pytest.raises(EncodeError):
        message.request(1, "tools/call", {"arguments": {"x": value}})


@FIXED
@given(ids, st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=8), values, max_size=4))
def test_what_is_written_is_read_again(id: int | str, params: dict[str, object]) -> None:
    assert decode(message.request(id, "m", params), MIB) == [Request(id, "m", params)]
    assert decode(message.notice("m", params), MIB) == [Notice("m", params)]
    assert decode(message.result(id, params), MIB) == [Reply(id, params, None)]
    assert decode(message.error(id, -1, "m"), MIB) == [Reply(id, None, RemoteError(-1, "m"))]


@FIXED
@given(st.binary(max_size=300))
def test_any_bytes_are_a_message_or_none(data: bytes) -> None:
    try:
        decode(data, 200)
    except BadMessage:
        reply_id(data)


@FIXED
@given(
    ids.filter(lambda id: not isinstance(id, str) or (id.isascii() and id.isalnum())), values, st.integers(0, 400), st.randoms()
)
def test_a_damaged_reply_is_attributed_to_nobody_else(id: int | str, value: object, cut: int, random: object) -> None:
    """Wherever the text of a reply is cut, the id that is found is its own or none."""
    for reply in (
        {"jsonrpc": "2.0", "id": id, "result": {"id": 1, "x": value}},
        {"result": {"id": 1, "x": value}, "id": id, "jsonrpc": "2.0"},
    ):
        data = json.dumps(reply).encode()
        assert reply_id(data) == id
        assert reply_id(data[:cut]) in (id, None)


def test_looking_for_an_id_takes_time_linear_in_what_is_looked_at() -> None:
    assert reply_id(b'{"a":"' + b"\\" * 3_000_000) is None
    assert reply_id(b'{"id"' + b" " * 3_000_000) is None
    assert reply_id(b'"' * 3_000_000) is None
