"""The `ael` command: finds the subcommand and loads only its module, so that each starts fast.

Exit codes: 0 done; 1 a run ended with an error or fault, a test failed, or `fmt --check` found something; 2 bad usage or a
program that does not check; 3 a parked run; 130 interrupted. Results go to standard output, everything else to standard error.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any, Protocol, cast

from ael import __version__

COMMANDS = {
    "run": "run a program's entry and print its result",
    "check": "check programs and report every problem",
    "fix": "apply the fixes that are known, or show what they would change",
    "fmt": "format source files",
    "test": "run the test blocks of programs",
    "eval": "run a program's cases, grade them, compare them with a baseline",
    "new": "make a pack that checks, tests and runs at once",
    "doc": "write the pages of a pack from its doc comments, and run the examples in them",
    "repl": "try expressions, statements and declarations, one after the other",
    "preview": "show the exact prompt, tools, size and price of a node before paying",
    "graph": "draw an agent: its nodes and edges",
    "build": "compile a program; `--emit python` shows the code",
    "deploy": "check a deployment, and say what it binds",
    "explain-access": "say who may do what in a deployment, by which layer, and why not",
    "language": "print the language as data, for editors and other tools",
    "explain": "explain a diagnostic code",
    "guide": "print the guide for coding agents that write AEL, of this version",
    "runs": "list runs, show what they did, decide what they wait for, go on with them",
    "up": "keep a whole program up: its server, its workers, the studio",
    "worker": "take runs from the store and execute them, beside other workers",
    "trace": "show what a run did, as a tree or a page",
    "mcp": "list, pin, compare and call what MCP servers offer",
    "studio": "look at runs in a browser: timeline, graph, prompts, cost, approvals, forks",
    "serve": "serve a program's services and nodes to others",
    "export": "a typed client of what a program serves, in Python or TypeScript; OpenAPI, a `.proto`, JSON Schema",
    "model": "get and list small local models",
    "bundle": "hand a program on as one file: make it, look at it, install it",
    "deps": "show, explain and lock the packs that a pack depends on",
    "diff": "compare two versions of a pack: what changed for those who use it",
    "doctor": "say what this installation has and lacks",
    "lsp": "the language server: what an editor asks about AEL",
    "completion": "print a shell's completion script",
}


class Command(Protocol):
    """What the module of a command has."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None: ...

    def run(self, args: argparse.Namespace) -> int: ...


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line. Gives the exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    if sys.stdout is None or sys.stderr is None:
        # Closed by whoever started it (`>&-`): what would be written goes nowhere.
        nowhere = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")
        sys.stdout, sys.stderr = sys.stdout or nowhere, sys.stderr or nowhere
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal that cannot show a character gets its number, never a traceback.
        sys.stdout.reconfigure(errors="backslashreplace")
    if any("\0" in word for word in words):
        print("ael: a word of the command line holds a NUL character", file=sys.stderr)
        return 2
    if words[:1] == ["help"]:
        # As users of other tools type it: `ael help check` is `ael check --help`.
        words = words[1:2] if words[1:] and words[1] not in COMMANDS else [*words[1:2], "--help"]
    name = next((word for word in words if not word.startswith("-")), None)
    if name in COMMANDS:
        return _command(name, words)
    parser = _parser()
    if not words or "--help" in words or "-h" in words:
        parser.print_help(sys.stdout if words else sys.stderr)
        return 0 if words else 2
    if "--version" in words or words == ["-V"]:
        print(f"ael {__version__}")
        return 0
    from difflib import get_close_matches

    close = get_close_matches(name or "", COMMANDS, 1)
    hint = f"; did you mean `ael {close[0]}`?" if close else "; `ael --help` lists them"
    print(f"ael: there is no command `{name or words[0]}`{hint}", file=sys.stderr)
    return 2


class _Words(argparse.ArgumentParser):
    """Takes options between the places too: `ael run . --deploy eu classify` is `ael run . classify --deploy eu`."""

    _mixed = False

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        # With actions of its own (`ael runs wait …`) the words after the action are those of that action's parser.
        if self._mixed or any(action.nargs == argparse.PARSER for action in self._actions):
            return super().parse_known_args(args, namespace)
        self._mixed = True
        try:
            return self.parse_known_intermixed_args(args, namespace)
        finally:
            self._mixed = False


def _parser() -> argparse.ArgumentParser:
    listing = "\n".join(f"  {name:<15} {text}" for name, text in COMMANDS.items())
    return argparse.ArgumentParser(
        prog="ael",
        usage="ael COMMAND [options]",
        description="AEL, the Agent Engineering Language.",
        epilog=f"commands:\n{listing}\n\n`ael COMMAND --help` says more about one.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def _apart(parser: argparse.ArgumentParser, words: list[str]) -> tuple[list[str], list[str]]:
    """The command's own words, and the flags of the entry: every other `--name value`, and all that follows a `--`."""
    own: list[str] = []
    rest: list[str] = []
    options = parser._option_string_actions
    places = sum(not action.option_strings for action in parser._actions)
    index = 0
    while index < len(words):
        word = words[index]
        index += 1
        if word == "--":
            return own, rest + words[index:]
        action = options.get(word.partition("=")[0])
        if action is not None:
            own.append(word)
            if action.nargs is None and "=" not in word and index < len(words):
                own.append(words[index])
                index += 1
        elif word.startswith("--"):
            rest.append(word)
            if "=" not in word and index < len(words):
                rest.append(words[index])
                index += 1
        elif places and (word == "-" or not word.startswith("-")):
            own.append(word)
            places -= 1
        else:
            rest.append(word)
    return own, rest


def parser_of(name: str) -> argparse.ArgumentParser:
    """The parser of a command, as running it uses it. Raises `ImportError` for one that there is not."""
    module = _module(name)
    parser = _Words(
        prog=f"ael {name}",
        description=module.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    module.add_arguments(parser)
    return parser


def split(parser: argparse.ArgumentParser, words: list[str]) -> tuple[list[str], list[str]]:
    """The words of a command's own, and those that are flags of the program's entry, where the command takes such."""
    return (words, []) if parser.get_default("rest") is None else _apart(parser, words)


def _module(name: str) -> Command:
    return cast(Command, import_module(f"ael.cli.{name.replace('-', '_')}"))


def _command(name: str, words: list[str]) -> int:
    module, parser = _module(name), parser_of(name)
    words.remove(name)
    own, rest = split(parser, words)
    args = parser.parse_args(own)
    if parser.get_default("rest") is not None:
        args.rest = rest
    try:
        return module.run(args)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader went away (`ael run … | head`): not worth a word, and nothing more may be flushed at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        # A file that cannot be written, or a folder that cannot be listed: what reads and writes says which.
        where = f"`{error.filename}`: " if error.filename is not None else ""
        print(f"ael {name}: {where}{(error.strerror or str(error)).lower()}", file=sys.stderr)
        return 2
