"""Print the guide for coding agents that write AEL: the language by example, what the checker asks for, and how to work.

    ael guide                            the guide, as Markdown
    ael guide --skill                    the same as a SKILL.md: with the lines in front that say when to read it
    ael guide --skill --into FOLDER      writes FOLDER/ael/SKILL.md, where an agent looks for its skills

Exit code 0, or 2 for bad usage.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from ael import __version__
from ael.project.shipped import shipped

NAME = "ael"
HEAD = f"""\
---
name: {NAME}
description: >-
  How to write, check, test and run programs in AEL, the Agent Engineering Language (files that end in .ael, packs with a pack.ael).
  Read it before writing or changing AEL, and when `ael check` tells a code that is not clear.
metadata:
  version: "{__version__}"
---

"""
"""The lines in front of a skill: its name, and when to read it."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `ael guide`."""
    parser.add_argument("--skill", action="store_true", help="print it as a SKILL.md")
    parser.add_argument(
        "--into", type=Path, metavar="FOLDER", help="with `--skill`: write FOLDER/ael/SKILL.md instead of printing"
    )


def run(args: argparse.Namespace) -> int:
    """Print or write the guide."""
    if args.into is not None and not args.skill:
        print("ael guide: `--into` goes with `--skill`", file=sys.stderr)
        return 2
    text = (HEAD if args.skill else "") + guide()
    if args.into is None:
        sys.stdout.write(text)
        return 0
    target: Path = args.into / NAME / "SKILL.md"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")
    print(f"wrote {target}", file=sys.stderr)
    return 0


def guide() -> str:
    """The guide without links to pages that are not shipped: a code is explained by `ael explain`."""
    page = (shipped("guide") / "agents-guide.md").read_text(encoding="utf-8")
    return re.sub(r"\[([^\]\n]+)\]\((?!https?:)[^)\s]+\)", r"\1", page)
