"""What the caller of a run may do and spend, kept with the run: whoever goes on with it applies it again (features A4.4, A4.14).

What is kept can only be tightened later: what the deployment of now grants to the same caller and tenant holds as well (`ael.run.access`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal

from ael.data import replace
from ael.project.serving import CallerBinding
from ael.run.bindings import Options
from ael.run.budget import Account
from ael.run.permission import Layer
from ael.types.spec import BudgetSpec

Named = frozenset[tuple[str, str]]
"""Tenant and name of the layer of each caller that a deployment names; empty where it names none."""


def caller_layer(binding: CallerBinding) -> Layer:
    """What a deployment grants to a caller that it names."""
    return Layer(f"the caller `{binding.name}`", binding.grants)


def named_by(callers: Iterable[CallerBinding]) -> Named:
    """The callers that a deployment names."""
    return frozenset((one.tenant, caller_layer(one).name) for one in callers)


def kept_rights(options: Options) -> dict[str, object]:
    """The layers of a run's caller and tenant, and what is left of the accounts that it draws from, as a run keeps them.

    An account is shared by runs of one process. Whoever goes on elsewhere has what was left when the run began, and never more.
    """
    layers = {"caller": options.caller_layer, "tenant": options.tenant_layer}
    accounts = () if options.tenant_account is None else options.tenant_account.chain
    kept: dict[str, object] = {}
    if any(layer is not None for layer in layers.values()):
        kept["layers"] = {who: layer.form() for who, layer in layers.items() if layer is not None}
    if accounts:
        kept["accounts"] = [{"name": one.name, **spec_form(one.left())} for one in accounts]
    return kept


def restored(options: Options, pinned: Mapping[str, object]) -> Options:
    """The options with the rights that a run kept; one that an older release began keeps none."""
    layers, accounts = pinned.get("layers"), pinned.get("accounts")
    if isinstance(layers, Mapping):
        caller, tenant = layers.get("caller"), layers.get("tenant")
        options = replace(
            options,
            caller_layer=None if caller is None else Layer.of(caller),
            tenant_layer=None if tenant is None else Layer.of(tenant),
        )
    account: Account | None = None
    if isinstance(accounts, list):
        for kept in reversed(accounts):
            account = Account(
                str(kept["name"]), spec_of({word: value for word, value in kept.items() if word != "name"}), account
            )
    return options if account is None else replace(options, tenant_account=account)


def withdrawn(options: Options, tenant: str, named: Named) -> Options:
    """The options of a run that goes on: a caller whom the deployment named once, and does not name any more, may do nothing.

    A deployment that names nobody (of workers that serve nobody) says nothing of callers.
    """
    kept = options.caller_layer
    if kept is None or not named or (tenant, kept.name) in named:
        return options
    return replace(options, caller_layer=Layer(kept.name, ()))


def spec_form(budget: BudgetSpec) -> dict[str, object]:
    """The limits that a budget sets, by name."""
    said: dict[str, int | Decimal | None] = {
        "tokens": budget.tokens, "cost": budget.cost, "time": budget.time, "steps": budget.steps, "tool_calls": budget.tool_calls,
    }  # fmt: skip
    return {word: value for word, value in said.items() if value is not None}


def spec_of(form: Mapping[str, object]) -> BudgetSpec:
    """The budget of `spec_form`."""
    return BudgetSpec(**form)  # type: ignore[arg-type]
