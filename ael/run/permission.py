"""What is checked while running: a permission must be granted by every layer, and a layer can only tighten (runtime.md, section 2)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, Protocol

from ael.data import dataclass
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


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one of those who have to grant a permission says."""

    who: str
    grants: bool


class Rights:
    """What a piece of running code may do: its own grants, and every layer above it. Only narrower ones are made from it.

    `chain` holds those who were narrowed to on the way here, innermost first, with their own grants; `inside` the qualified
    names of the nodes and agents that the code runs inside of, beyond a provider too.
    """

    __slots__ = ("chain", "grants", "holder", "inside", "layers")

    def __init__(
        self,
        holder: str,
        grants: frozenset[str] | None,
        layers: tuple[Layer, ...],
        chain: tuple[tuple[str, frozenset[str]], ...] | None = None,
        inside: frozenset[str] = _NOTHING,
    ) -> None:
        self.holder = holder
        self.grants = grants
        self.layers = layers
        self.chain = chain if chain is not None else () if grants is None else ((holder, grants),)
        self.inside = inside

    def narrowed(self, holder: str, grants: frozenset[str], name: str | None = None) -> Rights:
        """The rights of something called from here, with its own grants: never more than the caller has. `name`: what a node is called."""
        effective = grants if self.grants is None else self.grants & grants
        inside = self.inside if name is None else self.inside | {name}
        return Rights(holder, effective, self.layers, ((holder, grants), *self.chain), inside)

    def replaced(self, holder: str, grants: frozenset[str], layers: tuple[Layer, ...]) -> Rights:
        """The rights of a provider's body: its own grants under `layers` (language.md, section 6: `provide`)."""
        return Rights(holder, grants, layers, None, self.inside)

    def verdicts(self, permission: str) -> list[Verdict]:
        """What each of those who have to grant `permission` says, innermost first: it is granted when all do."""
        own = [Verdict(holder, permission in grants) for holder, grants in self.chain]
        return [*own, *(Verdict(layer.name, layer.allows(permission)) for layer in self.layers)]

    def refusal(self, permission: str | None) -> str | None:
        """None when every layer grants `permission` (or none is needed), else the first of `verdicts` who does not."""
        if permission is None:
            return None
        if self.grants is not None and permission not in self.grants:
            return next(holder for holder, grants in self.chain if permission not in grants)
        for layer in self.layers:
            # As `Layer.allows`, without the call: this is asked twice for every call of a tool.
            if permission in layer._denied or (layer._allowed is not None and permission not in layer._allowed):
                return layer.name
        return None


class Guarded(Protocol):
    """What has to be known of something that can be called to say who may.

    `denied`: the deployment lets nobody call it. `only`: the nodes and agents (qualified names) inside of which alone it is called.
    """

    @property
    def permission(self) -> str | None: ...

    @property
    def denied(self) -> bool: ...

    @property
    def only(self) -> frozenset[str] | None: ...


@dataclass(frozen=True, slots=True)
class Denial:
    """Why something may not be called: who does not grant it, and by which rule."""

    who: str
    rule: Literal["denied", "only", "permission"]


def denial(rights: Rights, target: Guarded) -> Denial | None:
    """Why `target` may not be called with these rights; None when it may.

    This is the one answer to who may do what: the checks before a call ask it, and so does `ael explain-access`.
    """
    if target.denied:
        return Denial("the deployment", "denied")
    if target.only is not None and target.only.isdisjoint(rights.inside):
        return Denial("the deployment", "only")
    refusing = rights.refusal(target.permission)
    return None if refusing is None else Denial(refusing, "permission")
