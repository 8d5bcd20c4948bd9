"""The line of a deployment that lets a program run commands: `process = sandbox(commands: ["git", "pytest"], time: 60s)`."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from datetime import timedelta
from difflib import get_close_matches

from ael.check.url import names_credential
from ael.data import dataclass
from ael.project.bind_state import State, argument, construct, value
from ael.project.environment import dangerous
from ael.project.literal import Construct
from ael.project.wrong import Wrong, listing
from ael.syntax import nodes as n

PACKAGES = ("std/process", "std/code")
FORM = 'it is written `process = sandbox(commands: ["git", "pytest"], time: 60s, memory: 2GiB)`'

_COMMAND = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,254}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_WORDS = ("commands", "env", "time", "cpu", "memory", "file", "disk", "open_files", "processes", "output", "concurrent")
_WALLS = ("read", "network")
"""What only a sandbox has: elsewhere a command reads and reaches everything."""
_TIMES: Mapping[str, tuple[timedelta, str]] = {
    "time": (timedelta(hours=1), "an hour"),
    "cpu": (timedelta(hours=10), "10 hours"),
}
_SIZES: Mapping[str, tuple[int, int, str]] = {
    "memory": (16 << 20, 1 << 40, "from 16MiB"),
    "file": (0, 1 << 40, "of bytes"),
    "disk": (0, 1 << 40, "of bytes"),
    "output": (256, 512 << 10, "from 256B to 512KiB"),
}
_LIVE = ("/dev", "/proc", "/run", "/sys", "/var/run")
"""Folders of devices, processes and sockets: to see them is to use them."""
_COUNTS: Mapping[str, tuple[int, int]] = {"open_files": (16, 65_536), "processes": (1, 10_000), "concurrent": (1, 256)}


@dataclass(frozen=True)
class ProcessBinding:
    """Which commands a program may run, and within what. `time` and `cpu` in milliseconds, sizes in bytes; see `docs/sandbox.md`.

    `commands`: names, looked for where the system keeps its programs, or absolute paths. `read`: folders that are seen beside the
    system's. `concurrent`: commands beside each other; more of them wait.
    """

    commands: tuple[str, ...] = ()
    sandboxed: bool = True
    read: tuple[str, ...] = ()
    network: bool = False
    environment: Mapping[str, str] = {}
    time: int = 60_000
    cpu: int = 60_000
    memory: int = 2 << 30
    file: int = 256 << 20
    disk: int = 1 << 30
    open_files: int = 1_024
    processes: int = 256
    output: int = 16 << 10
    concurrent: int = 4

    @property
    def shown(self) -> str:
        """As `ael deploy check` says it: what a reviewer should not overlook stands first."""
        walls = "in a sandbox" if self.sandboxed else "WITHOUT A SANDBOX"
        network = ", with the network of this machine" if self.network else ""
        return f"{walls}{network}: {', '.join(self.commands) or 'no commands'}"


def process(state: State, binding: n.Binding) -> None:
    """`process = sandbox(…)`, or `unsandboxed(…)` where there is none and the operator does without. Raises `Wrong`."""
    found = construct(binding, ("sandbox", "unsandboxed"))
    node = value(binding)
    if not state.packages.intersection(PACKAGES):
        note = "add `uses std/process` to `pack.ael`: what a pack does not list does not exist for the program"
        raise Wrong("AEL0845", "running commands needs the optional package `std/process`", binding.kind, note)
    if found.positional:
        raise Wrong("AEL0814", f"`{found.name}` takes its words by name", node, FORM)
    sandboxed = found.name == "sandbox"
    known = (*_WORDS, *_WALLS) if sandboxed else _WORDS
    for word in found.named:
        if word not in known:
            raise Wrong("AEL0814", f"`{found.name}` has no `{word}`", argument(node, word), _known(word, known, sandboxed))
    amounts = {word: _amount(word, given, argument(node, word)) for word, given in found.named.items() if word in _AMOUNTS}
    network = found.named.get("network", False)
    if not isinstance(network, bool):
        raise Wrong(
            "AEL0814",
            "`network` is `true` or `false`: whether commands reach what this machine reaches",
            argument(node, "network"),
        )
    state.natives["process"] = ProcessBinding(
        _commands(found, node), sandboxed, _read(found, node), network, _environment(found, node), **amounts
    )


_AMOUNTS = frozenset({*_TIMES, *_SIZES, *_COUNTS})


def _known(word: str, known: tuple[str, ...], sandboxed: bool) -> str:
    if word in _WALLS and not sandboxed:
        return "without a sandbox a command reads and reaches everything that AEL itself does"
    close = get_close_matches(word, known, 1)
    return f"did you mean `{close[0]}`?" if close else listing("there is", known)


def _amount(word: str, given: object, node: n.Node) -> int:
    if word in _TIMES:
        longest, text = _TIMES[word]
        if not isinstance(given, timedelta) or not timedelta(0) < given <= longest:
            raise Wrong("AEL0814", f"`{word}` is a duration of at most {text}, such as `60s`", node)
        return given // timedelta(milliseconds=1)
    whole = isinstance(given, int) and not isinstance(given, bool)
    if word in _SIZES:
        low, high, text = _SIZES[word]
        if not whole or not low <= given <= high:  # type: ignore[operator]
            raise Wrong("AEL0814", f"`{word}` is a size {text}, such as `256MiB`", node)
    else:
        low, high = _COUNTS[word]
        if not whole or not low <= given <= high:  # type: ignore[operator]
            raise Wrong("AEL0814", f"`{word}` is a whole number from {low} to {high:,}", node)
    assert isinstance(given, int)
    return given


def _commands(found: Construct, node: n.Expr) -> tuple[str, ...]:
    """Names and absolute paths: what a relative path means would be up to whoever writes into the workspace."""
    where = argument(node, "commands")
    given = _texts("commands", found.named.get("commands", []), where)
    for command in given:
        if not _COMMAND.fullmatch(command) and not _absolute(command):
            note = 'a command is a name, `"git"`, or an absolute path, `"/opt/tools/bin/lint"`; its arguments are said by the program'
            raise Wrong("AEL0814", f"`{command[:80]}` is no command", where, note)
    return given


def _read(found: Construct, node: n.Expr) -> tuple[str, ...]:
    where = argument(node, "read")
    given = _texts("read", found.named.get("read", []), where)
    for path in given:
        if not _absolute(path) or path in ("/", "/tmp") or any(path == place or path.startswith(f"{place}/") for place in _LIVE):
            message = f"`{path[:80]}` cannot be shown in a sandbox"
            note = '`read` is a list of absolute paths of folders and files, not of what the system shows of itself: `read: ["/opt/tools"]`'
            raise Wrong("AEL0814", message, where, note)
    return given


def _absolute(path: str) -> bool:
    return os.path.isabs(path) and os.path.normpath(path) == path and path.isprintable()


def _environment(found: Construct, node: n.Expr) -> dict[str, str]:
    where = argument(node, "env")
    given = found.named.get("env", {})
    if not isinstance(given, dict):
        raise Wrong("AEL0814", '`env` is a map of texts: `env: ["CI": "1"]`', where)
    for name, text in given.items():
        if not _VARIABLE.fullmatch(name):
            raise Wrong("AEL0814", f"`{name[:60]}` is no name of a variable", where)
        if (isinstance(text, Construct) and text.name == "secret") or names_credential(name):
            note = "what a command can read, it can show: no secret is handed to it"
            raise Wrong("AEL0815", f"the variable `{name}` is a credential", where, note)
        if dangerous(name):
            raise Wrong("AEL0846", f"the variable `{name}` decides which code a program runs, or whom it trusts", where)
        if not isinstance(text, str) or not text.isprintable():
            raise Wrong("AEL0814", "a variable is one line of text", where)
    return dict(given)


def _texts(word: str, given: object, node: n.Node) -> tuple[str, ...]:
    if not isinstance(given, list) or not all(isinstance(one, str) and one and "\0" not in one for one in given):
        raise Wrong("AEL0814", f"`{word}` is a list of texts", node, FORM)
    return tuple(dict.fromkeys(given))
