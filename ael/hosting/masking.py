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
    know_all(secrets, keyring=True)
    return Masker(secrets.known.values())


def know_all(secrets: Secrets, *, keyring: bool = False) -> None:
    """Read every secret of a deployment that is on this machine, needed or not: whatever gives it away, it is known and masked.

    A keyring may ask the person at the machine, so it is read only where `keyring` says so; else when a secret in it is needed.
    """
    deployment = secrets.deployment
    named = [(("", name), source) for name, source in deployment.secrets.items()]
    for (owner, name), source in (*named, *deployment.owned_secrets.items()):
        if source.kind == "keyring" and not keyring:
            continue
        try:
            secrets.get(name, *owner.split("/"))
        except HostError:
            continue  # it is not on this machine, so nothing here shows that it is one
    for provider in PROVIDERS.values():
        if provider.key_variable:
            secrets.of_variable(provider.key_variable)
