"""Reading a `deploy.ael` into a `Deployment`, each line checked like code, against the program that it binds.

A kind of line has a function in one of the files `bind_*.py`; this one finds it, and reports what it refuses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from ael.check.program import CheckedProgram
from ael.diagnostics.diagnostic import Bag
from ael.project import (
    bind_connector,
    bind_edge,
    bind_model,
    bind_program,
    bind_runs,
    bind_service,
    bind_serving,
    bind_tenant,
    bind_world,
)
from ael.project.bind_model import PROVIDERS
from ael.project.bind_state import ProgramState, ServerFacts, State, once
from ael.project.deployment import Deployment
from ael.project.form import FORMS, PARTS, check_parts
from ael.project.literal import NotConstant
from ael.project.wrong import Wrong, listing
from ael.source import Source
from ael.syntax import nodes as n
from ael.types.pin import Pins

__all__ = ["PROVIDERS", "bind", "bind_servers", "bind_store", "bind_without"]

S = TypeVar("S", bound=State)
_NO_PINS: Pins = MappingProxyType({})


def _later(module: str, line: str) -> Callable[[Any, n.Binding], None]:
    """The reader `line` of `ael.project.bind_MODULE`, loaded with the first line of its kind: a deployment pays for what it says."""

    def read(state: State, binding: n.Binding) -> None:
        getattr(import_module(f"ael.project.bind_{module}"), line)(state, binding)

    return read


def _settle(state: State, *, required: bool) -> None:
    if state.declared:
        from ael.project import bind_mcp

        bind_mcp.settle(state, required=required)


def _facts(program: CheckedProgram, pins: Pins) -> Mapping[str, ServerFacts]:
    if not program.servers:
        return {}
    from ael.project import bind_mcp

    return bind_mcp.facts(program, pins)


WORLD: Mapping[str, Callable[[State, n.Binding], None]] = MappingProxyType(
    {
        "setting": bind_world.setting,
        "secret": bind_world.secret,
        "host": bind_world.host,
        "command": bind_world.command,
        "runs": bind_runs.runs,
        "mcp": _later("mcp", "line"),
        "process": _later("process", "process"),
        "knowledge": _later("knowledge", "knowledge"),
    }
)
PROGRAM: Mapping[str, Callable[[ProgramState, n.Binding], None]] = MappingProxyType(
    {
        "model": bind_model.model,
        "price": bind_model.price,
        "store": bind_program.store,
        "service": bind_program.service,
        "node": bind_service.node,
        "edge": bind_edge.edge,
        "tool": bind_program.tool,
        "role": bind_program.role,
        "deny": bind_program.deny,
        "allow": bind_program.allow,
        "default": bind_world.default,
        "limit": bind_world.limit,
        "budget": bind_world.budget,
        "serve": bind_serving.serve,
        "caller": bind_serving.caller,
        "listen": bind_serving.listen,
        "files": _later("files", "files"),
        "code": _later("files", "code"),
        "log": _later("log", "log"),
        "http": _later("http", "http"),
        "web": _later("web", "web"),
    }
)


def bind(
    module: n.Module,
    program: CheckedProgram,
    folder: Path,
    name: str,
    bag: Bag,
    *,
    packages: frozenset[str] = frozenset(),
    pins: Pins = _NO_PINS,
) -> Deployment:
    """The deployment that `module` (a parsed `deploy.ael`) says. Problems go to the bag.

    `packages` are the optional ones that the pack lists, `pins` the lock that the program was checked against.
    """
    state = _state(module.source, program, bag, packages, pins)
    for declaration in module.declarations:
        if isinstance(declaration, n.TenantDecl):
            with state.told():
                bind_tenant.tenant(state, declaration)
    _read(state, module, {**WORLD, **PROGRAM})
    bind_service.settle(state)
    bind_connector.settle(state)
    bind_edge.settle(state)
    bind_tenant.settle(state)
    bind_program.settle_allowed(state)
    _settle(state, required=True)
    return _deployment(state, name, folder)


def bind_without(program: CheckedProgram, folder: Path, bag: Bag) -> Deployment:
    """The default, where there is no `deploy.ael`: it reaches the MCP servers whose address is a constant of the program."""
    state = _state(Source("deploy.ael", ""), program, bag, frozenset(), _NO_PINS)
    bind_connector.settle(state)
    _settle(state, required=False)
    return _deployment(state, "default", folder)


def bind_servers(
    module: n.Module | None,
    declared: Mapping[str, ServerFacts],
    folder: Path,
    name: str,
    bag: Bag,
    *,
    packages: frozenset[str] = frozenset(),
) -> Deployment:
    """What a deployment says of MCP servers, their secrets and hosts; nothing else of it is looked at, and no program has to check."""
    source = module.source if module is not None else Source("deploy.ael", "")
    state = State(source, bag, packages, declared)
    if module is not None:
        _read(state, module, WORLD, kinds=("setting", "secret", "host", "command", "mcp"))
    _settle(state, required=False)
    _missing_secrets(state)
    return Deployment(
        name=name, folder=str(folder), settings=state.settings, secrets=state.secrets, hosts=frozenset(state.hosts),
        commands=frozenset(state.commands), servers=state.servers,
    )  # fmt: skip


def bind_store(module: n.Module, folder: Path, name: str, bag: Bag) -> Deployment:
    """What a deployment says of where its runs are kept; nothing else of it is looked at, and there need be no program."""
    state = State(module.source, bag, frozenset(), {})
    _read(state, module, WORLD, kinds=("secret", "runs"))
    _missing_secrets(state)
    return Deployment(name=name, folder=str(folder), secrets=state.secrets, owned_secrets=state.owned_secrets, runs=state.runs)


def _state(source: Source, program: CheckedProgram, bag: Bag, packages: frozenset[str], pins: Pins) -> ProgramState:
    return ProgramState(source, bag, packages, _facts(program, pins), program)


def _read(
    state: S, module: n.Module, handlers: Mapping[str, Callable[[S, n.Binding], None]], *, kinds: tuple[str, ...] | None = None
) -> None:
    bindings = [d for d in module.declarations if isinstance(d, n.Binding)]
    # An `mcp` or `web` line is read last: hosts, commands and settings that other lines say decide whether it is right.
    for binding in sorted(bindings, key=lambda b: b.kind.text in ("mcp", "web")):
        if kinds is None or binding.kind.text in kinds:
            _line(state, binding, handlers)


def _line(state: S, binding: n.Binding, handlers: Mapping[str, Callable[[S, n.Binding], None]]) -> None:
    kind = binding.kind.text
    try:
        if kind not in PARTS:
            close = get_close_matches(kind, PARTS, 1)
            note = f"did you mean `{close[0]}`?" if close else listing("it has", FORMS)
            raise Wrong("AEL0811", f"a deployment has no `{kind}`", binding.kind, note)
        check_parts(binding)
        once(state, binding)
        handlers[kind](state, binding)
    except (Wrong, NotConstant) as wrong:
        state.doubtful = state.doubtful or kind == "mcp"
        state.report(wrong)


def _missing_secrets(state: State) -> None:
    for name, source, span in state.wanted:
        owners = {owner for owner, secret in state.owned_secrets if secret == name}
        everybody = isinstance(state, ProgramState) and bool(state.tenants) and state.tenants.keys() <= owners
        if name not in state.secrets and not everybody:
            note = f'add `secret {name} = env("{name}")` to it'
            state.bag.report("AEL0831", f"the deployment has no secret `{name}`", source, span, notes=(note,))


def _deployment(state: ProgramState, name: str, folder: Path) -> Deployment:
    _missing_secrets(state)
    return Deployment(
        name=name,
        folder=str(folder),
        models=state.models,
        stores=state.stores,
        settings=state.settings,
        secrets=state.secrets,
        owned_secrets=state.owned_secrets,
        tools=state.tools,
        roles=state.roles,
        services=state.services,
        placements=state.placements,
        here=frozenset(state.here),
        servers=state.servers,
        commands=frozenset(state.commands),
        serving=bind_serving.serving(state),
        runs=state.runs,
        natives=state.natives,
        logs=tuple(state.logs),
        prices=tuple(state.prices),
        hosts=frozenset(state.hosts),
        denied=frozenset(state.denied),
        allowed=None if state.allowed is None else frozenset(state.allowed),
        tenants=state.tenants,
        run_budget=state.budget,
        defaults=state.defaults,
        limits=state.limits,
    )
