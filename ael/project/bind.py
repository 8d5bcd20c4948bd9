"""Reading a `deploy.ael` into a `Deployment`, each line checked like code, against the program that it binds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import timedelta
from decimal import Decimal
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from ael.check.program import CheckedProgram
from ael.data import dataclass, field, replace
from ael.diagnostics.diagnostic import Bag
from ael.project.deployment import (
    Defaults,
    Deployment,
    ModelBinding,
    PriceEntry,
    SecretSource,
    SizeLimits,
    StoreBinding,
    ToolBinding,
)
from ael.project.literal import Construct, NotConstant, evaluate
from ael.source import Source
from ael.syntax import nodes as n
from ael.types.spec import BudgetSpec

PROVIDERS = (
    "openai", "anthropic", "openrouter", "groq", "mistral", "deepseek", "gemini", "ollama", "vllm", "llamacpp", "local", "scripted",
    "replay", "record",
)  # fmt: skip
"""Kinds of models that a deployment can bind."""

_MINIMUM = {"steps": 0, "tool_calls": 0, "tokens": 0, "attempts": 1}
_DEFAULT_WORDS = ("steps", "tool_calls", "tokens", "cost", "time", "tool_timeout", "attempts")
_LIMIT_WORDS = ("input", "result", "output", "depth")


def bind(module: n.Module, program: CheckedProgram, folder: Path, name: str, bag: Bag) -> Deployment:
    """The deployment that `module` (a parsed `deploy.ael`) says. Problems go to the bag."""
    binder = _Binder(module.source, program, bag)
    for declaration in module.declarations:
        if isinstance(declaration, n.Binding):
            binder.binding(declaration)
        elif isinstance(declaration, n.TenantDecl):
            message = f"the tenant `{declaration.name.text}` is read and formatted, but tenants come in a later release"
            bag.report("AEL1005", message, module.source, declaration.span)
    return replace(binder.result(), name=name, folder=str(folder))


class _Wrong(Exception):
    """A line of the deployment that has no meaning; reported where it is caught."""

    def __init__(self, code: str, message: str, node: n.Node, *notes: str) -> None:
        super().__init__(message)
        self.code, self.message, self.node, self.notes = code, message, node, notes


@dataclass
class _Binder:
    source: Source
    program: CheckedProgram
    bag: Bag
    models: dict[str, ModelBinding] = field(default_factory=dict)
    stores: dict[str, StoreBinding] = field(default_factory=dict)
    settings: dict[str, object] = field(default_factory=dict)
    secrets: dict[str, SecretSource] = field(default_factory=dict)
    tools: dict[str, ToolBinding] = field(default_factory=dict)
    roles: dict[str, tuple[str, ...]] = field(default_factory=dict)
    services: dict[str, str] = field(default_factory=dict)
    prices: list[PriceEntry] = field(default_factory=list)
    hosts: set[str] = field(default_factory=set)
    denied: set[str] = field(default_factory=set)
    budget: BudgetSpec = field(default_factory=BudgetSpec)
    defaults: Defaults = field(default_factory=Defaults)
    limits: SizeLimits = field(default_factory=SizeLimits)
    seen: dict[tuple[str, str], n.Binding] = field(default_factory=dict)

    def result(self) -> Deployment:
        return Deployment(
            models=self.models,
            stores=self.stores,
            settings=self.settings,
            secrets=self.secrets,
            tools=self.tools,
            roles=self.roles,
            services=self.services,
            prices=tuple(self.prices),
            hosts=frozenset(self.hosts),
            denied=frozenset(self.denied),
            run_budget=self.budget,
            defaults=self.defaults,
            limits=self.limits,
        )

    def binding(self, binding: n.Binding) -> None:
        kind = binding.kind.text
        handler: Callable[[n.Binding], None] | None = getattr(self, f"_{kind}", None) if kind in _KINDS else None
        try:
            if handler is None:
                raise _Wrong("AEL0811", f"a deployment has no `{kind}`", binding.kind, _listing("it has", _KINDS))
            self._once(kind, binding)
            handler(binding)
        except _Wrong as wrong:
            self.bag.report(wrong.code, wrong.message, self.source, wrong.node.span, notes=wrong.notes)
        except NotConstant as wrong:
            message = "a deployment holds constants: literals, lists, maps, and calls of its own words"
            self.bag.report("AEL0812", message, self.source, wrong.node.span)

    def _once(self, kind: str, binding: n.Binding) -> None:
        if binding.subject is None or kind in ("price", "host"):
            return
        key = (kind, binding.subject.text)
        if key in self.seen:
            raise _Wrong("AEL0813", f"`{kind} {binding.subject.text}` is bound twice", binding.subject)
        self.seen[key] = binding

    # --- what can be bound -----------------------------------------------------------------------------------------

    def _model(self, binding: n.Binding) -> None:
        name = self._declared(binding, "model", self.program.models)
        value = self._construct(binding, PROVIDERS)
        positional = value.positional[0] if value.positional else None
        if positional is not None and not isinstance(positional, str):
            raise _Wrong("AEL0814", f"the first argument of `{value.name}` is the model's name, a string", _value(binding))
        settings = dict(value.named)
        key = settings.pop("key", None)
        secret = None
        if key is not None:
            if not (isinstance(key, Construct) and key.name == "secret" and _one_text(key) is not None):
                note = 'write `key: secret("NAME")`, and where it comes from: `secret NAME = env("NAME")`'
                raise _Wrong("AEL0815", "a key is a named secret, never text in a file", _value(binding), note)
            secret = _one_text(key)
        self.models[name] = ModelBinding(value.name, positional, secret, settings)

    def _store(self, binding: n.Binding) -> None:
        name = self._declared(binding, "store", self.program.stores)
        value = self._construct(binding, ("memory", "sqlite"))
        if value.name == "memory":
            self.stores[name] = StoreBinding("memory")
            return
        path = _one_text(value)
        if path is None:
            raise _Wrong("AEL0814", 'a SQLite store names its file: `sqlite("orders.db")`', _value(binding))
        self.stores[name] = StoreBinding("sqlite", path)

    def _service(self, binding: n.Binding) -> None:
        name = self._declared(binding, "service", self.program.services)
        value = evaluate(_value(binding))
        if isinstance(value, Construct) and value.name in ("process", "https", "grpc", "nats"):
            message = (
                f"the placement `{value.name}(…)` is read and formatted, but services outside the process come in a later release"
            )
            raise _Wrong("AEL1004", message, _value(binding))
        provides = {p.rpartition(".")[2]: p for p, spec in _provides(self.program).items() if spec == name}
        if not isinstance(value, Construct) or value.positional or value.named or value.name not in provides:
            raise _Wrong(
                "AEL0816", f"`{name}` is bound to the name of a `provide`", _value(binding), _listing("there is", provides)
            )
        self.services[name] = provides[value.name]

    def _tool(self, binding: n.Binding) -> None:
        name = self._declared(binding, "tool", self.program.tools)
        timeout, approval, role = None, False, None
        for clause in binding.clauses:
            match clause:
                case n.Timeout(value=None):
                    raise _Wrong("AEL0817", "a deployment may only tighten: it cannot lift a tool's time limit", clause)
                case n.Timeout(value=value) if value is not None:
                    timeout = _milliseconds(evaluate(value), clause)
                    declared = self.program.tools[name].timeout
                    if declared is not None and 0 <= declared < timeout:
                        message = f"a deployment may only tighten: `{name}` has a time limit of {declared} ms already"
                        raise _Wrong("AEL0817", message, clause)
                case n.Approval(role=path, condition=condition):
                    if condition is not None:
                        raise _Wrong("AEL0817", "a deployment's approval has no condition: it may only tighten", clause)
                    approval, role = True, None if path is None else self._role_name(path)
                case _:
                    raise _Wrong("AEL0817", "a deployment may give a tool a time limit and an approval", clause)
        denied = any(option.name.text == "deny" for option in binding.options)
        self.tools[name] = ToolBinding(timeout, approval, role, denied)

    def _role(self, binding: n.Binding) -> None:
        path = _subject(binding)
        name = self._role_name(path)
        value = evaluate(_value(binding))
        if not isinstance(value, list) or not all(isinstance(member, str) for member in value):
            raise _Wrong("AEL0814", 'a role is bound to its members: `role finance = ["alice"]`', _value(binding))
        self.roles[name] = tuple(value)

    def _setting(self, binding: n.Binding) -> None:
        value = evaluate(_value(binding))
        if isinstance(value, Construct):
            raise _Wrong("AEL0812", "a setting is a constant", _value(binding))
        self.settings[_subject(binding).text] = value

    def _secret(self, binding: n.Binding) -> None:
        value = self._construct(binding, ("env", "file"))
        name = _one_text(value)
        if name is None:
            raise _Wrong("AEL0814", f"`{value.name}` takes one name, a string", _value(binding))
        self.secrets[_subject(binding).text] = SecretSource("env" if value.name == "env" else "file", name)

    def _host(self, binding: n.Binding) -> None:
        values = [evaluate(v) for option in binding.options for v in option.values]
        if binding.value is not None:
            values.append(evaluate(binding.value))
        for value in values:
            if not isinstance(value, str):
                raise _Wrong("AEL0814", "a host is a string", binding)
            self.hosts.add(value.lower())

    def _price(self, binding: n.Binding) -> None:
        model = evaluate(_value(binding))
        if not isinstance(model, str):
            raise _Wrong("AEL0814", 'a price names its model: `price "gpt-5-mini" input $0.25 output $2.00`', binding)
        amounts: dict[str, Any] = {}
        for option in binding.options:
            word = option.name.text
            if word not in ("input", "output", "cache_read", "cache_write", "since") or len(option.values) != 1:
                raise _Wrong("AEL0814", f"a price has no `{word}`", option)
            amounts[word] = evaluate(option.values[0])
        money = [amounts.get(word) for word in ("input", "output")]
        if not all(isinstance(value, Decimal) for value in money):
            raise _Wrong("AEL0814", "a price gives money for `input` and `output`, per million tokens", binding)
        self.prices.append(PriceEntry(model, **amounts))

    def _runs(self, binding: n.Binding) -> None:
        self._construct(binding, ("memory",))

    def _default(self, binding: n.Binding) -> None:
        self.defaults = replace(self.defaults, **self._amounts(binding, _DEFAULT_WORDS))

    def _limit(self, binding: n.Binding) -> None:
        self.limits = replace(self.limits, **self._amounts(binding, _LIMIT_WORDS))

    def _budget(self, binding: n.Binding) -> None:
        self.budget = replace(self.budget, **self._amounts(binding, ("steps", "tool_calls", "tokens", "cost", "time")))

    def _deny(self, binding: n.Binding) -> None:
        names = [binding.subject] if binding.subject is not None else []
        for path in names:
            if path.text not in self.program.permissions:
                raise _Wrong("AEL0810", f"there is no permission `{path.text}`", path)
            self.denied.add(path.text)

    def _node(self, binding: n.Binding) -> None:
        raise _Wrong("AEL1004", "placing a node is read and formatted, but comes in a later release", binding)

    def _edge(self, binding: n.Binding) -> None:
        raise _Wrong("AEL1004", "placing an edge is read and formatted, but comes in a later release", binding)

    def _mcp(self, binding: n.Binding) -> None:
        raise _Wrong("AEL1003", "MCP servers are read and formatted, but come in a later release", binding)

    def _log(self, binding: n.Binding) -> None:
        raise _Wrong("AEL1004", "log sinks are read and formatted, but come in a later release", binding)

    # --- helpers -----------------------------------------------------------------------------------------------------

    def _declared(self, binding: n.Binding, kind: str, known: Iterable[str]) -> str:
        path = _subject(binding)
        names = list(known)
        matches = [name for name in names if name == path.text or name.rpartition(".")[2] == path.text]
        if len(matches) == 1:
            return matches[0]
        if matches:
            raise _Wrong("AEL0810", f"more than one {kind} is called `{path.text}`", path, _listing("say which:", matches))
        shorts = [name.rpartition(".")[2] for name in names]
        close = get_close_matches(path.text, shorts, 1)
        note = f"did you mean `{close[0]}`?" if close else _listing("the program has", shorts)
        raise _Wrong("AEL0810", f"the program has no {kind} `{path.text}`", path, note)

    def _role_name(self, path: n.Path) -> str:
        if path.text not in self.program.roles:
            raise _Wrong("AEL0810", f"there is no role `{path.text}`", path, _listing("the program has", self.program.roles))
        return path.text

    def _construct(self, binding: n.Binding, known: tuple[str, ...]) -> Construct:
        value = evaluate(_value(binding))
        if not isinstance(value, Construct) or value.name not in known:
            name = f"`{value.name}`" if isinstance(value, Construct) else "this"
            raise _Wrong(
                "AEL0814", f"{name} is no way to bind a {binding.kind.text}", _value(binding), _listing("there is", known)
            )
        return value

    def _amounts(self, binding: n.Binding, words: tuple[str, ...]) -> dict[str, Any]:
        amounts: dict[str, Any] = {}
        for option in binding.options:
            word = option.name.text
            if word not in words or len(option.values) != 1:
                raise _Wrong("AEL0814", f"there is no `{word}` here", option, _listing("there is", words))
            value = evaluate(option.values[0])
            if isinstance(value, timedelta):
                value = _milliseconds(value, option)
            if word == "cost" and isinstance(value, int):
                value = Decimal(value)
            if (
                not isinstance(value, Decimal if word == "cost" else int)
                or isinstance(value, bool)
                or value < _MINIMUM.get(word, 0)
            ):
                raise _Wrong("AEL0814", f"`{word}` takes {_EXPECTED.get(word, 'a whole number')}", option)
            amounts[word] = value
        return amounts


_EXPECTED = {"cost": "money, such as `$0.50`", "time": "a duration, such as `30s`", "tool_timeout": "a duration, such as `30s`"}
_KINDS = (
    "model", "store", "service", "tool", "role", "setting", "secret", "host", "price", "runs", "default", "limit", "budget", "deny",
    "node", "edge", "mcp", "log",
)  # fmt: skip


def _subject(binding: n.Binding) -> n.Path:
    if binding.subject is None:
        raise _Wrong("AEL0814", f"`{binding.kind.text}` needs a name", binding.kind)
    return binding.subject


def _value(binding: n.Binding) -> n.Expr:
    if binding.value is None:
        raise _Wrong("AEL0814", f"`{binding.kind.text}` needs `= …`", binding)
    return binding.value


def _one_text(value: Construct) -> str | None:
    if len(value.positional) == 1 and not value.named and isinstance(value.positional[0], str):
        return value.positional[0]
    return None


def _milliseconds(value: object, node: n.Node) -> int:
    if not isinstance(value, timedelta):
        raise _Wrong("AEL0814", "a time limit is a duration, such as `20s`", node)
    return int(value / timedelta(milliseconds=1))


def _provides(program: CheckedProgram) -> dict[str, str]:
    return {name: spec.service for name, spec in program.provides.items()}


def _listing(lead: str, names: Iterable[str]) -> str:
    listed = ", ".join(f"`{name}`" for name in names)
    return f"{lead} {listed}" if listed else "there are none"
