"""What the native effects of the standard library know of where they run: explicit, so that nothing is found behind a program's back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeAlias

from ael.run.ports import Clock
from ael.types.value import Secret

Functions: TypeAlias = Mapping[str, Callable[..., object]]
"""Name -> function, as `natives(world)` of a topic gives them."""


class Closable(Protocol):
    """What is open until the host closes: a connection, a pool, a child process."""

    async def close(self) -> None:
        """Release it."""


class SecretsByName(Protocol):
    """Secrets of the deployment. Raises `HostError` where it has none of a name."""

    def get(self, name: str, tenant: str = "", caller: str = "") -> Secret:
        """The caller's own where it has one, else the tenant's, else the common one."""


@dataclass(frozen=True)
class World:
    """A host's word to the natives: nothing that is not here may be reached.

    `root`: the folder of the program, `folder`: that of the deployment, which paths in it are relative to. `bindings`: what the
    deployment says of a topic (`files = folder("./notes")`), made by `ael/project/bind_TOPIC.py`. `hosts`: that may be reached.
    `shared`: whether there are tenants beside the one of a deployment that names none.
    """

    root: Path
    folder: Path
    bindings: Mapping[str, object]
    hosts: frozenset[str]
    settings: Mapping[str, object]
    secrets: SecretsByName
    clock: Clock
    shared: bool = False
    open: list[Closable] = field(default_factory=list)

    def keep(self, resource: Closable) -> None:
        """Have the host close something when its runs have ended."""
        self.open.append(resource)
