"""The composition root: a checked program and its deployment become something that runs.

The only module that knows the adapters (models, stores, Python functions) and the run time at once.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from random import random as system_random
from types import ModuleType, TracebackType

from ael.check.packs import STANDARD, pack_of
from ael.hosting.failure import HostError
from ael.hosting.logs import Exporter, open_logs
from ael.hosting.masking import know_all
from ael.hosting.models import bind_model, bind_models, model_name, prices_of, short_name, tenants_own
from ael.hosting.runs import open_runs
from ael.hosting.secrets import NoSecrets, Secrets
from ael.journal.durable import DurableStore
from ael.journal.store import JournalStore
from ael.lower.lower import lower
from ael.lower.unit import CompiledUnit
from ael.models.preview import Unbound
from ael.natives.world import Closable
from ael.project import connectors
from ael.project.deployment import Deployment, ModelBinding, StoreBinding
from ael.project.logs import SinkBinding
from ael.project.program import Opened
from ael.project.reach import inside, models_of, reachable
from ael.run.bindings import Bindings, BoundModel
from ael.run.clock import SystemClock
from ael.run.desk import Desk
from ael.run.engine import Engine
from ael.run.permission import Layer
from ael.run.placement import Placement
from ael.run.ports import Approver, Clock, ModelProvider, RemoteServer, Sink
from ael.run.store import MemoryStore, SqliteStore
from ael.run.stored import StorePort
from ael.types.agent import pairs
from ael.types.value import Secret

__all__ = ["Host", "HostError", "open_host", "open_preview", "store_of"]


@dataclass
class Host:
    """A program that is ready to run. Close it when its runs have ended."""

    opened: Opened
    unit: CompiledUnit
    bindings: Bindings
    engine: Engine
    warnings: tuple[str, ...] = ()
    store: DurableStore | None = None
    """Where the runs are kept; None: in memory, until the process ends."""
    _providers: list[ModelProvider] = field(default_factory=list)
    _stores: list[StorePort] = field(default_factory=list)
    _exporters: list[Exporter] = field(default_factory=list)
    _kept: list[Closable] = field(default_factory=list)
    _sinks: list[Exporter] = field(default_factory=list)
    """Those that are code of the program."""

    async def close(self) -> None:
        """Release connections, child processes and files. Never fails: what cannot be closed is gone anyway."""
        # First, since they use what is closed below; in threads, since a sink may take its time.
        await _told(self._sinks)
        closing: list[ModelProvider | StorePort | RemoteServer | Placement | DurableStore | Closable] = [
            *([self.store] if self.store is not None else []),
            *self.bindings.servers.values(),
            *self.bindings.placements.values(),
            *self._providers,
            *self._stores,
            *self._kept,
        ]
        # All at once: a server that takes its time to end keeps nobody waiting twice, and one that fails keeps no other open.
        ended = await asyncio.gather(*(resource.close() for resource in closing), return_exceptions=True)
        for resource, error in zip(closing, ended, strict=True):
            if isinstance(error, Exception):
                print(f"ael: closing {type(resource).__name__}: {error}", file=sys.stderr)
        # Last, since what is closed may still end a span; in threads, since a collector may let everybody wait.
        await _told(self._exporters)

    async def __aenter__(self) -> Host:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()


async def _told(exporters: list[Exporter]) -> None:
    """Have all of them send what waits, and say what was lost."""
    for lost in await asyncio.gather(*(asyncio.to_thread(exporter.close) for exporter in exporters)):
        if lost is not None:
            print(f"ael: warning: {lost}", file=sys.stderr)


def open_host(
    opened: Opened,
    entry: str | Collection[str] | None = None,
    *,
    approver: Approver | None = None,
    sinks: Sequence[Sink] = (),
    desk: Desk | None = None,
    unit: CompiledUnit | None = None,
    clock: Clock | None = None,
    random: Callable[[], float] | None = None,
    journal: JournalStore | None = None,
    models: Mapping[str, BoundModel] | None = None,
    servers: Mapping[str, RemoteServer] | None = None,
    functions: Mapping[str, Callable[..., object]] | None = None,
    operations: Mapping[str, Callable[..., object]] | None = None,
    also: Sequence[str] = (),
    durable: bool = False,
    exports: bool | None = None,
    otel: bool = False,
    peers: Mapping[str, list[str]] | None = None,
    peer_token: Secret | None = None,
    stores: Mapping[str, StorePort] | None = None,
) -> Host:
    """Bind everything that `entry` (one, several, or None: the whole program) can reach.

    `models` and `servers` replace those of the deployment (tests do that); `desk`, `clock`, `random` and `journal` are those of a test,
    `unit` the program as it was compiled before.
    `functions` are the bodies of `extern` tools in place of what these name, `operations` those of services that the host provides. `also`
    names secrets that are read although no binding needs them. `durable`: runs are kept where the deployment says. `exports`: traces are
    sent where it says (None: of durable runs); `otel`: also where OpenTelemetry's variables say. `peers`: the sockets of placements whose
    processes another process of the program keeps up, which `peer_token` lets in. `stores`: those of another host, which closes them.
    Raises `HostError`. Nothing is sent and no file is written yet.
    """
    program, deployment = opened.program, opened.deployment
    unit = unit or lower(program)
    elsewhere = {*deployment.placements, *(name.rpartition(".")[0] for name in operations or {})}
    if entry is None:
        names = here = frozenset(program.declarations) | frozenset(program.tools)
    else:
        entries = (entry,) if isinstance(entry, str) else entry
        by = connectors.bound(program, deployment)
        names = frozenset().union(*(reachable(program, one, elsewhere, deployment.here, by) for one in entries))
        here = frozenset().union(*(inside(program, one, elsewhere, deployment.here, by) for one in entries))
    secrets = Secrets(deployment)
    know_all(secrets)
    for secret in also:
        secrets.get(secret)
    warnings: list[str] = []
    bound = bind_models(opened, here, secrets, warnings) if models is None else dict(models)
    own_models = tenants_own(opened, bound, secrets) if models is None and deployment.owned_secrets else {}
    own_stores = {name: store_of(deployment, name) for name in program.stores} if stores is None else {}
    kept_in = {**(stores or {}), **own_stores}
    clock = clock or SystemClock()
    natives, kept = _natives(opened, names, secrets, clock)
    store = open_runs(deployment, secrets, warnings) if durable else None
    exporting = otel or (durable if exports is None else exports)
    exporters = open_logs(deployment, secrets, otel=otel, service=opened.project.root.resolve().name) if exporting else []
    own_sinks = _sinks(opened, kept_in) if exporting else []
    bindings = Bindings(
        models=bound,
        own_models=own_models,
        stores=kept_in,
        externs=_externs(opened, names, {**natives, **(functions or {})}),
        operations=operations or {},
        servers=_servers(opened, names, secrets, clock) if servers is None else dict(servers),
        provides=deployment.services,
        placements=_placements(opened, names, secrets, clock, peers or {}, peer_token),
        here=deployment.here,
        tools=deployment.tools,
        approver=approver,
        approval_timeout=deployment.runs.approval,
        parks_uncertain=deployment.runs.park_uncertain,
        prices=prices_of(bound, deployment),
        settings=deployment.settings,
        secrets=secrets.known,
        operator=Layer("the operator's allow-list", deployment.allowed, deployment.denied),
        tenants=deployment.tenants,
        callers=deployment.serving.callers,
        book=None if store is None else store.book,
        run_budget=deployment.run_budget,
        defaults=deployment.defaults,
        limits=deployment.limits,
        clock=clock,
        random=random or system_random,
        sinks=(*sinks, *exporters, *own_sinks),
        desk=desk,
        journal=journal,
    )
    opened_models = [*(model.provider for model in bound.values()), *own_models.values()]
    providers = list({id(provider): provider for provider in opened_models}.values())
    engine, told, opened_stores = Engine(unit, bindings), tuple(warnings), list(own_stores.values())
    return Host(opened, unit, bindings, engine, told, store, providers, opened_stores, exporters, kept, own_sinks)


def open_preview(opened: Opened, names: frozenset[str], sinks: Sequence[Sink] = (), *, keyring: bool = False) -> Host:
    """A host whose nodes can be asked what they would send, never run: no key is needed, and no store, tool or model is opened.

    `names`: what is looked at, whose models are bound. `sinks` see what a rehearsal does. `keyring`: secrets are looked up there too, to be
    masked. A model that cannot be used here yet is told in `warnings`, and measured all the same.
    """
    deployment = opened.deployment
    warnings: list[str] = []
    bound: dict[str, BoundModel] = {}
    for name in models_of(opened.program, names):
        spec = opened.program.models[name]
        try:
            bound[name] = bind_model(opened, spec, NoSecrets(deployment))
        except HostError as error:
            binding = deployment.models.get(name) or ModelBinding(spec.provider or "", spec.model)
            bound[name] = BoundModel(Unbound(binding.provider or "none"), model_name(spec, binding), {}, spec.fallback)
            warnings.append(error.message)
    unit = lower(opened.program)
    # Nothing is asked with them: they are masked in what is kept for a run that another process makes.
    secrets = Secrets(deployment)
    know_all(secrets, keyring=keyring)
    bindings = Bindings(
        models=bound,
        secrets=secrets.known,
        provides=deployment.services,
        tools=deployment.tools,
        prices=prices_of(bound, deployment),
        settings=deployment.settings,
        tenants=deployment.tenants,
        callers=deployment.serving.callers,
        operator=Layer("the operator's allow-list", deployment.allowed, deployment.denied),
        run_budget=deployment.run_budget,
        defaults=deployment.defaults,
        limits=deployment.limits,
        sinks=tuple(sinks),
    )
    providers = list({id(model.provider): model.provider for model in bound.values()}.values())
    return Host(opened, unit, bindings, Engine(unit, bindings), tuple(warnings), None, providers)


def store_of(deployment: Deployment, name: str) -> StorePort:
    """The store that a deployment binds to a declared one. Nothing is opened yet."""
    binding = deployment.stores.get(name, StoreBinding("memory"))
    if binding.kind == "sqlite" and binding.path is not None:
        return SqliteStore(Path(deployment.folder, binding.path), name)
    return MemoryStore()


def _sinks(opened: Opened, stores: Mapping[str, StorePort]) -> list[Exporter]:
    """The log sinks that are code of the program, each in a host of its own; the stores are common. Raises `HostError`."""
    named = [one for one in opened.deployment.logs if isinstance(one, SinkBinding)]
    if not named:
        return []
    own = import_module("ael.hosting.sinks")
    return [own.program_sink(one, open_host(own.alone(opened, one), own.ENTRY, stores=stores, exports=False)) for one in named]


def _servers(opened: Opened, names: frozenset[str], secrets: Secrets, clock: Clock) -> dict[str, RemoteServer]:
    """The MCP servers that are reached. What speaks to them is loaded only where there are some (A9.1: it costs nobody else)."""
    tools = opened.program.tools
    if not any(name in tools and tools[name].remote is not None for name in names):
        return {}
    bound: dict[str, RemoteServer] = import_module("ael.hosting.servers").bind_servers(opened, names, secrets, clock)
    return bound


def _placements(
    opened: Opened, names: frozenset[str], secrets: Secrets, clock: Clock, peers: Mapping[str, list[str]], token: Secret | None
) -> dict[str, Placement]:
    """What is reached and runs elsewhere, edges with their agents. What carries calls there is loaded only where there is some."""
    owners = {name.rpartition(".")[0] for name in names} | names
    nodes = opened.program.nodes
    agents = [(name, spec) for name in names if name in nodes and (spec := nodes[name].agent) is not None]
    owners |= {key for name, spec in agents for edge in spec.edges for way in pairs(name, edge) for key in way}
    wanted = opened.deployment.placements.keys() & owners
    if not wanted:
        return {}
    bind = import_module("ael.hosting.placements").bind_placements
    bound: dict[str, Placement] = bind(opened, frozenset(wanted), secrets, clock, peers, token)
    return bound


def _natives(
    opened: Opened, names: frozenset[str], secrets: Secrets, clock: Clock
) -> tuple[dict[str, Callable[..., object]], list[Closable]]:
    """The native effects of the standard library that are reached. What does them is loaded only where there are some."""
    tools = opened.program.tools
    if not any((spec.extern or "").startswith(f"{STANDARD}:") for name, spec in tools.items() if name in names):
        return {}, []
    bound: tuple[dict[str, Callable[..., object]], list[Closable]] = import_module("ael.hosting.natives").bind_natives(
        opened, names, secrets, clock
    )
    return bound


def _externs(
    opened: Opened, names: frozenset[str], given: Mapping[str, Callable[..., object]]
) -> dict[str, Callable[..., object]]:
    """The Python functions behind `extern` tools. Raises `HostError` before anything runs (feature A1.18)."""
    found = dict(given)
    for name, spec in opened.program.tools.items():
        if spec.extern is None or name not in names or name in found:
            continue
        module, _, function = spec.extern.partition(":")
        pack = opened.project.packs.get(pack_of(opened.program.packs, name))
        root = (pack.pack.root if pack is not None else opened.project.root).resolve()
        if str(root) not in sys.path and (pack is None or not pack.resolved.installed):
            # The program's own modules come before those of the packs that it depends on.
            sys.path.insert(0 if pack is None else 1, str(root))
        try:
            target = getattr(_own_module(module, root), function)
        except Exception as error:  # the module is the user's: whatever it does on import is told, not thrown
            reason = f"{type(error).__name__}: {error}"
            raise HostError("AEL0832", f"the tool `{short_name(name)}` has no implementation `{spec.extern}`: {reason}") from None
        if not callable(target):
            raise HostError("AEL0832", f"the tool `{short_name(name)}` has no implementation: `{spec.extern}` is no function")
        found[name] = target
    return found


def _own_module(name: str, root: Path) -> ModuleType:
    """A Python module, from the pack in `root` where that has one of this name. Raises `ImportError` for another pack's."""
    module = import_module(name)
    first = name.partition(".")[0]
    file = getattr(sys.modules[first], "__file__", None)
    own = (root / f"{first}.py").is_file() or (root / first / "__init__.py").is_file()
    if own and (file is None or not Path(file).resolve().is_relative_to(root)):
        raise ImportError(f"Python has loaded another module `{first}`, {file}; two packs need modules of different names")
    return module
