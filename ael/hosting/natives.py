"""The native effects of the standard library that a program reaches, made from what its deployment says."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from ael.check.packs import STANDARD
from ael.hosting.failure import HostError
from ael.hosting.secrets import Secrets
from ael.natives.world import Closable, Functions, World
from ael.project.program import Opened
from ael.project.tenants import DEFAULT_TENANT
from ael.run.ports import Clock


def bind_natives(
    opened: Opened, names: frozenset[str], secrets: Secrets, clock: Clock
) -> tuple[dict[str, Callable[..., object]], list[Closable]]:
    """Tool -> its function, for the tools among `names`, and what is to be closed at the end. Raises `HostError`."""
    deployment = opened.deployment
    world = World(
        root=opened.project.root,
        folder=Path(deployment.folder),
        bindings=deployment.natives,
        hosts=deployment.hosts,
        settings=deployment.settings,
        secrets=secrets,
        clock=clock,
        shared=any(
            name != DEFAULT_TENANT for name in (*deployment.tenants, *(one.tenant for one in deployment.serving.callers.values()))
        ),
    )
    topics: dict[str, Functions] = {}
    found: dict[str, Callable[..., object]] = {}
    for name in sorted(names & opened.program.tools.keys()):
        extern = opened.program.tools[name].extern
        if extern is None or not extern.startswith(f"{STANDARD}:"):
            continue
        topic, _, function = extern.removeprefix(f"{STANDARD}:").partition(".")
        if topic not in topics:
            try:
                topics[topic] = import_module(f"ael.natives.{topic}").natives(world)
            except ModuleNotFoundError as missing:
                if missing.name != "psycopg":
                    raise
                raise HostError("AEL0833", str(missing)) from None
        found[name] = topics[topic][function]
    return found, world.open
