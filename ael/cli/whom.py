"""For whom a command starts a run: `--tenant` and `--caller`."""

from __future__ import annotations

import argparse

from ael.hosting.whom import options_for
from ael.project.deployment import Deployment
from ael.run.bindings import Options


def whom(deployment: Deployment, args: argparse.Namespace, *, begins: bool = True) -> Options:
    """The options of a run for the tenant and the caller that are said; `begins`: it is to begin now. Raises `HostError` (AEL0855)."""
    return options_for(deployment, args.tenant, args.caller, begins=begins)
