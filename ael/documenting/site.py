"""The files of a book: what `ael doc` writes. They are made whole in memory; nothing is written that cannot be made."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from ael.documenting.address import addresses
from ael.documenting.data import search_index, to_json
from ael.documenting.html import Html
from ael.documenting.item import Book
from ael.documenting.names import Names
from ael.documenting.twin import Markdown

Form = Literal["html", "markdown", "llms", "json"]
FORMS: tuple[Form, ...] = ("html", "markdown", "llms", "json")

_ASSETS = Path(__file__).parent / "assets"
MARK = ".ael-doc"
"""The file by which `ael doc` knows a folder that it wrote, whose files it may take away; it lists them."""


def files_of(book: Book, names: Names, form: Form) -> dict[str, str]:
    """The files by their path below the folder. Pages in HTML have their twins in Markdown beside them, and `llms.txt`."""
    twins = Markdown(book, names, addresses(book, "md"))
    if form == "json":
        return {"doc.json": to_json(book)}
    llms = {"llms.txt": twins.llms(), "llms-full.txt": twins.whole()}
    if form == "llms":
        return llms
    found = {"index.md": twins.index(), **{twins.addresses.file(page.module): twins.page(page) for page in book.pages}, **llms}
    return found if form == "markdown" else {**found, **_html(book, names)}


def _html(book: Book, names: Names) -> dict[str, str]:
    where = addresses(book, "html")
    pages = Html(book, names, where)
    files = {page.module: where.file(page.module) for page in book.pages}
    return {
        "index.html": pages.index(),
        **{files[page.module]: pages.page(page) for page in book.pages},
        **{where.source(page.module): pages.source(page) for page in book.pages},
        "assets/index.js": search_index(book, files),
        **{f"assets/{name}": (_ASSETS / name).read_text(encoding="utf-8") for name in ("style.css", "search.js")},
    }


class NotOurs(Exception):
    """A folder has files that `ael doc` did not write."""


def write(folder: Path, files: dict[str, str]) -> list[Path]:
    """Write the files, and take away those of an earlier time that are no longer made. Gives what changed.

    Raises `NotOurs` for a folder with other files, and `OSError`.
    """
    mark = folder / MARK
    if folder.is_dir() and not mark.is_file() and any(folder.iterdir()):
        raise NotOurs(str(folder))
    before = _listed(mark)
    changed = [folder / name for name, text in files.items() if _put(folder / name, text)]
    if _put(mark, "".join(f"{name}\n" for name in sorted(files))):
        changed.append(mark)
    for name in before - files.keys():
        gone = folder / name
        if gone.resolve().is_relative_to(folder.resolve()) and gone.is_file():
            gone.unlink()
            changed.append(gone)
    return changed


def _listed(mark: Path) -> set[str]:
    try:
        return set(mark.read_text(encoding="utf-8").splitlines())
    except (OSError, UnicodeDecodeError):
        return set()


def _put(path: Path, text: str) -> bool:
    """Whether the file was another before."""
    data = text.encode("utf-8")
    if path.is_file() and path.read_bytes() == data:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.new")
    beside.write_bytes(data)
    beside.replace(path)
    return True
