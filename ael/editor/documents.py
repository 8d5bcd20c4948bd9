"""What is open in the editor, and the files as the editor sees them: what is open instead of what is on the disk."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias, TypeVar
from urllib.parse import quote, unquote, urlsplit
from urllib.request import url2pathname

from ael.data import dataclass
from ael.source import MAX_SOURCE_BYTES, Source, SourceError, read_disk

T = TypeVar("T")

_LONE = dict.fromkeys(range(55296, 57344), "�")
"""Halves of a character that stand alone: text of a program cannot hold them."""


@dataclass(frozen=True, eq=False)
class Document:
    """A file that is open, in one version. `uri` is what the editor calls it, `path` where it is, or would be."""

    uri: str
    path: Path
    version: int
    text: str

    @property
    def readable(self) -> str:
        """The text as a program's. Every character is where it is in `text`."""
        try:
            self.text.encode()
        except UnicodeEncodeError:
            return self.text.translate(_LONE)
        return self.text


Open: TypeAlias = Mapping[Path, Document]
"""What is open, by path."""


def path_of(uri: str) -> Path:
    """The file that a URI names, resolved. One that is in no file system is given a path that no file has."""
    try:
        parts = urlsplit(uri)
    except ValueError:  # `file://[`: what stands where the machine would is the name of none
        return Path("/nowhere:") / f"{quote(uri, safe='')}.ael"
    if parts.scheme == "file":
        path = url2pathname(parts.path)
        if parts.netloc and parts.netloc != "localhost":
            path = f"//{unquote(parts.netloc)}{path}"
        try:
            return Path(path).resolve()
        except (OSError, RuntimeError, ValueError):  # a circle of links, a name that no file can have
            return Path(path)
    name = quote(unquote(uri.partition(":")[2]), safe="")
    # What was never saved has no ending yet; that it is AEL the editor has said by asking here.
    return Path(f"/{parts.scheme or 'nowhere'}:") / (name if name.endswith((".ael", ".lock")) else f"{name}.ael")


def uri_of(path: Path, open_documents: Open) -> str:
    """What the editor calls a file."""
    document = open_documents.get(path)
    return document.uri if document is not None else path.as_uri()


State: TypeAlias = tuple[int, int, int]
"""What shows that a file changed: when it was written (ns), its size in bytes, and which file of the disk it is."""


def state_of(path: Path) -> State | None:
    """The state of a file; None where there is none."""
    try:
        status = path.stat()
    except (OSError, ValueError):
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


class Disk:
    """Sources from the disk, each read again only when it changed."""

    def __init__(self) -> None:
        self._known: dict[Path, tuple[State | None, Source]] = {}

    def read(self, path: Path, name: str) -> Source:
        """As `ael.source.read`; the same `Source` where the file is the same."""
        state = state_of(path)
        known = self._known.get(path)
        if known is not None and known[0] == state and known[1].name == name:
            return known[1]
        self._known.pop(path, None)
        source = read_disk(path, name)
        self._known[path] = (state, source)
        return source

    def state(self, path: Path) -> State | None:
        """The state in which a file was read last; None where it was not, or could not be."""
        known = self._known.get(path)
        return known[0] if known is not None else None


class Overlay:
    """The files at one moment: `documents` before the disk. `seen` are those that were asked for, `missing` those that were not there."""

    def __init__(self, documents: Open, disk: Disk, sources: dict[Path, tuple[Document, Source]]) -> None:
        self.documents = documents
        self.disk = disk
        self.seen: set[Path] = set()
        self.missing: set[Path] = set()
        self._sources = sources
        self._resolved: dict[Path, Path] = {}
        self._files: dict[Path, bool] = {}

    def resolved(self, path: Path) -> Path:
        """A path without links."""
        found = self._resolved.get(path)
        if found is None:
            found = self._resolved[path] = _guarded(path.resolve, path)
        return found

    def read(self, path: Path, name: str) -> Source:
        """The text of a file; the same `Source` as long as it does not change."""
        found = self.resolved(path)
        self.seen.add(found)
        document = self.documents.get(found)
        if document is None:
            return self.disk.read(path, name)
        known = self._sources.get(found)
        if known is not None and known[0] is document and known[1].name == name:
            return known[1]
        text = document.readable
        if len(text) > MAX_SOURCE_BYTES or len(text.encode()) > MAX_SOURCE_BYTES:
            raise SourceError(name, f"larger than {MAX_SOURCE_BYTES} bytes")
        source = Source(name, text, path)
        self._sources[found] = (document, source)
        return source

    def is_file(self, path: Path) -> bool:
        """Whether there is such a file, open or on the disk."""
        known = self._files.get(path)
        if known is None:
            found = self.resolved(path)
            self.seen.add(found)
            known = self._files[path] = found in self.documents or _guarded(path.is_file, False)
            if not known:
                self.missing.add(found)
        return known


def _guarded(ask: Callable[[], T], otherwise: T) -> T:
    try:
        return ask()
    except (OSError, RuntimeError, ValueError):  # a circle of links, a name that no file can have
        return otherwise
