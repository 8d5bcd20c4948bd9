"""The packs in `ael.lock`: `{"packs": {"refunds": {"version": "1.2.0", "source": "folder ../refunds", "sha256": "…"}}}`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from ael.diagnostics.diagnostic import Bag
from ael.project.content import PackPin
from ael.project.lock import Garbage, entries, garbage, lock_text, only, read_whole, sections, write_whole
from ael.types.version import VersionError, parse_version

_DIGEST = re.compile(r"[0-9a-f]{64}")


def read_packs(path: Path, shown: str, bag: Bag) -> dict[str, PackPin]:
    """The packs of the lock at `path`; none where there is no lock or none is in it. What is wrong with it goes to the bag (AEL1201)."""
    found: dict[str, PackPin] = {}
    source, whole = read_whole(path, shown, bag)
    if source is None:
        return found
    try:
        packs = entries(whole.get("packs", {}), "`packs`", "packs")
    except Garbage as wrong:
        garbage(bag, source, wrong)
        return found
    for name, entry in packs.items():
        try:
            found[name] = _pin(name, entry)
        except Garbage as wrong:
            garbage(bag, source, wrong)
    return found


def write_packs(path: Path, packs: Mapping[str, PackPin]) -> bytes:
    """Write the packs into the lock, and leave what else is in it. Gives its bytes. Raises `OSError`."""
    data = lock_with(path, packs)
    write_whole(path, data)
    return data


def lock_with(path: Path, packs: Mapping[str, PackPin]) -> bytes:
    """What `write_packs` writes."""
    whole = sections(path)
    whole.pop("packs", None)
    if packs:
        whole["packs"] = {
            name: {"version": pin.version, "source": pin.source, "sha256": pin.sha256} for name, pin in packs.items()
        }
    return lock_text(whole)


def difference(now: PackPin, locked: PackPin | None) -> str | None:
    """How a pack differs from what was locked, as the end of a sentence; None: it is the same."""
    if locked is None:
        return "is not locked"
    if now.version != locked.version:
        return f"has the version {now.version}, and {locked.version} was locked"
    if now.sha256 != locked.sha256:
        return f"is not what was locked: its content changed, and its version is still {now.version}"
    if now.source != locked.source:
        return f"comes from another place than the one that was locked: {now.source}, not {locked.source}"
    return None


def _pin(name: str, said: object) -> PackPin:
    what = f"the entry of the pack `{name[:60]}`"
    entry = entries(said, what, "packs", name)
    only(entry, ("version", "source", "sha256"), what, "packs", name)
    version, source, sha256 = (entry.get(key) for key in ("version", "source", "sha256"))
    if not isinstance(sha256, str) or not _DIGEST.fullmatch(sha256):
        raise Garbage(f"{what} has no `sha256` of 64 hexadecimal digits", ("packs", name))
    if not isinstance(source, str) or not isinstance(version, str):
        raise Garbage(f"{what} has no `version` and `source`", ("packs", name))
    try:
        parse_version(version)
    except VersionError as error:
        raise Garbage(f"{what}: {error}", ("packs", name, "version")) from None
    return PackPin(version, source, sha256)
