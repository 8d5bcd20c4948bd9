"""For whom a run is: the layers of its tenant and its caller as the deployment of now has them, and the accounts that they share.

They are looked up by name each time a run begins or goes on, so they hold for a run that another process began, too. What a run has kept
of its own can only take more away.
"""

from __future__ import annotations

from collections.abc import Mapping

from ael.journal.book import Shared
from ael.project.serving import SECONDS, CallerBinding, Period
from ael.project.tenants import TenantBinding
from ael.run.permission import Layer
from ael.types.fault import Fault, FaultKind
from ael.types.spec import BudgetSpec


class Access:
    """The tenants and callers of a deployment, each with a layer that all its runs share: what is withdrawn holds for those under way."""

    def __init__(self, tenants: Mapping[str, TenantBinding], callers: Mapping[str, CallerBinding]) -> None:
        self._tenants = tenants
        self._callers = callers
        self._layers: dict[str, Layer] = {
            **{_tenant(name): Layer(_tenant(name), one.grants, one.denied) for name, one in tenants.items()},
            **{_caller(name): Layer(_caller(name), one.grants) for name, one in callers.items()},
        }

    def refusal(self, tenant: str, caller: str) -> Fault | None:
        """Why nobody runs anything for them here: a tenant that the deployment does not have, or a caller of another one."""
        if self._tenants and tenant not in self._tenants:
            known = ", ".join(f"`{name}`" for name in self._tenants)
            return Fault(FaultKind.DENIED, f"the deployment has no tenant `{tenant}`; there is {known}", tenant=tenant)
        bound = self._callers.get(caller)
        if bound is not None and bound.tenant != tenant:
            message = f"the caller `{caller}` belongs to the tenant `{bound.tenant}`, not to `{tenant}`"
            return Fault(FaultKind.DENIED, message, tenant=tenant, caller=caller)
        return None

    def layers(self, tenant: str, caller: str) -> tuple[Layer, Layer]:
        """The tenant's and the caller's; one that the deployment does not name grants all that is declared."""
        names = (_tenant(tenant), _caller(caller))
        found = [self._layers.get(name) or Layer(name) for name in names]
        return found[0], found[1]

    def shared(self, tenant: str, caller: str) -> tuple[Shared, ...]:
        """The accounts that a run of theirs draws from, the caller's first."""
        found = []
        bound = self._callers.get(caller)
        if bound is not None:
            found.append(_shared(_caller(caller), f"caller {tenant}/{caller}", bound.budget, bound.period))
        owner = self._tenants.get(tenant)
        if owner is not None:
            found.append(_shared(_tenant(tenant), f"tenant {tenant}", owner.budget, owner.period))
        return tuple(one for one in found if one.limit != BudgetSpec())


def _shared(name: str, key: str, limit: BudgetSpec, period: Period | None) -> Shared:
    return Shared(name, key, limit, None if period is None else SECONDS[period])


def _tenant(name: str) -> str:
    return f"the tenant `{name}`"


def _caller(name: str) -> str:
    return f"the caller `{name}`"
