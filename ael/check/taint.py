"""Outside data: which results are tainted, and that none reaches a trusted parameter (language.md, section 5; docs/decisions/taint.md)."""

from __future__ import annotations

from collections.abc import Callable

from ael.check import agent as agents
from ael.check import clause as c
from ael.check import node as nodes
from ael.check import service, tool
from ael.check.basis import Context, short
from ael.check.collect import ModuleScope
from ael.check.component import components
from ael.check.effect import ACTS, STORE_WRITES, Graph
from ael.check.flow import Flow
from ael.check.program import Local
from ael.check.summary import CHOICE, ROUTE, TAINTED, Choice, Picked, Shared, Sink, Summary, Target
from ael.data import dataclass, field
from ael.diagnostics.diagnostic import Edit, Fix, Label, Place
from ael.source import Span
from ael.syntax import nodes as n


@dataclass(eq=False)
class Program:
    """What the analysis reads."""

    context: Context
    graph: Graph
    tools: dict[str, tool.Draft]
    nodes: dict[str, nodes.Draft]
    agents: dict[str, agents.Draft]
    operations: dict[str, service.OperationDraft]
    provides: list[service.ProvideDraft]
    stores: list[str]
    remote: frozenset[str] = frozenset()
    """Services that are known to be provided elsewhere, so that their results come over the network."""


@dataclass(eq=False)
class Taint:
    """The result: which callables give outside data whatever they are given, which stores outside data is written to, and which others
    are relied on: what is read of them goes where only clean values may."""

    tainted: frozenset[str]
    outside: frozenset[str] = frozenset()
    relied: frozenset[str] = frozenset()


@dataclass(eq=False)
class _Analysis:
    program: Program
    summaries: dict[str, Summary] = field(default_factory=dict)
    targets: dict[str, Target | None] = field(default_factory=dict)

    @property
    def context(self) -> Context:
        return self.program.context

    def target(self, name: str) -> Target | None:
        """A callee by qualified name; None for what is no callable of the program (stores, effects of the language)."""
        if name not in self.targets:
            self.targets[name] = self._target(name)
        return self.targets[name]

    def _target(self, name: str) -> Target | None:
        symbol = self.context.collected.symbols.get(name)
        match symbol.node if symbol is not None else None:
            case n.FunctionDecl() | n.AgentDecl() as node:
                summaries: tuple[Summary | None, ...] = (self.summaries.setdefault(name, Summary()),)
            case n.ToolDecl() as node:
                outside = name in self.program.tools and self._outside(node)
                summaries = ((self.summaries.setdefault(name, Summary())), *((None,) if outside else ()))
            case n.NodeDecl() as node:
                own = self.summaries.setdefault(name, Summary())
                summaries = (None, own) if isinstance(node.body, n.ModelBody) else (own,)
            case n.Operation() as node:
                summaries = self._provided(name)
            case n.McpTool() | n.McpResource() | n.McpPrompt():
                return self._remote(name)
            case _:
                return None
        parameters = node.parameters
        return Target(name, tuple(p.name.text for p in parameters), tuple(p.trusted for p in parameters), summaries)

    def _remote(self, name: str) -> Target | None:
        """What a server answers is outside data, whatever it was asked (feature A9.6)."""
        signature = self.context.collected.signatures.get(name)
        if signature is None:
            return None
        parameters = signature.parameters
        return Target(name, tuple(p.name for p in parameters), tuple(p.trusted for p in parameters), (None,))

    @staticmethod
    def _outside(node: n.ToolDecl) -> bool:
        return isinstance(node.body, n.Extern) or any(isinstance(clause, n.Taints) for clause in node.clauses)

    def _provided(self, name: str) -> tuple[Summary | None, ...]:
        owner, _, own = name.rpartition(".")
        keys = [p.functions[own] for p in self.program.provides if p.service and p.service.name == owner and own in p.functions]
        if not keys or owner in self.program.remote:
            return (None,)
        return tuple(self.summaries.setdefault(key, Summary()) for key in keys)


def analyse(program: Program) -> Taint:
    """Follow all data of a program, and report what reaches a trusted parameter."""
    analysis = _Analysis(program)
    bits = {name: 1 << (at + 1) for at, name in enumerate(program.stores)}
    shared = Shared(analysis.target, bits, len(bits) + 1)
    shared.given = frozenset(name for name, given in program.context.collected.given.items() if given.outside)
    if any(draft.strict for draft in program.agents.values()):
        shared.acts = _acting(program)
        _delegates(program, analysis)
    units = program.graph.units
    following = {key: [use.target for use in unit.uses if use.target is not None] for key, unit in units.items()}
    trusting = _trusting(program)
    bodies = _bodies(program, None if trusting else _reached(program, following))
    for group in components(following):
        own = [key for key in group if key in bodies]
        again = bool(own)
        while again:
            again = False
            for key in own:
                scope, parameters, body = bodies[key]
                summary = analysis.summaries.setdefault(key, Summary())
                before = summary.state()
                _follow(program, shared, scope, summary, parameters, body)
                again = again or ((len(group) > 1 or key in following[key]) and summary.state() != before)
    for draft in program.nodes.values() if trusting else ():
        if isinstance(draft.node.body, n.ModelBody):
            _model_body(shared, draft, draft.node.body)
    _kept_by_models(program, analysis, shared)
    outside = _stores(shared, bits)
    _violations(program, shared, outside, bits)
    _entrances(program, analysis)
    _releases(program, shared, outside)
    written = frozenset(store for store, bit in bits.items() if bit & outside)
    asked = 0
    for mask, *_ in shared.violations.values():
        asked |= mask
    relied = frozenset(store for store, bit in bits.items() if bit & asked) - written
    return Taint(_tainted(program, analysis, shared, outside), written, relied)


def _acting(program: Program) -> Callable[[str], bool]:
    """Whether calling a name does something in the world, or asks it: whatever is no plain function of the program, and no read."""
    collected, units = program.context.collected, program.graph.units

    def acts(name: str) -> bool:
        symbol = collected.symbols.get(name)
        match symbol.kind if symbol is not None else "":
            case "function":
                return bool(name in units and units[name].total & ACTS)
            case "":
                owner, _, operation = name.rpartition(".")
                return owner in program.stores and operation in STORE_WRITES
            case _:
                return True

    return acts


def _delegates(program: Program, analysis: _Analysis) -> None:
    """A model that is offered a node or an agent chooses whether it is visited, unless `tool_choice` says that it has to be."""
    for name, draft in program.nodes.items():
        choice = draft.clauses.get(n.ToolChoice)
        for path, symbol in draft.offered if draft.driven else ():
            if symbol.kind in ("node", "agent") and not (isinstance(choice, n.ToolChoice) and choice.path.text == path.text):
                sink = Sink(draft.scope.name, path, symbol.name, CHOICE)
                analysis.summaries.setdefault(name, Summary()).picked[path] = Picked(TAINTED, sink, path, name)


_Body = tuple[ModuleScope, tuple[n.Parameter, ...], n.Node]


def _trusting(program: Program) -> bool:
    """Whether anything takes only clean values, or releases others: then all code is followed, else only what can bring outside data."""
    collected = program.context.collected
    if any(draft.strict for draft in program.agents.values()):
        return True
    if any(p.trusted for signature in collected.signatures.values() for p in signature.parameters):
        return True
    return any(info.name == "release" for scope in collected.modules.values() for info in scope.tables.calls.values())


def _reached(program: Program, following: dict[str, list[str]]) -> set[str]:
    """The units that act, and what they call."""
    found = {key for key, unit in program.graph.units.items() if unit.total & ACTS and "#" not in key}
    pending = list(found)
    while pending:
        for target in following[pending.pop()]:
            if target not in found:
                found.add(target)
                pending.append(target)
    return found


def _bodies(program: Program, wanted: set[str] | None) -> dict[str, _Body]:
    """The code of every callable by its key, or of those that are wanted."""
    found: dict[str, _Body] = {}
    for key, unit in program.graph.units.items():
        if wanted is not None and key not in wanted:
            continue
        scope = program.context.collected.modules[unit.module]
        symbol = program.context.collected.symbols.get(key)
        match symbol.node if symbol is not None else None:
            case n.FunctionDecl(parameters=parameters, body=body):
                found[key] = (scope, parameters, body)
            case (
                n.ToolDecl(parameters=parameters, body=n.Block() as body)
                | n.NodeDecl(parameters=parameters, body=n.Block() as body)
            ):
                found[key] = (scope, parameters, body)
            case n.AgentDecl(parameters=parameters) as body:
                found[key] = (scope, parameters, body)
            case None if "#test" in key:
                found[key] = (scope, (), unit.node)
            case _:
                pass
    return found


def _follow(
    program: Program, shared: Shared, scope: ModuleScope, summary: Summary, parameters: tuple[n.Parameter, ...], body: n.Node
) -> None:
    given: dict[Local, int] = {}
    for at, parameter in enumerate(parameters):
        local = scope.tables.locals.get(parameter)
        if local is not None:
            given[local] = 0 if parameter.trusted else 1 << (shared.first_parameter + at)
    if isinstance(body, n.AgentDecl):
        agents.follow(shared, program.agents[f"{scope.name}.{body.name.text}"], summary, given)
        return
    Flow(shared, scope, summary).run(body, given)


def _model_body(shared: Shared, draft: nodes.Draft, body: n.ModelBody) -> None:
    """`require` looks at what the model said, `input` and `examples` at the parameters, which may be anything."""
    given = {
        local: 0 if p.trusted else TAINTED
        for p in draft.node.parameters
        if (local := draft.scope.tables.locals.get(p)) is not None
    }
    for item in body.items:
        if isinstance(item, n.Require):
            Flow(shared, draft.scope, Summary(), TAINTED).run(item.condition, given)
        elif isinstance(item, n.Input):
            Flow(shared, draft.scope, Summary(), TAINTED).run(item.value, given)


def _kept_by_models(program: Program, analysis: _Analysis, shared: Shared) -> None:
    """What a tool or node writes to a store of its arguments is outside data where a model is offered it: the model says them."""
    for draft in program.nodes.values():
        for _, symbol in draft.offered:
            summary = analysis.summaries.get(symbol.name)
            if summary is None or not isinstance(symbol.node, n.ToolDecl | n.NodeDecl | n.AgentDecl):
                continue
            said = 0
            for at, parameter in enumerate(symbol.node.parameters):
                said |= 0 if parameter.trusted else 1 << (shared.first_parameter + at)
            for store, mask in summary.stores.items():
                if mask & said:
                    shared.contents[store] = shared.contents.get(store, 0) | TAINTED


def _stores(shared: Shared, bits: dict[str, int]) -> int:
    """The bits that mean outside data: `TAINTED`, and those of the stores into which some came, from each other too."""
    outside = TAINTED
    changed = True
    while changed:
        changed = False
        for store, mask in shared.contents.items():
            if mask & outside and not outside & bits[store]:
                outside |= bits[store]
                changed = True
    return outside


def _tainted(program: Program, analysis: _Analysis, shared: Shared, outside: int) -> frozenset[str]:
    found = {key for key, summary in analysis.summaries.items() if shared.common(summary.result) & outside}
    for name in (*program.tools, *program.nodes, *program.agents, *program.operations):
        target = analysis.target(name)
        if target is not None and any(s is None or shared.common(s.result) & outside for s in target.summaries):
            found.add(name)
    return frozenset(found)


# --- reports -------------------------------------------------------------------------------------------------------------


def _violations(program: Program, shared: Shared, outside: int, bits: dict[str, int]) -> None:
    context = program.context
    for mask, sink, module, source, name in shared.violations.values():
        if not mask & outside:
            continue
        labels: list[Label] = []
        if source is not None:
            labels.append(context.label(module, source, f"{_origin(program, name)}"))
        elif not mask & TAINTED:
            store = next(store for store, bit in bits.items() if mask & bit & outside)
            symbol = context.collected.symbols[store]
            if isinstance(symbol.node, n.StoreDecl):
                labels.append(context.label(symbol.module, symbol.node.name, "outside data is written to this store"))
        labels += _way(context, sink)
        if sink.end.parameter in (ROUTE, CHOICE):
            _decided(context, sink, module, tuple(labels))
            continue
        shown = f"the trusted parameter `{sink.end.parameter}` of `{short(sink.end.target)}`"
        message = f"outside data has a hand in this value, and it reaches {shown}"
        notes = (
            "a trusted parameter takes only what no outside data had a hand in",
            'to let it through knowingly, say why: `release(value, "why")`; the trace shows it',
        )
        context.report("AEL0701", message, module, sink.node, labels=tuple(labels), notes=notes)


def _decided(context: Context, sink: Sink, module: str, labels: tuple[Label, ...]) -> None:
    """Outside data decides an edge of a strict agent, or a call in one of its nodes: right there or by what an argument is used for."""
    shown = f"the agent `{short(sink.target if isinstance(sink, Choice) else sink.end.target)}`"
    if isinstance(sink, Choice):
        message = f"outside data has a hand in whether `{short(sink.called)}` is called, and {shown} says `policy strict`"
    elif sink.onward is None:
        message = f"outside data has a hand in what decides this edge, and {shown} says `policy strict`"
    else:
        message = f"outside data has a hand in this value, and it decides an edge of {shown}, which says `policy strict`"
    notes = (
        'a node of ordinary code can let it through knowingly: `release(value, "why")`, and the edge then asks what that gave',
    )
    context.report("AEL0704", message, module, sink.node, labels=labels, notes=notes)


def _origin(program: Program, name: str) -> str:
    shown = short(name)
    if name in program.nodes:
        return f"`{shown}` gives what a model said" if program.nodes[name].driven else f"`{shown}` gives outside data"
    if name in program.tools:
        draft = program.tools[name]
        if not isinstance(draft.node, n.ToolDecl):
            return f"`{shown}` is answered by an MCP server"
        if isinstance(draft.node.body, n.Extern):
            return f"`{shown}` runs outside of AEL"
        return f"`{shown}` says `taints`" if draft.clauses.get(n.Taints) is not None else f"`{shown}` gives outside data"
    if name in program.operations:
        return f"`{shown}` is answered from outside"
    return f"`{shown}` gives outside data"


def _way(context: Context, sink: Sink) -> list[Label]:
    labels: list[Label] = []
    at = sink
    while at.onward is not None:
        at = at.onward
        goes = f"from there it goes to `{at.parameter}` of `{short(at.target)}`"
        if at.parameter in (ROUTE, CHOICE):
            goes = "this decides it"
        labels.append(context.label(at.module, at.node, goes))
    symbol = context.collected.symbols.get(at.target)
    if symbol is not None and isinstance(symbol.node, n.FunctionDecl | n.ToolDecl | n.NodeDecl | n.AgentDecl | n.Operation):
        labels += [context.label(symbol.module, p, "trusted here") for p in symbol.node.parameters if p.name.text == at.parameter]
    return labels


def _entrances(program: Program, analysis: _Analysis) -> None:
    """What a model or another process may call takes outside data: what goes on to a trusted parameter is trusted itself."""
    context = program.context
    offered: dict[str, tuple[nodes.Draft, n.Path]] = {}
    for draft in program.nodes.values():
        for path, symbol in draft.offered:
            offered.setdefault(symbol.name, (draft, path))
    for name, (draft, path) in offered.items():
        label = context.label(draft.scope.name, path, "offered to a model here, which chooses the arguments")
        symbol = context.collected.symbols[name]
        if isinstance(symbol.node, n.ToolDecl | n.NodeDecl | n.AgentDecl):
            _entrance(program, analysis, name, symbol.module, symbol.node.parameters, (label,))
    for provide in program.provides:
        for function in provide.node.functions:
            key = provide.functions.get(function.name.text)
            if key is not None:
                _entrance(program, analysis, key, provide.scope.name, function.parameters, ())


def _entrance(
    program: Program, analysis: _Analysis, key: str, module: str, parameters: tuple[n.Parameter, ...], labels: tuple[Label, ...]
) -> None:
    summary = analysis.summaries.get(key)
    for at, sink in (summary.sinks if summary is not None else {}).items():
        parameter = parameters[at]
        end = sink.end
        name = parameter.name.text
        where = f"the trusted parameter `{end.parameter}` of `{short(end.target)}`"
        if end.parameter == ROUTE:
            where = f"what decides an edge of the strict agent `{short(end.target)}`"
        message = f"anything may arrive in `{name}`, and it goes on to {where}"
        scope = program.context.collected.modules[module]
        start = Span(parameter.span.start, parameter.span.start)
        fix = Fix(f"make `{name}` trusted", (Edit(Place(scope.source, start), "trusted "),), safe=False)
        onward = program.context.label(sink.module, sink.node, "it goes on here")
        notes = (
            "an argument for a trusted parameter passes when it equals a clean input of the run; any other needs an approval",
        )
        labels_all = (*labels, onward, *_way(program.context, sink))
        program.context.report("AEL0702", message, module, parameter, labels=labels_all, notes=notes, fix=fix)


def _releases(program: Program, shared: Shared, outside: int) -> None:
    context = program.context
    for call, (module, mask) in shared.releases.items():
        scope = context.collected.modules[module]
        reason = call.arguments[1].value if len(call.arguments) > 1 else None
        text = c.constant_text(context, scope, reason) if reason is not None else None
        if reason is not None and (text is None or not text.strip()):
            message = "the reason of a `release` is a literal text: it is read in the trace, and in a review"
            context.report("AEL0703", message, module, reason)
        if not mask:
            message = "no outside data has a hand in this value, so there is nothing to release"
            context.warn("AEL1125", message, module, call)
