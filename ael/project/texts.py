"""The text files that instructions are read from: files of the pack, read as they are (feature A6.3).

They are read where the program is, and nowhere else: nothing is fetched, nothing in them is run. What they say is part of the program, so
that its digest changes with them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

from ael.check.instructions import file_path
from ael.diagnostics.diagnostic import Bag
from ael.project.pack import find_root
from ael.source import Source, SourceError, is_file, read
from ael.syntax import nodes as n

MAX_BYTES = 64 * 1024
"""The longest file that is read as instructions, in bytes of UTF-8: they are sent with every turn."""


def read_texts(modules: Mapping[str, n.Module], bag: Bag) -> dict[tuple[str, str], Source]:
    """The files that the instructions of these modules name, by module and path as written; what cannot be read is reported (AEL0646)."""
    found: dict[tuple[str, str], Source] = {}
    for name, tree in modules.items():
        for said in _instructions(tree):
            path = file_path(said)
            if path is None or (name, path) in found or tree.source.path is None:
                continue
            text, why = _read(path, tree.source.path.resolve().parent)
            if text is not None:
                found[name, path] = text
            else:
                bag.report("AEL0646", why, tree.source, said.template.span, notes=_NOTES)
    return found


_NOTES = ('instructions are read from a text file of the pack, named relative to the module: `instructions from "refunds.md"`',)


def _instructions(tree: n.Module) -> Iterator[n.Instructions]:
    for declaration in tree.declarations:
        match declaration:
            case n.SkillDecl(instructions=n.Instructions(from_file=True) as said):
                yield said
            case n.NodeDecl(body=n.ModelBody(items=items)):
                yield from (item for item in items if isinstance(item, n.Instructions) and item.from_file)
            case _:
                continue


def _read(path: str, folder: Path) -> tuple[Source | None, str]:
    """The text of a file, or why there is none."""
    if "://" in path:
        return None, f"`{path}` is on another machine, and instructions are never fetched"
    if "\\" in path or "\0" in path or PurePosixPath(path).is_absolute() or Path(path).is_absolute():
        return None, f"`{path}` is no path relative to this module, with `/` between its parts"
    home = (find_root(folder) or folder).resolve()
    file = (folder / path).resolve()
    if not file.is_relative_to(home):
        return None, f"`{path}` leads out of the pack"
    if not is_file(file):
        return None, f"there is no file `{path}`"
    try:
        source = read(file, path)
    except SourceError as error:
        return None, f"`{path}` cannot be read: {error.reason}"
    if len(source.text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        return None, f"`{path}` is longer than {MAX_BYTES // 1024} KiB, and it would be sent with every turn"
    return source, ""
