"""What the host hands to the run time: the world that a program's names are bound to, and what holds for one run."""

from __future__ import annotations

import getpass
import random
from collections.abc import Callable, Mapping
from functools import cache

from ael.data import dataclass, field
from ael.journal.book import Book
from ael.journal.store import JournalStore, RunJournal
from ael.project.deployment import Defaults, SizeLimits, ToolBinding
from ael.project.serving import CallerBinding
from ael.project.tenants import TenantBinding
from ael.run.budget import Account
from ael.run.clock import SystemClock
from ael.run.desk import Desk
from ael.run.events import Event
from ael.run.handed import Handed
from ael.run.permission import Layer
from ael.run.placement import Placement
from ael.run.ports import Approver, Clock, ModelProvider, Prices, RemoteServer, Sink
from ael.run.scope import Attempts
from ael.run.stored import StorePort
from ael.types.spec import BudgetSpec
from ael.types.value import Secret


@dataclass(frozen=True, slots=True)
class BoundModel:
    """A declared model as the deployment binds it. `model` is the provider's name of it, `fallback` a declared model's qualified name."""

    provider: ModelProvider
    model: str
    settings: Mapping[str, object] = field(default_factory=dict)
    fallback: str | None = None


@dataclass(frozen=True)
class Bindings:
    """All keys are qualified names of the program.

    `externs`: tool -> the Python function that the host resolved from "module:function"; a function with a keyword parameter `call`
    gets a `CallContext` there. `operations`: operation -> the same, for a service that the host itself provides. `provides`: service ->
    the `provide` that serves it, where there is more than one; `placements`: service, node or edge (`ael.types.agent.pair`) -> where it
    runs, if not in the process; `here`: the edges whose visits stay in the process although their node runs elsewhere.
    `desk`: who stands beside the runs of a test, None for all others.
    `approval_timeout`: seconds that a person has for a decision, None for as long as it takes. `parks_uncertain`: a run that can be
    parked waits for a person to say what became of a call whose outcome is unknown. `operator` is the deployment's allow-list, a layer of
    every run. `tenants` and `callers` are the deployment's: what they may do and spend holds for each run of theirs, and with any tenant
    named nobody else's run begins. `own_models`: (tenant or `tenant/caller`, model) -> its provider with a key of their own. `book` is
    where the accounts are, None: in this process. Sizes are bytes.
    """

    models: Mapping[str, BoundModel] = field(default_factory=dict)
    own_models: Mapping[tuple[str, str], ModelProvider] = field(default_factory=dict)
    stores: Mapping[str, StorePort] = field(default_factory=dict)
    externs: Mapping[str, Callable[..., object]] = field(default_factory=dict)
    operations: Mapping[str, Callable[..., object]] = field(default_factory=dict)
    provides: Mapping[str, str] = field(default_factory=dict)
    placements: Mapping[str, Placement] = field(default_factory=dict)
    here: frozenset[str] = frozenset()
    tools: Mapping[str, ToolBinding] = field(default_factory=dict)
    servers: Mapping[str, RemoteServer] = field(default_factory=dict)
    approver: Approver | None = None
    approval_timeout: float | None = None
    parks_uncertain: bool = False
    prices: Prices | None = None
    settings: Mapping[str, object] = field(default_factory=dict)
    secrets: Mapping[str, Secret] = field(default_factory=dict)
    tenants: Mapping[str, TenantBinding] = field(default_factory=dict)
    callers: Mapping[str, CallerBinding] = field(default_factory=dict)
    book: Book | None = None
    operator: Layer = field(default_factory=lambda: Layer("the operator's allow-list"))
    run_budget: BudgetSpec = field(default_factory=BudgetSpec)
    defaults: Defaults = field(default_factory=Defaults)
    limits: SizeLimits = field(default_factory=SizeLimits)
    clock: Clock = field(default_factory=SystemClock)
    random: Callable[[], float] = random.random
    journal: JournalStore | None = None
    sinks: tuple[Sink, ...] = ()
    desk: Desk | None = None


@cache
def system_user() -> str:
    """The operating system's user, the caller of a run that names none. Looked up once: the look-up costs as much as a step."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"


@dataclass(frozen=True, slots=True)
class Options:
    """What holds for one run.

    `tenant_layer`, `caller_layer`: what the tenant and the caller may do; the default grants all that is declared. `tenant_account`: the
    tenant's budget, shared by its runs. `budget` tightens the deployment's `run_budget`. `deadline`: absolute, in seconds since the
    epoch. `run`: the id of the run, or of the one to continue from its journal; `journal` that of a run held from a durable store.
    `park`: the run is given up while it waits for a person or a long time, and continued from its journal.
    `key`, `via`, `attempts`: of a run that is a call from outside, the idempotency key that the call was given, the servers that it came
    through, and the retries that are left to everything inside. `trace_parent`: a W3C `traceparent`. `content`: whether trace spans carry
    content. `handed`: what a run elsewhere that calls says of the arguments. `at_once`: nobody follows the run from its start, so that one
    which never waits may have ended when it is handed out. `on_event` is called with every event; what it raises is ignored.
    """

    tenant: str = "local"
    caller: str = field(default_factory=system_user)
    tenant_layer: Layer | None = None
    caller_layer: Layer | None = None
    tenant_account: Account | None = None
    budget: BudgetSpec = field(default_factory=BudgetSpec)
    deadline: float | None = None
    run: str | None = None
    journal: RunJournal | None = None
    park: bool = False
    trace_parent: str | None = None
    content: bool = False
    key: str | None = None
    via: tuple[str, ...] = ()
    attempts: Attempts | None = None
    handed: Handed | None = None
    at_once: bool = False
    on_event: Callable[[Event], None] | None = None
