"""`docs/stdlib`: the pages of the standard library, made from its own comments. `python -m tests.stdlib.pages` writes them anew."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from ael.project.pack import OPTIONAL_PACKAGES
from tests.stdlib.library import INDENT, Entry, Library, modules, program, unindented

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "stdlib"
MADE = "Made by `python -m tests.stdlib.pages`"


def page(library: Library) -> str:
    """The page of a module."""
    lines = [f"# {library.name}", "", f"{MADE} from `stdlib/{library.name}.ael`; every example is a test.", ""]
    for part in library.parts:
        lines += [_block(library, library.name, part), ""]
    if library.name in OPTIONAL_PACKAGES:
        lines += [f"An optional package: a program that uses it says `uses {library.name}` in its `pack.ael`.", ""]
    for kind, title in _TITLES.items():
        named = [entry for entry in library.entries if entry.kind == kind]
        if named:
            links = " · ".join(f"[`{entry.name}`](#{_anchor(entry)})" for entry in named)
            lines.append(f"- {title}: {links}")
    lines.append("")
    for entry in library.entries:
        lines += [f"## {_heading(entry)}", "", f"```text\n{entry.written}\n```", ""]
        for part in entry.parts:
            lines += [_block(library, entry.name, part), ""]
    return "\n".join(lines)


def index(libraries: list[Library]) -> str:
    """The page that lists the modules."""
    lines = [
        "# The standard library",
        "",
        f"{MADE}. What a module shows is imported by name (`use std/text.{{shorten}}`) or through its module (`use std/text`, then",
        "`text.shorten(…)`). What a module of the library cannot do in AEL alone is done by the run time, under the same checks, limits",
        "and records as everything else; its permissions have `std` in front (`grants std.files.read`).",
        "",
        "| Module | What it is for |",
        "| --- | --- |",
    ]
    for library in libraries:
        purpose = _sentence(library.parts[0] if library.parts else "")
        lines += [f"| [`{library.name}`]({_file(library)}) | {purpose} |"]
    lines += [
        "",
        "The time of a run, the day, ids, chance and the log are in the language itself: `now()`, `today()`, `new_id()`,",
        "`random_int(low, high)` and `log(text)` need no import. Each is an effect that the journal keeps, so that a resumed run sees what",
        "it saw. [`std/time`](time.md) shows how `now()` becomes a tool that tells a model the time.",
        "",
    ]
    return "\n".join(lines)


def pages() -> dict[Path, str]:
    """All pages by their file."""
    libraries = modules()
    made = {FOLDER / _file(library): page(library) for library in libraries}
    return {FOLDER / "README.md": index(libraries), **made}


_TITLES = {
    "permission": "Permissions", "role": "Roles", "type": "Types", "record": "Records", "enum": "Enums", "error": "Errors",
    "const": "Constants", "service": "Services", "store": "Stores", "model": "Models", "MCP server": "MCP servers",
    "function": "Functions", "tool": "Tools", "node": "Nodes", "agent": "Agents", "skill": "Skills",
}  # fmt: skip


def _file(library: Library) -> str:
    return f"{library.file.stem}.md"


def _heading(entry: Entry) -> str:
    return entry.name if entry.kind == "function" else f"{entry.kind} {entry.name}"


def _anchor(entry: Entry) -> str:
    """The anchor that Markdown gives the heading."""
    return re.sub(r"[^\w\- ]", "", _heading(entry).lower()).replace(" ", "-")


def _block(library: Library, name: str, part: str) -> str:
    if not part.startswith(INDENT):
        return part
    return f"```ael\n{program(library, name, unindented(part))}```"


def _sentence(text: str) -> str:
    """The first sentence of a text, on one line of a table."""
    line = " ".join(text.split())
    return re.split(r"(?<=\.) (?=[A-Z])", line)[0].replace("|", "\\|")


def main(chosen: list[str]) -> None:
    """Write the pages of the modules that are named (`text`), or all; the index in any case."""
    FOLDER.mkdir(exist_ok=True)
    wanted = pages()
    for path in set(FOLDER.glob("*.md")) - set(wanted):
        path.unlink()
    for path, text in wanted.items():
        if not chosen or path.stem in (*chosen, "README"):
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
