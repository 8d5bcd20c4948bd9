"""The language server: what an editor asks about AEL, over the Language Server Protocol.

    ael lsp
    ael lsp --tcp 2087

An editor starts it and speaks with it over standard input and output; `--tcp` is for one that connects to a port of this machine.
Exit code 0 when the editor shut it down, 1 when the connection ended otherwise.
"""

from __future__ import annotations

import argparse
import logging
import sys
from importlib.util import find_spec

from ael.cli.report import tell


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `ael lsp`."""
    parser.add_argument(
        "--tcp", type=_port, metavar="PORT", help="listen on this port of 127.0.0.1 (0: any free one, which is told)"
    )
    parser.add_argument(
        "--stdio", action="store_true", help="speak over standard input and output (so it does without this, too)"
    )
    parser.add_argument(
        "--log", choices=("error", "warning", "info", "debug"), default="error", help="what is told on standard error"
    )


def _port(text: str) -> int:
    try:
        port = int(text)
    except ValueError:
        port = -1
    if not 0 <= port <= 65_535:
        raise argparse.ArgumentTypeError(f"`{text}` is no port: a number from 0 to 65535")
    return port


def run(args: argparse.Namespace) -> int:
    """Serve an editor."""
    if args.stdio and args.tcp is not None:
        print("ael lsp: `--stdio` and `--tcp` are two ways; give one", file=sys.stderr)
        return 2
    if find_spec("pygls") is None:
        tell("AEL0874", "the language server needs a package that is not installed: pygls", "pip install 'ael-lang[lsp]'")
        return 2
    logging.basicConfig(stream=sys.stderr, level=args.log.upper(), format="ael lsp: %(message)s")
    logging.getLogger("pygls").setLevel(max(logging.getLogger().level, logging.CRITICAL if args.log == "error" else 0))
    # The protocol's library is loaded by the one command that speaks it.
    from ael.editor.transport import serve_stdio, serve_tcp

    if args.tcp is None:
        if not hasattr(sys.stdin, "buffer") or not hasattr(sys.stdout, "buffer"):
            print("ael lsp: standard input and output are no pipes to speak over", file=sys.stderr)
            return 2
        source, target = sys.stdin.buffer, sys.stdout.buffer
        sys.stdout = sys.stderr  # nothing but messages may go there
        return serve_stdio(source, target)
    try:
        return serve_tcp(args.tcp)
    except OSError as error:
        print(f"ael lsp: port {args.tcp} cannot be listened on: {error.strerror or error}", file=sys.stderr)
        return 2
