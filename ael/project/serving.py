"""What a deployment says of serving: which nodes are exposed, who may call them, and the limits of the server. Plain data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from ael.data import dataclass, field
from ael.types.spec import BudgetSpec

Period = Literal["minute", "hour", "day"]
SECONDS: Mapping[Period, int] = {"minute": 60, "hour": 3_600, "day": 86_400}


@dataclass(frozen=True)
class CallerBinding:
    """`caller alice = bearer(secret("ALICE_TOKEN"), tenant: "acme", concurrent: 4) grants orders.read budget cost $1 per day`.

    `secret` is the name of the secret that holds the token. `grants` None: all that the program declares. The budget is one account
    for all runs of the caller, in each period anew, or as long as the server runs where `period` is None.
    """

    name: str
    secret: str
    tenant: str = "local"
    grants: frozenset[str] | None = None
    budget: BudgetSpec = field(default_factory=BudgetSpec)
    period: Period | None = None
    concurrent: int | None = None


@dataclass(frozen=True)
class Listen:
    """`listen = http(hosts: ["agents.example.com"], origins: ["https://app.example.com"], concurrent: 32, timeout: 60s)`.

    `hosts` and `origins` are what the headers `Host` and `Origin` may say besides this machine's own names. `body` in bytes; `concurrent`
    calls run at once, `queue` more wait; at most `sessions` of the older protocol and `connections` are open. Times in milliseconds:
    `timeout` for a whole call, `approval` for a person's answer, `drain` for the calls in flight when the server ends. `certificate` and
    `key` are files of the server's own, with which it speaks TLS; `clients` one of the authorities whose certificates clients need.
    `metrics` is the secret with the token of whoever reads what the server counted.
    """

    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    body: int = 1024 * 1024
    concurrent: int = 32
    queue: int = 32
    sessions: int = 1_000
    connections: int = 512
    timeout: int = 300_000
    approval: int = 120_000
    drain: int = 10_000
    certificate: str = ""
    key: str = ""
    clients: str = ""
    metrics: str = ""


@dataclass(frozen=True)
class Serving:
    """`exposed`: name for clients -> node (`main.answer`); `services`: service -> its whole name for clients (`desk.Orders`), None for the
    pack's. Both are empty where the deployment names none."""

    exposed: Mapping[str, str] = field(default_factory=dict)
    services: Mapping[str, str | None] = field(default_factory=dict)
    callers: Mapping[str, CallerBinding] = field(default_factory=dict)
    listen: Listen = field(default_factory=Listen)

    @property
    def tokens(self) -> tuple[str, ...]:
        """The secrets with the tokens of everybody who is let in."""
        return (*(caller.secret for caller in self.callers.values()), *((self.listen.metrics,) if self.listen.metrics else ()))
