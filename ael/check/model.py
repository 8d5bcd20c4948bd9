"""Declared models: provider, the provider's name of it, settings, and the fallback for when it is unavailable."""

from __future__ import annotations

from decimal import Decimal

from ael.check import clause as c
from ael.check.basis import Context, names_of, short, suggestion
from ael.check.collect import ModuleScope, Symbol
from ael.check.module import broken, far_service, find
from ael.check.packs import pack_of
from ael.syntax import nodes as n
from ael.types.spec import ModelSpec

PROVIDERS = (
    "openai", "anthropic", "openrouter", "groq", "mistral", "deepseek", "gemini", "ollama", "vllm", "llamacpp", "local",
    "scripted", "replay",
)  # fmt: skip
"""Providers that the language brings; a `provide std/model.Model as name` adds others."""
SERVICE = "std/model.Model"
"""What a connector for models provides."""

NUMBERS: dict[str, tuple[Decimal, Decimal | None]] = {
    "temperature": (Decimal(0), Decimal(2)),
    "top_p": (Decimal(0), Decimal(1)),
    "top_k": (Decimal(1), None),
    "max_tokens": (Decimal(1), None),
    "window": (Decimal(1), None),
    "seed": (Decimal(0), None),
    "presence_penalty": (Decimal(-2), Decimal(2)),
    "frequency_penalty": (Decimal(-2), Decimal(2)),
}
"""Settings that are numbers, with their least and greatest value."""


def models(context: Context) -> dict[str, ModelSpec]:
    """The models of the program by qualified name; unknown fallbacks and their cycles are reported."""
    found: dict[str, ModelSpec] = {}
    places: dict[str, tuple[ModuleScope, n.Expr]] = {}
    for symbol in context.collected.of_kind("model"):
        if isinstance(symbol.node, n.ModelDecl):
            found[symbol.name] = _model(context, context.collected.scope_of(symbol), symbol, symbol.node, places)
    _cycles(context, found, places)
    return found


def _model(
    context: Context, scope: ModuleScope, symbol: Symbol, node: n.ModelDecl, places: dict[str, tuple[ModuleScope, n.Expr]]
) -> ModelSpec:
    provider: str | None = None
    name: str | None = None
    fallback: str | None = None
    settings: dict[str, object] = {}
    seen: dict[str, n.Setting] = {}
    for setting in node.settings:
        word = setting.name.text
        first = seen.setdefault(word, setting)
        if first is not setting:
            labels = (context.label(scope.name, first, "it is said here already"),)
            context.report("AEL0610", f"`{word}` is said twice", scope.name, setting, labels=labels)
            continue
        match word:
            case "provider":
                provider = _provider(context, scope, setting.value)
            case "name":
                name = c.constant_text(context, scope, setting.value)
                if not name:
                    message = 'the name of a model is text, as the provider calls it: `name "gpt-5-mini"`'
                    context.report("AEL0610", message, scope.name, setting.value)
            case "fallback":
                fallback = _fallback(context, scope, setting.value)
                if fallback is not None:
                    places[symbol.name] = (scope, setting.value)
            case "endpoint" | "key" | "inner":
                message = f"`{word}` is the deployment's word: a program that said it could send a key elsewhere"
                notes = (f'in `deploy.ael`: `model {short(symbol.name)} = openai("…", {word}: …)`',)
                context.report("AEL0632", message, scope.name, setting, notes=notes)
            case _:
                value = _setting(context, scope, setting)
                if value is not c.NOTHING:
                    settings[word] = value
    return ModelSpec(symbol.name, provider, name, tuple(settings.items()), fallback)


def _provider(context: Context, scope: ModuleScope, value: n.Expr) -> str | None:
    path = c.as_path(value)
    word = path.text if path is not None else c.constant_text(context, scope, value)
    if path is not None:
        symbol = find(context.collected, scope, path)
        if symbol is not None and symbol.kind == "provide":
            _provides_a_model(context, scope, symbol, value)
        if symbol is not None and symbol.kind in ("provide", "unknown"):
            return symbol.name
    if word in PROVIDERS:
        return word
    if word is None:
        context.report("AEL0610", "a provider is a name, such as `anthropic`", scope.name, value)
        return None
    connectors = _connectors(context, scope)
    if word in connectors:
        return connectors[word]
    hint, fix = suggestion(scope.source, value.span, word, [*PROVIDERS, *names_of(scope, "provide"), *connectors])
    notes = ("one of your own is a `provide std/model.Model as NAME`",)
    context.report("AEL0610", f"there is no provider `{word}`{hint}", scope.name, value, notes=notes, fix=fix)
    return None


def _connectors(context: Context, scope: ModuleScope) -> dict[str, str]:
    """The connectors of a module's pack, wherever in it they are, and of the packs that it depends on: own name -> qualified name.

    A provider is not imported: a deployment too calls it by its own name. The pack's own go first.
    """
    packs = context.collected.packs
    own = pack_of(packs, scope.name)
    found: dict[str, str] = {}
    theirs: dict[str, str] = {}
    for symbol in context.collected.of_kind("provide"):
        other = pack_of(packs, symbol.module)
        if _service(context, symbol) == SERVICE and (other == own or other in packs[own].depends):
            (found if other == own else theirs).setdefault(short(symbol.name), symbol.name)
    return {**theirs, **found}


def _service(context: Context, symbol: Symbol) -> str | None:
    """The qualified name of the service that a provider provides, where that is known."""
    node, collected = symbol.node, context.collected
    assert isinstance(node, n.ProvideDecl)
    own = collected.scope_of(symbol)
    service = far_service(collected, own, node) if node.module is not None else find(collected, own, node.service)
    return service.name if service is not None and service.kind == "service" else None


def _provides_a_model(context: Context, scope: ModuleScope, symbol: Symbol, value: n.Expr) -> None:
    """Report a provider of something else, and one that is called like a provider of the language's: a deployment would mean that."""
    service = _service(context, symbol)
    if service is not None and service != SERVICE:
        assert isinstance(symbol.node, n.ProvideDecl)
        labels = (context.label(symbol.module, symbol.node.service, "it provides this"),)
        message = f"`{short(symbol.name)}` is a provider of `{short(service)}`, not of `{SERVICE}`"
        context.report("AEL0610", message, scope.name, value, labels=labels)
    elif short(symbol.name) in PROVIDERS:
        message = f"`{short(symbol.name)}` is a provider that the language brings: give the connector another name"
        context.report("AEL0610", message, scope.name, value)


def _fallback(context: Context, scope: ModuleScope, value: n.Expr) -> str | None:
    path = c.as_path(value)
    symbol = find(context.collected, scope, path) if path is not None else None
    if symbol is not None and symbol.kind == "unknown":
        return None
    if symbol is not None and symbol.kind == "model":
        return symbol.name
    unknown_model(context, scope, value, path)
    return None


def unknown_model(context: Context, scope: ModuleScope, node: n.Node, path: n.Path | None) -> None:
    """Report a name that is no model, with what is meant or what to do."""
    word = path.text if path is not None else c.source_text(scope, node)
    if broken(scope, word):
        return
    hint, fix = suggestion(scope.source, node.span, word, names_of(scope, "model"))
    context.report("AEL0609", f"there is no model `{word}`{hint}", scope.name, node, fix=fix)


def _setting(context: Context, scope: ModuleScope, setting: n.Setting) -> object:
    value = c.constant(context, scope, setting.value)
    word = setting.name.text
    if value is c.NOTHING:
        message = f"`{word}` is a constant; a setting or a secret of the deployment is bound in `deploy.ael`"
        context.report("AEL0610", message, scope.name, setting.value)
        return c.NOTHING
    if word in NUMBERS:
        low, high = NUMBERS[word]
        fitting = (
            isinstance(value, int | Decimal) and not isinstance(value, bool) and value >= low and (high is None or value <= high)
        )
        if not fitting:
            upto = f" to {high}" if high is not None else " or more"
            context.report("AEL0610", f"`{word}` is a number, {low}{upto}", scope.name, setting.value)
            return c.NOTHING
    elif isinstance(value, str | int | Decimal | list | dict) or value is None:
        hint, fix = suggestion(scope.source, setting.name.span, word, [*NUMBERS, "provider", "fallback"])
        if fix is not None:
            context.report("AEL0610", f"a model has no setting `{word}`{hint}", scope.name, setting.name, fix=fix)
            return c.NOTHING
    return value


def _cycles(context: Context, models: dict[str, ModelSpec], places: dict[str, tuple[ModuleScope, n.Expr]]) -> None:
    done: set[str] = set()
    for start in models:
        path: list[str] = []
        at: str | None = start
        while at is not None and at not in done and at not in path:
            path.append(at)
            at = models[at].fallback if at in models else None
        if at is not None and at in path:
            cycle = [*path[path.index(at) :], at]
            scope, value = places[cycle[-2]]
            shown = " → ".join(f"`{short(name)}`" for name in cycle)
            labels = tuple(context.label(places[name][0].name, places[name][1], "part of the cycle") for name in cycle[:-2])
            message = f"the fallbacks go round: {shown}"
            notes = ("a model falls back to another while it is unavailable, so the chain must end",)
            context.report("AEL0611", message, scope.name, value, labels=labels, notes=notes)
        done.update(path)
