"""Skills: versioned bundles of instructions, tools and functions (language.md, section 6; features A6.1, A6.2, A4.1).

A node that says `skills refund_policy` offers its model what the skill names, and reads it the skill's instructions; all of it is put
together here, before anything runs. A skill adds no permission: what it brings needs the grants of the node, as any other tool does. An
agent that says `skills` says which ones the nodes of its edges may use.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from ael.check import clause as c
from ael.check import instructions, tool
from ael.check.basis import Context, listed, names_of, short, suggestion
from ael.check.collect import ModuleScope, Symbol
from ael.check.component import components
from ael.check.module import find, kind_text, report_unknown
from ael.check.permission import doc
from ael.data import dataclass, field
from ael.diagnostics.diagnostic import Edit, Fix, Place
from ael.source import Span
from ael.syntax import nodes as n
from ael.types.spec import SkillSpec

_VERSION = re.compile(r"\d{1,9}(?:\.\d{1,9}){0,2}")


@dataclass(eq=False)
class Draft:
    """A skill as declared. `tools` and `skills` are what it names, each with where it does."""

    symbol: Symbol
    scope: ModuleScope
    node: n.SkillDecl
    tools: list[tuple[n.Path, Symbol]] = field(default_factory=list)
    skills: list[tuple[n.Path, Symbol]] = field(default_factory=list)
    version: str = ""


@dataclass(frozen=True, eq=False)
class Needed:
    """A tool of a skill that a node or an agent uses. `used` is where its `skills` clause begins the way to it, `at` where `skill`, the one
    that names the tool, does."""

    symbol: Symbol
    used: n.Path
    skill: Draft
    at: n.Path


@dataclass(eq=False)
class Bundle:
    """What the `skills` clause of a node or an agent comes to. `named` are those that it names itself, `parts` what comes with each,
    `brought` the tools that only they bring to a node, by qualified name."""

    named: list[tuple[n.Path, Symbol]] = field(default_factory=list)
    parts: list[tuple[n.Path, list[Draft]]] = field(default_factory=list)
    brought: dict[str, Needed] = field(default_factory=dict)

    @property
    def whole(self) -> list[Draft]:
        """All skills, each once and after those that it uses."""
        return [draft for _, part in self.parts for draft in part]

    def tools(self) -> Iterator[Needed]:
        """The tools of all of them, in the order in which a model is offered them."""
        for used, part in self.parts:
            for draft in part:
                for at, symbol in draft.tools:
                    yield Needed(symbol, used, draft, at)

    @property
    def names(self) -> frozenset[str]:
        """The qualified names of all of them."""
        return frozenset(one.symbol.name for one in self.whole)


def drafts(context: Context) -> dict[str, Draft]:
    """All skills with their clauses read, and what they name found."""
    found: dict[str, Draft] = {}
    for symbol in context.collected.of_kind("skill"):
        if isinstance(symbol.node, n.SkillDecl):
            found[symbol.name] = _draft(context, context.collected.scope_of(symbol), symbol, symbol.node)
    _no_circles(context, found)
    return found


def _draft(context: Context, scope: ModuleScope, symbol: Symbol, node: n.SkillDecl) -> Draft:
    clauses = c.read(context, scope, "a skill", node.clauses, c.SKILL)
    what = f"the skill `{node.name.text}`"
    draft = Draft(symbol, scope, node)
    draft.version = _version(context, scope, node, clauses.get(n.Version))
    draft.tools = tool.offered(context, scope, clauses.get(n.Tools), what)
    draft.skills = named(context, scope, clauses.get(n.Skills))
    if node.instructions is None and not node.functions and clauses.get(n.Tools) is None and clauses.get(n.Skills) is None:
        notes = ("it can have `instructions`, `tools`, `skills` that it is made of, and functions",)
        context.report("AEL0643", f"{what} brings nothing", scope.name, node.name, notes=notes)
    return draft


def _version(context: Context, scope: ModuleScope, node: n.SkillDecl, clause: n.Version | None) -> str:
    if clause is None:
        start = scope.source.text.find("{", node.clauses[-1].span.end if node.clauses else node.name.span.end) + 1
        edit = Edit(Place(scope.source, Span(start, start)), '\n  version "1.0"')
        fix = Fix('say `version "1.0"`', (edit,), safe=False) if start else None
        message = f"the skill `{node.name.text}` has no `version`: what uses it shows which one it was written for"
        context.report("AEL0642", message, scope.name, node.name, fix=fix)
        return ""
    text = c.constant_text(context, scope, clause.value)
    if text is None or _VERSION.fullmatch(text) is None:
        message = 'the version of a skill is one to three numbers with dots between them, such as "1.2" or "2.0.1"'
        context.report("AEL0642", message, scope.name, clause.value)
        return ""
    return text


def named(context: Context, scope: ModuleScope, clause: n.Skills | None) -> list[tuple[n.Path, Symbol]]:
    """The skills that a `skills` clause names; what is none, and what stands twice, is reported."""
    found: dict[str, tuple[n.Path, Symbol]] = {}
    for path in clause.paths if clause is not None else ():
        symbol = _find(context, scope, path)
        if symbol is None:
            continue
        first = found.setdefault(symbol.name, (path, symbol))[0]
        if first is not path:
            labels = (context.label(scope.name, first, "it stands here already"),)
            context.report("AEL0516", f"the skill `{path.text}` is named twice", scope.name, path, labels=labels)
    return list(found.values())


def _find(context: Context, scope: ModuleScope, path: n.Path) -> Symbol | None:
    symbol = find(context.collected, scope, path)
    if symbol is not None and symbol.kind == "unknown":
        return None
    if symbol is not None and symbol.kind == "skill":
        return symbol
    if symbol is not None:
        notes = (f"say `tools {path.text}`",) if symbol.kind in ("tool", "node", "agent") else ()
        message = f"`{path.text}` is {kind_text(symbol)}, not a skill"
        context.report("AEL0640", message, scope.name, path, notes=notes)
        return None
    known = names_of(scope, "skill")
    if len(path.parts) == 1:
        report_unknown(context.collected, scope, path.parts[0], "skill", "AEL0640", context.bag, known, frozenset({"skill"}))
        return None
    hint, fix = suggestion(scope.source, path.span, path.text, known)
    context.report("AEL0640", f"there is no skill `{path.text}`{hint if fix else ''}", scope.name, path, fix=fix)
    return None


def _no_circles(context: Context, found: Mapping[str, Draft]) -> None:
    """Skills may use skills, and none itself through any others."""
    following = {name: [symbol.name for _, symbol in draft.skills if symbol.name in found] for name, draft in found.items()}
    for group in components(following):
        if len(group) == 1 and group[0] not in following[group[0]]:
            continue
        links = sorted(
            (draft.symbol.module, path.span.start, path, draft, symbol)
            for draft in (found[name] for name in group)
            for path, symbol in draft.skills
            if symbol.name in group
        )
        module, _, path, draft, _ = links[0]
        labels = tuple(context.label(at, where, f"`{short(other.symbol.name)}` uses it") for at, _, where, other, _ in links[1:])
        others = [short(name) for name in group if name != draft.symbol.name]
        via = f" through {listed(sorted(others))}" if others else ""
        message = f"the skill `{short(draft.symbol.name)}` uses itself{via}: there would be no end to what it holds"
        context.report("AEL0641", message, module, path, labels=labels)


def _with_uses(found: Mapping[str, Draft], first: Draft, into: dict[str, Draft]) -> None:
    """Add a skill after those that it uses, each once. Circles, which are reported, end here too; a chain may be of any length."""
    entered: set[str] = set(into)
    work = [(first, False)]
    while work:
        draft, left = work.pop()
        name = draft.symbol.name
        if left:
            into[name] = draft
        elif name not in entered:
            entered.add(name)
            work.append((draft, True))
            work += [(found[symbol.name], False) for _, symbol in reversed(draft.skills) if symbol.name in found]


def bundle(context: Context, scope: ModuleScope, clause: n.Skills | None, found: Mapping[str, Draft]) -> Bundle:
    """What a `skills` clause comes to."""
    made = Bundle(named(context, scope, clause))
    whole: dict[str, Draft] = {}
    for path, symbol in made.named:
        before = len(whole)
        if symbol.name in found:
            _with_uses(found, found[symbol.name], whole)
        made.parts.append((path, list(whole.values())[before:]))
    return made


def bring(context: Context, scope: ModuleScope, what: str, made: Bundle, offered: list[tuple[n.Path, Symbol]]) -> None:
    """Add the tools of the skills of a node (`what`: "the node `answer`") to those that it names itself; one that is there already is
    offered once. Two of the same name are refused (feature A1.6)."""
    known = {tool.offer_name(symbol): (symbol, scope.name, path) for path, symbol in offered}
    for one in made.tools():
        name = tool.offer_name(one.symbol)
        if name not in known:
            known[name] = (one.symbol, one.skill.scope.name, one.at)
            made.brought[one.symbol.name] = one
            offered.append((one.used, one.symbol))
            continue
        first, module, place = known[name]
        if first is not one.symbol:
            labels = (
                context.label(one.skill.scope.name, one.at, f"the skill `{short(one.skill.symbol.name)}` brings it"),
                context.label(module, place, "offered here already"),
            )
            message = f"{what} offers two tools that the model would know as `{name}`, one of them through a skill"
            context.report("AEL0602", message, scope.name, one.used, labels=labels)


def specs(context: Context, found: Mapping[str, Draft]) -> dict[str, SkillSpec]:
    """The finished facts of all skills; their instructions are looked at on the way."""
    made: dict[str, SkillSpec] = {}
    for name, draft in found.items():
        said = draft.node.instructions
        shown = f"the skill `{draft.node.name.text}`"
        text = "" if said is None else instructions.text(context, draft.scope, shown, said)
        tools, skills = (tuple(symbol.name for _, symbol in named) for named in (draft.tools, draft.skills))
        made[name] = SkillSpec(name, draft.version, doc(draft.node.doc), text, tools, skills)
    return made


def chosen(made: Bundle, all_specs: Mapping[str, SkillSpec]) -> tuple[SkillSpec, ...]:
    """The facts of the skills of a node or agent, in the order in which its model reads them."""
    return tuple(all_specs[draft.symbol.name] for draft in made.whole)


def no_boundary(context: Context, made: Bundle, offered: Iterable[str]) -> None:
    """Advice: the instructions of a skill forbid a tool that a node offers with it (feature A4.16)."""
    names = list(offered)
    for draft in made.whole:
        if draft.node.instructions is not None:
            what = f"the skill `{draft.node.name.text}`"
            instructions.no_boundary(context, draft.scope, what, draft.node.instructions, names)
