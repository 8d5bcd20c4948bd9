"""What is known of an entity: its source in short, what its author says of it, and what the check found."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ael.check.builtin import METHODS
from ael.check.collect import Symbol
from ael.check.facts import Facts
from ael.data import dataclass, field
from ael.editor.features import written
from ael.editor.features.entity import Entity
from ael.editor.features.markdown import code, escaped, prose, quoted
from ael.editor.features.pages import page
from ael.editor.snapshot import Snapshot
from ael.editor.word_help import FAULT_HELP, KNOWN, LANGUAGE, OUTSIDE, SERVERS, TYPE_HELP, TYPES
from ael.syntax import nodes as n
from ael.types.definition import EnumDef, FieldDef, NoDefault, RecordDef
from ael.types.fault import FAULT_NAMES
from ael.types.limits import DEFAULT_LIMITS
from ael.types.signature import Effects, ParameterDef
from ael.types.text import show
from ael.types.type import ListType, MapType, StringType, Type


@dataclass(frozen=True)
class Description:
    """`source` is AEL. `said` is Markdown: what the author says, or what AEL says of its own. `facts` are lines of Markdown."""

    source: str = ""
    said: str = ""
    facts: list[str] = field(default_factory=list)
    more: str = ""
    """A link to where more is said."""

    def markdown(self) -> str:
        """All of it, as a hover shows it."""
        parts = [code(self.source)] if self.source else []
        if self.said:
            parts.append(self.said)
        if self.facts:
            parts.append("\n".join(f"- {line}" for line in self.facts))
        if self.more:
            parts.append(self.more)
        return "\n\n".join(parts)


NOTHING = Description()


def describe(snapshot: Snapshot, entity: Entity, type: Type | None = None) -> Description:
    """What is known of an entity; `type` is that of the value where its name stands, if it is one."""
    match entity.kind:
        case "symbol":
            return _symbol(snapshot, entity)
        case "permission" | "role":
            return _permission(snapshot, entity)
        case "module":
            return _module(snapshot, entity)
        case "variant":
            return _variant(snapshot, entity)
        case "field" | "parameter":
            return _member(snapshot, entity, type)
        case "local":
            return Description(f"{entity.name}: {show(type)}" if type is not None else entity.name, facts=bounds(type))
        case "type_parameter":
            return Description(f"<{entity.name}>", f"A type parameter of `{_short(entity.owner)}`.")
        case "store_operation":
            return _store_operation(snapshot, entity)
        case "builtin" | "method":
            return _builtin(entity, type)
        case "word":
            return word(entity.name)
        case "secret" | "setting":
            told = "its value never leaves" if entity.kind == "secret" else "a value that the deployment gives"
            return Description(f'{entity.kind}("{entity.name}")', f"A {entity.kind}: {told}.")
        case "test":
            return Description(said="A test. `ael test` runs it.")


def word(name: str) -> Description:
    """A name that means something in its place."""
    if name not in KNOWN:
        return NOTHING
    told, section = KNOWN[name]
    return Description(name, told, more=page(LANGUAGE, section))


def _short(key: str) -> str:
    return key.removeprefix("provide ").rpartition(".")[2]


# --- declarations --------------------------------------------------------------------------------------------------------


def _symbol(snapshot: Snapshot, entity: Entity) -> Description:
    collected = snapshot.collected
    symbol = collected.symbols.get(entity.name)
    if symbol is None:
        return _language(entity.name)
    source = written.head(collected, entity.name)
    facts = [*_facts(snapshot, entity.name, symbol)]
    if symbol.module and symbol.module != snapshot.main:
        facts.append(f"In the module {quoted(symbol.module)}.")
    return Description(source, documentation(snapshot, symbol), facts, _page(symbol))


def documentation(snapshot: Snapshot, symbol: Symbol) -> str:
    """What is said of a declaration, as Markdown. The words of a server are shown as the text that they are."""
    doc = getattr(symbol.node, "doc", None)
    collected = snapshot.collected
    if isinstance(symbol.node, n.McpMember):
        if isinstance(doc, n.Doc) and symbol.kind == "tool":
            return prose(doc.text)
        remote = collected.remote(symbol.name)
        definition = collected.definitions.get(symbol.name)
        told = (remote.doc if remote is not None else "") or getattr(definition, "doc", "")
        return f"The server says: {escaped(told)}" if told else ""
    return prose(doc.text) if isinstance(doc, n.Doc) else ""


def _page(symbol: Symbol) -> str:
    if not symbol.module.startswith("std/"):
        return ""
    return page(f"stdlib/{symbol.module.removeprefix('std/')}.md", title=f"`{symbol.module}`")


def _language(name: str) -> Description:
    if name in FAULT_NAMES:
        return Description(f"catch {{ {name} f => … }}", FAULT_HELP.get(name, ""), ["A fault: it passes on by itself."])
    return Description(name, TYPE_HELP.get(name, ""), more=page(LANGUAGE, TYPES)) if name in TYPE_HELP else NOTHING


def _facts(snapshot: Snapshot, key: str, symbol: Symbol) -> Iterator[str]:
    """What the check found: what it needs, how it repeats, how it can end."""
    facts = snapshot.facts
    if facts is None:
        return
    match symbol.kind:
        case "function":
            yield from _inferred(facts.effects.get(key))
        case "tool":
            yield from _tool(snapshot, facts, key)
        case "node" | "agent":
            yield from _node(facts, key)
        case "operation":
            operation = facts.operations.get(key)
            if operation is not None:
                yield f"Needs `{operation.permission}`." if operation.permission else "Needs no permission."
                yield f"Repeat safety: `{operation.repeat.word}`."
            yield from _ends(facts.effects.get(key))
        case "store":
            store = facts.stores.get(key)
            if store is not None:
                yield f"Needs `{store.permission}`." if store.permission else "Needs no permission."
                if store.outside:
                    yield "May hold outside data."
        case "model":
            yield from _model(facts, key)
        case "provide":
            provide = facts.provides.get(symbol.name)
            if provide is not None:
                yield f"Provides `{_short(provide.service)}`."
        case "alias" | "record" | "enum" | "error":
            definition = snapshot.collected.definitions.get(key)
            if isinstance(symbol.node, n.TypeDecl):
                scope = snapshot.collected.modules.get(symbol.module)
                yield from bounds(scope.tables.written.get(symbol.node.type) if scope is not None else None)
            if isinstance(definition, RecordDef) and definition.open:
                yield "Keeps keys that it does not declare."
        case _:
            pass
    signature = facts.signatures.get(key)
    if signature is not None and signature.fails:
        yield f"Can fail with {_list(_short(name) for name in sorted(signature.fails))}."


def _inferred(effects: Effects | None) -> Iterator[str]:
    if effects is None or not effects.acts:
        yield "Acts on nothing outside."
        return
    reached = sorted(effects.permissions)
    yield f"Reaches {_list(reached)}." if reached else "Acts, and needs no permission."
    yield f"Repeat safety: `{effects.repeat.word}`."
    yield from _ends(effects)


def _ends(effects: Effects | None) -> Iterator[str]:
    if effects is not None and effects.tainted:
        yield f"Its result is outside data. {page(LANGUAGE, OUTSIDE)}"


def _tool(snapshot: Snapshot, facts: Facts, key: str) -> Iterator[str]:
    tool = facts.tools.get(key)
    if tool is None:
        remote = snapshot.collected.servers.get(key.rpartition(".")[0])
        if remote is not None:
            yield "Not pinned: `ael mcp pin` asks the server for its definition."
        return
    yield f"Needs `{tool.permission}`."
    unsaid = " (it says nothing else)" if tool.remote is not None and tool.repeat.word == "never" else ""
    yield f"Repeat safety: `{tool.repeat.word}`{unsaid}."
    if tool.timeout is not None:
        yield "No timeout." if tool.timeout < 0 else f"Timeout: {_length(tool.timeout)}."
    if tool.approval is not None:
        when = ", where its condition holds" if tool.approval.conditional else ""
        yield f"Asks for an approval{f' by `{tool.approval.role}`' if tool.approval.role else ''}{when}."
    if tool.extern is not None:
        yield f"Carried out by the Python function {quoted(tool.extern)}."
    if tool.remote is not None:
        yield f"{tool.remote.kind.capitalize()} {quoted(tool.remote.wire)} of the MCP server `{_short(tool.remote.server)}`."
        yield page(LANGUAGE, SERVERS)
    yield from _ends(facts.effects.get(key))


def _node(facts: Facts, key: str) -> Iterator[str]:
    node = facts.nodes.get(key)
    if node is None:
        return
    yield f"Grants {_list(sorted(node.grants))}." if node.grants else "Grants nothing."
    if node.model is not None:
        yield f"Driven by the model `{_short(node.model)}`" + (f", `{node.policy.kind}`." if node.policy is not None else ".")
    if node.agent is not None:
        yield f"Joins {_list(node.agent.nodes)}."
    budget = node.budget
    spent = [
        f"{name} {getattr(budget, name):,}" for name in ("steps", "tool_calls", "tokens") if getattr(budget, name) is not None
    ]
    spent += [f"cost ${budget.cost}"] if budget.cost is not None else []
    spent += [f"time {_length(budget.time)}"] if budget.time is not None else []
    if spent:
        yield f"Budget: {', '.join(spent)}."
    effects = facts.effects.get(key)
    if effects is not None and effects.acts:
        yield f"Repeat safety: `{effects.repeat.word}`."
    yield from _ends(effects)


def _model(facts: Facts, key: str) -> Iterator[str]:
    model = facts.models.get(key)
    if model is None:
        return
    if model.provider:
        yield f"Provider {quoted(model.provider)}" + (f", {quoted(model.model)}." if model.model else ".")
    if model.fallback:
        yield f"Then `{_short(model.fallback)}`."


def _list(names: Iterable[str]) -> str:
    every = [f"`{name}`" for name in names]
    shown = every[:12]
    more = f" and {len(every) - 12} more" if len(every) > 12 else ""
    return ", ".join(shown) + more


def _length(milliseconds: int) -> str:
    for unit, size in (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1_000)):
        if milliseconds % size == 0 and milliseconds:
            return f"{milliseconds // size}{unit}"
    return f"{milliseconds}ms"


# --- the rest ------------------------------------------------------------------------------------------------------------


def _permission(snapshot: Snapshot, entity: Entity) -> Description:
    collected, facts = snapshot.collected, snapshot.facts
    symbol = (collected.permissions if entity.kind == "permission" else collected.roles).get(entity.name)
    doc = getattr(symbol.node, "doc", None) if symbol is not None else None
    told: list[str] = []
    spec = facts.permissions.get(entity.name) if facts is not None and entity.kind == "permission" else None
    if spec is not None and facts is not None:
        inner = sorted(spec.includes - {entity.name})
        if inner:
            told.append(f"Includes {_list(inner)}.")
        needed = [_short(name) for name, tool in facts.tools.items() if tool.permission == entity.name]
        needed += [_short(name) for name, one in facts.operations.items() if one.permission == entity.name]
        if needed:
            told.append(f"Needed by {_list(needed)}.")
    return Description(written.permission_head(collected, entity), prose(doc.text) if isinstance(doc, n.Doc) else "", told)


def _module(snapshot: Snapshot, entity: Entity) -> Description:
    file = snapshot.modules.get(entity.name)
    doc = file.tree.doc if file is not None else None
    more = (
        page(f"stdlib/{entity.name.removeprefix('std/')}.md", title=f"`{entity.name}`") if entity.name.startswith("std/") else ""
    )
    return Description(f"use {entity.name}", prose(doc.text) if doc is not None else "", ["A module."], more)


def _variant(snapshot: Snapshot, entity: Entity) -> Description:
    definition = snapshot.collected.definitions.get(entity.owner)
    if not isinstance(definition, EnumDef):
        return NOTHING
    found = next((one for one in definition.variants if one.name == entity.name), None)
    if found is None:
        return NOTHING
    fields = f"({', '.join(map(written.field, found.fields))})" if found.fields else ""
    source = f"{_short(entity.owner)}.{found.name}{fields}"
    return Description(source, _told(snapshot, entity.owner, found.doc), [f"A variant of `{_short(entity.owner)}`."])


def _told(snapshot: Snapshot, owner: str, doc: str) -> str:
    """A description, which is a server's where the type is one of a server."""
    symbol = snapshot.collected.symbols.get(owner)
    if not doc:
        return ""
    return f"The server says: {escaped(doc)}" if symbol is not None and isinstance(symbol.node, n.McpMember) else prose(doc)


def definition_of(snapshot: Snapshot, entity: Entity) -> FieldDef | ParameterDef | None:
    """A field of a declared type, or a parameter of what is declared."""
    collected = snapshot.collected
    if not entity.owner:
        return None
    if entity.kind == "parameter":
        signature = (snapshot.facts.signatures if snapshot.facts is not None else {}).get(entity.owner)
        signature = signature or collected.signatures.get(entity.owner)
        return next((p for p in signature.parameters if p.name == entity.name), None) if signature is not None else None
    definition = collected.definitions.get(entity.owner)
    if isinstance(definition, RecordDef):
        return next((f for f in definition.fields if f.name == entity.name), None)
    owner, _, name = entity.owner.rpartition(".")
    enum = collected.definitions.get(owner)
    if not isinstance(enum, EnumDef):
        return None
    fields = next((v.fields for v in enum.variants if v.name == name), ())
    return next((f for f in fields if f.name == entity.name), None)


def _member(snapshot: Snapshot, entity: Entity, type: Type | None) -> Description:
    found = definition_of(snapshot, entity)
    if found is None:
        one = written.builtin(entity.owner)
        if one is not None and entity.name in one.names:
            return Description(f"{entity.name}: {show(one.parameters[one.names.index(entity.name)])}".replace("?", ""))
        return Description(f"{entity.name}: {show(type)}") if type is not None else NOTHING
    told = [f"A {'field' if entity.kind == 'field' else 'parameter'} of `{_short(entity.owner)}`."]
    if found.wire != found.name:
        told.append(f"In JSON: {quoted(found.wire)}.")
    if found.optional:
        told.append("May be absent, and is `null` then.")
    if not isinstance(found.default, NoDefault):
        told.append(f"Default: {quoted(written.value(found.default))}.")
    if isinstance(found, ParameterDef) and found.trusted:
        told.append(f"Takes only clean values. {page(LANGUAGE, OUTSIDE)}")
    told += bounds(found.type)
    if type is not None and show(type) not in (show(found.type), show(found.type) + "?"):
        told.append(f"Here: {quoted(show(type))}.")
    return Description(written.field(found), _told(snapshot, entity.owner, found.doc), told)


def bounds(type: Type | None) -> list[str]:
    """The bound that holds where a type says none."""
    match type:
        case StringType(max=None):
            return [f"Bounded by default: {DEFAULT_LIMITS.string_bytes // 1_024} KiB of text."]
        case ListType(max=None) | MapType(max=None):
            return [f"Bounded by default: {DEFAULT_LIMITS.entries:,} entries."]
        case _:
            return []


_STORE = {
    "get": "The value under a key, or `null`.",
    "has": "Whether there is a value under a key.",
    "entries": "All that is kept.",
    "page": "At most `most` entries whose keys come after `after`, in the order of their keys.",
    "put": "Keeps a value under a key.",
    "swap": "Keeps a value where what is kept is still `was` (`null`: nothing), and says whether it did.",
    "remove": "Removes what is kept under a key, and says whether there was something.",
}


def _store_operation(snapshot: Snapshot, entity: Entity) -> Description:
    collected = snapshot.collected
    found = collected.signatures.get(f"{entity.owner}.{entity.name}")
    store = snapshot.facts.stores.get(entity.owner) if snapshot.facts is not None else None
    told = [f"Needs `{store.permission}`."] if store is not None and store.permission else []
    shown = written.signature_of(found, f"{_short(entity.owner)}.{entity.name}") if found is not None else entity.name
    return Description(shown, _STORE.get(entity.name, ""), told)


_BUILTIN = {
    "std.now": "The time now. Journaled, so that a run that is played again sees the same.",
    "std.today": "The day now, UTC. Journaled.",
    "std.new_id": "A new identifier, unlike any other. Journaled.",
    "std.random_int": "A random whole number, both ends included. Journaled.",
    "std.log": "Writes to the log of the run.",
    "release": "Lets outside data through as clean, and the trace says why.",
    "json": "The value as JSON.",
    "parse_json": "The value that a JSON text is, or the fault `Malformed`.",
    "min": "The smaller one.",
    "max": "The larger one.",
    "abs": "The number without its sign.",
    "range": "The whole numbers from `low` to `high`, both included.",
    "final": "The scripted model gives this result.",
    "text": "The scripted model, or a server's tool, answers with this text.",
    "call": "The scripted model proposes this call.",
    "unavailable": "The scripted model is not there.",
    "refused": "The scripted model refuses.",
    "cut": "The answer of the scripted model is cut off.",
    "calls": "How often a tool, a node or an operation ran in this test.",
    "check": "The value as one of this type, or the fault `OutOfRange`.",
}


def _builtin(entity: Entity, type: Type | None) -> Description:
    one = written.builtin(entity.name)
    if entity.name in KNOWN and entity.kind == "builtin" and (one is None or entity.name == "call"):
        known = word(entity.name)
        shown = f"{entity.name}: {show(type)}" if type is not None else entity.name
        return Description(shown, known.said, known.facts, known.more)
    if one is None:
        shown = {"calls": "fn calls(tool) -> Int", "check": "T.check(value) -> T"}.get(entity.name, "")
        return Description(shown, _BUILTIN.get(entity.name, "")) if shown else NOTHING
    told = ["A function of the language."]
    if one.name.startswith("std."):
        told = ["An effect of the language: it is journaled, and needs no permission."]
    elif one.name.partition(".")[0] in METHODS:
        told = []
    return Description(written.builtin_signature(one), _BUILTIN.get(one.name, ""), told)
