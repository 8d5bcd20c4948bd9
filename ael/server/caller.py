"""Who calls: known by a bearer token, each with rights, a tenant, a budget for all runs together, and a share of the calls at once."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from ael.durable.rights import caller_layer
from ael.host import HostError
from ael.project.serving import SECONDS, CallerBinding
from ael.run.bindings import system_user
from ael.run.budget import Account
from ael.run.permission import Layer
from ael.types.spec import BudgetSpec
from ael.types.value import Secret

SHORTEST_TOKEN = 16
"""Characters. A shorter one can be tried out."""


@dataclass(eq=False)
class Caller:
    """One who may call. `now` gives seconds since the epoch: a budget `per day` begins anew with the day (UTC)."""

    name: str
    tenant: str = "local"
    layer: Layer | None = None
    budget: BudgetSpec = field(default_factory=BudgetSpec)
    period: int | None = None
    concurrent: int | None = None
    now: Callable[[], float] = float
    in_flight: int = 0
    _account: Account | None = None
    _window: int = -1

    @property
    def account(self) -> Account | None:
        """The account that the runs of now share, so that reservations hold over all of them; None without a budget."""
        if self.budget == BudgetSpec():
            return None
        window = 0 if self.period is None else int(self.now() // self.period)
        if self._account is None or window != self._window:
            self._account = Account(f"the caller `{self.name}`", self.budget)
            self._window = window
        return self._account


def local_caller() -> Caller:
    """The operating system's user, who calls where nobody has to say who they are: over stdio, or on this machine alone."""
    return Caller(system_user())


class Callers:
    """All callers with their tokens. A token is compared with every one, in constant time."""

    def __init__(self, bindings: Iterable[CallerBinding], secrets: Mapping[str, Secret], now: Callable[[], float]) -> None:
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
            period = None if binding.period is None else SECONDS[binding.period]
            made = Caller(binding.name, binding.tenant, layer, binding.budget, period, binding.concurrent, now)
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
