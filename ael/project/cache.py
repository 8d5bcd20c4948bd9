"""What was checked without an error before, so that an unchanged program is not checked again.

A record names every file that the check of a program read, with the SHA-256 of its bytes, and holds the warnings that came
of it. It is used only while all of them are the same, no deployment has come or gone, and AEL itself is the same. A program
with an error is never remembered. Records are hints: one that is damaged, or a folder that cannot be written, means that the
program is checked.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ael import __version__
from ael.data import dataclass
from ael.diagnostics.diagnostic import Diagnostic, Edit, Fix, Label, Place, Severity
from ael.project.part import Summary
from ael.project.shown import shown
from ael.source import Source, SourceError, Span, read

_MOST = 20_000
"""Records that are kept; when there are more, the older half goes."""


@dataclass(frozen=True)
class PackFiles:
    """The packs that a program depends on: (name, folder, whether it is an installed distribution's), and all files that they had."""

    roots: tuple[tuple[str, Path, bool], ...] = ()
    files: frozenset[Path] = frozenset()

    def same(self) -> bool:
        """Whether the packs are where they were, and have the same files, which may differ from what they were."""
        if not self.roots:
            return True
        if any(installed for _, _, installed in self.roots):
            # What reads the metadata of distributions is loaded with the first one that is asked for.
            from ael.project import installed as distributions

            for name, root, installed in self.roots:
                try:
                    if installed and distributions.find(name).root != root:
                        return False
                except distributions.NotInstalled:
                    return False
        # What looks through packs is loaded for programs that depend on some.
        from ael.project import content

        return frozenset(file for _, root, _ in self.roots for file in content.files(root)) == self.files


@dataclass(frozen=True)
class Record:
    """A program as it was: the files that it was checked from, and what was said (None when it was only parsed).

    `changed` are the files that differ now. `summaries` are those of a pack's modules. `packs` are those that it depends on.
    """

    files: frozenset[Path]
    diagnostics: tuple[Diagnostic, ...] | None
    changed: frozenset[Path]
    summaries: Mapping[Path, Summary]
    packs: PackFiles


class CheckCache:
    """Records of checks, a file each."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "check"
        self._tool = _fingerprint()
        self._hashes: dict[str, str | None] = {}
        self._stored = False

    def find(self, main: Path, whole: bool) -> Record | None:
        """The record of the program whose main module is `main` (`whole`: of its whole pack), if it can still be told from."""
        try:
            told = json.loads(self._path(main, whole).read_bytes())
            read_files = {Path(path): digest for path, digest in told["files"].items()}
            roots = tuple((name, Path(root), bool(installed)) for name, root, installed in told["packs"])
            packs = PackFiles(roots, frozenset(map(Path, told["foreign"])))
            if told["around"] != _around(main) or not packs.same():
                return None
            changed = frozenset(path for path, digest in read_files.items() if self._hash(path) != digest)
            # What was said of a file that has changed has no place in it any more.
            said = (
                None if told["said"] is None else [one for one in told["said"] if Path(one["place"][0]).resolve() not in changed]
            )
            summaries = {
                Path(path): Summary(frozenset(map(Path, uses)), tuple(shared))
                for path, (uses, shared) in told["summaries"].items()
            }
            reader = _Reader()
            return Record(
                frozenset(read_files), None if said is None else tuple(map(reader.diagnostic, said)), changed, summaries, packs
            )
        except (OSError, ValueError, KeyError, TypeError, AttributeError, SourceError):
            return None

    def keep(
        self,
        main: Path,
        whole: bool,
        files: Iterable[Path],
        said: Sequence[Diagnostic] | None,
        summaries: Mapping[Path, Summary] = MappingProxyType({}),
        packs: PackFiles | None = None,
    ) -> None:
        """Remember a program that was checked without an error (`said` None: only parsed)."""
        packs = packs or PackFiles()
        record = {
            "files": {str(path): self._hash(path) for path in files},
            "around": _around(main),
            "said": None if said is None else [_plain(one) for one in said],
            "packs": [[name, str(root), installed] for name, root, installed in packs.roots],
            "foreign": sorted(map(str, packs.files)),
            "summaries": {str(path): [sorted(map(str, told.uses)), told.shared] for path, told in summaries.items()},
        }
        path = self._path(main, whole)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            new = path.with_suffix(f".{os.getpid()}")
            new.write_text(json.dumps(record), encoding="utf-8")
            os.replace(new, path)
        except OSError:
            return
        self._stored = True

    def close(self) -> None:
        """Let the older half go when there are too many."""
        if not self._stored:
            return
        try:
            found = sorted((entry.stat().st_mtime_ns, entry.path) for entry in os.scandir(self._folder))
            for _, path in found[: len(found) // 2] if len(found) > _MOST else ():
                os.unlink(path)
        except OSError:
            return

    def _path(self, main: Path, whole: bool) -> Path:
        name = hashlib.sha256(f"{self._tool}\n{main}\n{whole}\n{Path.cwd()}".encode()).hexdigest()
        return self._folder / f"{name[:40]}.json"

    def _hash(self, path: Path) -> str | None:
        key = str(path)
        if key not in self._hashes:
            try:
                self._hashes[key] = hashlib.sha256(path.read_bytes()).hexdigest()
            except OSError:
                self._hashes[key] = None
        return self._hashes[key]


def _around(main: Path) -> list[str]:
    """The deployments and packs that a program could have: one that comes or goes changes what is checked."""
    found = [str(file) for file in main.parent.glob("deploy*.ael")]
    found += [str(folder / "pack.ael") for folder in main.parents if (folder / "pack.ael").is_file()]
    return sorted(found)


def _fingerprint() -> str:
    """Names this version of AEL, also while it is being worked on: the places, sizes and times of its own files."""
    package = Path(__file__).resolve().parent.parent
    whole = hashlib.sha256(__version__.encode())
    for folder, folders, files in os.walk(package):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        for name in sorted(files):
            seen = os.stat(os.path.join(folder, name))
            whole.update(f"{name} {seen.st_size} {seen.st_mtime_ns}\n".encode())
    return whole.hexdigest()


def _plain(d: Diagnostic) -> dict[str, Any]:
    return {
        "code": d.code,
        "message": d.message,
        "severity": d.severity.value,
        "place": _place(d.place),
        "labels": [[_place(label.place), label.text] for label in d.labels],
        "notes": list(d.notes),
        "fix": None if d.fix is None else [d.fix.title, d.fix.safe, [[_place(edit.place), edit.text] for edit in d.fix.edits]],
    }


def _place(place: Place) -> list[Any]:
    return [str(place.source.path), place.span.start, place.span.end]


class _Reader:
    """Diagnostics from their plain form; each source is read once."""

    def __init__(self) -> None:
        self._sources: dict[str, Source] = {}

    def diagnostic(self, told: dict[str, Any]) -> Diagnostic:
        fix = told["fix"]
        return Diagnostic(
            told["code"],
            told["message"],
            self._place(told["place"]),
            Severity(told["severity"]),
            tuple(Label(self._place(place), text) for place, text in told["labels"]),
            tuple(told["notes"]),
            None if fix is None else Fix(fix[0], tuple(Edit(self._place(place), text) for place, text in fix[2]), fix[1]),
        )

    def _place(self, told: list[Any]) -> Place:
        path, start, end = told
        if path not in self._sources:
            self._sources[path] = read(Path(path), shown(Path(path)))
        return Place(self._sources[path], Span(start, end))
