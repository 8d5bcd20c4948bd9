"""Actions of nodes, agents and skills."""

from __future__ import annotations

from typing import NamedTuple

from ael.syntax import nodes as n
from ael.syntax.actions.context import Context, Head, Signature, items
from ael.syntax.clause import Clause
from ael.syntax.make import (
    make_agent_decl,
    make_edge,
    make_edge_target,
    make_example,
    make_examples,
    make_follow_up,
    make_input,
    make_instructions,
    make_model_body,
    make_node_decl,
    make_require,
    make_skill_decl,
)


def node(
    c: Context, s: int, e: int, head: Head, name: n.Name, signature: Signature, clauses: list[n.Clause] | None,
    body: n.Block | n.ModelBody,
) -> n.NodeDecl:  # fmt: skip
    return make_node_decl(s, e, head.doc, head.public, name, *signature, items(clauses), body)


def model_body(c: Context, s: int, e: int, members: list[n.ModelItem]) -> n.ModelBody:
    return make_model_body(s, e, tuple(members))


def instructions(c: Context, s: int, e: int, template: n.StringLit) -> n.Instructions:
    return make_instructions(s, e, template, False)


def instructions_from(c: Context, s: int, e: int, path: n.StringLit) -> n.Instructions:
    return make_instructions(s, e, path, True)


def input(c: Context, s: int, e: int, value: n.Expr) -> n.Input:
    return make_input(s, e, value)


def require(c: Context, s: int, e: int, condition: n.Expr, message: n.Expr | None) -> n.Require:
    return make_require(s, e, condition, message)


def follow_up(c: Context, s: int, e: int, template: n.StringLit) -> n.FollowUp:
    return make_follow_up(s, e, template)


def examples(c: Context, s: int, e: int, members: list[n.Example] | None) -> n.Examples:
    return make_examples(s, e, items(members))


def example(c: Context, s: int, e: int, given: n.Expr, output: n.Expr) -> n.Example:
    return make_example(s, e, given, output)


class Sources(NamedTuple):
    """What stands before an edge's `->`."""

    names: tuple[n.Name, ...]
    joined: bool


class Condition(NamedTuple):
    """`when`, `otherwise` or `on` of an edge."""

    when: n.Expr | None
    otherwise: bool
    errors: tuple[n.Path, ...]


def source(c: Context, s: int, e: int, name: n.Name) -> Sources:
    return Sources((name,), False)


def any_source(c: Context, s: int, e: int, names: list[n.Name]) -> Sources:
    return Sources(tuple(names), False)


def all_sources(c: Context, s: int, e: int, names: list[n.Name]) -> Sources:
    return Sources(tuple(names), True)


def edge_target(c: Context, s: int, e: int, each: int | None, name: n.Name) -> n.EdgeTarget:
    return make_edge_target(s, e, name, None, each is not None)


def called_target(c: Context, s: int, e: int, each: int | None, name: n.Name, arguments: list[n.Argument] | None) -> n.EdgeTarget:
    return make_edge_target(s, e, name, items(arguments), each is not None)


def edge_when(c: Context, s: int, e: int, condition: n.Expr) -> Condition:
    return Condition(condition, False, ())


def edge_otherwise(c: Context, s: int, e: int) -> Condition:
    return Condition(None, True, ())


def edge_on(c: Context, s: int, e: int, errors: list[n.Path]) -> Condition:
    return Condition(None, False, tuple(errors))


def edge(
    c: Context, s: int, e: int, doc: n.Doc | None, sources: Sources, target: n.EdgeTarget, condition: Condition | None,
    limit: n.Expr | None,
) -> n.Edge:  # fmt: skip
    when = condition or Condition(None, False, ())
    return make_edge(s, e, doc, sources.names, sources.joined, target, when.when, when.otherwise, when.errors, limit)


def agent(
    c: Context,
    s: int,
    e: int,
    head: Head,
    name: n.Name,
    signature: Signature,
    clauses: list[n.Clause] | None,
    edges: list[n.Edge] | None,
) -> n.AgentDecl:
    return make_agent_decl(s, e, head.doc, head.public, name, *signature, items(clauses), items(edges))


def skill(
    c: Context, s: int, e: int, head: Head, name: n.Name, clauses: list[n.Clause] | None,
    members: list[n.Instructions | n.Clause | n.FunctionDecl] | None,
) -> n.SkillDecl:  # fmt: skip
    found = members or []
    texts = [m for m in found if isinstance(m, n.Instructions)]
    if len(texts) > 1:
        c.problem("AEL0104", "a skill has one `instructions`", texts[1].span.start, texts[1].span.end)
    inner = tuple(m for m in found if isinstance(m, Clause))
    functions = tuple(m for m in found if isinstance(m, n.FunctionDecl))
    return make_skill_decl(s, e, head.doc, head.public, name, items(clauses) + inner, texts[0] if texts else None, functions)
