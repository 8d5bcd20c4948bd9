"""`model` and `price` lines: which provider answers for a model, with which key and settings, and what it costs."""

from __future__ import annotations

from decimal import Decimal

from ael.check.model import NUMBERS
from ael.check.model import PROVIDERS as DECLARABLE
from ael.project.bind_state import ProgramState, argument, construct, named, value
from ael.project.connectors import MODEL, providers
from ael.project.deployment import ModelBinding, PriceEntry
from ael.project.form import FORMS, prices, text_of
from ael.project.literal import Construct, evaluate
from ael.project.wrong import Wrong
from ael.syntax import nodes as n

PROVIDERS = (*DECLARABLE, "recorded")
"""Kinds of models that a deployment can bind."""
KEYLESS = ("local", "scripted", "replay", "recorded")
"""Those that speak to nobody, or whose `inner` has the key."""


def model(state: ProgramState, binding: n.Binding) -> None:
    """`model fast = anthropic("claude-haiku-4-5", key: secret("KEY"))`."""
    name = named(binding, "model", state.program.models)
    connectors = providers(state.program, MODEL)
    found = construct(binding, (*PROVIDERS, *connectors))
    if found.name in connectors:
        state.models[name] = _connector(state, found, connectors[found.name], binding)
        return
    own, secret, settings = _connection(state, found, binding)
    if found.name == "recorded" or "inner" in settings:
        inner = settings.get("inner")
        if found.name != "recorded" or own is None or not isinstance(inner, Construct) or inner.name not in PROVIDERS:
            note = 'it is written `recorded("session.jsonl", inner: anthropic("claude-haiku-4-5"))`'
            raise Wrong("AEL0814", "`recorded` takes a file and the model that it records, as `inner`", value(binding), note)
        _connection(state, inner, binding)
    state.models[name] = ModelBinding(found.name, own, secret, settings)


def _connector(state: ProgramState, found: Construct, provide: str, binding: n.Binding) -> ModelBinding:
    """`my_model("large", endpoint: "https://…", temperature: 0.2)`: a provider of the program, and what it is told."""
    own, node = found.positional[0] if found.positional else None, value(binding)
    if len(found.positional) > 1 or not (own is None or (isinstance(own, str) and own)):
        raise Wrong("AEL0814", f"the one argument of `{found.name}` without a name is the model's name", node)
    for word, given in found.named.items():
        with state.told():
            place = argument(node, word)
            if word == "key" or holds_construct(given):
                note = 'credentials belong to the hosts that they are for: `http = client(bearer: ["HOST": secret("NAME")])`'
                raise Wrong("AEL0815", f"`{found.name}` is code of the program, which is given no secret", place, note)
            if word == "endpoint" and not isinstance(given, str):
                raise Wrong("AEL0814", "`endpoint` is an address", place)
            _check_setting(word, given, place)
    return ModelBinding(provide, own, None, dict(found.named))


def holds_construct(value: object) -> bool:
    """Whether a value of a deployment is, or holds, what is no plain data."""
    match value:
        case Construct():
            return True
        case dict():
            return any(map(holds_construct, value.values()))
        case list():
            return any(map(holds_construct, value))
        case _:
            return False


def _connection(state: ProgramState, found: Construct, binding: n.Binding) -> tuple[str | None, str | None, dict[str, object]]:
    """`anthropic("claude-haiku-4-5", key: secret("KEY"), temperature: 0.2)`: the model's name, its key, its settings."""
    own = found.positional[0] if found.positional else None
    if len(found.positional) > 1 or not (own is None or (isinstance(own, str) and own)):
        message = f"the one argument of `{found.name}` without a name is the model's name, or a file"
        raise Wrong("AEL0814", message, value(binding))
    settings = dict(found.named)
    key = settings.pop("key", None)
    for word, given in settings.items():
        with state.told():
            _check_setting(word, given, argument(value(binding), word))
    if key is None:
        return own, None, settings
    if found.name in KEYLESS:
        raise Wrong("AEL0814", f"`{found.name}` takes no key", value(binding))
    secret = text_of(key) if isinstance(key, Construct) and key.name == "secret" else None
    if secret is None:
        note = 'write `key: secret("NAME")`, and where it comes from: `secret NAME = env("NAME")`'
        raise Wrong("AEL0815", "a key is a named secret, never text in a file", value(binding), note)
    state.want(secret, value(binding))
    return own, secret, settings


def _check_setting(word: str, given: object, place: n.Node) -> None:
    """A setting that AEL knows has the bounds that it has in a program."""
    if word not in NUMBERS:
        return
    low, high = NUMBERS[word]
    if not isinstance(given, int | Decimal) or isinstance(given, bool) or given < low or (high is not None and given > high):
        upto = f"from {low} to {high}" if high is not None else f"of at least {low}"
        raise Wrong("AEL0814", f"`{word}` is a number {upto}", place)


def price(state: ProgramState, binding: n.Binding) -> None:
    """`price "gpt-5-mini" input $0.25 output $2.00`."""
    own = evaluate(value(binding))
    if not isinstance(own, str) or not own:
        raise Wrong("AEL0814", f"a price names its model: {FORMS['price']}", binding)
    state.prices.append(PriceEntry(own, **prices(binding, state.report)))
