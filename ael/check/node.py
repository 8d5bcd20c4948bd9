"""Nodes: model-driven ones (model, policy, tools, instructions) and deterministic ones (ordinary code)."""

from __future__ import annotations

from collections.abc import Mapping

from ael.check import budget, instructions, policy, skill, tool
from ael.check import clause as c
from ael.check.basis import Context, listed, names_of, short, suggestion
from ael.check.collect import ModuleScope, Symbol
from ael.check.component import components
from ael.check.declare import name_of
from ael.check.effect import ACTS, Graph
from ael.check.grant import granted
from ael.check.model import unknown_model
from ael.check.module import find
from ael.check.permission import doc
from ael.data import dataclass, field
from ael.diagnostics.diagnostic import Edit, Fix, Place
from ael.source import Span
from ael.syntax import nodes as n
from ael.types.signature import Effects, Repeat, Signature
from ael.types.spec import NodeSpec, PolicySpec, SkillSpec

CHOICES = ("auto", "any", "none")


@dataclass(eq=False)
class Draft:
    """A node as declared, before its body is looked at."""

    symbol: Symbol
    scope: ModuleScope
    node: n.NodeDecl
    clauses: c.Clauses
    grants: frozenset[str]
    offered: list[tuple[n.Path, Symbol]] = field(default_factory=list)
    model: str | None = None
    policy: PolicySpec | None = None
    budget: budget.Draft = field(default_factory=budget.Draft)
    skills: skill.Bundle = field(default_factory=skill.Bundle)

    @property
    def driven(self) -> bool:
        """Whether a model drives it."""
        return isinstance(self.node.body, n.ModelBody)


def drafts(context: Context, skills: Mapping[str, skill.Draft]) -> dict[str, Draft]:
    """All nodes with their clauses read, and what their skills bring."""
    found: dict[str, Draft] = {}
    for symbol in context.collected.of_kind("node"):
        if isinstance(symbol.node, n.NodeDecl):
            found[symbol.name] = _draft(context, context.collected.scope_of(symbol), symbol, symbol.node, skills)
    return found


def _draft(context: Context, scope: ModuleScope, symbol: Symbol, node: n.NodeDecl, skills: Mapping[str, skill.Draft]) -> Draft:
    driven = isinstance(node.body, n.ModelBody)
    clauses = _clauses(context, scope, node, driven)
    draft = Draft(symbol, scope, node, clauses, granted(context, scope, clauses.get(n.Grants)))
    if not driven:
        budget.read(context, scope, clauses.get(n.Budget), draft.budget)
        return draft
    draft.model = _model(context, scope, node, clauses.get(n.ModelClause))
    draft.policy = policy.read(context, scope, clauses.get(n.Policy), draft.budget)
    budget.read(context, scope, clauses.get(n.Budget), draft.budget)
    draft.offered = tool.offered(context, scope, clauses.get(n.Tools), f"the node `{node.name.text}`")
    draft.skills = skill.bundle(context, scope, clauses.get(n.Skills), skills)
    skill.bring(context, scope, f"the node `{node.name.text}`", draft.skills, draft.offered)
    return draft


def _clauses(context: Context, scope: ModuleScope, node: n.NodeDecl, driven: bool) -> c.Clauses:
    if driven:
        return c.read(context, scope, "a node that a model drives", node.clauses, c.MODEL_NODE)
    kept: list[n.Clause] = []
    for clause in node.clauses:
        if type(clause) in c.MODEL_NODE and type(clause) not in c.PLAIN_NODE:
            word = c.WORDS[type(clause)]
            message = f"`{word}` stands on a node that a model drives, and `{node.name.text}` is ordinary code"
            notes = ("ordinary code calls functions, tools and nodes directly: it needs no model and no tool list",)
            context.report("AEL0607", message, scope.name, clause, notes=notes)
        else:
            kept.append(clause)
    return c.read(context, scope, "a node of ordinary code", tuple(kept), c.PLAIN_NODE)


def _model(context: Context, scope: ModuleScope, node: n.NodeDecl, clause: n.ModelClause | None) -> str | None:
    if clause is None:
        names = names_of(scope, "model")
        notes = (f"say `model {names[0]}`" if names else "declare one (`model fast { provider … name … }`) and say `model fast`",)
        at = node.clauses[0].span.start if node.clauses else node.body.span.start
        text = f"model {names[0]}\n  " if names and node.clauses else ""
        fix = Fix(f"say `model {names[0]}`", (Edit(Place(scope.source, Span(at, at)), text),), safe=False) if text else None
        message = f"the node `{node.name.text}` has instructions, and no model to give them to"
        context.report("AEL0608", message, scope.name, node.name, notes=notes, fix=fix)
        return None
    symbol = find(context.collected, scope, clause.path)
    if symbol is not None and symbol.kind == "unknown":
        return None
    if symbol is None or symbol.kind != "model":
        unknown_model(context, scope, clause.path, clause.path)
        return None
    return symbol.name


def spec(context: Context, draft: Draft, signature: Signature, skills: Mapping[str, SkillSpec]) -> NodeSpec:
    """The finished facts of a node; what stands in its body and clauses is checked on the way."""
    scope, node, clauses = draft.scope, draft.node, draft.clauses
    grants = context.closure(draft.grants)
    if not isinstance(node.body, n.ModelBody):
        return NodeSpec(draft.symbol.name, signature, doc(node.doc), grants, budget=draft.budget.spec())
    if draft.policy is not None and draft.policy.kind == "one_call":
        policy.one_call(context, scope, node, signature, draft.offered)
    offered = [symbol.name.rpartition(".")[2] for _, symbol in draft.offered]
    skill.no_boundary(context, draft.skills, offered)
    keep, summarize = _history(context, scope, clauses.get(n.History))
    return NodeSpec(
        name=draft.symbol.name,
        signature=signature,
        doc=doc(node.doc),
        grants=grants,
        model=draft.model or "",
        policy=draft.policy,
        tools=tuple(symbol.name for _, symbol in draft.offered),
        budget=draft.budget.spec(),
        attempts=_attempts(context, scope, clauses.get(n.Attempts)),
        tool_choice=_tool_choice(context, draft, clauses.get(n.ToolChoice)),
        instructions=_instructions(context, scope, node, node.body, offered),
        follow_ups=_follow_ups(context, draft, node.body),
        history_keep=keep,
        history_summarize=summarize,
        skills=skill.chosen(draft.skills, skills),
        brought=tuple((name, one.skill.symbol.name) for name, one in draft.skills.brought.items()),
    )


def _attempts(context: Context, scope: ModuleScope, clause: n.Attempts | None) -> int | None:
    if clause is None:
        return None
    return c.whole_number(context, scope, clause.value, "`attempts`", 1, "AEL0613")


def _history(context: Context, scope: ModuleScope, clause: n.History | None) -> tuple[int | None, bool]:
    if clause is None:
        return None, False
    if clause.keep is None:
        return None, True
    return c.whole_number(context, scope, clause.keep, "`history keep`", 1, "AEL0625"), False


def _tool_choice(context: Context, draft: Draft, clause: n.ToolChoice | None) -> str:
    if clause is None:
        return "auto"
    scope, word = draft.scope, clause.path.text
    if word in CHOICES:
        if word == "any" and not draft.offered:
            message = f"`tool_choice any` asks for a tool call, and `{draft.node.name.text}` offers no tools"
            context.report("AEL0614", message, scope.name, clause)
        return word
    symbol = find(context.collected, scope, clause.path)
    if symbol is not None and symbol.kind == "unknown":
        return "auto"
    for _, offered in draft.offered:
        if symbol is offered:
            return tool.offer_name(offered)
    known = [path.text for path, _ in draft.offered]
    hint, fix = suggestion(scope.source, clause.path.span, word, [*CHOICES, *known])
    message = (
        f"`tool_choice` names a tool that the node offers, `auto`, `any` or `none`; `{word}` is none of them{hint if fix else ''}"
    )
    tools = draft.clauses.get(n.Tools)
    labels = (context.label(scope.name, tools, "it offers these"),) if tools is not None else ()
    context.report("AEL0614", message, scope.name, clause.path, labels=labels, fix=fix)
    return "auto"


def _instructions(context: Context, scope: ModuleScope, node: n.NodeDecl, body: n.ModelBody, offered: list[str]) -> str:
    first: dict[type[n.ModelItem], n.ModelItem] = {}
    for item in body.items:
        if isinstance(item, n.Require | n.FollowUp):
            continue
        before = first.setdefault(type(item), item)
        if before is not item:
            word = {n.Instructions: "instructions", n.Input: "input", n.Examples: "examples"}.get(type(item), "this")
            labels = (context.label(scope.name, before, "here already"),)
            context.report("AEL0615", f"`{word}` stands twice in `{node.name.text}`", scope.name, item, labels=labels)
    found, given = first.get(n.Instructions), first.get(n.Input)
    if not isinstance(found, n.Instructions):
        message = f"the node `{node.name.text}` says nothing to its model: it has no `instructions`"
        context.report("AEL0615", message, scope.name, node.name)
        return ""
    what = f"`{node.name.text}`"
    instructions.named_inputs(context, scope, node, found, given.value if isinstance(given, n.Input) else None)
    instructions.no_boundary(context, scope, what, found, offered)
    return instructions.text(context, scope, what, found, node.parameters)


def _follow_ups(context: Context, draft: Draft, body: n.ModelBody) -> tuple[str, ...]:
    """The turns that follow a result, in the order written (feature A7.15)."""
    scope, node = draft.scope, draft.node
    given = next((item.value for item in body.items if isinstance(item, n.Input)), None)
    found: list[str] = []
    for item in body.items:
        if not isinstance(item, n.FollowUp):
            continue
        policy = draft.clauses.get(n.Policy)
        if policy is not None and policy.name.text == "one_call":
            labels = (context.label(scope.name, policy, "one call of the model"),)
            message = f"`{node.name.text}` asks its model once, and a `follow_up` asks it again"
            notes = ("say `policy loop`, with a step for each turn",)
            context.report("AEL0647", message, scope.name, item, labels=labels, notes=notes)
        instructions.named_inputs(context, scope, node, item, given)
        found.append(instructions.follow_up(context, scope, f"`{node.name.text}`", item, node.parameters))
    return tuple(found)


def effects(graph: Graph, draft: Draft, fails: frozenset[str], tainted: bool) -> Effects:
    """What calling a node can do: its grants (the caller's must cover them), and what it calls."""
    inner = graph.effects(draft.symbol.name, False)
    repeat = min(inner.repeat, Repeat.IDEMPOTENT) if draft.driven else inner.repeat
    plain = not draft.driven and not inner.acts
    return Effects(draft.grants, repeat, True, "Uncertain" in fails, tainted, plain)


def plain(context: Context, graph: Graph) -> None:
    """Conditions, keys, inputs and examples are plain code: they reach nothing outside."""
    for unit, what in graph.plain:
        if unit.total & ACTS:
            chain = graph.why(unit.key, ACTS)
            module, use = chain[0]
            message = f"{what} is plain code, and `{short(use.name)}` reaches outside"
            labels = tuple(context.label(at, other.node, f"through `{short(other.name)}`") for at, other in chain[1:])
            context.report("AEL0619", message, module, use.node, labels=labels)


def delegation(context: Context, graph: Graph, drafts: dict[str, Draft], agents: Mapping[str, object]) -> None:
    """Advice on nodes and agents that can reach themselves through what they offer or visit: only the depth and the budget end that."""
    following = {key: [use.target for use in unit.uses if use.target is not None] for key, unit in graph.units.items()}
    for cycle in components(following):
        if len(cycle) == 1 and cycle[0] not in following[cycle[0]]:
            continue
        driven = [name for name in cycle if name in agents or (name in drafts and drafts[name].driven)]
        if not driven:
            continue
        places = [(symbol, symbol.node) for name in driven if (symbol := context.collected.symbols[name]).node is not None]
        first, at = min(places, key=lambda one: (one[0].module, one[1].span.start))
        others = [short(name) for name in cycle if name != first.name]
        via = f" through {listed(sorted(others))}" if others else ""
        message = f"the {first.kind} `{short(first.name)}` can call itself{via}: only the depth limit and the budget end that"
        context.warn("AEL1127", message, first.module, name_of(at))
