"""AEL, the Agent Engineering Language. `import ael` is the embedding of docs/embedding.md.

What stands in `_MODULES` is loaded when it is first used: importing AEL costs a program that only asks for its version, or a module of
tools that only raises `ael.Failure`, next to nothing. Type checkers read `__init__.pyi`.
"""

from importlib import import_module as _import

__version__ = "0.1.0"

_MODULES = {
    "ael.embed.approver": ("Approve",),
    "ael.embed.client": ("Call", "CallOptions", "Client", "connect"),
    "ael.embed.client_sync": ("SyncCall", "SyncClient", "connect_sync"),
    "ael.embed.error": ("BindError", "Error", "LoadError", "OpenError", "OutcomeError", "RequestError", "ResultError"),
    "ael.embed.failure": ("Failure",),
    "ael.embed.nodes": ("NodeCall", "Nodes"),
    "ael.embed.options": ("Asked", "Budget"),
    "ael.embed.outcome": ("DeclaredError", "Faulted", "Outcome", "Suspended", "Uncertain", "Value"),
    "ael.embed.program": ("Program", "load"),
    "ael.embed.run": ("Run",),
    "ael.embed.session": ("Session",),
    "ael.embed.sync": ("SyncRun", "SyncSession"),
    "ael.embed.typed": ("OMITTED", "Failed", "Omitted", "SyncTypedClient", "TypedCall", "TypedClient"),
    "ael.run.outcome": ("Spent",),
    "ael.run.ports": ("ApprovalRequest", "CallContext", "Decision"),
    "ael.run.preview": ("previewed",),
    "ael.types.fault": ("FaultKind",),
    "ael.types.value": ("File",),
}
_PLACES = {name: module for module, names in _MODULES.items() for name in names}

__all__ = sorted([*_PLACES, "events"])


def __getattr__(name: str) -> object:
    """Load a name (PEP 562)."""
    if name == "events":
        found: object = _import("ael.run.events")
    elif name in _PLACES:
        found = getattr(_import(_PLACES[name]), name)
    else:
        raise AttributeError(f"module 'ael' has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*(name for name in globals() if name.startswith("__")), *__all__})
