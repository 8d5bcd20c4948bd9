"""Where skills are used: the grants of a node or an agent cover the tools of its skills, and an agent says which its nodes may use.

A skill adds no permission (feature A4.1): what it brings is refused where whoever uses it lacks one, with both places shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ael.check import agent, node
from ael.check.basis import Context, listed, short
from ael.check.collect import Symbol
from ael.check.effect import Graph, Use
from ael.check.grant import addition, grant_place, needed_at
from ael.check.skill import Bundle, Draft, Needed
from ael.data import dataclass
from ael.diagnostics.diagnostic import Label
from ael.syntax import nodes as n


@dataclass(frozen=True, eq=False)
class _Lacking:
    """A tool of a skill, and the permissions of it that are not granted."""

    symbol: Symbol
    skill: Draft
    at: n.Path
    permissions: tuple[str, ...]


def granted(
    context: Context, graph: Graph, user: node.Draft | agent.Draft, needed: Mapping[str, frozenset[str]]
) -> frozenset[n.Node]:
    """Report what the skills of a node or an agent bring beyond its grants, once for each skill that it names. Gives where.

    `needed`: the permissions of each tool, and the grants of each node, by qualified name. Of an agent, what its nodes need as well is
    told where it visits them.
    """
    allowed = context.closure(user.grants)
    if isinstance(user, agent.Draft) and user.symbol.name in graph.units:
        allowed |= graph.names(graph.units[user.symbol.name].total)
    told: set[n.Node] = set()
    for used, found in _brought(user).items():
        lacking = list(_lacking(context, found, needed, allowed))
        if lacking:
            told.add(used)
            _report(context, user, used, lacking)
    return frozenset(told)


def _brought(user: node.Draft | agent.Draft) -> dict[n.Path, list[Needed]]:
    """The tools of the skills, each once, by the path that names the skill: of a node, those that it does not name itself."""
    first: dict[str, Needed] = {}
    for one in user.skills.brought.values() if isinstance(user, node.Draft) else user.skills.tools():
        first.setdefault(one.symbol.name, one)
    found: dict[n.Path, list[Needed]] = {}
    for one in first.values():
        found.setdefault(one.used, []).append(one)
    return found


def _lacking(
    context: Context, found: list[Needed], needed: Mapping[str, frozenset[str]], allowed: frozenset[str]
) -> Iterator[_Lacking]:
    for one in found:
        missing = needed.get(one.symbol.name, frozenset()) - allowed
        # What includes another missing permission is named instead of it: granting the first grants both.
        names = [p for p in sorted(missing) if not any(p != o and p in context.permissions[o].includes for o in missing)]
        if names:
            yield _Lacking(one.symbol, one.skill, one.at, tuple(names))


def _report(context: Context, user: node.Draft | agent.Draft, used: n.Path, lacking: list[_Lacking]) -> None:
    permissions = list(dict.fromkeys(name for one in lacking for name in one.permissions))
    tools = listed([short(one.symbol.name) for one in lacking])
    what = f"the {user.symbol.kind} `{short(user.symbol.name)}`"
    need, them = ("needs" if len(lacking) == 1 else "need"), ("it" if len(permissions) == 1 else "them")
    message = f"the skill `{used.text}` brings {tools}, which {need} {listed(permissions)}, and {what} is not granted {them}"
    clause = user.clauses.get(n.Grants)
    labels: list[Label] = [*grant_place(context, user.scope, user.node, clause)]
    for one in lacking:
        labels.append(context.label(one.skill.scope.name, one.at, f"`{short(one.skill.symbol.name)}` brings it"))
        labels += needed_at(context, Use(one.at, one.symbol.name, 0, None, 0), one.permissions[0])
    notes = ("a skill adds no permission: what it brings needs the grants of whoever uses it",)
    fix = addition(user.scope, user.node.clauses, user.node, clause, ", ".join(permissions))
    context.report("AEL0644", message, user.scope.name, used, labels=tuple(labels), notes=notes, fix=fix)


def ceiling(context: Context, user: agent.Draft, visited: Mapping[str, node.Draft | agent.Draft]) -> None:
    """An agent that says `skills` names all that the nodes of its edges use; what none of them uses is advised against."""
    clause = user.clauses.get(n.Skills)
    if clause is None:
        return
    declared, used = user.skills.names, set[str]()
    for at, name in user.visited:
        inner = visited.get(name)
        if inner is None:
            continue
        used |= inner.skills.names
        beyond = [skill for skill in inner.skills.whole if skill.symbol.name not in declared]
        if beyond:
            shown = listed([short(skill.symbol.name) for skill in beyond])
            message = f"the {inner.symbol.kind} `{short(name)}` uses {shown}, which the agent `{short(user.symbol.name)}` does not declare"
            labels = [context.label(user.scope.name, clause, "the nodes of this agent may use these")]
            labels += _use_place(context, inner.skills, beyond[0], inner)
            context.report("AEL0645", message, user.scope.name, at, labels=tuple(labels))
    for path, symbol in user.skills.named:
        if not used & {symbol.name}:
            message = f"the agent declares the skill `{path.text}`, and none of its nodes uses it"
            notes = (f"a node that uses it says `skills {path.text}`",)
            context.warn("AEL1129", message, user.scope.name, path, notes=notes)


def _use_place(context: Context, made: Bundle, wanted: Draft, inner: node.Draft | agent.Draft) -> list[Label]:
    """Where a node names the skill, or the one that brings it."""
    for path, symbol in made.named:
        if symbol.name == wanted.symbol.name:
            return [context.label(inner.scope.name, path, "used here")]
    return [context.label(inner.scope.name, path, "used through this") for path, _ in made.named[:1]]
