"""The pages of diagnostics, `docs/errors/AEL….md`: reading them, and filling in what the examples print.

`python -m tests.error_pages` does that. A page has a title, prose, `## Wrong` with the files of a program that gives the code,
`### Message` with the exact text, and `## Right` with a program that does not.
A file's first line may be `// file: deploy.ael`; without one it is the main module. A block `mcp` has the definitions that servers
are pinned with (see `tests.programs.lock_of`), a block `json` is an `ael.lock` as it is.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from ael.diagnostics.diagnostic import Bag
from ael.diagnostics.render import render_all
from ael.project.lock import FILE as LOCK
from ael.project.program import open_program
from tests.programs import blocks, lock_of, write

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "errors"


@dataclass
class Page:
    """A page: its code and title, the files of both examples, and the message block's text (None when there is none)."""

    path: Path
    code: str
    title: str
    wrong: dict[str, str]
    right: dict[str, str]
    message: str | None


def read(path: Path) -> Page:
    """Read a page. Raises `AssertionError` for one that has not the form."""
    text = path.read_text(encoding="utf-8")
    head = re.match(r"# (AEL\d{4}): (.+)\n", text)
    assert head is not None, f"{path.name} starts with `# {path.stem}: title`"
    wrong: dict[str, str] = {}
    right: dict[str, str] = {}
    message = None
    for block in blocks(text):
        if block.language == "text" and block.heading == "Message":
            message = block.text
        elif block.language in ("ael", "mcp", "json") and block.heading in ("Wrong", "Right"):
            name, source = _file(block.text) if block.language == "ael" else (LOCK, block.text)
            source = lock_of(source) if block.language == "mcp" else source
            (wrong if block.heading == "Wrong" else right)[name] = source
    return Page(path, head[1], head[2].strip(), wrong, right, message)


def _file(text: str) -> tuple[str, str]:
    first = re.match(r"// file: (\S+)\n", text)
    return (first[1], text[first.end() :]) if first is not None else ("main.ael", text)


def told(files: dict[str, str]) -> tuple[Bag, str]:
    """What checking the files says, as the command line prints it."""
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            write(Path(folder), files)
            bag = Bag()
            open_program(Path("main.ael"), bag)
            text = render_all(bag.sorted())
        finally:
            os.chdir(here)
    return bag, re.sub(r"\n*\d+ (?:error|warning)s?(?: and \d+ warnings?)?; `ael explain.*$", "", text) + "\n"


def update(path: Path) -> bool:
    """Fill in the message block of a page; whether it changed. One without a program is filled by `tests.cli.outside`."""
    page = read(path)
    if not page.wrong:
        return False
    if not page.wrong:
        return False
    _, message = told(page.wrong)
    text = path.read_text(encoding="utf-8")
    block = f"### Message\n\n```text\n{message}```\n"
    if page.message is None:
        new = text.replace("## Right", f"{block}\n## Right", 1)
    else:
        new = re.sub(r"### Message\n+```text\n.*?```\n", lambda _: block, text, flags=re.DOTALL)
    path.write_text(new, encoding="utf-8")
    return new != text


if __name__ == "__main__":
    chosen = [FOLDER / f"{code}.md" for code in sys.argv[1:]] or sorted(FOLDER.glob("AEL*.md"))
    for file in chosen:
        if update(file):
            print(f"updated {file.name}")
