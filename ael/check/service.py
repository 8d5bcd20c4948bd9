"""Services and those who provide them: operations with permission and repeat safety, implementations under grants of their own."""

from __future__ import annotations

from ael.check import clause as c
from ael.check import grant, repeat
from ael.check.basis import Context, names_of, short, suggestion
from ael.check.collect import ModuleScope, Symbol
from ael.check.effect import Graph
from ael.check.module import broken, far_service, find, kind_text
from ael.check.packs import pack_of
from ael.check.permission import doc, named
from ael.data import dataclass
from ael.syntax import nodes as n
from ael.types.relate import fits
from ael.types.signature import Effects, Repeat, Signature
from ael.types.spec import OperationSpec, ProvideSpec, ServiceSpec
from ael.types.text import show


@dataclass(frozen=True, eq=False)
class OperationDraft:
    """An operation as declared."""

    symbol: Symbol
    scope: ModuleScope
    node: n.Operation
    clauses: c.Clauses
    permission: str | None
    repeat: Repeat


@dataclass(frozen=True, eq=False)
class ProvideDraft:
    """A provider as declared: `service` is None when it is not known; `functions` are operation -> key of its function."""

    symbol: Symbol
    scope: ModuleScope
    node: n.ProvideDecl
    clauses: c.Clauses
    service: Symbol | None
    grants: frozenset[str]
    functions: dict[str, str]


def operations(context: Context) -> dict[str, OperationDraft]:
    """All operations by qualified name."""
    found: dict[str, OperationDraft] = {}
    for symbol in context.collected.of_kind("operation"):
        if isinstance(symbol.node, n.Operation):
            scope, node = context.collected.scope_of(symbol), symbol.node
            clauses = c.read(context, scope, "an operation", node.clauses, c.OPERATION)
            needs = clauses.get(n.Needs)
            permission: str | None = None
            if needs is not None:
                if len(needs.permissions) > 1:
                    message = f"an operation needs at most one permission, and `{node.name.text}` names {len(needs.permissions)}"
                    notes = ("one permission may include others: `permission a includes b`",)
                    context.report("AEL0506", message, scope.name, needs, notes=notes)
                permission = named(context, scope, needs.permissions[0])
            said = repeat.declared(context, scope, clauses, "operation", node.name)
            repeat.retries(context, scope, clauses, said, "an operation")
            found[symbol.name] = OperationDraft(symbol, scope, node, clauses, permission, said)
    return found


def provides(context: Context) -> list[ProvideDraft]:
    """All providers; an unknown service, missing and foreign operations are reported."""
    functions: dict[n.Node, str] = {}
    found: list[ProvideDraft] = []
    for key, symbol in context.collected.symbols.items():
        if symbol.kind == "function" and symbol.node is not None:
            functions[symbol.node] = key
    for symbol in list(context.collected.of_kind("provide")):
        if isinstance(symbol.node, n.ProvideDecl):
            scope = context.collected.scope_of(symbol)
            found.append(_provide(context, scope, symbol, symbol.node, functions))
    return found


def _provide(context: Context, scope: ModuleScope, symbol: Symbol, node: n.ProvideDecl, keys: dict[n.Node, str]) -> ProvideDraft:
    clauses = c.read(context, scope, "a provider", node.clauses, c.PROVIDE)
    grants = grant.granted(context, scope, clauses.get(n.Grants))
    own = {function.name.text: keys[function] for function in node.functions if function in keys}
    return ProvideDraft(symbol, scope, node, clauses, service_of(context, scope, node), grants, own)


def service_of(context: Context, scope: ModuleScope, node: n.ProvideDecl) -> Symbol | None:
    """The service that a provider implements, or None where none is known."""
    collected = context.collected
    symbol = far_service(collected, scope, node) if node.module is not None else find(collected, scope, node.service)
    if symbol is not None and symbol.kind == "service":
        return symbol
    if symbol is None or symbol.kind != "unknown":
        _unknown(context, scope, node, symbol)
    return None


def _unknown(context: Context, scope: ModuleScope, node: n.ProvideDecl, symbol: Symbol | None) -> None:
    path = node.service
    if symbol is not None:
        message = f"`{path.text}` is {kind_text(symbol)}, and only a service can be provided"
        context.report("AEL0631", message, scope.name, path)
    elif node.module is None:
        if broken(scope, path.text):
            return
        hint, fix = suggestion(scope.source, path.span, path.text, names_of(scope, "service"))
        context.report("AEL0631", f"there is no service `{path.text}`{hint}", scope.name, path, fix=fix)
    else:
        notes = (f"`use {node.module}.{{{path.text}}}` brings its module in",)
        context.report("AEL0631", f"there is no service `{node.module}.{path.text}`", scope.name, path, notes=notes)


def check(context: Context, graph: Graph, draft: ProvideDraft, operations: dict[str, OperationDraft]) -> None:
    """What must hold between a provider and its service."""
    scope, node = draft.scope, draft.node
    keys = list(draft.functions.values())
    grant.provider(context, scope, graph, keys, node, draft.clauses.get(n.Grants), draft.grants)
    if draft.service is not None:
        needs = {
            key: one.permission
            for name, key in draft.functions.items()
            if (one := operations.get(f"{draft.service.name}.{name}"))
        }
        grant.held_for_others(context, scope, graph, needs, node)
    if draft.service is None:
        return
    declared = draft.service.node.operations if isinstance(draft.service.node, n.ServiceDecl) else ()
    known = [operation.name.text for operation in declared]
    own = {name: operations[full] for name in known if (full := f"{draft.service.name}.{name}") in operations}
    for function in node.functions:
        operation = own.pop(function.name.text, None)
        key = draft.functions.get(function.name.text)
        if key is None:
            continue
        if operation is None:
            hint, fix = suggestion(scope.source, function.name.span, function.name.text, known)
            message = f"the service `{short(draft.service.name)}` has no operation `{function.name.text}`{hint}"
            context.report("AEL0626", message, scope.name, function.name, fix=fix)
            continue
        _same(context, scope, function, context.collected.signatures.get(key), operation)
        said = operation.clauses.get(n.RepeatClause)
        repeat.body(context, operation.scope, graph, key, f"{short(operation.symbol.name)}", said)
    if own:
        missing = ", ".join(f"`{name}`" for name in own)
        message = f"the provider of `{short(draft.service.name)}` lacks {missing}"
        labels = tuple(context.label(operation.symbol.module, operation.node.name, "declared here") for operation in own.values())
        context.report("AEL0627", message, scope.name, node.service, labels=labels)


def _same(
    context: Context, scope: ModuleScope, function: n.FunctionDecl, found: Signature | None, operation: OperationDraft
) -> None:
    wanted = context.collected.signatures.get(operation.symbol.name)
    if found is None or wanted is None:
        return
    definitions = context.collected.definitions
    labels = (context.label(operation.symbol.module, operation.node.name, "declared here"),)
    problem = ""
    spot: n.Node = function.name if function.result is None else function.result
    if len(found.parameters) != len(wanted.parameters):
        problem = f"the number of its parameters is {len(wanted.parameters)}, and here it is {len(found.parameters)}"
        spot = function.name
    else:
        for node, mine, theirs in zip(function.parameters, found.parameters, wanted.parameters, strict=False):
            if mine.name != theirs.name:
                problem, spot = f"its parameter here is called `{theirs.name}`, not `{mine.name}`", node.name
            elif not fits(theirs.type, mine.type, definitions):
                problem, spot = f"`{theirs.name}` is {show(theirs.type)} there and {show(mine.type)} here", node.type
            elif mine.trusted and not theirs.trusted:
                problem, spot = f"`{theirs.name}` is not `trusted` there, so anything may arrive here", node
            if problem:
                break
    if not problem and not fits(found.result, wanted.result, definitions):
        problem = f"it gives {show(wanted.result)}, and this gives {show(found.result)}"
    extra = found.fails - wanted.fails
    if not problem and extra:
        problem, spot = (
            f"it does not fail with `{short(sorted(extra)[0])}`",
            function.fails[0] if function.fails else function.name,
        )
    if problem:
        message = f"this is not the operation `{short(operation.symbol.name)}`: {problem}"
        context.report("AEL0628", message, scope.name, spot, labels=labels)


def operation_spec(context: Context, draft: OperationDraft, signature: Signature) -> OperationSpec:
    """The finished facts of an operation."""
    scope, clauses = draft.scope, draft.clauses
    return OperationSpec(
        name=draft.symbol.name,
        signature=signature,
        doc=doc(draft.node.doc),
        permission=draft.permission,
        repeat=draft.repeat,
        timeout=c.timeout(context, scope, clauses.get(n.Timeout)),
        retry=c.retry(context, scope, clauses.get(n.Retry)),
        limit=c.limit(context, scope, clauses.get(n.Limit), "an operation"),
    )


def effects(draft: OperationDraft, fails: frozenset[str], tainted: bool) -> Effects:
    """What calling an operation can do, as it declares."""
    permissions = frozenset({draft.permission}) if draft.permission is not None else frozenset[str]()
    return Effects(permissions, draft.repeat, True, draft.repeat.can_be_uncertain or "Uncertain" in fails, tainted)


def service_specs(context: Context, specs: dict[str, OperationSpec]) -> dict[str, ServiceSpec]:
    """The services with their operations, in source order."""
    found: dict[str, ServiceSpec] = {}
    for symbol in context.collected.of_kind("service"):
        if isinstance(symbol.node, n.ServiceDecl):
            own = (specs.get(f"{symbol.name}.{operation.name.text}") for operation in symbol.node.operations)
            found[symbol.name] = ServiceSpec(symbol.name, doc(symbol.node.doc), tuple(o for o in own if o is not None))
    return found


def provide_spec(context: Context, draft: ProvideDraft) -> ProvideSpec | None:
    """The finished facts of a provider; None without a known service."""
    if draft.service is None:
        return None
    limit = c.limit(context, draft.scope, draft.clauses.get(n.Limit), "a provider")
    packs = context.collected.packs
    automatic = pack_of(packs, draft.scope.name) in ("", pack_of(packs, draft.service.module))
    standard = draft.scope.name.startswith("std/")
    return ProvideSpec(draft.symbol.name, draft.service.name, context.closure(draft.grants), limit, automatic, standard)
