"""What is looked for in order to mask it, wherever something of a run is printed: the secrets that are on this machine (K41)."""

from __future__ import annotations

from ael.hosting.failure import HostError
from ael.hosting.secrets import Secrets
from ael.models.registry import PROVIDERS
from ael.project.deployment import Deployment
from ael.run.masker import Masker


def masker_of(deployment: Deployment) -> Masker:
    """Masks the secrets of a deployment, those of its tenants, and the usual keys of providers, as far as they are here."""
    secrets = Secrets(deployment)
    for tenant, name in (*(("", name) for name in deployment.secrets), *deployment.owned_secrets):
        try:
            secrets.get(name, tenant)
        except HostError:
            continue  # it is not on this machine, so nothing here shows that it is one
    for provider in PROVIDERS.values():
        if provider.key_variable:
            secrets.of_variable(provider.key_variable)
    return Masker(secrets.known.values())
