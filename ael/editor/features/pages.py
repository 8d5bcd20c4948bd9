"""Links to the documentation that came with this installation: a page is named where it does not lie on this machine."""

from __future__ import annotations

from functools import cache
from pathlib import Path

_TITLES = {
    "text": "Text", "types": "Types", "code": "Code", "decision-tables": "Decision tables", "failures-are-values": "Failures are values",
    "permissions-tools-nodes": "Permissions, tools, nodes", "agents": "Agents", "services-and-stores": "Services and stores",
    "mcp-servers": "MCP servers", "outside-data": "Outside data", "tests": "Tests",
}  # fmt: skip


@cache
def _folder() -> Path | None:
    """The folder of the documentation in a checkout, if this is one."""
    found = Path(__file__).resolve().parents[3] / "docs"
    return found if (found / "language.md").is_file() else None


def page(name: str, section: str = "", title: str = "") -> str:
    """A Markdown link to a page (`language.md`) and a section of it."""
    shown = title or f"The language: {_TITLES.get(section, section)}" if section else title or name
    folder = _folder()
    if folder is None or not (folder / name).is_file():
        return f"{shown} (`docs/{name}`)"
    return f"[{shown}]({(folder / name).as_uri()}{f'#{section}' if section else ''})"
