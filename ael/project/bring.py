"""Bringing the packs that a program depends on into it, whole: permissions are seen by all of a pack, and its digest is that of all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from ael.check.packs import PackFacts, Packs
from ael.data import dataclass, replace
from ael.diagnostics.diagnostic import Bag, Severity
from ael.project.content import MAX_FILES, PackPin, digest, files
from ael.project.pack import FILE, Pack, report_unreadable
from ael.project.packs import Resolved, resolve_packs
from ael.project.shown import shown
from ael.source import Source, SourceError, read


@dataclass(frozen=True, eq=False)
class Brought:
    """A pack of a program, with its files as they are: `sources` are its `pack.ael` and modules by path, `now` is what would be locked."""

    resolved: Resolved
    sources: Mapping[Path, Source]
    now: PackPin

    @property
    def pack(self) -> Pack:
        """What its `pack.ael` says."""
        return self.resolved.pack

    def sealed(self, texts: Mapping[tuple[str, str], Source]) -> Brought:
        """The pack, the text files that its modules read instructions from (by module and path) counted as a part of its content."""
        root = self.pack.root
        ours = (text for (module, _), text in texts.items() if module.startswith(f"{self.pack.name}/"))
        own = {text.path.resolve(): text for text in ours if text.path is not None}
        return replace(self, now=replace(self.now, sha256=digest(root, {**self.sources, **own})))

    def modules(self) -> Iterator[tuple[str, Source]]:
        """Its modules by their name in the program: `refunds/orders`."""
        for path, source in self.sources.items():
            name = path.relative_to(self.pack.root).with_suffix("").as_posix()
            if path.name != FILE:
                yield f"{self.pack.name}/{name}", source


def bring(program: Pack, bag: Bag) -> dict[str, Brought]:
    """The packs that a program depends on, by name, each read whole. Problems go to the bag."""
    return {name: _read(resolved, bag) for name, resolved in resolve_packs(program, bag).items()}


def facts(program: Pack, brought: Mapping[str, Brought]) -> Packs:
    """What the check has to know of the packs."""
    packs = {"": program, **{name: one.pack for name, one in brought.items()}}
    return {name: PackFacts(frozenset(line.name for line in pack.depends), pack.externs) for name, pack in packs.items()}


def compare(brought: Mapping[str, Brought], lock: Path, bag: Bag) -> None:
    """Report what is not as it was locked, where the lock holds packs at all.

    What changes in a folder is worked on, so it is told; what changes in an installed distribution is refused.
    """
    if not brought or not lock.is_file():
        return
    # The reader of JSON is loaded where there is something to read.
    from ael.project.lock_packs import difference, read_packs

    locked = read_packs(lock, shown(lock), bag)
    for name, one in brought.items() if locked else ():
        problem = difference(one.now, locked.get(name))
        if problem is not None:
            at = one.resolved.asked[0].line.at
            severity = Severity.ERROR if one.resolved.installed else Severity.WARNING
            word = "lock" if name not in locked else f"update {name}"
            notes = (f"look at what is in {shown(one.pack.root)}; `ael deps {word}` takes it as it is",)
            bag.report("AEL0824", f"the dependency `{name}` {problem}", at.source, at.span, notes=notes, severity=severity)


def _read(resolved: Resolved, bag: Bag) -> Brought:
    sources: dict[Path, Source] = {}
    root = resolved.pack.root
    found = files(root)
    if len(found) > MAX_FILES:
        at = resolved.asked[0].line.at
        message = f"the pack `{resolved.pack.name}` has more than {MAX_FILES:,} modules"
        bag.report("AEL0805", message, at.source, at.span)
        found = []
    for path in found:
        try:
            sources[path] = read(path, shown(path))
        except SourceError as error:
            report_unreadable(error, bag)
    return Brought(resolved, sources, PackPin(resolved.pack.version, resolved.origin, digest(root, sources)))
