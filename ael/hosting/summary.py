"""What a deployment binds, and what it leaves to the defaults, a row each. Nothing is opened, and no secret is read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

from ael.data import dataclass
from ael.hosting.models import model_name, short_name
from ael.project.bind_service import shown
from ael.project.deployment import Deployment, McpBinding, ModelBinding, SecretSource
from ael.project.form import BUDGET_WORDS, DEFAULT_WORDS, LIMIT_WORDS
from ael.project.knowledge import KnowledgeBinding
from ael.project.logs import LinesBinding, LogBinding, OtlpBinding, SinkBinding
from ael.project.placements import PlacementBinding
from ael.project.program import Opened
from ael.project.queues import QueueBinding
from ael.types.spec import BudgetSpec, unnamed

_TIMES = frozenset({"time", "tool_timeout"})


@dataclass(frozen=True, slots=True)
class Row:
    """`kind` and `name` of what is bound, to what, and whether the deployment says it (else it is what holds without a word)."""

    kind: str
    name: str
    bound: str
    said: bool = True

    def plain(self) -> dict[str, object]:
        """As JSON."""
        return {"kind": self.kind, "name": self.name, "bound": self.bound, "default": not self.said}


def summary(opened: Opened) -> list[Row]:
    """All rows, by kind."""
    deployment = opened.deployment
    return [
        *_program(opened),
        *(Row("secret", name, _source(one, deployment)) for name, one in deployment.secrets.items()),
        *(
            Row("secret", f"{owner.rpartition('/')[2]}.{name}", _source(one, deployment))
            for (owner, name), one in deployment.owned_secrets.items()
        ),
        *(Row("setting", name, str(value)) for name, value in deployment.settings.items()),
        *_natives(deployment),
        *_people(opened),
        *_knowledge(opened),
        *(_log(one) for one in deployment.logs),
        *_limits(deployment),
    ]


def _knowledge(opened: Opened) -> Iterator[Row]:
    """Where the built-in retrieval keeps its documents, in a program that has to do with it."""
    found = opened.deployment.natives.get("knowledge")
    serving = unnamed(spec for spec in opened.program.provides.values() if spec.service == "std/knowledge.Knowledge")
    if found is None and not any(spec.standard for spec in serving):
        return
    binding = found if isinstance(found, KnowledgeBinding) else KnowledgeBinding()
    where = {"sqlite": binding.path, "postgres": f"postgres, secret {binding.secret}", "memory": "memory"}
    yield Row("knowledge", "documents", where[binding.kind], found is not None)


def _log(binding: LogBinding) -> Row:
    match binding:
        case OtlpBinding(url=url):
            return Row("log", "otlp", url)
        case LinesBinding(path=path):
            return Row("log", "file" if path else "stderr", path or "standard error")
        case SinkBinding(provide=provide):
            return Row("log", short_name(provide), "in the process, in limits of its own")


def _program(opened: Opened) -> Iterator[Row]:
    program, deployment = opened.program, opened.deployment
    for name, spec in program.models.items():
        model = deployment.models.get(name) or ModelBinding(spec.provider or "", spec.model)
        key = "" if model.key is None else f", key: secret {model.key}"
        who = f"the connector {short_name(model.provider)}," if model.provider in program.provides else model.provider
        yield Row("model", short_name(name), f"{who} {model_name(spec, model)}{key}".strip(), name in deployment.models)
    for name in program.stores:
        store = deployment.stores.get(name)
        yield Row("store", short_name(name), "memory" if store is None or store.path is None else store.path, store is not None)
    for name in program.services:
        placed, chosen = deployment.placements.get(name), deployment.services.get(name)
        only = [spec.name for spec in unnamed(spec for spec in program.provides.values() if spec.service == name)]
        if placed is not None:
            yield Row("service", short_name(name), shown_place(placed))
        else:
            provider = chosen or (only[0] if len(only) == 1 else None)
            bound = "nothing provides it" if provider is None else f"in the process, by {short_name(provider)}"
            yield Row("service", short_name(name), bound, chosen is not None)
    for name, placed in deployment.placements.items():
        if name in program.nodes:
            yield Row("node", short_name(name), shown_place(placed))
    for key in sorted({*deployment.here, *(key for key, placed in deployment.placements.items() if placed.node is not None)}):
        placed = deployment.placements.get(key)
        yield Row("edge", shown(key), "in the process" if placed is None else shown_place(placed))
    for name in program.servers:
        server = deployment.servers.get(name)
        yield Row(
            "mcp", short_name(name), "nothing: it cannot be reached" if server is None else _server(server), server is not None
        )
    for name, tool in deployment.tools.items():
        told = [
            "denied" if tool.denied else "",
            f"timeout {_time(tool.timeout)}" if tool.timeout is not None else "",
            f"approval required{f' by {tool.role}' if tool.role else ''}" if tool.approval else "",
            f"only inside of {', '.join(sorted(map(short_name, tool.only)))}" if tool.only is not None else "",
        ]
        yield Row("tool", name.partition(".")[2], ", ".join(filter(None, told)))


def _natives(deployment: Deployment) -> Iterator[Row]:
    """What the effects of the standard library get, where the binding of a topic says in its `shown` what that is."""
    for topic, binding in deployment.natives.items():
        told = getattr(binding, "shown", "")
        if topic == "files" and not Path(deployment.folder, str(getattr(binding, "folder", ""))).is_dir():
            told = f"{told}, which is not there"
        if told:
            yield Row(topic, "", told)


def shown_place(placed: PlacementBinding) -> str:
    """Where a service or node runs: `grpc orders.example.com:443`."""
    if isinstance(placed, QueueBinding):
        where = placed.url or f"secret {placed.secret}"
        return f"a queue, {placed.kind} {where}, {f'{placed.slots} slots' if placed.slots else 'only sent to'}"
    if placed.kind == "connector":
        return f"elsewhere, by the connector {short_name(placed.provider or '')} {placed.url}".rstrip()
    if placed.kind == "grpc":
        return f"grpc {placed.url.partition('://')[2]}"
    return f"{placed.kind} {placed.url or f'{placed.workers} processes'}"


def _server(server: McpBinding) -> str:
    if server.kind == "stdio":
        return f"stdio {' '.join((server.command, *server.arguments))}"
    return f"{server.kind} {server.url.partition('?')[0]}"


def _source(source: SecretSource, deployment: Deployment) -> str:
    match source.kind:
        case "env":
            return f"the variable {source.name}{'' if os.environ.get(source.name) else ', which is not set here'}"
        case "file":
            found = Path(deployment.folder, source.name).is_file()
            return f"the file {source.name}{'' if found else ', which is not there'}"
        case "keyring":
            return f"{source.name} of {source.service} in the keyring"


def _people(opened: Opened) -> Iterator[Row]:
    program, deployment = opened.program, opened.deployment
    for role in program.roles:
        members = deployment.roles.get(role)
        yield Row("role", role, ", ".join(members or ()) or "nobody: what it decides is never approved", members is not None)
    for name, tenant in deployment.tenants.items():
        told = [
            "" if tenant.grants is None else f"grants {', '.join(sorted(tenant.grants))}",
            f"deny {', '.join(sorted(tenant.denied))}" if tenant.denied else "",
            "" if tenant.concurrent is None else f"{tenant.concurrent} runs at once",
            _budget(tenant.budget, tenant.period),
        ]
        yield Row("tenant", name, "; ".join(filter(None, told)) or "all permissions, no limits")
    if not deployment.tenants:
        yield Row("tenant", "", "any, all permissions, no limits", False)
    for name, caller in deployment.serving.callers.items():
        rights = "all permissions" if caller.grants is None else f"grants {', '.join(sorted(caller.grants))}"
        told = [f"of {caller.tenant}", rights, _budget(caller.budget, caller.period)]
        yield Row("caller", name, "; ".join(filter(None, told)))
    for wire, node in deployment.serving.exposed.items():
        yield Row("serve", wire, node.partition(".")[2])
    if deployment.allowed is not None:
        yield Row("allow", "", ", ".join(sorted(deployment.allowed)))
    if deployment.denied:
        yield Row("deny", "", ", ".join(sorted(deployment.denied)))


def _limits(deployment: Deployment) -> Iterator[Row]:
    runs, without = deployment.runs, Deployment()
    kept = "memory" if runs.kind == "memory" else f"{runs.kind} {runs.path or f'secret {runs.secret}'}"
    yield Row("runs", "", kept, runs != without.runs)
    for word in DEFAULT_WORDS:
        value = getattr(deployment.defaults, word)
        yield Row("default", word, _amount(word, value), value != getattr(without.defaults, word))
    for word in LIMIT_WORDS:
        value = getattr(deployment.limits, word)
        yield Row("limit", word, f"{value:,}", value != getattr(without.limits, word))
    yield Row(
        "budget", "", _budget(deployment.run_budget, None) or "none beside the defaults", deployment.run_budget != BudgetSpec()
    )
    for host in sorted(deployment.hosts):
        yield Row("host", "", host)
    for command in sorted(deployment.commands):
        yield Row("command", "", command)


def _budget(budget: BudgetSpec, period: str | None) -> str:
    amounts = [(word, getattr(budget, word)) for word in BUDGET_WORDS]
    said = [f"{word} {_amount(word, value)}" for word, value in amounts if value is not None]
    return f"budget {', '.join(said)}{f' per {period}' if period else ''}" if said else ""


def _amount(word: str, value: object) -> str:
    if value is None:
        return "no limit"
    if isinstance(value, Decimal):
        return f"${value}"
    return _time(value) if word in _TIMES and isinstance(value, int) else f"{value:,}"


def _time(milliseconds: int | None) -> str:
    if milliseconds is None or milliseconds < 0:
        return "no limit"
    return f"{milliseconds / 1000:g}s"
