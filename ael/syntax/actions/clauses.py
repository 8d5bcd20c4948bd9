"""Actions of clauses."""

from __future__ import annotations

from ael.syntax import nodes as n
from ael.syntax.actions.context import Context
from ael.syntax.make import (
    make_amount,
    make_approval,
    make_argument,
    make_attempts,
    make_budget,
    make_grants,
    make_history,
    make_int_lit,
    make_limit,
    make_model_clause,
    make_needs,
    make_parallel_clause,
    make_policy,
    make_repeat_clause,
    make_retry,
    make_skills,
    make_taints,
    make_timeout,
    make_tool_choice,
    make_tools,
    make_version,
)


def needs(c: Context, s: int, e: int, permissions: list[n.Path]) -> n.Needs:
    return make_needs(s, e, tuple(permissions))


def repeat_never(c: Context, s: int, e: int) -> n.RepeatClause:
    return make_repeat_clause(s, e, "never", None)


def repeat_idempotent(c: Context, s: int, e: int, key: n.Expr | None) -> n.RepeatClause:
    return make_repeat_clause(s, e, "idempotent", key)


def repeat_reconcile(c: Context, s: int, e: int, key: n.Expr | None) -> n.RepeatClause:
    return make_repeat_clause(s, e, "reconcile", key)


def timeout(c: Context, s: int, e: int, value: n.Expr) -> n.Timeout:
    return make_timeout(s, e, value)


def timeout_none(c: Context, s: int, e: int) -> n.Timeout:
    return make_timeout(s, e, None)


def limit(c: Context, s: int, e: int, amounts: list[n.Amount]) -> n.Limit:
    return make_limit(s, e, tuple(amounts))


def amount(c: Context, s: int, e: int, name: n.Name, value: n.Expr, per: n.Name | None) -> n.Amount:
    return make_amount(s, e, name, value, per)


def approval(c: Context, s: int, e: int, role: n.Path | None, condition: n.Expr | None) -> n.Approval:
    return make_approval(s, e, role, condition)


def taints(c: Context, s: int, e: int) -> n.Taints:
    return make_taints(s, e)


def parallel_clause(c: Context, s: int, e: int) -> n.ParallelClause:
    return make_parallel_clause(s, e)


def retry_count(c: Context, s: int, e: int, token: int) -> n.Retry:
    text = c.texts[token]
    at = e - len(text)
    return make_retry(s, e, (make_argument(at, e, None, make_int_lit(at, e, int(text), text)),))


def retry(c: Context, s: int, e: int, arguments: list[n.Argument]) -> n.Retry:
    return make_retry(s, e, tuple(arguments))


def model_clause(c: Context, s: int, e: int, path: n.Path) -> n.ModelClause:
    return make_model_clause(s, e, path)


def policy(c: Context, s: int, e: int, name: n.Name, arguments: list[n.Argument] | None) -> n.Policy:
    return make_policy(s, e, name, tuple(arguments or ()))


def grants(c: Context, s: int, e: int, permissions: list[n.Path]) -> n.Grants:
    return make_grants(s, e, tuple(permissions), False)


def deny(c: Context, s: int, e: int, permissions: list[n.Path]) -> n.Grants:
    return make_grants(s, e, tuple(permissions), True)


def tools(c: Context, s: int, e: int, paths: list[n.Path]) -> n.Tools:
    return make_tools(s, e, tuple(paths))


def skills(c: Context, s: int, e: int, paths: list[n.Path]) -> n.Skills:
    return make_skills(s, e, tuple(paths))


def budget(c: Context, s: int, e: int, amounts: list[n.Amount]) -> n.Budget:
    return make_budget(s, e, tuple(amounts))


def attempts(c: Context, s: int, e: int, value: n.Expr) -> n.Attempts:
    return make_attempts(s, e, value)


def tool_choice(c: Context, s: int, e: int, path: n.Path) -> n.ToolChoice:
    return make_tool_choice(s, e, path)


def history_keep(c: Context, s: int, e: int, keep: n.Expr) -> n.History:
    return make_history(s, e, keep)


def history_summarize(c: Context, s: int, e: int) -> n.History:
    return make_history(s, e, None)


def version(c: Context, s: int, e: int, value: n.StringLit) -> n.Version:
    c.plain(value)
    return make_version(s, e, value)
