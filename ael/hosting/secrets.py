"""Secrets by name, from where the deployment says that they are."""

from __future__ import annotations

import os
from pathlib import Path

from ael.hosting.failure import HostError
from ael.project.deployment import Deployment
from ael.types.value import Secret


class Secrets:
    """Secrets by name, read once, when they are first needed."""

    def __init__(self, deployment: Deployment) -> None:
        self.deployment = deployment
        self.known: dict[str, Secret] = {}

    def get(self, name: str) -> Secret:
        """The secret `name`. Raises `HostError`."""
        if name not in self.known:
            self.known[name] = Secret(name, self._read(name))
        return self.known[name]

    def of_variable(self, variable: str) -> Secret | None:
        """A provider's usual environment variable, where it is set."""
        value = os.environ.get(variable)
        if not value:
            return None
        return self.known.setdefault(variable, Secret(variable, value))

    def _read(self, name: str) -> str:
        source = self.deployment.secrets.get(name)
        if source is None:
            raise HostError("AEL0831", f"the deployment has no secret `{name}`", f'add `secret {name} = env("{name}")` to it')
        if source.kind == "env":
            value = os.environ.get(source.name, "")
            if not value:
                message = f"the secret `{name}` is the environment variable {source.name}, which is not set"
                raise HostError("AEL0831", message, "set it, or say in the deployment where the secret is")
            return value
        path = Path(self.deployment.folder, source.name)
        try:
            return path.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
            raise HostError("AEL0831", f"the secret `{name}` cannot be read from {path}: {reason}") from None


class NoSecrets(Secrets):
    """Stands in for every secret where nothing is sent."""

    def _read(self, name: str) -> str:
        return "not a secret"

    def of_variable(self, variable: str) -> Secret | None:
        return Secret(variable, "not a secret")
