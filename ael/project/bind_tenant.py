"""`tenant` blocks, and what callers and secrets say of tenants, checked against the program and against each other."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from ael.data import replace
from ael.project.bind_state import ProgramState, permissions
from ael.project.form import amounts
from ael.project.literal import evaluate
from ael.project.serving import SECONDS, Period
from ael.project.tenants import DEFAULT_TENANT, TenantBinding
from ael.project.wrong import Wrong, listing
from ael.syntax import nodes as n
from ael.types.spec import BudgetSpec

BUDGET_WORDS = ("steps", "tool_calls", "tokens", "cost")
"""What an account that runs share limits. Time is a run's own."""
FORM = "it is written `tenant acme { grants orders.read  deny orders.refund  limit concurrent 4  budget cost $50 per day }`"


def tenant(state: ProgramState, declaration: n.TenantDecl) -> None:
    """`tenant acme { … }`. Raises `Wrong`, `NotConstant`."""
    name = declaration.name.text
    if name in state.tenants:
        raise Wrong("AEL0813", f"`tenant {name}` is bound twice", declaration.name)
    made = TenantBinding(name)
    state.tenants[name] = made
    seen: set[str] = set()
    for clause in declaration.clauses:
        with state.told():
            word = _word(clause)
            if word in seen:
                raise Wrong("AEL0813", f"`{word}` is said twice", clause)
            seen.add(word)
            made = _with(state, made, clause)
    state.tenants[name] = made


def _word(clause: n.Clause) -> str:
    match clause:
        case n.Grants(deny=deny):
            return "deny" if deny else "grants"
        case n.Limit():
            return "limit"
        case n.Budget():
            return "budget"
        case _:
            raise Wrong("AEL0814", "a tenant has `grants`, `deny`, `limit concurrent` and a `budget`", clause, FORM)


def _with(state: ProgramState, made: TenantBinding, clause: n.Clause) -> TenantBinding:
    match clause:
        case n.Grants(permissions=paths, deny=True):
            return replace(made, denied=frozenset(path.text for path in paths if permissions(state, [path])))
        case n.Grants(permissions=paths):
            _held(state, made.name, paths)
            return replace(made, grants=permissions(state, paths))
        case n.Limit(amounts=said):
            return replace(made, concurrent=_concurrent(said, clause))
        case n.Budget():
            return replace(made, budget=shared_budget(state, clause), period=period_of(clause, "tenant"))
        case _:
            return made


def _held(state: ProgramState, name: str, paths: Iterable[n.Path]) -> None:
    """A grant that nothing in the program has would only look like one."""
    held = held_permissions(state)
    for path in paths:
        spec = state.program.permissions.get(path.text)
        if spec is not None and not held & {path.text, *spec.includes}:
            message = f"the tenant `{name}` is granted `{path.text}`, which no node of the program has"
            state.report(Wrong("AEL0818", message, path, listing("the nodes have", sorted(held))))


def held_permissions(state: ProgramState) -> frozenset[str]:
    """Every permission that something which runs is granted by the program."""
    return frozenset().union(*(spec.grants for spec in state.program.nodes.values()))


def _concurrent(said: tuple[n.Amount, ...], clause: n.Clause) -> int:
    if len(said) != 1 or said[0].name.text != "concurrent" or said[0].per is not None:
        raise Wrong("AEL0814", "a tenant's limit is `concurrent`: its runs at once", clause, FORM)
    found = evaluate(said[0].value)
    if not isinstance(found, int) or isinstance(found, bool) or found < 0:
        raise Wrong("AEL0814", "`concurrent` is a whole number from 0", said[0])
    return found


def shared_budget(state: ProgramState, clause: n.Budget) -> BudgetSpec:
    """The amounts of an account that several runs share."""
    options = tuple(n.BindingOption(amount.span, amount.name, (amount.value,)) for amount in clause.amounts)
    return BudgetSpec(**amounts(options, BUDGET_WORDS, state.report))


def period_of(clause: n.Budget, whose: str) -> Period | None:
    """All amounts of a budget have the same period: it is one account. Raises `Wrong`."""
    said = {amount.per.text if amount.per is not None else None for amount in clause.amounts}
    if len(said) > 1:
        raise Wrong("AEL0814", f"the amounts of a {whose}'s budget have the same period", clause)
    period = said.pop() if said else None
    if period is not None and period not in SECONDS:
        raise Wrong("AEL0814", f"there is no period `{period}`", clause, listing("there is", SECONDS))
    return cast("Period | None", period)


def settle(state: ProgramState) -> None:
    """Report callers and secrets of tenants that are not there. Without `tenant` blocks any tenant may be named, and nothing limits it."""
    if state.tenants:
        for name, caller in state.callers.items():
            if caller.tenant in state.tenants:
                continue
            place, known = state.caller_places[name], listing("there is", state.tenants)
            if caller.tenant == DEFAULT_TENANT:
                example = next(iter(state.tenants))
                message = f"the caller `{name}` belongs to no tenant, and the deployment has tenants"
                note = f'say whose caller it is: `bearer(secret("{caller.secret}"), tenant: "{example}")`'
                state.report(Wrong("AEL0819", message, place, note))
            else:
                state.report(Wrong("AEL0810", f"the deployment has no tenant `{caller.tenant}`", place, known))
    _own_secrets(state)


def _own_secrets(state: ProgramState) -> None:
    """Find whose the secrets `acme.CRM` are: a tenant's, or a caller's, whose name is one of its tenant."""
    for (owner, name), place in state.owned_places.items():
        caller = state.callers.get(owner)
        if owner in state.tenants and caller is not None:
            message = f"`{owner}` is a tenant and a caller, and this does not say whose secret it is"
            state.report(Wrong("AEL0810", message, place, "call one of them otherwise"))
        elif caller is not None:
            state.owned_secrets[f"{caller.tenant}/{owner}", name] = state.owned_secrets.pop((owner, name))
        elif owner not in state.tenants:
            message = f"the deployment has no tenant and no caller `{owner}`, whose secret this would be"
            state.report(Wrong("AEL0810", message, place, listing("there is", [*state.tenants, *state.callers])))
