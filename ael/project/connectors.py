"""The providers of standard services by which a program's models and services go: connectors.

Whose a model is, its declaration says (`provider my_model`), and the deployment goes first (`model fast = my_model("large")`). What
carries the calls of a service elsewhere, the deployment alone says (`service Orders = my_transport("…")`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from ael.check.program import CheckedProgram
from ael.project.deployment import Deployment

MODEL = "std/model.Model"
TRANSPORT = "std/transport.Transport"

Connectors: TypeAlias = Mapping[str, frozenset[str]]
"""Qualified names of models and services, each with those of the providers that may be called for it."""


def providers(program: CheckedProgram, service: str) -> dict[str, str]:
    """The providers of a standard service: own name -> qualified name. Of two with one name the program's own is meant."""
    found = sorted((name for name, spec in program.provides.items() if spec.service == service), key=lambda name: "/" not in name)
    return {name.rpartition(".")[2]: name for name in found}


def declared(program: CheckedProgram) -> Connectors:
    """What the program itself says."""
    said = [(name, spec.provider) for name, spec in program.models.items() if spec.provider is not None]
    return {name: frozenset({provider}) for name, provider in said if provider in program.provides}


def bound(program: CheckedProgram, deployment: Deployment) -> Connectors:
    """What holds in a deployment."""
    found = dict(declared(program))
    for name, model in deployment.models.items():
        found[name] = frozenset({model.provider} & program.provides.keys())
    for name, placed in deployment.placements.items():
        if placed.kind == "connector" and placed.provider is not None:
            found[name] = frozenset({placed.provider})
    return {name: names for name, names in found.items() if names}


def possible(program: CheckedProgram) -> Connectors:
    """What could hold in any deployment: a run may be continued in another one."""
    models = frozenset(providers(program, MODEL).values())
    transports = frozenset(providers(program, TRANSPORT).values())
    found = dict.fromkeys(program.models, models) | dict.fromkeys(program.services, transports)
    return {name: names for name, names in found.items() if names}
