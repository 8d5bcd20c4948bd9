"""Draw an agent: its nodes and the edges between them.

    ael graph examples/support                              as text
    ael graph examples/support --format mermaid             for Markdown that shows such pictures
    ael graph main.ael desk --format svg --out desk.svg     one file that needs nothing else

Exit code 0, or 2 for bad usage and a program that does not check.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ael.check.program import CheckedProgram
from ael.cli.opening import opened_or_told


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `ael graph`."""
    parser.add_argument("path", type=Path, metavar="FILE", help="a source file, or a folder with a `main.ael`")
    parser.add_argument("agent", nargs="?", metavar="AGENT", help="the agent to draw (default: the only one of the main module)")
    parser.add_argument("--format", choices=("text", "mermaid", "svg"), default="text", help="how to draw it (default: text)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write to a file instead of standard output")
    parser.add_argument("--deploy", metavar="NAME", help="check with `deploy.NAME.ael`")
    parser.add_argument("--watch", action="store_true", help="draw again whenever a file changes")


def run(args: argparse.Namespace) -> int:
    """Draw."""
    if args.watch:
        # What follows dependencies is loaded where somebody watches.
        from ael.cli.watching import watch

        def act(changed: frozenset[Path]) -> None:
            _once(args)

        watch([args.path], act, again="drawing again", ignored=() if args.out is None else (args.out,))
    return _once(args)


def _once(args: argparse.Namespace) -> int:
    opened = opened_or_told(args.path, args.deploy)
    if isinstance(opened, int):
        return opened
    name = _chosen(opened.program, args.agent)
    if name is None:
        return 2
    drawn = _drawn(opened.program, name, args.format)
    if args.out is None:
        sys.stdout.write(drawn)
        return 0
    try:
        args.out.write_text(drawn, encoding="utf-8")
    except OSError as error:
        print(f"ael graph: `{args.out}` cannot be written: {(error.strerror or 'it failed').lower()}", file=sys.stderr)
        return 2
    return 0


def _chosen(program: CheckedProgram, name: str | None) -> str | None:
    """The qualified name of the agent; None after a word on why not."""
    prefix = f"{program.main}."
    agents = [one for one, spec in program.nodes.items() if spec.agent is not None]
    own = [one for one in agents if one.startswith(prefix)]
    found = own if name is None else [one for one in agents if one in (name, f"{prefix}{name}")]
    if len(found) == 1:
        return found[0]
    there = ", ".join(f"`{one.removeprefix(prefix)}`" for one in agents)
    if not agents:
        said = "there is no agent here to draw"
    elif name is None:
        said = f"say which agent to draw: {there}"
    else:
        said = f"there is no agent `{name}`; there {'is' if len(agents) == 1 else 'are'} {there}"
    print(f"ael graph: {said}", file=sys.stderr)
    return None


def _drawn(program: CheckedProgram, name: str, form: str) -> str:
    from ael.drawing.picture import picture

    drawn = picture(program, name)
    match form:
        case "svg":
            from ael.drawing.svg import svg

            return svg(drawn)
        case "mermaid":
            from ael.drawing.mermaid import mermaid

            return mermaid(drawn)
        case _:
            from ael.drawing.text import text

            return text(drawn)
