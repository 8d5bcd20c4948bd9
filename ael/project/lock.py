"""Reading and writing `ael.lock`: the definitions of MCP servers that a program was checked against, and the packs that it depends on
(`ael/project/lock_packs.py`).

JSON with sorted keys, indented, with a newline at the end, so that a change is a readable difference in version control:
`{"version": 1, "mcp": {"main.crm": {"protocol": …, "capabilities": {…}, "server": {…}, "tools": {"get_customer": {"sha256": …,
"type": "fn(…) -> …", "definition": {…}}}, "prompts": {…}}}, "packs": {…}}`. `type` is for people and read by nobody.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from ael.diagnostics.diagnostic import Bag
from ael.source import Source, Span
from ael.types.json import JsonError, read
from ael.types.limits import Limits
from ael.types.pin import FILE, Pin, Pins, ServerPins, pin_digest

__all__ = [
    "FILE", "Garbage", "entries", "garbage", "lock_bytes", "lock_text", "only", "read_lock", "read_whole", "sections", "write_lock",
    "write_whole",
]  # fmt: skip

VERSION = 1
MAX_BYTES = 64 * 1024 * 1024
_LIMITS = Limits(depth=100)
_AGAIN = "`ael mcp pin` writes its servers and `ael deps lock` its packs; it is not edited by hand"


class Garbage(Exception):
    """A lock that cannot be used: what is wrong with a lock, where (a JSON path and a text to look for), and what to do."""

    def __init__(self, message: str, near: tuple[str, ...] = (), note: str = _AGAIN) -> None:
        super().__init__(message)
        self.message = message
        self.near = near
        self.note = note


def read_lock(path: Path, shown: str, bag: Bag) -> Pins:
    """The pins of the lock at `path`, which messages call `shown`; empty where there is no such file.

    What is wrong with it goes to the bag (AEL1201, AEL1202), with the place; what is right in it is given all the same.
    """
    source, whole = read_whole(path, shown, bag)
    return MappingProxyType({}) if source is None else _pins(whole, source, bag)


def read_whole(path: Path, shown: str, bag: Bag) -> tuple[Source | None, dict[str, object]]:
    """The parts of the lock at `path`, with its text. The text is None where there is no lock, or one that is reported (AEL1201)."""
    try:
        status = path.stat()
        if not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
            _report(bag, Source(shown, "", path), Span(0, 0), f"`{shown}` cannot be read: not a regular file")
            return None, {}
        if status.st_size > MAX_BYTES:
            _report(bag, Source(shown, "", path), Span(0, 0), f"`{shown}` has more than {MAX_BYTES:,} bytes")
            return None, {}
        data = path.read_bytes()
    except FileNotFoundError:
        return None, {}
    except OSError as error:
        _report(bag, Source(shown, "", path), Span(0, 0), f"`{shown}` cannot be read: {error.strerror or error}")
        return None, {}
    source = Source(shown, data.decode("utf-8", "replace"), path)
    try:
        value = read(data, _LIMITS, max_bytes=MAX_BYTES)
    except JsonError as error:
        at = len(data[: error.offset].decode("utf-8", "replace"))
        _report(bag, source, Span(at, min(at + 1, len(source.text))), f"`{shown}` is no lock: {error.message}")
        return None, {}
    try:
        whole = entries(value, "the lock")
        version = whole.get("version")
        if version != VERSION or isinstance(version, bool):
            said = "no version" if version is None else f"the version {_excerpt(version)}"
            note = "it was written by another AEL: use that one, or delete the file and pin the servers again"
            raise Garbage(f"this lock has {said}, and this AEL reads version {VERSION}", ("version",), note)
        only(whole, ("version", "mcp", "packs"), "the lock")
    except Garbage as wrong:
        garbage(bag, source, wrong)
        return None, {}
    return source, whole


def sections(path: Path) -> dict[str, object]:
    """The parts of the lock at `path` as they stand there, for whoever writes one of them; without what cannot be read."""
    _, whole = read_whole(path, path.name, Bag())
    return whole


def write_lock(path: Path, pins: Pins, types: Mapping[tuple[str, str], str] = MappingProxyType({})) -> bytes:
    """Write the pins into the lock, whole or not at all, and leave the packs in it. Gives its bytes. The same pins give the same bytes.

    `types` are the texts for people: (server, wire name of the tool) -> `fn(…) -> …`. Raises OSError.
    """
    data = lock_bytes(pins, types, sections(path).get("packs"))
    write_whole(path, data)
    return data


def write_whole(path: Path, data: bytes) -> None:
    """Put a file in place of another, whole or not at all. Raises OSError."""
    new = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(new, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, path)
    except OSError:
        new.unlink(missing_ok=True)
        raise


def lock_bytes(pins: Pins, types: Mapping[tuple[str, str], str] = MappingProxyType({}), packs: object = None) -> bytes:
    """What `write_lock` writes. `packs` is that part as it stands in a lock, None where there is none."""
    servers = {name: _server(name, server, types) for name, server in pins.items()}
    return lock_text({"mcp": servers} | ({} if packs is None else {"packs": packs}))


def lock_text(parts: Mapping[str, object]) -> bytes:
    """A lock of these parts."""
    whole = {**parts, "version": VERSION}
    return (json.dumps(whole, ensure_ascii=False, allow_nan=False, sort_keys=True, indent=2) + "\n").encode()


def _server(name: str, server: ServerPins, types: Mapping[tuple[str, str], str]) -> dict[str, object]:
    return {
        "protocol": server.protocol,
        "capabilities": dict(server.capabilities),
        "server": dict(server.server),
        "tools": {wire: _entry(pin, types.get((name, wire))) for wire, pin in server.tools.items()},
        "prompts": {wire: _entry(pin, None) for wire, pin in server.prompts.items()},
    }


def _entry(pin: Pin, text: str | None) -> dict[str, object]:
    entry: dict[str, object] = {"sha256": pin.sha256, "definition": dict(pin.definition)}
    if text is not None:
        entry["type"] = text
    return entry


# --- reading -------------------------------------------------------------------------------------------------------------


def _pins(whole: Mapping[str, object], source: Source, bag: Bag) -> Pins:
    found: dict[str, ServerPins] = {}
    try:
        servers = entries(whole.get("mcp", {}), "`mcp`", "mcp")
    except Garbage as wrong:
        garbage(bag, source, wrong)
        return MappingProxyType({})
    for name, entry in servers.items():
        try:
            found[name] = _read_server(name, entry, source, bag)
        except Garbage as wrong:
            garbage(bag, source, wrong)
    return MappingProxyType(found)


def _read_server(name: str, said: object, source: Source, bag: Bag) -> ServerPins:
    entry = entries(said, f"the entry of `{_excerpt(name)}`", name)
    only(entry, ("protocol", "capabilities", "server", "tools", "prompts"), f"the entry of `{_excerpt(name)}`", name)
    protocol = entry.get("protocol", "")
    if not isinstance(protocol, str):
        raise Garbage("`protocol` is a text", (name, "protocol"))
    return ServerPins(
        protocol,
        entries(entry.get("capabilities", {}), "`capabilities`", name, "capabilities"),
        entries(entry.get("server", {}), "`server`", name, "server"),
        _read_pins(entry.get("tools", {}), (name, "tools"), source, bag),
        _read_pins(entry.get("prompts", {}), (name, "prompts"), source, bag),
    )


def _read_pins(said: object, near: tuple[str, ...], source: Source, bag: Bag) -> Mapping[str, Pin]:
    found: dict[str, Pin] = {}
    for wire, one in entries(said, f"`{near[-1]}`", *near).items():
        try:
            found[wire] = _read_pin(wire, one, (*near, wire))
        except Garbage as wrong:
            garbage(bag, source, wrong)
    return MappingProxyType(found)


def _read_pin(wire: str, said: object, near: tuple[str, ...]) -> Pin:
    what = f"the pin of `{_excerpt(wire)}`"
    entry = entries(said, what, *near)
    only(entry, ("sha256", "type", "definition"), what, *near)
    definition = entries(entry.get("definition"), f"the definition in {what}", *near, "definition")
    if definition.get("name") != wire:
        raise Garbage(f"{what} holds the definition of something else", (*near, "name"))
    digest = pin_digest(definition)
    if entry.get("sha256") != digest:
        note = "the definition or its digest was changed after it was pinned: pin the server again, and look at what changed"
        raise Garbage(f"{what} does not fit its `sha256`", (*near, "sha256"), note)
    return Pin(wire, definition, digest)


def entries(value: object, what: str, *near: str) -> dict[str, object]:
    """A part of a lock that is an object. Raises `Garbage`."""
    if not isinstance(value, dict):
        raise Garbage(f"{what} is no object", near)
    return value


def only(entry: Mapping[str, object], known: tuple[str, ...], what: str, *near: str) -> None:
    """Raise `Garbage` for a key that means nothing."""
    for key in entry:
        if key not in known:
            raise Garbage(f"{what} has a key `{_excerpt(key)}` that means nothing", (*near, key))


def _excerpt(value: object) -> str:
    text = str(value).replace("\n", " ")
    return text if len(text) <= 60 else f"{text[:59]}…"


def garbage(bag: Bag, source: Source, wrong: Garbage) -> None:
    """Report a part of a lock that cannot be used, at its place: each key of the path is looked for after the one before."""
    at, end = 0, min(1, len(source.text))
    for key in wrong.near:
        quoted = json.dumps(key, ensure_ascii=False)
        place = source.text.find(f"{quoted}:", at)
        if place < 0:
            break
        at, end = place, place + len(quoted)
    code = "AEL1202" if "sha256" in wrong.near[-1:] else "AEL1201"
    bag.report(code, wrong.message, source, Span(at, end), notes=(wrong.note,))


def _report(bag: Bag, source: Source, span: Span, message: str) -> None:
    bag.report("AEL1201", message, source, span, notes=(_AGAIN,))
