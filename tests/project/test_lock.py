"""`ael.lock`: what is written can be read, and nothing else is taken."""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ael.diagnostics.diagnostic import Bag
from ael.project.lock import MAX_BYTES, lock_bytes, read_lock, write_lock
from ael.types.pin import Pins, ServerPins, pin

FIND: dict[str, object] = {
    "name": "find",
    "description": "Fïnd.",
    "inputSchema": {"type": "object", "properties": {"a": {}, "b": {}}},
}
REVIEW: dict[str, object] = {"name": "review", "arguments": [{"name": "code"}]}
PINS: Pins = {
    "main.crm": ServerPins(
        "2025-06-18", {"tools": {}}, {"name": "crm", "version": "1"}, {"find": pin(FIND)}, {"review": pin(REVIEW)}
    ),
    "main.docs": ServerPins(),
}


def told(path: Path) -> tuple[Pins, list[str]]:
    bag = Bag()
    pins = read_lock(path, "ael.lock", bag)
    return pins, [f"{d.code} {d.place.span.start} {d.message}" for d in bag.sorted()]


@pytest.mark.feature("D4")
def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "ael.lock"
    data = write_lock(path, PINS, {("main.crm", "find"): "fn(a?: Json) -> String"})
    assert path.read_bytes() == data
    assert told(path) == (PINS, [])
    assert json.loads(data)["mcp"]["main.crm"]["tools"]["find"]["type"] == "fn(a?: Json) -> String"


@pytest.mark.feature("D4")
def test_the_same_pins_give_the_same_bytes_in_any_order(tmp_path: Path) -> None:
    turned = {"inputSchema": {"properties": {"b": {}, "a": {}}, "type": "object"}, "description": "Fïnd.", "name": "find"}
    crm = PINS["main.crm"]
    other = {
        "main.docs": PINS["main.docs"],
        "main.crm": ServerPins(crm.protocol, crm.capabilities, crm.server, {"find": pin(turned)}, crm.prompts),
    }
    assert lock_bytes(other) == lock_bytes(PINS)
    assert lock_bytes(PINS).endswith(b"}\n")
    assert pin(turned).sha256 == pin(FIND).sha256


def test_a_lock_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "ael.lock"
    before = write_lock(path, PINS)

    def broken(source: object, target: object) -> None:
        raise OSError("no space")

    monkeypatch.setattr(os, "replace", broken)
    with pytest.raises(OSError, match="no space"):
        write_lock(path, {})
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["ael.lock"]


def test_no_lock_is_an_empty_one(tmp_path: Path) -> None:
    assert told(tmp_path / "ael.lock") == (MappingProxyType({}), [])


def test_a_lock_that_is_a_folder_is_told(tmp_path: Path) -> None:
    (tmp_path / "ael.lock").mkdir()
    assert told(tmp_path / "ael.lock")[1] == ["AEL1201 0 `ael.lock` cannot be read: Is a directory"]


def test_a_lock_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "ael.lock"
    with open(path, "wb") as file:
        file.truncate(MAX_BYTES + 1)
    assert told(path)[1] == ["AEL1201 0 `ael.lock` has more than 67,108,864 bytes"]


def changed(at: list[str], value: object) -> bytes:
    whole: Any = json.loads(lock_bytes(PINS))
    inner = whole
    for key in at[:-1]:
        inner = inner[key]
    inner[at[-1]] = value
    return json.dumps(whole).encode()


FIND_AT = ["mcp", "main.crm", "tools", "find"]


@pytest.mark.feature("D4", "A9.4", "A9.14")
@pytest.mark.parametrize(
    ("at", "value"),
    [
        ([*FIND_AT, "definition", "description"], "Another"),
        ([*FIND_AT, "definition", "inputSchema", "type"], "array"),
        ([*FIND_AT, "definition", "_meta"], {}),
        ([*FIND_AT, "sha256"], "0" * 64),
        ([*FIND_AT, "sha256"], None),
        ([*FIND_AT, "sha256"], 3),
    ],
)
def test_a_pin_that_was_changed_by_hand_does_not_count(tmp_path: Path, at: list[str], value: object) -> None:
    path = tmp_path / "ael.lock"
    path.write_bytes(changed(at, value))
    pins, said = told(path)
    assert [line.split()[0] for line in said] == ["AEL1202"]
    assert pins["main.crm"].tools == {}
    assert pins["main.crm"].prompts == PINS["main.crm"].prompts, "one pin is refused, not its neighbours"


@pytest.mark.parametrize(
    ("at", "value", "message"),
    [
        (["version"], 2, "this lock has the version 2, and this AEL reads version 1"),
        (["version"], True, "this lock has the version True, and this AEL reads version 1"),
        (["version"], "1", "this lock has the version 1, and this AEL reads version 1"),
        (["mcp"], [], "`mcp` is no object"),
        (["more"], 1, "the lock has a key `more` that means nothing"),
        (["mcp", "main.crm", "capabilities"], 1, "`capabilities` is no object"),
        (["mcp", "main.crm", "server"], [], "`server` is no object"),
        (["mcp", "main.crm", "protocol"], None, "`protocol` is a text"),
        (["mcp", "main.crm", "prompts"], "x", "`prompts` is no object"),
        ([*FIND_AT, "definition"], None, "the definition in the pin of `find` is no object"),
        ([*FIND_AT, "definition", "name"], "fund", "the pin of `find` holds the definition of something else"),
        ([*FIND_AT, "definition", "name"], 1, "the pin of `find` holds the definition of something else"),
        ([*FIND_AT, "url"], "x", "the pin of `find` has a key `url` that means nothing"),
    ],
)
def test_what_means_nothing_is_told_at_its_place(tmp_path: Path, at: list[str], value: object, message: str) -> None:
    path = tmp_path / "ael.lock"
    data = changed(at, value)
    path.write_bytes(data)
    _, said = told(path)
    assert [line.split(" ", 2)[2] for line in said] == [message]
    place = int(said[0].split()[1])
    shown = at[-1] if value is not None or at[-1] != "definition" else "definition"
    assert data.decode()[place:].startswith(f'"{shown}"')


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b'{"version": 1, "mcp": {"a": {}, "a": {}}}',
        b"[" * 5_000,
        b'{"version": NaN}',
        b"\xef\xbb\xbf{}",
        b"{} {}",
    ],
)
def test_garbage_is_told_once(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "ael.lock"
    path.write_bytes(text)
    pins, said = told(path)
    assert dict(pins) == {}
    assert [line.split()[0] for line in said] == ["AEL1201"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["version", "mcp", "tools", "definition", "name", "a"]), inner)
    ),
    max_leaves=12,
)


@given(
    at=st.sampled_from(
        [["version"], ["mcp"], ["mcp", "main.crm"], ["mcp", "main.crm", "tools"], FIND_AT, [*FIND_AT, "definition"]]
    ),
    value=JSON,
)
def test_whatever_stands_there_is_data_or_a_diagnostic(
    tmp_path_factory: pytest.TempPathFactory, at: list[str], value: object
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.lock"
    path.write_bytes(changed(at, value))
    pins, said = told(path)
    assert all(line.startswith(("AEL1201", "AEL1202")) for line in said)
    for server in pins.values():
        for name, one in server.tools.items():
            assert one == pin(one.definition)
            assert one.name == name
