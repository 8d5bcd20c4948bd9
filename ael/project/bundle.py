"""A program as one file: its sources and those of the packs in folders that it depends on, and what it requires of who installs it.

Code of tools in Python does not travel, nor does any secret: the manifest names the modules and the secrets that have to be there. What a
program requires is a ceiling: what is read from a bundle is checked anew, and one that asks for more than its manifest says is refused.
The same program gives the same file, to the byte.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import struct
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from importlib.machinery import all_suffixes
from pathlib import Path, PurePosixPath
from unicodedata import normalize

from ael import __version__
from ael.check.program import CheckedProgram
from ael.data import dataclass, field
from ael.project.content import files
from ael.project.deployment import Deployment
from ael.project.load import Project
from ael.project.program import Opened
from ael.types.json import JsonError, read
from ael.types.limits import Limits

MANIFEST = "ael-bundle.json"
FORM = 1
MAX_FILES = 5_000
MAX_BYTES = 64 * 1024 * 1024
"""Of all files of a bundle together; a manifest has at most an eighth of it."""
_DATE = (1980, 1, 1, 0, 0, 0)
_NAME = re.compile(r"[^\0-\x1f\x7f\\:]{1,200}")
_CODE = (*all_suffixes(), ".pyw", ".pyi", ".pth")
"""How files end that Python would run or import."""
_DEPLOYMENT = re.compile(r"deploy(?:\.(.+))?\.ael")
_DEEP = Limits(string_bytes=1 << 20, entries=200_000, depth=16)


_BROKEN = (zipfile.BadZipFile, zlib.error, struct.error, RuntimeError, EOFError, ValueError, LookupError, OSError)
"""What the reader of archives raises over broken ones, depending on where they are broken."""


class BundleError(Exception):
    """What cannot be bundled, or is no bundle as it was made. The message says why."""


@dataclass(frozen=True, slots=True)
class Requires:
    """What a program needs of where it is installed; each a sorted tuple of names."""

    permissions: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    externs: tuple[str, ...] = ()
    distributions: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    servers: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()

    def beyond(self, ceiling: Requires) -> list[str]:
        """What is asked for here and not there, as `permission orders.refund`."""
        return [
            f"{_ONE[kind]} {name}" for kind in _ONE for name in sorted(set(getattr(self, kind)) - set(getattr(ceiling, kind)))
        ]


_ONE = {
    "permissions": "the permission", "packages": "the package", "externs": "the Python module", "distributions": "the distribution",
    "models": "the model", "servers": "the MCP server", "secrets": "the secret",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Bundle:
    """A bundle as it was read: who it is, its files by their paths, and the path of its main module."""

    name: str
    version: str
    ael: str
    main: str
    requires: Requires
    deployments: tuple[str, ...]
    contents: Mapping[str, bytes] = field(default_factory=dict)


def bundle(opened: Opened, deployments: Iterable[Deployment], more: Iterable[Path] = ()) -> bytes:
    """The bytes of a bundle. `deployments` go along, and `more` files of the program's folder. Raises `BundleError`, `OSError`."""
    project = opened.project
    if project.pack is None:
        raise BundleError("a program that is bundled is a pack: give it a `pack.ael` with a name and a version")
    bound = list(deployments)
    roots = {one.pack.root.resolve() for one in (p.resolved for p in project.packs.values()) if not one.installed}
    found = {file.resolve() for root in (project.root.resolve(), *roots) for file in files(root)}
    found |= {text.path.resolve() for text in project.texts.values() if text.path is not None}
    found |= {project.lock.resolve()} if project.lock is not None and project.lock.is_file() else set()
    found |= {_deployment_file(project.root, one.name) for one in bound}
    found |= {_within(file, project.root) for file in more}
    top = _common([project.root.resolve(), *roots])
    if len(found) > MAX_FILES:
        raise BundleError(f"a bundle has at most {MAX_FILES:,} files, and this one would have {len(found):,}")
    contents = {file.relative_to(top).as_posix(): file.read_bytes() for file in sorted(found) if file.is_relative_to(top)}
    if sum(map(len, contents.values())) > MAX_BYTES:
        raise BundleError(f"a bundle has at most {MAX_BYTES >> 20} MiB")
    for path in contents:
        refused = _refused(path)
        if refused is not None:
            raise BundleError(f"`{path}` {refused}")
    main = (project.root.resolve() / f"{project.main}.ael").relative_to(top).as_posix()
    required = requires(project, opened.program, bound)
    manifest = {
        "form": FORM,
        "ael": __version__,
        "name": project.pack.name,
        "version": project.pack.version,
        "main": main,
        "deployments": _deployments(main, contents),
        "requires": {kind: list(getattr(required, kind)) for kind in _ONE},
        "files": {path: hashlib.sha256(data).hexdigest() for path, data in contents.items()},
    }
    said = (json.dumps(manifest, ensure_ascii=False, indent=1) + "\n").encode()
    return _packed({MANIFEST: said, **contents})


def requires(project: Project, program: CheckedProgram, deployments: Iterable[Deployment] = ()) -> Requires:
    """What a program needs, as the check finds it."""
    packs = [one.resolved for one in project.packs.values()]
    every = [pack for pack in (project.pack, *(one.pack for one in packs)) if pack is not None]
    return Requires(
        permissions=_sorted(name for effects in program.effects.values() for name in effects.permissions),
        packages=_sorted(name for pack in every for name in pack.uses),
        externs=_sorted(name for pack in every for name in pack.externs),
        distributions=_sorted(one.origin.removeprefix("distribution ") for one in packs if one.installed),
        models=_sorted(program.models),
        servers=_sorted(program.servers),
        secrets=_sorted(name for one in deployments for name in one.secrets),
    )


def unpacked(data: bytes) -> Bundle:
    """A bundle from its bytes, each file compared with the digest that the manifest has. Raises `BundleError`."""
    contents = _contents(data)
    said = contents.pop(MANIFEST, None)
    if said is None:
        raise BundleError(f"it has no `{MANIFEST}`")
    try:
        form = read(said, _DEEP, max_bytes=MAX_BYTES // 8)
    except JsonError as error:
        raise BundleError(f"its manifest is no JSON: {error.message}") from None
    match form:
        case {"form": int(number)} if number != FORM:
            raise BundleError(f"it is of the form {number}, and AEL {__version__} reads {FORM}: install a newer AEL")
        case {
            "form": int(), "ael": str(ael), "name": str(name), "version": str(version), "main": str(main),
            "deployments": list(deployments), "requires": dict(required), "files": dict(listed),
        }:  # fmt: skip
            if {path: hashlib.sha256(content).hexdigest() for path, content in contents.items()} != listed:
                raise BundleError("its files are not those that its manifest lists: it was changed after it was made")
            if main not in contents:
                raise BundleError("its main module is not in it")
            if _deployments(main, contents) != sorted(_texts(deployments)):
                raise BundleError("its deployments are not those that its manifest lists")
            needs = Requires(**{kind: _texts(required.get(kind)) for kind in _ONE})
            return Bundle(name, version, ael, main, needs, _texts(deployments), contents)
    raise BundleError("its manifest is not whole")


def write(found: Bundle, folder: Path) -> None:
    """Write the files below `folder`, which is empty. Raises `OSError`."""
    for path, content in found.contents.items():
        file = folder.joinpath(*PurePosixPath(path).parts)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)


def _contents(data: bytes) -> dict[str, bytes]:
    """The files of an archive, none of which could be written anywhere but below a folder. Raises `BundleError`."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            listed = archive.infolist()
            if len(listed) > MAX_FILES + 1 or sum(one.file_size for one in listed) > 2 * MAX_BYTES:
                raise BundleError("it holds more than a bundle may")
            found: dict[str, bytes] = {}
            seen: set[str] = set()
            left = 2 * MAX_BYTES
            for one in listed:
                _safe(one, seen)
                with archive.open(one) as stream:
                    content = stream.read(left + 1)
                left -= len(content)
                if left < 0:
                    raise BundleError("it holds more than a bundle may")
                found[one.filename] = content
            if any(str(above) in found for path in found for above in PurePosixPath(path).parents):
                raise BundleError("a file in it is a folder as well")
            return found
    except _BROKEN as error:
        raise BundleError(f"it cannot be read: {error}") from None


def _safe(one: zipfile.ZipInfo, seen: set[str]) -> None:
    """Refuse what leads out of the folder, what is no plain file, and names that are one on some systems. Raises `BundleError`."""
    parts = one.filename.split("/")
    plain = (one.external_attr >> 16) & 0o170000 in (0, 0o100000)
    if not plain or one.is_dir() or any(part in ("", ".", "..") or not _NAME.fullmatch(part) for part in parts):
        raise BundleError(f"it holds what is no plain file below its folder: {one.filename[:200]!r}")
    refused = _refused(one.filename)
    if refused is not None:
        raise BundleError(f"{one.filename[:200]!r} in it {refused}")
    if one.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise BundleError(f"{one.filename[:200]!r} in it is packed in a way that bundles are not")
    folded = normalize("NFC", one.filename).casefold()
    if folded in seen:
        raise BundleError(f"it holds {one.filename[:200]!r} twice")
    seen.add(folded)


def _refused(path: str) -> str | None:
    """What no bundle holds, wherever it comes from: what other programs run or go by when it lies in a folder. A path with `/`."""
    name = path.casefold()
    if name.endswith(tuple(one.casefold() for one in _CODE)):
        return "is code in Python, which does not travel: who installs the bundle installs its distribution"
    if any(part.startswith(".") for part in path.split("/")):
        return "is hidden, which no part of a program is"
    return None


def _deployments(main: str, contents: Mapping[str, bytes]) -> list[str]:
    """The names of the deployments beside the main module, sorted."""
    folder = PurePosixPath(main).parent
    named = [_DEPLOYMENT.fullmatch(path.name) for path in map(PurePosixPath, contents) if path.parent == folder]
    return sorted(one[1] or "default" for one in named if one is not None)


def _packed(contents: Mapping[str, bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path in sorted(contents, key=lambda path: (path != MANIFEST, path)):
            entry = zipfile.ZipInfo(path, _DATE)
            entry.compress_type, entry.external_attr, entry.create_system = zipfile.ZIP_DEFLATED, 0o100644 << 16, 3
            archive.writestr(entry, contents[path])
    return made.getvalue()


def _deployment_file(root: Path, name: str) -> Path:
    return (root / ("deploy.ael" if name == "default" else f"deploy.{name}.ael")).resolve()


def _within(file: Path, root: Path) -> Path:
    found = file.resolve()
    if not found.is_relative_to(root.resolve()) or not found.is_file():
        raise BundleError(f"`{file}` is no file in the folder of the program")
    return found


def _common(roots: list[Path]) -> Path:
    top = roots[0]
    while not all(root.is_relative_to(top) for root in roots):
        top = top.parent
    return top


def _sorted(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(names)))


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise BundleError("its manifest is not whole")
    return tuple(value)
