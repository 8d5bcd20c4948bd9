"""For whom a run is started: a tenant and a caller, held against what the deployment says of tenants and callers."""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches

from ael.hosting.failure import HostError
from ael.project.deployment import Deployment
from ael.project.tenants import DEFAULT_TENANT, NAME
from ael.run.bindings import Options


def options_for(deployment: Deployment, tenant: str | None, caller: str | None, *, begins: bool = True) -> Options:
    """The options of a run for the tenant and the caller that are said; None: nobody said. Raises `HostError` (AEL0855).

    A caller whom the deployment names brings its tenant along. Where it names some, or tenants, nobody else starts a run. `begins`: a run
    is to begin, and not only looked at: a tenant that may have none at once has none.
    """
    if caller == "":
        raise HostError("AEL0855", "the name of a caller is empty: leave it out where nobody is meant")
    callers, tenants = deployment.serving.callers, deployment.tenants
    bound = None if caller is None else callers.get(caller)
    if caller is not None and bound is None and callers:
        raise HostError("AEL0855", f"the deployment has no caller `{caller}`", _near(caller, callers))
    if bound is not None and tenant not in (None, bound.tenant):
        message = f"the caller `{caller}` belongs to the tenant `{bound.tenant}`, not to `{tenant}`"
        raise HostError("AEL0855", message)
    # Nobody said is something else than an empty name: a variable that was not set makes nobody the default tenant.
    said = tenant if tenant is not None or bound is None else bound.tenant
    chosen = DEFAULT_TENANT if said is None else said
    if not NAME.fullmatch(chosen):
        message = "the name of a tenant has up to 64 letters, digits, `-`, `_` and `.`, and begins with a letter or digit"
        raise HostError("AEL0855", message)
    if tenants and chosen not in tenants:
        if said is None:
            raise HostError("AEL0855", "the deployment has tenants: say whose run it is", _near("", tenants))
        raise HostError("AEL0855", f"the deployment has no tenant `{chosen}`", _near(chosen, tenants))
    if begins and tenants and tenants[chosen].concurrent == 0:
        raise HostError("AEL0855", f"the tenant `{chosen}` runs nothing: the deployment says `limit concurrent 0`")
    return Options(chosen) if caller is None else Options(chosen, caller)


def _near(name: str, known: Collection[str]) -> str:
    close = get_close_matches(name, known, 1)
    return f"did you mean `{close[0]}`?" if close else "there is " + ", ".join(f"`{one}`" for one in known)
