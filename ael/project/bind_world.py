"""Lines about the world that a program runs in: settings, secrets, hosts, programs that may be started, sizes and budgets."""

from __future__ import annotations

from typing import Any

from ael.data import replace
from ael.project.bind_state import ProgramState, State, construct, subject, value
from ael.project.deployment import SecretSource
from ael.project.form import BUDGET_WORDS, DEFAULT_WORDS, LIMIT_WORDS, amounts, constant, text_of
from ael.project.literal import Construct, evaluate
from ael.project.wrong import Wrong
from ael.syntax import nodes as n


def setting(state: State, binding: n.Binding) -> None:
    """`setting REGION = "eu"`."""
    state.settings[subject(binding).text] = constant(evaluate(value(binding)), value(binding))


def secret(state: State, binding: n.Binding) -> None:
    """`secret NAME = env("VARIABLE")`, `file("path")` or `keyring("service", "name")`; `secret acme.NAME = …` that of a tenant."""
    found = construct(binding, ("env", "file", "keyring"))
    match found:
        case Construct("keyring", (str(service), str(name)), named) if service and name and not named:
            source = SecretSource("keyring", name, service)
        case Construct("keyring"):
            message = '`keyring` takes the service and the name under which the secret is kept: `keyring("crm", "token")`'
            raise Wrong("AEL0814", message, value(binding))
        case _:
            said = text_of(found)
            if said is None:
                raise Wrong("AEL0814", f"`{found.name}` takes one name, a string", value(binding))
            source = SecretSource("env" if found.name == "env" else "file", said)
    path = subject(binding)
    match [part.text for part in path.parts]:
        case [own]:
            state.secrets[own] = source
        case [tenant, own]:
            state.owned_secrets[tenant, own] = source
            state.owned_places[tenant, own] = path
        case _:
            raise Wrong("AEL0814", "a secret has a name, or a tenant and a name: `secret acme.CRM_TOKEN = …`", path)


def host(state: State, binding: n.Binding) -> None:
    """`host "localhost"`: a host that may be reached although its address is private."""
    found = evaluate(value(binding))
    if not isinstance(found, str) or not found or "/" in found:
        raise Wrong("AEL0814", 'a host is a name or an address, without a scheme or a path: `host "models.example.com"`', binding)
    state.hosts.add(found.lower())


def command(state: State, binding: n.Binding) -> None:
    """`command "npx"`: a program that may be started as an MCP server."""
    found = evaluate(value(binding))
    if not isinstance(found, str) or not found.strip() or any(ord(c) < 32 for c in found):
        raise Wrong("AEL0814", 'a command is the name or the path of one program: `command "npx"`', binding)
    if found in state.commands:
        raise Wrong("AEL0813", f"the command `{found}` is allowed twice", binding)
    state.commands.add(found)


def default(state: ProgramState, binding: n.Binding) -> None:
    """`default steps 8, tokens 50_000`."""
    state.defaults = replace(state.defaults, **_said(state, binding, DEFAULT_WORDS))


def limit(state: ProgramState, binding: n.Binding) -> None:
    """`limit result 32KiB`."""
    state.limits = replace(state.limits, **_said(state, binding, LIMIT_WORDS))


def budget(state: ProgramState, binding: n.Binding) -> None:
    """`budget cost $50`: that of a whole run."""
    state.budget = replace(state.budget, **_said(state, binding, BUDGET_WORDS))


def _said(state: State, binding: n.Binding, words: tuple[str, ...]) -> dict[str, Any]:
    found = amounts(binding.options, words, state.report)
    for option in binding.options:
        key = (binding.kind.text, f" {option.name.text}")
        if key in state.seen and state.seen[key] is not binding:
            state.report(Wrong("AEL0813", f"`{binding.kind.text} {option.name.text}` is said twice", option))
        state.seen[key] = binding
    return found
