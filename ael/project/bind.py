"""Reading a `deploy.ael` into a `Deployment`, each line checked like code, against the program that it binds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from ael.check.model import NUMBERS
from ael.check.model import PROVIDERS as DECLARABLE
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
from ael.project.form import (
    BUDGET_WORDS,
    DEFAULT_WORDS,
    FORMS,
    LIMIT_WORDS,
    PARTS,
    amounts,
    check_parts,
    constant,
    milliseconds,
    prices,
    text_of,
)
from ael.project.literal import Construct, NotConstant, evaluate
from ael.project.wrong import Wrong, listing, without_strings
from ael.source import Source
from ael.syntax import nodes as n
from ael.types.spec import BudgetSpec

PROVIDERS = (*DECLARABLE, "recorded")
"""Kinds of models that a deployment can bind."""
KEYLESS = ("local", "scripted", "replay", "recorded")
"""Those that speak to nobody, or whose `inner` has the key."""


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
    wanted: list[tuple[str, n.Node]] = field(default_factory=list)
    seen: dict[tuple[str, str], n.Binding] = field(default_factory=dict)

    def result(self) -> Deployment:
        for name, place in self.wanted:
            if name not in self.secrets:
                note = f'add `secret {name} = env("{name}")` to it'
                message = f"the deployment has no secret `{name}`"
                self.bag.report("AEL0831", message, self.source, place.span, notes=(note,))
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
        try:
            if kind not in PARTS:
                close = get_close_matches(kind, PARTS, 1)
                note = f"did you mean `{close[0]}`?" if close else listing("it has", FORMS)
                raise Wrong("AEL0811", f"a deployment has no `{kind}`", binding.kind, note)
            check_parts(binding)
            self._once(kind, binding)
            handler: Callable[[n.Binding], None] = getattr(self, f"_{kind}")
            handler(binding)
        except Wrong as wrong:
            source = without_strings(self.source, wrong.node.span) if wrong.code == "AEL0815" else self.source
            self.bag.report(wrong.code, wrong.message, source, wrong.node.span, notes=wrong.notes)
        except NotConstant as wrong:
            message = "a deployment holds constants: literals, lists, maps, and calls of its own words"
            self.bag.report("AEL0812", message, self.source, wrong.node.span)

    def _once(self, kind: str, binding: n.Binding) -> None:
        if binding.subject is None and kind != "runs":
            return
        name = "" if binding.subject is None else f" {binding.subject.text}"
        key = (kind, name)
        if key in self.seen:
            raise Wrong("AEL0813", f"`{kind}{name}` is bound twice", binding.subject or binding.kind)
        self.seen[key] = binding

    # --- what can be bound -----------------------------------------------------------------------------------------

    def _model(self, binding: n.Binding) -> None:
        name = self._declared(binding, "model", self.program.models)
        value = self._construct(binding, PROVIDERS)
        model, secret, settings = self._connection(value, binding)
        if value.name == "recorded" or "inner" in settings:
            inner = settings.get("inner")
            if value.name != "recorded" or model is None or not isinstance(inner, Construct) or inner.name not in PROVIDERS:
                note = 'it is written `recorded("session.jsonl", inner: anthropic("claude-haiku-4-5"))`'
                raise Wrong("AEL0814", "`recorded` takes a file and the model that it records, as `inner`", _value(binding), note)
            self._connection(inner, binding)
        self.models[name] = ModelBinding(value.name, model, secret, settings)

    def _connection(self, value: Construct, binding: n.Binding) -> tuple[str | None, str | None, dict[str, object]]:
        """`anthropic("claude-haiku-4-5", key: secret("KEY"), temperature: 0.2)`: the model's name, its key, its settings."""
        model = value.positional[0] if value.positional else None
        if len(value.positional) > 1 or not (model is None or (isinstance(model, str) and model)):
            message = f"the one argument of `{value.name}` without a name is the model's name, or a file"
            raise Wrong("AEL0814", message, _value(binding))
        settings = dict(value.named)
        key = settings.pop("key", None)
        for word, given in settings.items():
            _check_setting(word, given, binding)
        if key is None:
            return model, None, settings
        if value.name in KEYLESS:
            raise Wrong("AEL0814", f"`{value.name}` takes no key", _value(binding))
        secret = text_of(key) if isinstance(key, Construct) and key.name == "secret" else None
        if secret is None:
            note = 'write `key: secret("NAME")`, and where it comes from: `secret NAME = env("NAME")`'
            raise Wrong("AEL0815", "a key is a named secret, never text in a file", _value(binding), note)
        self.wanted.append((secret, _value(binding)))
        return model, secret, settings

    def _store(self, binding: n.Binding) -> None:
        name = self._declared(binding, "store", self.program.stores)
        value = self._construct(binding, ("memory", "sqlite"))
        if value.name == "memory":
            self.stores[name] = StoreBinding("memory")
            return
        path = text_of(value)
        if path is None:
            raise Wrong("AEL0814", 'a SQLite store names its file: `sqlite("orders.db")`', _value(binding))
        self.stores[name] = StoreBinding("sqlite", path)

    def _service(self, binding: n.Binding) -> None:
        name = self._declared(binding, "service", self.program.services)
        value = evaluate(_value(binding))
        if isinstance(value, Construct) and value.name in ("process", "https", "grpc", "nats"):
            message = (
                f"the placement `{value.name}(…)` is read and formatted, but services outside the process come in a later release"
            )
            raise Wrong("AEL1004", message, _value(binding))
        provides = {p.rpartition(".")[2]: p for p, spec in _provides(self.program).items() if spec == name}
        if not isinstance(value, Construct) or value.positional or value.named or value.name not in provides:
            raise Wrong(
                "AEL0816", f"`{name}` is bound to the name of a `provide`", _value(binding), listing("there is", provides)
            )
        self.services[name] = provides[value.name]

    def _tool(self, binding: n.Binding) -> None:
        name = self._declared(binding, "tool", self.program.tools)
        timeout, approval, role = None, False, None
        for clause in binding.clauses:
            match clause:
                case n.Timeout(value=None):
                    raise Wrong("AEL0817", "a deployment may only tighten: it cannot lift a tool's time limit", clause)
                case n.Timeout(value=value) if value is not None:
                    timeout = milliseconds(evaluate(value), clause)
                    declared = self.program.tools[name].timeout
                    if declared is not None and 0 <= declared < timeout:
                        message = f"a deployment may only tighten: `{name}` has a time limit of {declared} ms already"
                        raise Wrong("AEL0817", message, clause)
                case n.Approval(role=path, condition=condition):
                    if condition is not None:
                        raise Wrong("AEL0817", "a deployment's approval has no condition: it may only tighten", clause)
                    approval, role = True, None if path is None else self._role_name(path)
                    own = self.program.tools[name].approval
                    if role is not None and own is not None and own.role not in (None, role):
                        message = (
                            f"a deployment may only tighten: the program lets `{own.role}` approve `{name}`, and nobody else"
                        )
                        raise Wrong("AEL0817", message, clause)
                case _:
                    raise Wrong("AEL0817", "a deployment may give a tool a time limit and an approval", clause)
        self.tools[name] = replace(self.tools.get(name, ToolBinding()), timeout=timeout, approval=approval, role=role)

    def _role(self, binding: n.Binding) -> None:
        path = _subject(binding)
        name = self._role_name(path)
        value = evaluate(_value(binding))
        members = [member for member in value if isinstance(member, str)] if isinstance(value, list) else None
        if members is None or not isinstance(value, list) or len(members) != len(value):
            raise Wrong("AEL0814", 'a role is bound to its members: `role finance = ["alice"]`', _value(binding))
        self.roles[name] = tuple(members)

    def _setting(self, binding: n.Binding) -> None:
        self.settings[_subject(binding).text] = constant(evaluate(_value(binding)), _value(binding))

    def _secret(self, binding: n.Binding) -> None:
        value = self._construct(binding, ("env", "file"))
        name = text_of(value)
        if name is None:
            raise Wrong("AEL0814", f"`{value.name}` takes one name, a string", _value(binding))
        self.secrets[_subject(binding).text] = SecretSource("env" if value.name == "env" else "file", name)

    def _host(self, binding: n.Binding) -> None:
        value = evaluate(_value(binding))
        if not isinstance(value, str) or not value or "/" in value:
            raise Wrong(
                "AEL0814", 'a host is a name or an address, without a scheme or a path: `host "models.example.com"`', binding
            )
        self.hosts.add(value.lower())

    def _price(self, binding: n.Binding) -> None:
        model = evaluate(_value(binding))
        if not isinstance(model, str) or not model:
            raise Wrong("AEL0814", f"a price names its model: {FORMS['price']}", binding)
        self.prices.append(PriceEntry(model, **prices(binding)))

    def _runs(self, binding: n.Binding) -> None:
        self._construct(binding, ("memory",))

    def _default(self, binding: n.Binding) -> None:
        self.defaults = replace(self.defaults, **self._said(binding, DEFAULT_WORDS))

    def _limit(self, binding: n.Binding) -> None:
        self.limits = replace(self.limits, **self._said(binding, LIMIT_WORDS))

    def _budget(self, binding: n.Binding) -> None:
        self.budget = replace(self.budget, **self._said(binding, BUDGET_WORDS))

    def _deny(self, binding: n.Binding) -> None:
        """`deny orders.refund` takes a permission from everybody; a tool may be named too, and then nobody calls it."""
        for path in [path for clause in binding.clauses if isinstance(clause, n.Grants) for path in clause.permissions]:
            if path.text in self.program.permissions:
                self.denied.add(path.text)
                continue
            tools = [name for name in self.program.tools if path.text in (name, name.rpartition(".")[2])]
            if not tools:
                known = [*self.program.permissions, *(name.rpartition(".")[2] for name in self.program.tools)]
                close = get_close_matches(path.text, known, 1)
                note = f"did you mean `{close[0]}`?" if close else listing("the program has", self.program.permissions)
                raise Wrong("AEL0810", f"the program has no permission and no tool `{path.text}`", path, note)
            for name in tools:
                self.tools[name] = replace(self.tools.get(name, ToolBinding()), denied=True)

    def _node(self, binding: n.Binding) -> None:
        raise Wrong("AEL1004", "placing a node is read and formatted, but comes in a later release", binding)

    def _edge(self, binding: n.Binding) -> None:
        raise Wrong("AEL1004", "placing an edge is read and formatted, but comes in a later release", binding)

    def _mcp(self, binding: n.Binding) -> None:
        raise Wrong("AEL1003", "MCP servers are read and formatted, but come in a later release", binding)

    def _log(self, binding: n.Binding) -> None:
        raise Wrong("AEL1004", "log sinks are read and formatted, but come in a later release", binding)

    def _said(self, binding: n.Binding, words: tuple[str, ...]) -> dict[str, Any]:
        found = amounts(binding, words)
        for option in binding.options:
            key = (binding.kind.text, f" {option.name.text}")
            if key in self.seen:
                raise Wrong("AEL0813", f"`{binding.kind.text} {option.name.text}` is said twice", option)
            self.seen[key] = binding
        return found

    # --- helpers -----------------------------------------------------------------------------------------------------

    def _declared(self, binding: n.Binding, kind: str, known: Iterable[str]) -> str:
        path = _subject(binding)
        names = list(known)
        matches = [name for name in names if name == path.text or name.rpartition(".")[2] == path.text]
        if len(matches) == 1:
            return matches[0]
        if matches:
            raise Wrong("AEL0810", f"more than one {kind} is called `{path.text}`", path, listing("say which:", matches))
        shorts = [name.rpartition(".")[2] for name in names]
        close = get_close_matches(path.text, shorts, 1)
        note = f"did you mean `{close[0]}`?" if close else listing("the program has", shorts)
        raise Wrong("AEL0810", f"the program has no {kind} `{path.text}`", path, note)

    def _role_name(self, path: n.Path) -> str:
        if path.text not in self.program.roles:
            raise Wrong("AEL0810", f"there is no role `{path.text}`", path, listing("the program has", self.program.roles))
        return path.text

    def _construct(self, binding: n.Binding, known: tuple[str, ...]) -> Construct:
        value = evaluate(_value(binding))
        if not isinstance(value, Construct) or value.name not in known:
            name = f"`{value.name}`" if isinstance(value, Construct) else "this"
            raise Wrong(
                "AEL0814",
                f"a `{binding.kind.text}` line cannot have {name} as its value",
                _value(binding),
                listing("there is", known),
            )
        return value


def _subject(binding: n.Binding) -> n.Path:
    if binding.subject is None:
        raise Wrong("AEL0814", f"`{binding.kind.text}` needs a name", binding.kind)
    return binding.subject


def _value(binding: n.Binding) -> n.Expr:
    if binding.value is None:
        raise Wrong("AEL0814", f"`{binding.kind.text}` needs `= …`", binding)
    return binding.value


def _check_setting(word: str, value: object, binding: n.Binding) -> None:
    """A setting that AEL knows has the bounds that it has in a program."""
    if word not in NUMBERS:
        return
    low, high = NUMBERS[word]
    if not isinstance(value, int | Decimal) or isinstance(value, bool) or value < low or (high is not None and value > high):
        upto = f"from {low} to {high}" if high is not None else f"of at least {low}"
        raise Wrong("AEL0814", f"`{word}` is a number {upto}", _value(binding))


def _provides(program: CheckedProgram) -> dict[str, str]:
    return {name: spec.service for name, spec in program.provides.items()}
