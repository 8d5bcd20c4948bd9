"""Who calls: known by a bearer token, each with rights, a tenant, and a share of the calls at once."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ael.durable.rights import caller_layer
from ael.host import HostError
from ael.project.deployment import Deployment
from ael.project.serving import CallerBinding
from ael.project.tenants import DEFAULT_TENANT
from ael.run.bindings import system_user
from ael.run.permission import Layer
from ael.types.value import Secret

SHORTEST_TOKEN = 16
"""Characters. A shorter one can be tried out."""


@dataclass(eq=False)
class Caller:
    """One who may call. What it may spend is kept by its name, with the runs (`ael.run.access`)."""

    name: str
    tenant: str = "local"
    layer: Layer | None = None
    concurrent: int | None = None
    in_flight: int = 0


def local_caller() -> Caller:
    """The operating system's user, who calls where nobody has to say who they are: over stdio, or on this machine alone."""
    return Caller(system_user())


def refuse_local(deployment: Deployment) -> None:
    """Raise `HostError` (AEL0855) where the local caller would call for a tenant that is not there: it would only ever be denied."""
    if deployment.tenants and DEFAULT_TENANT not in deployment.tenants:
        note = "name callers with their tenants, or give the deployment a tenant `local`: `tenant local { grants … }`"
        raise HostError("AEL0855", "whoever calls here without a token belongs to none of the deployment's tenants", note)


class Callers:
    """All callers with their tokens. A token is compared with every one, in constant time."""

    def __init__(self, bindings: Iterable[CallerBinding], secrets: Mapping[str, Secret]) -> None:
        """Raises `HostError` for a token that is too short (AEL0875) or that two have (AEL0876)."""
        self._known: list[tuple[bytes, Caller]] = []
        for binding in bindings:
            token = secrets[binding.secret].reveal()
            if len(token) < SHORTEST_TOKEN or not token.isascii() or any(c.isspace() for c in token):
                message = (
                    f"the token of the caller `{binding.name}` is no token of at least {SHORTEST_TOKEN} visible ASCII characters"
                )
                raise HostError(
                    "AEL0875", message, "make one with `python -c 'import secrets; print(secrets.token_urlsafe(32))'`"
                )
            digest = _digest(token)
            same = next((other for known, other in self._known if hmac.compare_digest(known, digest)), None)
            if same is not None:
                message = f"the callers `{same.name}` and `{binding.name}` have the same token"
                raise HostError("AEL0876", message, "give each a token of its own")
            layer = caller_layer(binding)
            made = Caller(binding.name, binding.tenant, layer, binding.concurrent)
            self._known.append((digest, made))

    def know(self, token: str, caller: Caller) -> None:
        """One more caller, whom this program made itself."""
        self._known.append((_digest(token), caller))

    def __bool__(self) -> bool:
        return bool(self._known)

    def named(self, tenant: str, name: str) -> Caller | None:
        """The caller of this name in this tenant."""
        return next((one for _, one in self._known if (one.tenant, one.name) == (tenant, name)), None)

    def of(self, header: str | None) -> Caller | None:
        """The caller whom an `Authorization` header names; None for nobody."""
        scheme, _, token = (header or "").partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            return None
        digest = _digest(token.strip())
        found: Caller | None = None
        for known, caller in self._known:
            if hmac.compare_digest(known, digest):
                found = caller
        return found


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
