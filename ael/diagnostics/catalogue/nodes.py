"""Nodes, policies, budgets, models (AEL06xx): code -> title."""

from __future__ import annotations

CODES: dict[str, str] = {
    "AEL0601": "not a tool",
    "AEL0602": "two tools of one name",
    "AEL0603": "a name that a model cannot be offered",
    "AEL0604": "a tool without a description",
    "AEL0605": "a tool that would need a second model call",
    "AEL0606": "a policy of the wrong form",
    "AEL0607": "a model's clause on ordinary code",
    "AEL0608": "instructions without a model",
    "AEL0609": "no such model",
    "AEL0610": "a model's setting of the wrong form",
    "AEL0611": "fallbacks that go round",
    "AEL0612": "an amount of the wrong form",
    "AEL0613": "attempts of the wrong form",
    "AEL0614": "a tool choice that is not offered",
    "AEL0615": "not one set of instructions",
    "AEL0616": "a value in the instructions",
    "AEL0617": "instructions that name what the model is not given",
    "AEL0619": "an effect where plain code stands",
    "AEL0624": "a store that is no map",
    "AEL0625": "a history of the wrong form",
    "AEL0626": "not an operation of the service",
    "AEL0627": "a provider that lacks operations",
    "AEL0628": "an operation provided with another signature",
    "AEL0629": "a test's title",
    "AEL0630": "an error that ends a node of one call",
    "AEL0631": "no such service",
    "AEL0632": "an endpoint or key in a program",
}
