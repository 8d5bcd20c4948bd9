"""What can stand at a place of a command line: what a shell's completion script asks `ael completion`."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from ael.cli.main import COMMANDS, parser_of

_FILES = frozenset({"FILE", "PATH", "OLD", "NEW", "BUNDLE", "path"})
"""What an argument is called that takes a file, or a folder."""
_FOLDERS = frozenset({"DIR", "FOLDER"})
_MOST = 500
"""Candidates that are given at most."""
_LONGEST = 100
"""Characters of a candidate's description."""


@dataclass
class Line:
    """A command line up to the place that is asked for."""

    parser: argparse.ArgumentParser
    command: str
    action: str = ""
    pending: argparse.Action | None = None
    """The option that the word at the place is the value of."""
    places: list[str] = field(default_factory=list)
    """The words that stand for themselves, the action's name apart."""
    given: dict[str, str] = field(default_factory=dict)
    """Options with their values, by their `dest`."""
    own: bool = True
    """Whether options of the command can stand here: not after a `--`."""


Candidates = tuple[str, list[tuple[str, str]]]
"""The kind (`words`; `part`, which is gone on with; `files`, `folders`: those too), and candidates with what they mean."""


def answer(words: Sequence[str], at: int, shell: str) -> Iterator[str]:
    """The lines of the answer: the kind, then a candidate in each."""
    try:
        kind, found = _candidates(_joined(words, at), shell)
    except Exception:
        # Whatever is wrong with the program or its store, the shell's line goes on without an answer.
        kind, found = "words", []
    yield kind
    for value, text in found[:_MOST]:
        if not value.isprintable():
            continue  # it would be two lines, or steer the terminal
        said = "".join(char for char in " ".join(text.split()) if char.isprintable())[:_LONGEST]
        if shell == "zsh":
            escaped = value.replace("\\", "\\\\").replace(":", "\\:")
            yield f"{escaped}:{said}" if said else escaped
        else:
            yield f"{value}\t{said}" if said else value


def _joined(words: Sequence[str], at: int) -> list[str]:
    """The words after `ael` up to the place, the last one that at the place. bash makes three of `--format=json`."""
    found: list[str] = []
    glue = False
    for word in [*words[1:], *[""] * (at + 1 - len(words))][:at]:
        if (word == "=" or glue) and found:
            found[-1] += word
            glue = word == "="
        else:
            found.append(word)
            glue = False
    return found


def _candidates(words: list[str], shell: str) -> Candidates:
    *before, current = words or [""]
    quoted = current[:1] in ("'", '"')
    current = current[1:] if quoted else current
    name = next((word for word in before if not word.startswith("-")), None)
    if name is None:
        options = {"--help": "what commands there are", "--version": "which version this is"}
        return "words", _starting(options if current.startswith("-") else COMMANDS, current)
    if name not in COMMANDS:
        return "words", []
    line = _read(name, before[before.index(name) + 1 :])
    option, equals, value = current.partition("=")
    if line.pending is None and line.own and equals and option in line.parser._option_string_actions:
        kind, found = _values(line.parser._option_string_actions[option], line, value)
        # bash has cut the word at the `=`.
        start = "" if shell == "bash" else f"{option}="
        return kind, [(start + one, text) for one, text in found]
    if line.pending is not None:
        return _values(line.pending, line, current)
    if current.startswith("-") and line.own:
        return "words", _options(line, current)
    return _place(line, current)


def actions(parser: argparse.ArgumentParser) -> dict[str, tuple[argparse.ArgumentParser, str]]:
    """The actions of a command that has some (`ael mcp pin`): each with its parser and what it does."""
    found = next((action for action in parser._actions if isinstance(action, argparse._SubParsersAction)), None)
    if found is None:
        return {}
    help_of = {choice.dest: choice.help or "" for choice in found._choices_actions}
    return {name: (own, help_of.get(name, "")) for name, own in found.choices.items()}


def _read(name: str, words: Sequence[str]) -> Line:
    """What the words of a command mean."""
    line = Line(parser_of(name), name)
    for word in words:
        if line.pending is not None:
            line.given[line.pending.dest] = word
            line.pending = None
        elif not line.own:
            continue
        elif word == "--":
            line.own = False
        elif word.startswith("-") and word != "-":
            option, equals, value = word.partition("=")
            action = line.parser._option_string_actions.get(option)
            if action is not None and action.nargs != 0:
                line.pending = None if equals else action
                line.given[action.dest] = value
            elif action is not None:
                line.given[action.dest] = ""
        elif not line.action and word in (inner := actions(line.parser)):
            line.parser, line.action = inner[word][0], word
        else:
            line.places.append(word)
    return line


def _options(line: Line, current: str) -> list[tuple[str, str]]:
    """The options that are not given yet, and the flags of the entry."""
    found: dict[str, str] = {}
    for action in line.parser._actions:
        again = isinstance(action, argparse._AppendAction | argparse._CountAction)
        if action.help == argparse.SUPPRESS or (action.dest in line.given and not again):
            continue
        for option in action.option_strings:
            if option.startswith("--") or current == option:
                found[option] = _help(action)
    if line.parser.get_default("rest") is not None and line.places:
        found |= _names().flags(line.places)
    return _starting(found, current)


def _place(line: Line, current: str) -> Candidates:
    """What can stand where no option is being given."""
    inner = actions(line.parser)
    if inner and not line.places:
        return "words", _starting({name: text for name, (_, text) in inner.items()}, current)
    left = [action for action in line.parser._actions if not action.option_strings]
    for number, action in enumerate(left):
        if action.nargs in ("*", "+") or number == len(line.places):
            return _values(action, line, current)
    return "words", []


def _values(action: argparse.Action, line: Line, current: str) -> Candidates:
    """What an argument takes."""
    if action.choices is not None:
        return "words", _starting({str(choice): "" for choice in action.choices}, current)
    what = action.metavar if isinstance(action.metavar, str) else action.dest
    if what in _FILES:
        return "files", []
    if what in _FOLDERS:
        return "folders", []
    if what in ("RUN", "OTHER"):
        runs: Any = import_module("ael.cli.completing_runs")
        return "words", _starting(runs.runs(_program(line, after=what), line.given.get("deploy") or None), current)
    if what == "CODE":
        codes: Any = import_module("ael.diagnostics.codes")
        return "words", _starting(codes.TITLES, current.upper())
    found = _names().named(what, action.dest, line.command, _program(line))
    return "words", _starting(found, current)


def _names() -> Any:
    return import_module("ael.cli.completing_names")


def _program(line: Line, after: str = "") -> Path:
    """The program that the line is about: its first file, else the folder here."""
    left = [action for action in line.parser._actions if not action.option_strings]
    for action, word in zip(left, line.places, strict=False):
        what = action.metavar if isinstance(action.metavar, str) else action.dest
        if what in _FILES and what != after:
            return Path(word).expanduser()
    return Path()


def _starting(found: dict[str, str], current: str) -> list[tuple[str, str]]:
    return [(value, text) for value, text in found.items() if value.startswith(current)]


def _help(action: argparse.Action) -> str:
    return (action.help or "").replace("%%", "%")
