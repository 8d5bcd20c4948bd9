"""What fits the place of the cursor in the tree: each form of the language asks for something else."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from ael.check import budget, model
from ael.check.collect import Kind
from ael.check.mcp import wire_of
from ael.check.packs import written_name
from ael.editor.features import written
from ael.editor.features.complete_members import after_dot, in_path, in_pattern
from ael.editor.features.complete_names import TYPES, elsewhere, symbols, types, values
from ael.editor.features.complete_patterns import cells, errors, patterns
from ael.editor.features.cursor import Cursor
from ael.editor.features.entity import Entity
from ael.editor.features.expected import expected, parameter_types
from ael.editor.features.items import EXPECTED, OWN, Item, K, escape
from ael.editor.word_help import KNOWN
from ael.syntax import nodes as n
from ael.types.text import show
from ael.types.type import Named

_NODES: frozenset[Kind] = frozenset({"node", "agent", "module"})
_OFFERED: frozenset[Kind] = frozenset({"tool", "node", "agent", "mcp", "module"})
_MODELS: frozenset[Kind] = frozenset({"model", "module"})
_BOUNDS = {
    "String": ("max", "min", "pattern", "format"), "List": ("max", "min"), "Map": ("max", "min"), "Bytes": ("max", "min"),
    "File": ("media", "max"), "Int": ("min", "max"), "Float": ("min", "max"), "Decimal": ("min", "max"),
}  # fmt: skip


def placed(cursor: Cursor) -> Iterator[Item] | None:
    """What fits the place in the tree; None where the tree says nothing, so that only words can stand there."""
    path = cursor.path
    if cursor.guess is None or not path:
        return None
    if (row := cells(cursor)) is not None:
        return row
    for at in range(len(path) - 1, -1, -1):
        node, around = path[at], path[:at]
        make = _AT.get(type(node))
        if make is not None and (found := make(cursor, node, around)) is not None:
            return found
    return None


Maker = Callable[[Cursor, n.Node, tuple[n.Node, ...]], Iterator[Item] | None]


def _access(cursor: Cursor, node: n.Node, around: tuple[n.Node, ...]) -> Iterator[Item] | None:
    assert isinstance(node, n.FieldAccess)
    return after_dot(cursor, node) if node.name.span.start >= cursor.start else None


def _reference(cursor: Cursor, node: n.Node, around: tuple[n.Node, ...]) -> Iterator[Item] | None:
    inner = around[-1] if around else None
    if isinstance(inner, n.Argument) and len(around) > 1:
        outer = around[-2]
        if isinstance(outer, n.Policy):
            return words(("steps", "tool_calls"), ": ")
        if isinstance(outer, n.Retry):
            return words(("attempts", "backoff", "base", "cap"), ": ")
    if isinstance(inner, n.Setting):
        return _setting_value(cursor, inner, around[-2] if len(around) > 1 else None)
    if any(isinstance(one, n.Bound) for one in around):
        return _bounds(cursor, around)
    if isinstance(inner, n.Argument) and len(around) > 1 and _counts(around[-2]):
        return symbols(cursor, _OFFERED | {"service"}, call=False)
    return _expression(cursor, around)


def _counts(node: n.Node) -> bool:
    """Whether it is `calls(…)`, which takes no value."""
    return isinstance(node, n.Call) and isinstance(node.callee, n.Reference) and node.callee.name.text == "calls"


def _expression(cursor: Cursor, around: tuple[n.Node, ...]) -> Iterator[Item]:
    assert cursor.guess is not None
    snapshot, file, path = cursor.guess
    wanted = expected(snapshot, file, path)
    yield from _named_arguments(cursor, around)
    yield from values(cursor, wanted)


def _named_arguments(cursor: Cursor, around: tuple[n.Node, ...]) -> Iterator[Item]:
    """The arguments that a call still takes by name."""
    assert cursor.guess is not None
    snapshot, file, _ = cursor.guess
    if len(around) < 2 or not isinstance(around[-1], n.Argument) or around[-1].name is not None:
        return
    call = around[-2]
    if isinstance(call, n.EdgeTarget):
        call_arguments = call.arguments or ()
        symbol = file.scope.names.get(call.name.text) if file.scope is not None else None
        kind, name = "function", symbol.name if symbol is not None else ""
    elif isinstance(call, n.Call):
        call_arguments = call.arguments
        info = file.tables.calls.get(call)
        if info is None:
            yield from _bounds_of_call(call)
            return
        kind, name = info.kind, info.name
    else:
        return
    known = parameter_types(snapshot, kind, name)
    given = {one.name.text for one in call_arguments if one.name is not None}
    places = [one for one in call_arguments if one.name is None]
    taken = set(list(known)[: places.index(around[-1])]) if around[-1] in places else set()
    given |= taken | _behind(cursor)
    owner_kind = "field" if kind in ("record", "error", "variant") else "parameter"
    for rank, (one, type) in enumerate(known.items()):
        if one not in given:
            entity = Entity(owner_kind, one, name)  # type: ignore[arg-type]
            yield Item(
                f"{one}:", K.Field, EXPECTED, show(type), insert=f"{one}: ", snippet=f"{one}: $0", entity=entity, rank=rank - 50
            )


def _bounds_of_call(call: n.Call) -> Iterator[Item]:
    callee = call.callee
    if isinstance(callee, n.Reference) and callee.name.text in _BOUNDS:
        yield from words(_BOUNDS[callee.name.text], ": ")


def _behind(cursor: Cursor) -> set[str]:
    """The arguments that are given by name behind the cursor, in the same call."""
    tokens = cursor.file.tokens
    found: set[str] = set()
    depth = 0
    for index, start in enumerate(tokens.starts):
        if start < cursor.end:
            continue
        text = tokens.texts[index]
        if text in ("(", "[", "{"):
            depth += 1
        elif text in (")", "]", "}"):
            depth -= 1
            if depth < 0:
                break
        elif depth == 0 and text == ":" and index:
            found.add(tokens.texts[index - 1])
    return found


def _path(cursor: Cursor, node: n.Node, around: tuple[n.Node, ...]) -> Iterator[Item] | None:
    """A dotted name in a clause, a type or a pattern."""
    assert isinstance(node, n.Path)
    inner = around[-1] if around else None
    match inner:
        case n.NamedType():
            return in_path(cursor, node, TYPES) if len(node.parts) > 1 else types(cursor)
        case n.Needs() | n.Grants() | n.PermissionDecl():
            return permissions(cursor)
        case n.Approval():
            return _roles(cursor)
        case n.Tools():
            return _names(cursor, node, _OFFERED)
        case n.Skills():
            return _names(cursor, node, frozenset({"skill", "module"}))
        case n.ModelClause():
            return _names(cursor, node, _MODELS)
        case n.ToolChoice():
            return _chain(words(("auto", "any", "none")), _names(cursor, node, _OFFERED))
        case n.Script():
            return _names(cursor, node, frozenset({"model", "mcp", "module", "tool"}))
        case n.ProvideDecl():
            return _names(cursor, node, frozenset({"service", "module"}))
        case n.TypePattern() | n.VariantPattern():
            return in_pattern(cursor, node, TYPES) if len(node.parts) > 1 else patterns(cursor)
        case n.Edge():
            return errors(cursor, faults=True)
        case n.FunctionDecl() | n.ToolDecl() | n.NodeDecl() | n.AgentDecl() | n.Operation():
            return in_path(cursor, node, frozenset({"error"})) if len(node.parts) > 1 else errors(cursor, faults=False)
        case _:
            return None


def _chain(*found: Iterable[Item]) -> Iterator[Item]:
    for one in found:
        yield from one


def _names(cursor: Cursor, node: n.Path, kinds: frozenset[Kind]) -> Iterator[Item]:
    """What is declared of some kinds, and what another module shows."""
    if len(node.parts) > 1:
        yield from in_path(cursor, node, kinds)
        return
    yield from symbols(cursor, kinds, call=False)
    for item in elsewhere(cursor, kinds - {"module", "mcp"}):
        item.snippet = ""
        yield item


def permissions(cursor: Cursor) -> Iterator[Item]:
    """The permissions of the program, as this module writes them."""
    collected = cursor.snapshot.collected
    for name, symbol in collected.permissions.items():
        shown = written_name(collected.packs, cursor.file.name, name) if cursor.file.name else name
        doc = getattr(symbol.node, "doc", None)
        told = doc.text.partition("\n")[0] if isinstance(doc, n.Doc) else "permission"
        yield Item(shown, K.EnumMember, OWN, told, entity=Entity("permission", name))


def _roles(cursor: Cursor) -> Iterator[Item]:
    for name in cursor.snapshot.collected.roles:
        yield Item(name, K.EnumMember, OWN, "role", entity=Entity("role", name))


def words(known: Iterable[str], after: str = "") -> Iterator[Item]:
    """Words that mean something in their place."""
    for rank, one in enumerate(known):
        told = KNOWN[one][0] if one in KNOWN else ""
        yield Item(one, K.Property, EXPECTED, told, insert=one + after, snippet=f"{one}{after}$0" if after else "", rank=rank)


def _bounds(cursor: Cursor, around: tuple[n.Node, ...]) -> Iterator[Item] | None:
    for node in reversed(around):
        if isinstance(node, n.NamedType):
            return words(_BOUNDS.get(node.path.parts[-1].text, ("min", "max")), ": ")
    return None


def _bound(cursor: Cursor, node: n.Node, around: tuple[n.Node, ...]) -> Iterator[Item] | None:
    assert isinstance(node, n.Bound)
    return _bounds(cursor, around) if node.name is not None and node.name.span.start >= cursor.start else None


def _pattern(cursor: Cursor, node: n.Node, around: tuple[n.Node, ...]) -> Iterator[Item] | None:
    inner = around[-1] if around else None
    return patterns(cursor) if isinstance(inner, n.Arm | n.OrPattern) else iter(())


def _field_value(cursor: Cursor, node: n.Node, around: tuple[n.Node, ...]) -> Iterator[Item] | None:
    assert isinstance(node, n.FieldValue)
    assert cursor.guess is not None
    inner = around[-1] if around else None
    if node.name.span.start < cursor.start or not isinstance(inner, n.With):
        return iter(()) if node.name.span.start >= cursor.start else None
    snapshot, file, _ = cursor.guess
    base = file.tables.types.get(inner.base)
    given = {one.name.text for one in inner.fields if one is not node} | _behind(cursor)
    return _fields_left(snapshot.collected.definitions.get(base.name) if isinstance(base, Named) else None, given)


def _fields_left(definition: object, given: set[str]) -> Iterator[Item]:
    name = getattr(definition, "name", "")
    for rank, field in enumerate(getattr(definition, "fields", ())):
        if field.name not in given:
            label, entity = f"{field.name}:", Entity("field", field.name, name)
            insert = f"{field.name}: "
            yield Item(
                label, K.Field, EXPECTED, written.field(field), insert=insert, snippet=f"{insert}$0", entity=entity, rank=rank
            )


def _edge_target(cursor: Cursor, node: n.Node, around: tuple[n.Node, ...]) -> Iterator[Item] | None:
    assert isinstance(node, n.EdgeTarget)
    if node.name.span.start < cursor.start:
        return None
    return _chain([Item("finish", K.Keyword, EXPECTED, KNOWN["finish"][0])], _joined(cursor))


def _edge(cursor: Cursor, node: n.Node, around: tuple[n.Node, ...]) -> Iterator[Item] | None:
    assert isinstance(node, n.Edge)
    if any(one.span.start >= cursor.start for one in node.sources):
        return _chain([Item("start", K.Keyword, EXPECTED, KNOWN["start"][0])], _joined(cursor))
    return None


def _joined(cursor: Cursor) -> Iterator[Item]:
    """Nodes and agents; those that the agent joins already come first."""
    agent = next((one for one in cursor.path if isinstance(one, n.AgentDecl)), None)
    there = {name.text for edge in (agent.edges if agent is not None else ()) for name in (*edge.sources, edge.target.name)}
    for item in symbols(cursor, _NODES - {"module"}, call=False):
        item.rank = 0 if item.label in there else 1
        yield item
    yield from elsewhere(cursor, _NODES - {"module"})


def _amount(cursor: Cursor, node: n.Node, around: tuple[n.Node, ...]) -> Iterator[Item] | None:
    assert isinstance(node, n.Amount)
    if node.name.span.start < cursor.start:
        return None
    inner = around[-1] if around else None
    known = budget.AMOUNTS if isinstance(inner, n.Budget) else ("input", "output", "concurrent")
    given = {one.name.text for one in inner.amounts if one is not node} if isinstance(inner, n.Budget | n.Limit) else set()
    return words((one for one in known if one not in given), " ")


def _policy(cursor: Cursor, node: n.Node, around: tuple[n.Node, ...]) -> Iterator[Item] | None:
    assert isinstance(node, n.Policy)
    if node.name.span.start < cursor.start:
        return None
    if any(isinstance(one, n.AgentDecl) for one in around):
        return words(("strict",))
    return _policies()


def _policies() -> Iterator[Item]:
    yield Item("one_call", K.Value, EXPECTED, KNOWN["one_call"][0])
    yield Item("loop", K.Value, EXPECTED, KNOWN["loop"][0], snippet="loop(steps: ${1:8}, tool_calls: ${2:12})$0", insert="loop")


def _setting(cursor: Cursor, node: n.Node, around: tuple[n.Node, ...]) -> Iterator[Item] | None:
    assert isinstance(node, n.Setting)
    if node.name.span.start < cursor.start:
        return None
    if around and isinstance(around[-1], n.McpDecl):
        return _server_settings()
    return words(("provider", "name", "fallback", *model.NUMBERS), " ")


def _server_settings() -> Iterator[Item]:
    yield Item("url", K.Property, EXPECTED, KNOWN["url"][0], snippet='url setting("${1:URL}")$0', insert="url ")
    told, snippet = KNOWN["credential"][0], 'credential secret("${1:TOKEN}")$0'
    yield Item("credential", K.Property, EXPECTED, told, snippet=snippet, insert="credential ")


def _setting_value(cursor: Cursor, node: n.Setting, around: n.Node | None) -> Iterator[Item]:
    if isinstance(around, n.McpDecl):
        for word in ("setting", "secret"):
            yield Item(word, K.Function, EXPECTED, KNOWN[word][0], snippet=f'{word}("$1")$0', insert=word)
        return
    if node.name.text == "provider":
        yield from words(model.PROVIDERS)
        yield from symbols(cursor, ("provide",), call=False)
    elif node.name.text == "fallback":
        yield from symbols(cursor, _MODELS, call=False)


def _server_member(cursor: Cursor, node: n.Node, around: tuple[n.Node, ...]) -> Iterator[Item] | None:
    """The tools and prompts of a server that are pinned and not used yet."""
    assert isinstance(node, n.McpTool | n.McpPrompt)
    block = around[-1] if around else None
    if node.name.span.start < cursor.start or not isinstance(block, n.McpDecl) or cursor.snapshot.project is None:
        return None
    pins = cursor.snapshot.project.pins.get(f"{cursor.file.name}.{block.name.text}")
    if pins is None:
        return iter(())
    known = pins.tools if isinstance(node, n.McpTool) else pins.prompts
    used = {wire_of(one) for one in block.members if isinstance(one, type(node)) and one is not node}
    return _pinned(name for name in known if name not in used)


def _pinned(names: Iterable[str]) -> Iterator[Item]:
    for name in names:
        own = "".join(c if c.isascii() and c.isalnum() else "_" for c in name).lower().strip("_")
        if not own or own[0].isdigit():
            continue
        wire = "" if own == name else f" as {written.value(name)}"
        yield Item(own, K.Function, EXPECTED, f"pinned{wire}", insert=f"{own}{wire} ", snippet="")


def _provided(cursor: Cursor, node: n.Node, around: tuple[n.Node, ...]) -> Iterator[Item] | None:
    """In a provider: the operations that it does not carry out yet."""
    assert isinstance(node, n.FunctionDecl)
    assert cursor.guess is not None
    block = around[-1] if around else None
    if node.name.span.start < cursor.start:
        return None
    if not isinstance(block, n.ProvideDecl):
        return iter(())
    scope = cursor.guess[1].scope
    service = scope.names.get(block.service.parts[-1].text) if scope is not None else None
    given = {one.name.text for one in block.functions if one is not node}
    return _operations(cursor, service.name if service is not None else "", given)


def _operations(cursor: Cursor, service: str, given: set[str]) -> Iterator[Item]:
    collected = cursor.snapshot.collected
    symbol = collected.symbols.get(service)
    if symbol is None or not isinstance(symbol.node, n.ServiceDecl):
        return
    for operation in symbol.node.operations:
        name = operation.name.text
        if name in given:
            continue
        head = written.head(collected, f"{service}.{name}").partition("\n  ")[0].replace("\n", " ")
        body = head.removeprefix(name)
        snippet = escape(f"{name}{body} {{") + "\n  $0\n\\}"
        entity = Entity("symbol", f"{service}.{name}")
        yield Item(name, K.Method, EXPECTED, head, insert=f"{name}{body} {{\n}}", snippet=snippet, entity=entity)


_AT: dict[type, Maker] = {
    n.FieldAccess: _access, n.Reference: _reference, n.Path: _path, n.Bound: _bound, n.BinderPattern: _pattern, n.FieldValue: _field_value,
    n.EdgeTarget: _edge_target, n.Edge: _edge, n.Amount: _amount, n.Policy: _policy, n.Setting: _setting, n.McpTool: _server_member,
    n.McpPrompt: _server_member, n.FunctionDecl: _provided,
}  # fmt: skip
