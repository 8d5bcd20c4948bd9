"""Printers of clauses."""

from __future__ import annotations

from ael.syntax import nodes as n
from ael.syntax.format.lists import bracketed, comma_list
from ael.syntax.format.stream import Printer, Stream


def word(p: Stream, node: n.Clause) -> None:
    p.take()


def after_word(p: Stream, *nodes: n.Node) -> None:
    """A word, and what follows it in a list."""
    p.take()
    p.space()
    comma_list(p, nodes)


def needs(p: Stream, node: n.Needs | n.Grants) -> None:
    after_word(p, *node.permissions)


def paths(p: Stream, node: n.Tools | n.Skills) -> None:
    after_word(p, *node.paths)


def path(p: Stream, node: n.ModelClause | n.ToolChoice) -> None:
    after_word(p, node.path)


def amounts(p: Stream, node: n.Limit | n.Budget) -> None:
    after_word(p, *node.amounts)


def value(p: Stream, node: n.Attempts | n.Version) -> None:
    after_word(p, node.value)


def repeat(p: Stream, node: n.RepeatClause) -> None:
    p.take("repeat")
    p.space()
    p.take()
    if node.key is not None:
        p.space()
        after_word(p, node.key)


def timeout(p: Stream, node: n.Timeout) -> None:
    p.take("timeout")
    p.space()
    if node.value is None:
        p.take("none")
    else:
        p.show(node.value)


def amount(p: Stream, node: n.Amount) -> None:
    p.take()
    p.space()
    p.show(node.value)
    if node.per is not None:
        p.space()
        p.take("per")
        p.space()
        p.take()


def approval(p: Stream, node: n.Approval) -> None:
    p.take("approval")
    p.space()
    p.take("required")
    if node.role is not None:
        p.space()
        after_word(p, node.role)
    if node.condition is not None:
        p.space()
        after_word(p, node.condition)


def retry(p: Stream, node: n.Retry) -> None:
    p.take("retry")
    if p.peek() == "(":
        bracketed(p, "(", ")", node.arguments)
    else:
        p.space()
        p.show(node.arguments[0])


def policy(p: Stream, node: n.Policy) -> None:
    p.take("policy")
    p.space()
    p.take()
    if node.arguments:
        bracketed(p, "(", ")", node.arguments)


def history(p: Stream, node: n.History) -> None:
    p.take("history")
    p.space()
    p.take()
    if node.keep is not None:
        p.space()
        p.show(node.keep)


PRINTERS: dict[type[n.Node], Printer] = {
    n.Needs: needs,
    n.Grants: needs,
    n.Tools: paths,
    n.Skills: paths,
    n.ModelClause: path,
    n.ToolChoice: path,
    n.Limit: amounts,
    n.Budget: amounts,
    n.Attempts: value,
    n.Version: value,
    n.RepeatClause: repeat,
    n.Timeout: timeout,
    n.Amount: amount,
    n.Approval: approval,
    n.Taints: word,
    n.ParallelClause: word,
    n.Retry: retry,
    n.Policy: policy,
    n.History: history,
}
