"""For whom a command starts a run: `--tenant` and `--caller`, held against what the deployment says of tenants and callers."""

from __future__ import annotations

import argparse
from collections.abc import Collection
from difflib import get_close_matches

from ael.hosting.failure import HostError
from ael.project.deployment import Deployment
from ael.project.tenants import DEFAULT_TENANT, NAME
from ael.run.bindings import Options


def whom(deployment: Deployment, args: argparse.Namespace) -> Options:
    """The options of a run for the tenant and the caller that are said. Raises `HostError` (AEL0855)."""
    callers, tenants = deployment.serving.callers, deployment.tenants
    bound = callers.get(args.caller)
    if args.caller is not None and bound is None and callers:
        raise HostError("AEL0855", f"the deployment has no caller `{args.caller}`", _near(args.caller, callers))
    if bound is not None and args.tenant not in (None, bound.tenant):
        message = f"the caller `{args.caller}` belongs to the tenant `{bound.tenant}`, not to `{args.tenant}`"
        raise HostError("AEL0855", message)
    said = args.tenant or (None if bound is None else bound.tenant)
    tenant = said or DEFAULT_TENANT
    if not NAME.fullmatch(tenant):
        message = "the name of a tenant has up to 64 letters, digits, `-`, `_` and `.`, and begins with a letter or digit"
        raise HostError("AEL0855", message)
    if tenants and tenant not in tenants:
        if said is None:
            raise HostError("AEL0855", "the deployment has tenants: say whose run it is", _near("", tenants, "--tenant "))
        raise HostError("AEL0855", f"the deployment has no tenant `{tenant}`", _near(tenant, tenants))
    return Options(tenant) if args.caller is None else Options(tenant, args.caller)


def _near(name: str, known: Collection[str], lead: str = "") -> str:
    close = get_close_matches(name, known, 1)
    return f"did you mean `{close[0]}`?" if close else "there is " + ", ".join(f"`{lead}{one}`" for one in known)
