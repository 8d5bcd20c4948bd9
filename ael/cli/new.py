"""Make a pack that checks, tests and runs at once, without a key or a network."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from ael.editor.words import words
from ael.project import template, template_mcp
from ael.project.pack import RESERVED

MCP = "a tool of an MCP server, which is a small program in Python"
TEMPLATES = {**template.TEMPLATES, "mcp": MCP}
AGENTS = """\
# For coding agents

This pack is written in AEL. Read `ael guide` before you write any: it is the guide for the version that is installed.

- After each edit: `ael check`, and `ael explain CODE` for what it tells; then `ael fmt` and `ael test`.
- `ael preview .` shows what a model would be sent. Tests and `deploy.ael` use scripted models: no key, no network.
- Permissions, `repeat` and budgets say what this program may do. Change them only when you were asked to.
"""
"""What a new pack tells coding agents."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `ael new`."""
    parser.add_argument("name", help="the pack's name, which is also its folder: lower_snake_case")
    parser.add_argument(
        "--in", dest="folder", type=Path, default=Path(), metavar="FOLDER", help="where to make it (default: here)"
    )
    listing = "; ".join(f"{name}: {text}" for name, text in TEMPLATES.items())
    parser.add_argument("--template", choices=TEMPLATES, default="tool", metavar="TEMPLATE", help=f"what it begins as. {listing}")


def run(args: argparse.Namespace) -> int:
    """Make the pack."""
    name: str = args.name
    reserved = {word for kind in ("declaration", "statement", "operator", "literal") for word in words()[kind]}
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or name in reserved | RESERVED:
        print(
            f"ael new: `{name}` is no name for a pack: lower case letters, digits and `_`, no word of the language",
            file=sys.stderr,
        )
        return 2
    root = args.folder / name
    if root.exists() and any(root.iterdir() if root.is_dir() else [root]):
        print(f"ael new: `{root}` is there already, and not empty", file=sys.stderr)
        return 2
    files = template_mcp.files(name) if args.template == "mcp" else template.files(args.template, name)
    for path, text in {**files, "AGENTS.md": AGENTS}.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    print(f"made {root}; now:", file=sys.stderr)
    print(f"  cd {root}\n  ael check\n  ael test\n  ael run .", file=sys.stderr)
    return 0
