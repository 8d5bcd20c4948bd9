"""What the site has beside the pages of `docs/`: files of the project that they link to, Markdown twins, `llms.txt`.

The pages are plain Markdown that reads well in a checkout: their links are relative paths to files, in `docs/` or outside of it. Here
each file outside that one of them leads to becomes a page of its own, an example's README or a source file, so that no link
leaves the site. `PAGE/index.md` is the Markdown twin of each page, with links to other twins; `llms.txt` lists them all, and
`llms-full.txt` is the text of the guides in one file.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from ael.diagnostics.codes import AREAS

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^()\s]+)\)")
FENCE = re.compile(r"^( *)(`{3,})([\w-]*)[^`\n]*$")
LANGUAGES = {".ael": "ael", ".py": "python", ".json": "json", ".sh": "sh", ".toml": "toml", ".yml": "yaml", ".lark": "text"}
LEFT_OUT = re.compile(r"(errors/AEL|decisions/|project/|features\.md)")
"""Pages that `llms-full.txt` leaves out: what a guide links to, and long tables."""

BOOST = {"decisions/": 0.2, "features.md": 0.1, "project/": 0.4, "language.md": 3, "agents-guide.md": 0.5, "cookbook/": 1.5}
"""How much the search prefers pages, by how their path begins."""
OUTSIDE = "project/"
"""Where files of the project outside of `docs/` stand in the site."""

log = logging.getLogger("mkdocs.plugins.ael")
_twins: dict[str, tuple[str, str, str]] = {}
"""Path of a page -> its title, its address, its Markdown."""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Fill in the parts of the navigation that follow the files."""
    _twins.clear()
    docs = Path(config.docs_dir)
    modules = [{f"std/{page.stem}": f"stdlib/{page.name}"} for page in sorted((docs / "stdlib").glob("[a-z]*.md"))]
    recipes = [f"cookbook/{page.name}" for page in sorted((docs / "cookbook").glob("[a-z]*.md"))]
    decisions = [f"decisions/{page.name}" for page in sorted((docs / "decisions").glob("[a-z]*.md"))]
    editors = [f"editors/{page.name}" for page in sorted((docs / "editors").glob("*.md"))]
    errors: list[Any] = ["errors/README.md"]
    for area in AREAS:
        title = (area.__doc__ or "").partition(":")[0]
        errors.append({title: [{code: f"errors/{code}.md"} for code in sorted(area.CODES)]})
    filled: dict[str, list[Any]] = {
        "Standard library": ["stdlib/README.md", *modules],
        "Cookbook": ["cookbook/README.md", *recipes],
        "Decisions": ["decisions/README.md", *decisions],
        "Editors": editors,
        "Diagnostics": errors,
    }
    config.nav = _filled(config.nav, filled)
    named = set(_pages(config.nav))
    # A page that the navigation does not name yet is found among the tools.
    tools = next(part["Tools"] for part in config.nav if "Tools" in part)
    tools += [page.name for page in sorted(docs.glob("*.md")) if page.name not in named]
    return config


def _filled(nav: Any, parts: dict[str, list[Any]]) -> Any:
    if isinstance(nav, list):
        return [_filled(item, parts) for item in nav]
    if isinstance(nav, dict):
        return {key: parts[key] if value == [] else _filled(value, parts) for key, value in nav.items()}
    return nav


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the files of the project that a page links to, and those that they link to."""
    waiting = [file.src_uri for file in files.documentation_pages() if not file.inclusion.is_excluded()]
    seen = set(waiting)
    while waiting:
        uri = waiting.pop()
        text = files.src_uris[uri].content_string
        for target in _targets(text, uri):
            if target is None or target in seen:
                continue
            seen.add(target)
            content = _content(target)
            if content is not None:
                files.append(File.generated(config, target, content=content))
                waiting.append(target)
    return files


def _in_project(uri: str) -> str:
    """Where a page of the site stands in the project."""
    if not uri.startswith(OUTSIDE):
        return f"docs/{uri}"
    path = uri.removeprefix(OUTSIDE)
    return path if (ROOT / path).exists() else path.removesuffix(".md")


def _in_site(path: str) -> str | None:
    """Where a file or folder of the project stands in the site. None for one that there is not."""
    if path == "README.md":
        return "index.md"
    if (ROOT / path).is_dir():
        path = f"{path}/README.md"
    if not (ROOT / path).is_file():
        return None
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    return OUTSIDE + (path if path.endswith(".md") else f"{path}.md")


def _targets(text: str, uri: str) -> Iterator[str | None]:
    found: list[str | None] = []

    def note(shown: str, target: str) -> str:
        path = target.partition("#")[0]
        if path and not re.match(r"[a-z]+:", path):
            found.append(_in_site(os.path.normpath(PurePosixPath(_in_project(uri)).parent / path)))
        return ""

    _over_links(text, note)
    yield from found


def _content(uri: str) -> str | None:
    """The text of a generated page: a page of the project as it is, another file in a fence."""
    path = ROOT / _in_project(uri)
    if not uri.startswith(OUTSIDE) or not path.is_file():
        return None
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        return text
    return f"# {path.relative_to(ROOT).as_posix()}\n\n````{LANGUAGES.get(path.suffix, 'text')}\n{text}````\n"


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Links as the site has them, fences with nothing but their language, and no comments."""
    uri = page.file.src_uri
    here = PurePosixPath(_in_project(uri)).parent

    def moved(shown: str, target: str, suffix: str = "") -> str:
        path, sharp, anchor = target.partition("#")
        if not path or re.match(r"[a-z]+:", path):
            return f"[{shown}]({target})"
        site = _in_site(os.path.normpath(here / path))
        if site is None:
            log.warning("%s links to `%s`, which there is not", uri, target)
            return shown
        return f"[{shown}]({os.path.relpath(site, os.path.dirname(uri) or '.')}{sharp}{anchor})"

    text = _over_links(_plain(markdown), moved)
    page.meta.setdefault("search", {"boost": next((much for start, much in BOOST.items() if uri.startswith(start)), 1)})
    _twins[uri] = (page.title or uri, page.url, text)
    return _outside(text, _usual)


def _usual(line: str) -> str:
    """What this Markdown reads otherwise: a stroke in the code of a table, where the backslash is a part of the code, and inner lists."""
    if re.match(r"  [-*] ", line):
        return f"  {line}"
    if not line.startswith("|"):
        return line
    return re.sub(r"`[^`]+`", lambda m: m[0].replace("\\|", "|"), line)


def _plain(markdown: str) -> str:
    """Without comments, and with fences that say nothing but their language."""
    lines: list[str] = []
    fence, comment = "", False
    for line in markdown.split("\n"):
        found = FENCE.match(line)
        if not fence and line.startswith("<!--"):
            comment = True
        if comment:
            comment = not line.endswith("-->")
            continue
        if found is not None and (not fence or (found[2] == fence and not found[3])):
            fence = "" if fence else found[2]
            line = f"{found[1]}{found[2]}{found[3]}"
        lines.append(line)
    return "\n".join(lines)


def _outside(text: str, change: Callable[[str], str]) -> str:
    """The text with each line outside of fenced code changed."""
    out: list[str] = []
    fence = ""
    for line in text.split("\n"):
        found = FENCE.match(line)
        edge = found is not None and (not fence or (found[2] == fence and not found[3]))
        if edge and found is not None:
            fence = "" if fence else found[2]
        out.append(line if fence or edge else change(line))
    return "\n".join(out)


def _over_links(text: str, change: Callable[[str, str], str]) -> str:
    """The text with each link outside of code changed."""
    return _outside(text, lambda line: _line(line, change))


def _line(line: str, change: Callable[[str, str], str]) -> str:
    """A link may hold code, code may hold what looks like a link: the first of both that begins counts."""
    parts = re.compile(rf"(`+)(?!`).+?(?<!`)\1(?!`)|{LINK.pattern}")
    return parts.sub(lambda m: change(m[2], m[3]) if m[2] is not None else m[0], line)


def on_post_build(config: MkDocsConfig) -> None:
    """Write the twins, `llms.txt` and `llms-full.txt`."""
    site = Path(config.site_dir)
    for uri, (_, url, text) in _twins.items():
        target = site / url / "index.md"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(_to_twins(text, uri), encoding="utf-8")
    lead = f"# {config.site_name}\n\n> {config.site_description}\n"
    listed = [
        f"\n## {title}\n\n" + "".join(_entry(uri) for uri in uris if uri in _twins) for title, uris in _sections(config.nav)
    ]
    (site / "llms.txt").write_text(lead + "".join(listed), encoding="utf-8")
    whole = [text for uri, (_, _, text) in _twins.items() if not LEFT_OUT.match(uri)]
    (site / "llms-full.txt").write_text("\n\n".join([lead, *whole]), encoding="utf-8")


def _to_twins(text: str, uri: str) -> str:
    """A page whose links lead to twins."""
    here = _twins[uri][1] or "."

    def moved(shown: str, target: str) -> str:
        path, sharp, anchor = target.partition("#")
        other = _twins.get(os.path.normpath(os.path.join(os.path.dirname(uri), path)))
        if not path or other is None:
            return f"[{shown}]({target})"
        return f"[{shown}]({os.path.relpath(f'{other[1]}index.md', here)}{sharp}{anchor})"

    return _over_links(text, moved)


def _sections(nav: Any) -> Iterator[tuple[str, list[str]]]:
    """The parts of the navigation, each with all its pages."""
    for part in nav:
        [(title, value)] = part.items()
        yield title, list(_pages(value))


def _pages(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for item in value if isinstance(value, list) else value.values() if isinstance(value, dict) else ():
        yield from _pages(item)


def _entry(uri: str) -> str:
    title, url, text = _twins[uri]
    first = re.split(r"(?<=[.:])\s", _lead(text), maxsplit=1)[0].rstrip(":")
    return f"- [{title}]({url}index.md)" + (f": {first}" if first else "") + "\n"


def _lead(text: str) -> str:
    """The first paragraph of a page, without its links."""
    for paragraph in text.split("\n\n"):
        words = " ".join(paragraph.split())
        if words.startswith("```"):
            return ""
        if words and not words.startswith(("#", "|", ">", "- ", "Made by")):
            return LINK.sub(lambda m: m[1], words)
    return ""
