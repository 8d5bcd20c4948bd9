"""Models as a deployment binds them, and their prices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from importlib import import_module
from pathlib import Path

from ael.hosting.failure import HostError
from ael.hosting.secrets import Secrets
from ael.models.registry import PROVIDERS, Binding, BindingError, info, open_provider
from ael.net.redact import Redactor
from ael.project import connectors
from ael.project.deployment import Deployment, ModelBinding
from ael.project.literal import Construct
from ael.project.load import shown
from ael.project.program import Opened
from ael.project.reach import models_of, reachable
from ael.run.bindings import BoundModel
from ael.run.connector import MAX_OUTPUT, ConnectedModel
from ael.run.ports import ModelProvider, Price, Prices
from ael.types.spec import ModelSpec, ToolSpec

FREE = frozenset({"scripted", "local"})
"""Providers whose models cost nothing."""
_NOT_REAL = frozenset({"scripted", "replay", "recorded", ""})
_NOTHING = Price(Decimal(0), Decimal(0), Decimal(0), Decimal(0))


def bind_models(opened: Opened, names: frozenset[str], secrets: Secrets, warnings: list[str]) -> dict[str, BoundModel]:
    """The models that the nodes among `names` use. A program may run without its second choice, but not without its first."""
    program = opened.program
    first = {spec.model for name, spec in program.nodes.items() if name in names}
    bound: dict[str, BoundModel] = {}
    for name in models_of(program, names):
        try:
            bound[name] = bind_model(opened, program.models[name], secrets)
        except HostError as error:
            if name in first:
                raise
            warnings.append(f"the fallback model `{short_name(name)}` is not there: {error.message}")
    return {name: _without_missing(model, bound) for name, model in bound.items()}


def tenants_own(opened: Opened, bound: Mapping[str, BoundModel], secrets: Secrets) -> dict[tuple[str, str], ModelProvider]:
    """(tenant or `tenant/caller`, model) -> the provider with a key of their own, for each that has one. Raises `HostError`."""
    found: dict[tuple[str, str], ModelProvider] = {}
    for tenant, secret in opened.deployment.owned_secrets:
        for name in bound:
            binding = opened.deployment.models.get(name)
            if binding is not None and binding.key == secret:
                found[tenant, name] = bind_model(opened, opened.program.models[name], secrets, tenant).provider
    return found


def _without_missing(model: BoundModel, bound: Mapping[str, BoundModel]) -> BoundModel:
    if model.fallback is None or model.fallback in bound:
        return model
    return BoundModel(model.provider, model.model, model.settings)


def bind_model(opened: Opened, spec: ModelSpec, secrets: Secrets, tenant: str = "") -> BoundModel:
    """A declared model as the deployment binds it, with the tenant's own key where it has one. Raises `HostError`."""
    binding = opened.deployment.models.get(spec.name) or ModelBinding(spec.provider or "", spec.model)
    # Where a model is and with which key it is asked is the deployment's word alone: a program could send a key elsewhere.
    declared = {name: value for name, value in spec.settings if name not in ("endpoint", "inner", "key")}
    settings = {**declared, **binding.settings}
    if binding.provider in opened.program.provides:
        return BoundModel(_connected(opened, binding, settings), model_name(spec, binding), settings, spec.fallback)
    try:
        if not binding.provider:
            raise BindingError("nothing says which provider it has")
        provider = open_provider(_provider_binding(opened, spec, binding, settings, secrets, tenant))
    except BindingError as error:
        message = f"the model `{short_name(spec.name)}` cannot be used: {error}"
        raise HostError("AEL0830", message, *_ways(opened, spec, binding)) from None
    return BoundModel(provider, model_name(spec, binding), settings, spec.fallback)


def record_model(opened: Opened, spec: ModelSpec, secrets: Secrets, path: Path) -> ModelProvider:
    """The model as the deployment binds it, with its session written to `path`. Raises `HostError`, also for one that is no real model."""
    bound = opened.deployment.models.get(spec.name) or ModelBinding(spec.provider or "", spec.model)
    name = short_name(spec.name)
    if bound.provider in _NOT_REAL or bound.provider in opened.program.provides:
        message = f"`{name}` is bound to `{bound.provider}`, so there is no session of a real model to record"
        raise HostError("AEL0830", message, *_ways(opened, spec, bound)[1:3])
    declared = {key: value for key, value in spec.settings if key not in ("endpoint", "inner", "key")}
    try:
        binding = _provider_binding(opened, spec, bound, {**declared, **bound.settings}, secrets, "")
        inner = open_provider(binding)
    except BindingError as error:
        raise HostError("AEL0830", f"the model `{name}` cannot be recorded: {error}", *_ways(opened, spec, bound)) from None
    recording = import_module("ael.models.replay").RecordingProvider
    known = [*secrets.known.values(), *([binding.key] if binding.key is not None else [])]
    made: ModelProvider = recording(inner, path, Redactor(known), replace(binding, model=model_name(spec, bound)), content=True)
    return made


def _connected(opened: Opened, binding: ModelBinding, settings: dict[str, object]) -> ConnectedModel:
    """A model that is code of the program. Its window and its token maximum are settings as those of every model."""
    program = opened.program
    within = reachable(program, f"provide {binding.provider}", connectors=connectors.bound(program, opened.deployment))
    within |= reachable(program, binding.provider, connectors=connectors.bound(program, opened.deployment))
    routes = any(name in program.nodes and program.nodes[name].model is not None for name in within)
    placed = any(name.rpartition(".")[0] in opened.deployment.placements for name in within)
    outside = placed or any(name in program.tools and _is_outside(program.tools[name]) for name in within)
    endpoint, window, most = settings.pop("endpoint", None), settings.pop("window", None), settings.pop("max_tokens", None)
    return ConnectedModel(
        binding.provider,
        endpoint if isinstance(endpoint, str) else None,
        window if isinstance(window, int) else None,
        most if isinstance(most, int) else MAX_OUTPUT,
        routes,
        not (routes or outside),
    )


def _is_outside(tool: ToolSpec) -> bool:
    return tool.extern is not None or tool.remote is not None


def _ways(opened: Opened, spec: ModelSpec, binding: ModelBinding) -> tuple[str, ...]:
    """The lines that give a model something to run on: a real provider, the local model, or a script."""
    short, deployment = short_name(spec.name), opened.deployment
    file = "deploy.ael" if deployment.name == "default" else f"deploy.{deployment.name}.ael"
    described = PROVIDERS.get(binding.provider)
    variable = described.key_variable if described is not None and described.needs_key else None
    if variable is None:
        real, variable = 'anthropic("claude-haiku-4-5")', "ANTHROPIC_API_KEY"
    else:
        real = f'{binding.provider}("{model_name(spec, binding)}")'
    return (
        f"each of these is a line of {shown(Path(deployment.folder, file))}:",
        f"with a key: `model {short} = {real}`, and set {variable}",
        f'a small model on this machine: `model {short} = local("smollm2")`, after `ael model get smollm2`',
        f'no model, but a file with a list of turns: `model {short} = scripted("script.json")`',
    )


def model_name(spec: ModelSpec, binding: ModelBinding) -> str:
    """The provider's name of the model, by which it is asked and priced; a recording goes by that of what it records."""
    inner = binding.settings.get("inner")
    if binding.provider == "recorded" and isinstance(inner, Construct):
        named = inner.positional[0] if inner.positional else None
        return named if isinstance(named, str) else spec.model or ""
    return binding.model or spec.model or (short_name(binding.provider) if "." in binding.provider else "")


def _provider_binding(
    opened: Opened, spec: ModelSpec, binding: ModelBinding, settings: dict[str, object], secrets: Secrets, tenant: str
) -> Binding:
    described = info(binding.provider)
    rest = dict(settings)
    endpoint = rest.pop("endpoint", None)
    inner = rest.pop("inner", None)
    key = secrets.get(binding.key, tenant) if binding.key is not None else None
    if key is None and described.key_variable is not None:
        key = secrets.of_variable(described.key_variable)
    on_file = binding.provider in ("scripted", "replay", "recorded")
    return Binding(
        provider=binding.provider,
        model="" if on_file else binding.model or spec.model or "",
        declared=short_name(spec.name),
        endpoint=endpoint if isinstance(endpoint, str) else None,
        key=key,
        settings=rest,
        path=Path(opened.deployment.folder, binding.model) if on_file and binding.model else None,
        hosts=opened.deployment.hosts,
        inner=_inner(opened, spec, inner, secrets, tenant),
    )


def _inner(opened: Opened, spec: ModelSpec, inner: object, secrets: Secrets, tenant: str) -> Binding | None:
    """The model that `recorded("file", inner: anthropic("…"))` records."""
    if not isinstance(inner, Construct):
        return None
    name = inner.positional[0] if inner.positional and isinstance(inner.positional[0], str) else None
    named = dict(inner.named)
    key = named.pop("key", None)
    secret = key.positional[0] if isinstance(key, Construct) and key.positional else None
    nested = ModelBinding(inner.name, name, secret if isinstance(secret, str) else None)
    return _provider_binding(opened, spec, nested, named, secrets, tenant)


def prices_of(models: Mapping[str, BoundModel], deployment: Deployment) -> Prices:
    """Prices; the table of providers' prices is large and made only where a model can cost money."""
    others = [model.provider.name for model in models.values() if not isinstance(model.provider, ConnectedModel)]
    paid = bool(deployment.prices) or any(name not in FREE for name in others)
    free = {
        model.provider.name for model in models.values() if isinstance(model.provider, ConnectedModel) and model.provider.free
    }
    return _Prices(import_module("ael.models.prices").PriceTable(deployment.prices) if paid else None, FREE | free)


class _Prices:
    """A scripted or local model, and one that is code of the program alone, costs nothing, unless the deployment says otherwise; for
    others the table knows a price or none."""

    def __init__(self, table: Prices | None, free: frozenset[str] = FREE) -> None:
        self.table = table
        self.free = free

    def price(self, provider: str, model: str) -> Price | None:
        known = None if self.table is None else self.table.price(provider, model)
        return _NOTHING if known is None and provider in self.free else known


def short_name(name: str) -> str:
    """The last part of a qualified name."""
    return name.rpartition(".")[2]
