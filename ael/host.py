"""The composition root: a checked program and its deployment become something that runs.

The only module that knows the adapters (models, stores, Python functions) and the run time at once.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from importlib import import_module
from pathlib import Path
from types import TracebackType

from ael.lower.lower import lower
from ael.lower.unit import CompiledUnit
from ael.models.preview import Unbound
from ael.models.registry import PROVIDERS, Binding, BindingError, info, open_provider
from ael.project.deployment import Deployment, ModelBinding, StoreBinding
from ael.project.literal import Construct
from ael.project.load import shown
from ael.project.program import Opened
from ael.project.reach import models_of, reachable
from ael.run.bindings import Bindings, BoundModel
from ael.run.engine import Engine
from ael.run.permission import Layer
from ael.run.ports import Approver, ModelProvider, Price, Prices, Sink, StorePort
from ael.run.store import MemoryStore, SqliteStore
from ael.types.spec import ModelSpec
from ael.types.value import Secret

FREE = frozenset({"scripted", "local"})
"""Providers whose models cost nothing."""
_NOTHING = Price(Decimal(0), Decimal(0), Decimal(0), Decimal(0))


class HostError(Exception):
    """A program that cannot be started here: a model without a key, a missing file. `notes` say what to do."""

    def __init__(self, code: str, message: str, *notes: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.notes = notes


@dataclass
class Host:
    """A program that is ready to run. Close it when its runs have ended."""

    opened: Opened
    unit: CompiledUnit
    bindings: Bindings
    engine: Engine
    warnings: tuple[str, ...] = ()
    _providers: list[ModelProvider] = field(default_factory=list)
    _stores: list[StorePort] = field(default_factory=list)

    async def close(self) -> None:
        """Release connections and files. Never fails: what cannot be closed is gone anyway."""
        closing: list[ModelProvider | StorePort] = [*self._providers, *self._stores]
        for resource in closing:
            try:
                await resource.close()
            except Exception as error:  # one that fails must not keep the others open
                print(f"ael: closing {type(resource).__name__}: {error}", file=sys.stderr)

    async def __aenter__(self) -> Host:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()


def open_host(
    opened: Opened,
    entry: str | None = None,
    *,
    approver: Approver | None = None,
    sinks: Sequence[Sink] = (),
    script: Callable[[str, Sequence[object]], ModelProvider] | None = None,
    models: Mapping[str, BoundModel] | None = None,
    also: Sequence[str] = (),
) -> Host:
    """Bind everything that `entry` (None: the whole program) can reach.

    `models` replaces the deployment's models (tests do that), `script` makes a provider of a `script` statement, `also` names secrets
    that are read although no binding needs them.
    Raises `HostError`. Nothing is sent and no file is written yet.
    """
    program, deployment = opened.program, opened.deployment
    unit = lower(program)
    names = frozenset(program.declarations) if entry is None else reachable(program, entry)
    secrets = _Secrets(deployment)
    for secret in also:
        secrets.get(secret)
    warnings: list[str] = []
    bound = _models(opened, names, secrets, warnings) if models is None else dict(models)
    stores = {name: _store(deployment, name) for name in program.stores}
    bindings = Bindings(
        models=bound,
        stores=stores,
        externs=_externs(opened, names),
        provides=deployment.services,
        tools=deployment.tools,
        approver=approver,
        prices=_prices(bound, deployment),
        settings=deployment.settings,
        secrets=secrets.known,
        operator=Layer("the operator's allow-list", denied=deployment.denied),
        run_budget=deployment.run_budget,
        defaults=deployment.defaults,
        limits=deployment.limits,
        sinks=tuple(sinks),
        script=script,
    )
    providers = list({id(model.provider): model.provider for model in bound.values()}.values())
    return Host(opened, unit, bindings, Engine(unit, bindings), tuple(warnings), providers, list(stores.values()))


def open_preview(opened: Opened, names: frozenset[str]) -> Host:
    """A host whose nodes can be asked what they would send, never run: no key is needed, and no store, tool or model is opened.

    `names`: what is looked at, whose models are bound. A model that cannot be used here yet is told in `warnings`, and measured
    all the same.
    """
    deployment = opened.deployment
    warnings: list[str] = []
    bound: dict[str, BoundModel] = {}
    for name in models_of(opened.program, names):
        spec = opened.program.models[name]
        try:
            bound[name] = _model(opened, spec, _NoSecrets(deployment))
        except HostError as error:
            binding = deployment.models.get(name) or ModelBinding(spec.provider or "", spec.model)
            bound[name] = BoundModel(Unbound(binding.provider or "none"), _model_name(spec, binding), {}, spec.fallback)
            warnings.append(error.message)
    unit = lower(opened.program)
    bindings = Bindings(
        models=bound,
        provides=deployment.services,
        tools=deployment.tools,
        prices=_prices(bound, deployment),
        settings=deployment.settings,
        run_budget=deployment.run_budget,
        defaults=deployment.defaults,
        limits=deployment.limits,
    )
    providers = list({id(model.provider): model.provider for model in bound.values()}.values())
    return Host(opened, unit, bindings, Engine(unit, bindings), tuple(warnings), providers)


class _Secrets:
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


class _NoSecrets(_Secrets):
    """Stands in for every secret where nothing is sent."""

    def _read(self, name: str) -> str:
        return "not a secret"

    def of_variable(self, variable: str) -> Secret | None:
        return Secret(variable, "not a secret")


def _models(opened: Opened, names: frozenset[str], secrets: _Secrets, warnings: list[str]) -> dict[str, BoundModel]:
    """The models that the nodes among `names` use. A program may run without its second choice, but not without its first."""
    program = opened.program
    first = {spec.model for name, spec in program.nodes.items() if name in names}
    bound: dict[str, BoundModel] = {}
    for name in models_of(program, names):
        try:
            bound[name] = _model(opened, program.models[name], secrets)
        except HostError as error:
            if name in first:
                raise
            warnings.append(f"the fallback model `{_short(name)}` is not there: {error.message}")
    return {name: _without_missing(model, bound) for name, model in bound.items()}


def _without_missing(model: BoundModel, bound: Mapping[str, BoundModel]) -> BoundModel:
    if model.fallback is None or model.fallback in bound:
        return model
    return BoundModel(model.provider, model.model, model.settings)


def _model(opened: Opened, spec: ModelSpec, secrets: _Secrets) -> BoundModel:
    binding = opened.deployment.models.get(spec.name) or ModelBinding(spec.provider or "", spec.model)
    # Where a model is and with which key it is asked is the deployment's word alone: a program could send a key elsewhere.
    declared = {name: value for name, value in spec.settings if name not in ("endpoint", "inner", "key")}
    settings = {**declared, **binding.settings}
    try:
        if not binding.provider:
            raise BindingError("nothing says which provider it has")
        provider = open_provider(_provider_binding(opened, spec, binding, settings, secrets))
    except BindingError as error:
        message = f"the model `{_short(spec.name)}` cannot be used: {error}"
        raise HostError("AEL0830", message, *_ways(opened, spec, binding)) from None
    return BoundModel(provider, _model_name(spec, binding), settings, spec.fallback)


def _ways(opened: Opened, spec: ModelSpec, binding: ModelBinding) -> tuple[str, ...]:
    """The lines that give a model something to run on: a real provider, the local model, or a script."""
    short, deployment = _short(spec.name), opened.deployment
    file = "deploy.ael" if deployment.name == "default" else f"deploy.{deployment.name}.ael"
    described = PROVIDERS.get(binding.provider)
    variable = described.key_variable if described is not None and described.needs_key else None
    if variable is None:
        real, variable = 'anthropic("claude-haiku-4-5")', "ANTHROPIC_API_KEY"
    else:
        real = f'{binding.provider}("{_model_name(spec, binding)}")'
    return (
        f"each of these is a line of {shown(Path(deployment.folder, file))}:",
        f"with a key: `model {short} = {real}`, and set {variable}",
        f'a small model on this machine: `model {short} = local("smollm2")`, after `ael model get smollm2`',
        f'no model, but a file with a list of turns: `model {short} = scripted("script.json")`',
    )


def _model_name(spec: ModelSpec, binding: ModelBinding) -> str:
    """The provider's name of the model, by which it is asked and priced; a recording goes by that of what it records."""
    inner = binding.settings.get("inner")
    if binding.provider == "recorded" and isinstance(inner, Construct):
        named = inner.positional[0] if inner.positional else None
        return named if isinstance(named, str) else spec.model or ""
    return binding.model or spec.model or ""


def _provider_binding(
    opened: Opened, spec: ModelSpec, binding: ModelBinding, settings: dict[str, object], secrets: _Secrets
) -> Binding:
    described = info(binding.provider)
    rest = dict(settings)
    endpoint = rest.pop("endpoint", None)
    inner = rest.pop("inner", None)
    key = secrets.get(binding.key) if binding.key is not None else None
    if key is None and described.key_variable is not None:
        key = secrets.of_variable(described.key_variable)
    on_file = binding.provider in ("scripted", "replay", "recorded")
    return Binding(
        provider=binding.provider,
        model="" if on_file else binding.model or spec.model or "",
        declared=_short(spec.name),
        endpoint=endpoint if isinstance(endpoint, str) else None,
        key=key,
        settings=rest,
        path=Path(opened.deployment.folder, binding.model) if on_file and binding.model else None,
        hosts=opened.deployment.hosts,
        inner=_inner(opened, spec, inner, secrets),
    )


def _inner(opened: Opened, spec: ModelSpec, inner: object, secrets: _Secrets) -> Binding | None:
    """The model that `recorded("file", inner: anthropic("…"))` records."""
    if not isinstance(inner, Construct):
        return None
    name = inner.positional[0] if inner.positional and isinstance(inner.positional[0], str) else None
    named = dict(inner.named)
    key = named.pop("key", None)
    secret = key.positional[0] if isinstance(key, Construct) and key.positional else None
    nested = ModelBinding(inner.name, name, secret if isinstance(secret, str) else None)
    return _provider_binding(opened, spec, nested, named, secrets)


def _store(deployment: Deployment, name: str) -> StorePort:
    binding = deployment.stores.get(name, StoreBinding("memory"))
    if binding.kind == "sqlite" and binding.path is not None:
        return SqliteStore(Path(deployment.folder, binding.path), name)
    return MemoryStore()


def _externs(opened: Opened, names: frozenset[str]) -> dict[str, Callable[..., object]]:
    """The Python functions behind `extern` tools. Raises `HostError` before anything runs (feature A1.18)."""
    found: dict[str, Callable[..., object]] = {}
    root = str(opened.project.root.resolve())
    for name, spec in opened.program.tools.items():
        if spec.extern is None or name not in names:
            continue
        module, _, function = spec.extern.partition(":")
        if root not in sys.path:
            sys.path.insert(0, root)
        try:
            target = getattr(import_module(module), function)
        except Exception as error:  # the module is the user's: whatever it does on import is told, not thrown
            reason = f"{type(error).__name__}: {error}"
            raise HostError("AEL0832", f"the tool `{_short(name)}` has no implementation `{spec.extern}`: {reason}") from None
        if not callable(target):
            raise HostError("AEL0832", f"the tool `{_short(name)}` has no implementation: `{spec.extern}` is no function")
        found[name] = target
    return found


def _prices(models: Mapping[str, BoundModel], deployment: Deployment) -> Prices:
    """Prices; the table of providers' prices is large and made only where a model can cost money."""
    paid = bool(deployment.prices) or any(model.provider.name not in FREE for model in models.values())
    return _Prices(import_module("ael.models.prices").PriceTable(deployment.prices) if paid else None)


class _Prices:
    """A scripted or local model costs nothing, unless the deployment says otherwise; for others the table knows a price or none."""

    def __init__(self, table: Prices | None) -> None:
        self.table = table

    def price(self, provider: str, model: str) -> Price | None:
        if self.table is not None:
            return self.table.price(provider, model)
        return _NOTHING if provider in FREE else None


def _short(name: str) -> str:
    return name.rpartition(".")[2]
