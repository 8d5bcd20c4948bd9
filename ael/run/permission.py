"""What is checked while running: a permission must be granted by every layer, and a layer can only tighten (runtime.md, section 2)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ael.types.spec import PermissionSpec


def closed(names: Iterable[str], permissions: Mapping[str, PermissionSpec]) -> frozenset[str]:
    """`names` with all that they include. A name that is not declared stands for itself."""
    found: set[str] = set()
    for name in names:
        spec = permissions.get(name)
        found.add(name)
        if spec is not None:
            found |= spec.includes
    return frozenset(found)


_NOTHING: frozenset[str] = frozenset()


class Layer:
    """One who grants: an agent, a tenant, a caller, the operator. `allowed` None grants everything that is not denied.

    Asked anew before every call and again before it acts, so what is revoked holds at once. Nothing can be added once it is made.
    """

    __slots__ = ("_allowed", "_denied", "name")

    def __init__(self, name: str, allowed: Iterable[str] | None = None, denied: Iterable[str] = ()) -> None:
        self.name = name
        self._allowed = None if allowed is None else frozenset(allowed)
        self._denied = frozenset(denied) if denied else _NOTHING

    def allows(self, permission: str) -> bool:
        """Whether this layer grants `permission`; a denial wins over a grant."""
        return permission not in self._denied and (self._allowed is None or permission in self._allowed)

    def revoke(self, permission: str) -> None:
        """Withdraw a permission, for calls under way too: they are checked again before they act."""
        self._denied |= {permission}

    def within(self, other: Layer) -> Layer:
        """What both grant, under this name."""
        allowed = self._allowed
        if other._allowed is not None:
            allowed = other._allowed if allowed is None else allowed & other._allowed
        return Layer(self.name, allowed, self._denied | other._denied)

    def form(self) -> dict[str, object]:
        """As plain data, for a record that outlives the process."""
        allowed = None if self._allowed is None else sorted(self._allowed)
        return {"name": self.name, "allowed": allowed, "denied": sorted(self._denied)}

    @staticmethod
    def of(form: Mapping[str, Any]) -> Layer:
        """The layer of a `form`."""
        return Layer(form["name"], form["allowed"], form["denied"])


class Rights:
    """What a piece of running code may do: its own grants, and every layer above it. Only narrower ones are made from it."""

    __slots__ = ("grants", "holder", "layers")

    def __init__(self, holder: str, grants: frozenset[str] | None, layers: tuple[Layer, ...]) -> None:
        self.holder = holder
        self.grants = grants
        self.layers = layers

    def narrowed(self, holder: str, grants: frozenset[str]) -> Rights:
        """The rights of something called from here, with its own grants: never more than the caller has."""
        return Rights(holder, grants if self.grants is None else self.grants & grants, self.layers)

    def replaced(self, holder: str, grants: frozenset[str], layers: tuple[Layer, ...]) -> Rights:
        """The rights of a provider's body: its own grants under `layers` (language.md, section 6: `provide`)."""
        return Rights(holder, grants, layers)

    def refusal(self, permission: str | None) -> str | None:
        """None when every layer grants `permission` (or none is needed), else who does not."""
        if permission is None:
            return None
        if self.grants is not None and permission not in self.grants:
            return self.holder
        for layer in self.layers:
            # As `Layer.allows`, without the call: this is asked twice for every call of a tool.
            if permission in layer._denied or (layer._allowed is not None and permission not in layer._allowed):
                return layer.name
        return None
