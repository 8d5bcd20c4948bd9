"""What a deployment says of tenants: data. Each has permissions of its own, a budget for all its runs, and a share of the runs at once."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ael.data import dataclass, field
from ael.project.serving import Period
from ael.types.spec import BudgetSpec

DEFAULT_TENANT = "local"
"""Whose runs they are that say nothing."""
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
"""The name of a tenant, wherever it comes from: it stands in the keys of stores, caches and accounts."""


EVERYBODY = "*"
"""Stands for each tenant that a limit does not name."""


@dataclass(frozen=True)
class TenantBinding:
    """`tenant acme { grants orders.read  deny orders.refund  limit concurrent 4  budget cost $50 per day }`.

    `grants` None: all that the program declares. The budget is one account for all runs of the tenant, in each period anew, or for as long
    as the runs are kept where `period` is None. `concurrent`: runs at once, over all workers.
    """

    name: str
    grants: frozenset[str] | None = None
    denied: frozenset[str] = frozenset()
    budget: BudgetSpec = field(default_factory=BudgetSpec)
    period: Period | None = None
    concurrent: int | None = None


def at_once(tenants: Mapping[str, TenantBinding], everybody: int | None = None) -> dict[str, int]:
    """The most runs of a tenant at once, of those that have a limit; `everybody`: that of each other."""
    own = {name: one.concurrent for name, one in tenants.items() if one.concurrent is not None}
    return own if everybody is None else {EVERYBODY: everybody, **own}
