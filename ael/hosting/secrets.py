"""Secrets by name, from where the deployment says that they are."""

from __future__ import annotations

import os
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from ael.hosting.failure import HostError
from ael.project.deployment import Deployment, SecretSource
from ael.types.value import Secret

LEARNT = 200
"""How many credentials that came while a program ran are remembered, in order to mask them."""


class Secrets:
    """Secrets by name, read once, when they are first needed."""

    def __init__(self, deployment: Deployment) -> None:
        self.deployment = deployment
        self.known: dict[str, Secret] = {}
        self._learnt = 0

    def get(self, name: str, tenant: str = "", caller: str = "") -> Secret:
        """The secret `name`: the caller's own where it has one, else the tenant's, else the common one. Raises `HostError`."""
        own, key = None, name
        for owner in (tenant, f"{tenant}/{caller}"):
            found = self.deployment.owned_secrets.get((owner, name))
            if found is not None:
                own, key = found, f"{owner}.{name}"
        if key not in self.known:
            self.known[key] = Secret(key, self._read(key, own or self.deployment.secrets.get(name)))
        return self.known[key]

    def of_variable(self, variable: str) -> Secret | None:
        """A provider's usual environment variable, where it is set."""
        value = os.environ.get(variable)
        if not value:
            return None
        return self.known.setdefault(variable, Secret(variable, value))

    def learn(self, secret: Secret) -> None:
        """A credential that came while the program ran, such as an access token: known from now on. The last ones are kept."""
        self._learnt += 1
        self.known.pop(f"{secret.name} {self._learnt - LEARNT}", None)
        self.known[f"{secret.name} {self._learnt}"] = secret

    def _read(self, name: str, source: SecretSource | None) -> str:
        if source is None:
            raise HostError("AEL0831", f"the deployment has no secret `{name}`", f'add `secret {name} = env("{name}")` to it')
        if source.kind == "env":
            value = os.environ.get(source.name, "")
            if not value:
                message = f"the secret `{name}` is the environment variable {source.name}, which is not set"
                raise HostError("AEL0831", message, "set it, or say in the deployment where the secret is")
            return value
        if source.kind == "keyring":
            return _from_keyring(name, source)
        path = Path(self.deployment.folder, source.name)
        try:
            return path.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
            raise HostError("AEL0831", f"the secret `{name}` cannot be read from {path}: {reason}") from None


def _from_keyring(name: str, source: SecretSource) -> str:
    where = f"`{source.name}` of `{source.service}` in the keyring"
    if find_spec("keyring") is None:
        raise HostError("AEL0831", f"the secret `{name}` is {where}, which needs a package", "pip install 'ael-lang[keyring]'")
    keychain = import_module("ael.hosting.keychain")
    try:
        value: str | None = keychain.read(source.service, source.name)
    except keychain.KeychainError as error:
        raise HostError("AEL0831", f"the secret `{name}` is {where}, which cannot be asked: {error}") from None
    if not value:
        note = f"put it there: `keyring set {source.service} {source.name}`"
        raise HostError("AEL0831", f"the secret `{name}` is {where}, which keeps nothing there", note)
    return value


class NoSecrets(Secrets):
    """Stands in for every secret where nothing is sent."""

    def _read(self, name: str, source: SecretSource | None) -> str:
        return "not a secret"

    def of_variable(self, variable: str) -> Secret | None:
        return Secret(variable, "not a secret")
