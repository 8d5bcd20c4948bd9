"""Packs in installed Python distributions, found by their entry point; no code of a distribution is imported.

A distribution that ships a pack says so in its metadata, with the Python package whose folder holds the `pack.ael`:

    [project.entry-points."ael.packs"]
    refunds = "acme_refunds"

Its folder is looked up in the distribution's own files, else where Python would import the package from, which loads nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.metadata import Distribution, EntryPoint, distributions
from importlib.util import find_spec
from pathlib import Path

from ael.data import dataclass
from ael.project.pack import FILE

GROUP = "ael.packs"
"""The group of entry points that name packs."""

_PACKAGE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*", re.ASCII)


class NotInstalled(Exception):
    """No installed distribution has the pack, or what one says of it cannot be used; the message says which and why."""

    def __init__(self, message: str, note: str) -> None:
        super().__init__(message)
        self.message = message
        self.note = note


@dataclass(frozen=True)
class Installed:
    """Where an installed pack is. `top` is the folder of the top package, which the pack and its `from` do not leave.

    `distribution` and `version` are those of Python's metadata.
    """

    root: Path
    top: Path
    distribution: str
    version: str


def find(name: str) -> Installed:
    """The pack `name` of an installed distribution. Raises `NotInstalled`."""
    found: dict[str, tuple[Distribution, str]] = {}
    broken: list[str] = []
    for distribution in distributions():
        own = _name(distribution)
        try:
            points = [point for point in _points(distribution) if point.name == name]
        except Exception as error:  # a damaged distribution is another one's matter: whatever its metadata does, it is told
            broken.append(f"{own}: {type(error).__name__}")
            continue
        # Python takes the first of the path, and so do we.
        if own not in found and points:
            found[own] = (distribution, str(points[0].value))
    if len(found) > 1:
        shown = " and ".join(f"`{own}`" for own in sorted(found))
        raise NotInstalled(f"more than one installed distribution has a pack `{name}`: {shown}", "uninstall all but one of them")
    if not found:
        note = f'install the distribution that ships it, or say where it is: `depends {name} "…" from "../{name}"`'
        if broken:
            note += f"; the metadata of {len(broken)} distributions cannot be read: {', '.join(broken[:3])}"
        raise NotInstalled(f"no installed distribution has a pack `{name}`", note)
    ((own, (distribution, value)),) = found.items()
    root, top = _folder(distribution, value, own, name)
    return Installed(root, top, own, _version(distribution))


def _points(distribution: Distribution) -> Iterator[EntryPoint]:
    return (point for point in distribution.entry_points if point.group == GROUP)


def _name(distribution: Distribution) -> str:
    try:
        return str(distribution.metadata["Name"] or "?")
    except Exception:  # whatever reading broken metadata raises, such a distribution has no name
        return "?"


def _version(distribution: Distribution) -> str:
    try:
        return str(distribution.version)
    except Exception:  # see above
        return "?"


def _folder(distribution: Distribution, value: str, own: str, name: str) -> tuple[Path, Path]:
    """The folder of the pack and that of its top package. Raises `NotInstalled`."""
    note = f'it is declared as `[project.entry-points."{GROUP}"]` with `{name} = "package"`'
    package = value.strip()
    if not _PACKAGE.fullmatch(package):
        raise NotInstalled(
            f"the distribution `{own}` says that the pack `{name}` is in `{package[:60]}`, which is no package", note
        )
    first, *rest = package.split(".")
    for top in _tops(distribution, first):
        root = top.joinpath(*rest)
        try:
            if (root / FILE).is_file() and root.resolve().is_relative_to(top.resolve()):
                return root.resolve(), top.resolve()
        except (OSError, RuntimeError):
            continue
    message = f"the distribution `{own}` has no `{FILE}` in its package `{package}`, where it says that the pack `{name}` is"
    raise NotInstalled(message, note)


def _tops(distribution: Distribution, first: str) -> Iterator[Path]:
    """Where the top package may be: beside the metadata, or, for one that is being worked on, where imports of it would go."""
    yield Path(str(distribution.locate_file(first)))
    try:
        spec = find_spec(first)
    except (ImportError, ValueError, AttributeError):
        return
    for place in spec.submodule_search_locations or () if spec is not None else ():
        yield Path(place)
