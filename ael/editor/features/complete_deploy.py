"""What a `deploy.ael` or a `pack.ael` can say: kinds of lines, what of the program they bind, and the words of their values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from ael.check import model
from ael.check.basis import short
from ael.editor.features.complete_places import permissions, words
from ael.editor.features.cursor import Cursor
from ael.editor.features.deploy_names import BOUND, candidates
from ael.editor.features.entity import Entity
from ael.editor.features.imports import library_modules
from ael.editor.features.items import EXPECTED, KINDS, OWN, WORD, Item, K
from ael.editor.features.meaning import entity_of
from ael.project.form import BUDGET_WORDS, DEFAULT_WORDS, FORMS, LIMIT_WORDS, PARTS, PRICE_WORDS
from ael.project.known_servers import KNOWN
from ael.project.pack import OPTIONAL_PACKAGES
from ael.syntax import nodes as n

_REMOTE = ("token", "name", "authority", "certificate", "key", "connect", "concurrent", "failures", "cooldown")
_SERVER = (
    "connect",
    "timeout",
    "idle",
    "concurrent",
    "retries",
    "manifest",
    "failures",
    "cooldown",
    "elicitation",
    "tools",
    "nodes",
)
ARGUMENTS: Mapping[tuple[str, str], tuple[str, ...]] = MappingProxyType(
    {
        **{("model", provider): ("key", "endpoint", *model.NUMBERS) for provider in model.PROVIDERS},
        ("mcp", "http"): ("headers", "bearer", "oauth", *_SERVER),
        ("mcp", "sse"): ("headers", "bearer", "oauth", *_SERVER),
        ("mcp", "stdio"): ("env", "folder", *_SERVER),
        ("service", "https"): _REMOTE,
        ("service", "grpc"): _REMOTE,
        ("service", "process"): ("workers", "connect", "concurrent", "failures", "cooldown"),
        ("node", "https"): _REMOTE,
        ("node", "process"): ("workers", "connect", "concurrent", "failures", "cooldown"),
        ("edge", "https"): _REMOTE,
        ("edge", "process"): ("workers", "connect", "concurrent", "failures", "cooldown"),
        ("http", "client"): ("hosts", "headers", "bearer", "agent", "max"),
        ("web", "search"): ("hosts", "anywhere", "agent", "max", "key"),
        ("web", "pages"): ("hosts", "anywhere", "agent", "max"),
        ("files", "folder"): ("write", "allow", "limit"),
        ("code", "commands"): ("test", "after_edit", "shell"),
        ("process", "sandbox"): (
            "commands", "env", "time", "cpu", "memory", "file", "disk", "open_files", "processes", "output", "concurrent", "read",
            "network",
        ),
        ("runs", "sqlite"): ("lease", "slots"),
    }
)  # fmt: skip
"""(kind of line, word of its value) -> the options by name."""

_ASKED = ("key", "token", "bearer", "secret")
"""Options whose value is a secret."""
_SNIPPETS = {
    "model": 'model ${1:fast} = ${2:anthropic}("${3:claude-haiku-4-5}", key: secret("${4:ANTHROPIC_API_KEY}"))$0',
    "secret": 'secret ${1:NAME} = env("${1:NAME}")$0',
    "setting": 'setting ${1:NAME} = "$2"$0',
    "store": 'store ${1:name} = sqlite("${2:data.db}")$0',
    "runs": 'runs = sqlite("${1:runs.db}")$0',
    "mcp": 'mcp ${1:name} = stdio("${2:npx}")$0',
    "role": 'role ${1:name} = ["$2"]$0',
    "tenant": "tenant ${1:name} {\n  $0\n}",
}


def deployment(cursor: Cursor) -> Iterator[Item]:
    """What can stand at the cursor in a deployment."""
    line = _line(cursor)
    if not line:
        for kind in (*PARTS, "tenant"):
            told = FORMS.get(kind, "").partition(" or ")[0].partition(", ")[0].strip("`")
            yield Item(kind, K.Keyword, WORD, told, snippet=_SNIPPETS.get(kind, ""))
        return
    kind = line[0]
    binding = next((node for node in reversed(cursor.path) if isinstance(node, n.Binding)), None)
    if any(isinstance(node, n.Grants) for node in cursor.path) or kind in ("deny", "allow"):
        yield from permissions(cursor)
        if kind == "allow":
            yield from _bindable(cursor, ("tool",))
    elif any(isinstance(node, n.Approval) for node in cursor.path):
        for name in cursor.snapshot.collected.roles:
            yield Item(name, K.EnumMember, OWN, "role", entity=Entity("role", name))
    elif kind in ("default", "limit", "budget", "price"):
        known = {"default": DEFAULT_WORDS, "limit": LIMIT_WORDS, "budget": BUDGET_WORDS, "price": PRICE_WORDS}[kind]
        yield from words((one for one in known if one not in line), " ")
    elif "=" not in line and (binding is None or binding.value is None or binding.value.span.start > cursor.start):
        yield from _subjects(cursor, kind)
    else:
        yield from _value(cursor, kind, line)


def _line(cursor: Cursor) -> list[str]:
    """The tokens of the line's declaration before the cursor."""
    text = cursor.file.source.text[cursor.first : cursor.start]
    return re.findall(r'"[^"\n]*"?|[\w.]+|[^\s\w]', "\n".join(one for one in text.split("\n") if not one.startswith("//")))


def _subjects(cursor: Cursor, kind: str) -> Iterator[Item]:
    """What of the program a line of this kind binds, what is bound already left out."""
    bound = {
        node.subject.text
        for node in cursor.file.tree.declarations
        if isinstance(node, n.Binding) and node.subject is not None and node.kind.text == kind and not _here(node, cursor)
    }
    collected = cursor.snapshot.collected
    if kind == "role":
        for name in collected.roles:
            if name not in bound:
                yield Item(name, K.EnumMember, OWN, "role", entity=Entity("role", name))
    elif kind in ("secret", "setting"):
        yield from _wanted(cursor, kind, bound)
    elif kind == "edge":
        for agent, source, target in _edges(cursor):
            label = f"{agent}.{source} -> {agent}.{target}"
            yield Item(label, K.Class, EXPECTED, insert=f"{label} = ", snippet=f"{label} = $0")
    elif kind in BOUND:
        for item in _bindable(cursor, BOUND[kind]):
            if item.label not in bound:
                yield item


def _here(node: n.Binding, cursor: Cursor) -> bool:
    return node.span.start <= cursor.start <= node.span.end


def _bindable(cursor: Cursor, kinds: tuple[str, ...]) -> Iterator[Item]:
    collected = cursor.snapshot.collected
    known = candidates(collected, kinds)  # type: ignore[arg-type]
    ends = [key.rpartition(".")[2] for key in known]
    for key, symbol in known.items():
        end = key.rpartition(".")[2]
        label = end if ends.count(end) == 1 else short(key.removeprefix("provide "))
        yield Item(label, KINDS[symbol.kind], OWN, key.removeprefix("provide "), entity=entity_of(symbol))


def _wanted(cursor: Cursor, kind: str, bound: set[str]) -> Iterator[Item]:
    """The secrets and settings that the program or this deployment asks for."""
    found: dict[str, None] = {}
    for file in cursor.snapshot.files.values():
        if file.own and file.kind in ("module", "deployment"):
            for name in re.findall(rf'\b{kind}\("([A-Za-z_]\w*)"\)', file.source.text):
                found[name] = None
    for name in found:
        if name not in bound:
            yield Item(name, K.Constant, EXPECTED, "asked for", entity=Entity("secret" if kind == "secret" else "setting", name))


def _edges(cursor: Cursor) -> Iterator[tuple[str, str, str]]:
    for symbol in cursor.snapshot.collected.of_kind("agent"):
        if isinstance(symbol.node, n.AgentDecl):
            pairs = {(s.text, e.target.name.text): None for e in symbol.node.edges for s in e.sources}
            for source, target in pairs:
                if target != "finish":
                    yield symbol.node.name.text, source, target


def _value(cursor: Cursor, kind: str, line: list[str]) -> Iterator[Item]:
    """What can stand after the `=`: the words of the kind, options in their parentheses, names of the program."""
    call = _call(line)
    if call is not None:
        inner, given = call
        if line[-1] == ":" or (len(line) > 1 and line[-2] == ":"):
            asked = line[-2] if line[-1] == ":" else line[-3]
            if asked in _ASKED:
                yield Item(
                    "secret", K.Function, EXPECTED, "what a `secret` line finds", snippet='secret("$1")$0', insert="secret"
                )
            return
        for rank, one in enumerate(ARGUMENTS.get((kind, inner), ())):
            if one not in given:
                snippet = f'{one}: secret("$1")$0' if one in _ASKED else f"{one}: $0"
                yield Item(f"{one}:", K.Property, EXPECTED, insert=f"{one}: ", snippet=snippet, rank=rank)
        if kind == "serve":
            yield from _bindable(cursor, ("node", "agent", "service"))
        return
    yield from _constructs(kind)
    if kind == "service":
        yield from _bindable(cursor, ("provide",))
    elif kind == "serve":
        yield from _bindable(cursor, ("node", "agent", "service"))
    if kind in ("service", "node", "edge"):
        yield Item("in process", K.Keyword, EXPECTED, "in the process of the program")


def _call(line: list[str]) -> tuple[str, set[str]] | None:
    """The innermost call that is open at the end of a line: its word, and the options that it has."""
    stack: list[tuple[str, set[str]]] = []
    for at, text in enumerate(line):
        if text in ("(", "["):
            stack.append((line[at - 1] if at else "", set()))
        elif text in (")", "]") and stack:
            stack.pop()
        elif text == ":" and stack and at:
            stack[-1][1].add(line[at - 1])
    return stack[-1] if stack else None


def _constructs(kind: str) -> Iterator[Item]:
    """The words that a value of this kind can begin with, as the form of the line has them."""
    form = FORMS.get(kind, "")
    known = list(dict.fromkeys([*re.findall(r"(?:= |`)([a-z_]+)\(", form), *re.findall(r"= ([a-z_]+)`", form)]))
    if kind == "model":
        known = [*model.PROVIDERS, "recorded"]
    elif kind == "mcp":
        known = ["http", "sse", "stdio", "known"]
    for rank, one in enumerate(known):
        bare = f"= {one}`" in form
        told = ", ".join(KNOWN) if one == "known" else ""
        yield Item(one, K.Function, EXPECTED, told, snippet="" if bare else f'{one}("$1")$0', rank=rank)


def pack(cursor: Cursor) -> Iterator[Item]:
    """What can stand at the cursor in a `pack.ael`."""
    line = cursor.file.source.text[: cursor.start].rpartition("\n")[2].split()
    if line[:1] == ["uses"]:
        for name in library_modules():
            if name in OPTIONAL_PACKAGES:
                yield Item(name, K.Module, EXPECTED, "an optional package")
        return
    if not line:
        snippets = {
            "version": 'version "${1:0.1.0}"$0',
            "depends": 'depends ${1:name} "${2:1.0}" from "${3:../name}"$0',
            "extern": 'extern "$1"$0',
        }
        for word in ("version", "uses", "depends", "extern"):
            yield Item(word, K.Keyword, WORD, snippet=snippets.get(word, ""))
