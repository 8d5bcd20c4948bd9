"""Permissions and roles: one namespace of their own in the pack, seen by all its modules (language.md, section 5)."""

from __future__ import annotations

from ael.check.basis import Context, suggestion
from ael.check.collect import ModuleScope
from ael.check.module import broken
from ael.check.packs import STANDARD, absent, pack_of, shared_name, written_name
from ael.syntax import nodes as n
from ael.types.spec import PermissionSpec, RoleSpec


def declare(context: Context) -> None:
    """Fill in the permissions and roles of the pack, `includes` closed; report unknown names and cycles."""
    declared = {name: (context.collected.scope_of(s), s.node) for name, s in context.collected.permissions.items()}
    permissions = {name: (scope, node) for name, (scope, node) in declared.items() if isinstance(node, n.PermissionDecl)}
    direct = {name: _includes(context, scope, node, permissions) for name, (scope, node) in permissions.items()}
    closed = _close(context, direct, permissions)
    for name, (_, node) in permissions.items():
        context.permissions[name] = PermissionSpec(name, doc(node.doc), closed[name])
    for name, symbol in context.collected.roles.items():
        if isinstance(symbol.node, n.RoleDecl):
            context.roles[name] = RoleSpec(name, doc(symbol.node.doc))


def doc(node: n.Doc | None) -> str:
    """The text of a doc comment, "" without one."""
    return node.text if node is not None else ""


def _includes(
    context: Context, scope: ModuleScope, node: n.PermissionDecl, known: dict[str, tuple[ModuleScope, n.PermissionDecl]]
) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for path in node.includes:
        name = meant(context, scope, path)
        if name in known:
            found[name] = None
        else:
            unknown_permission(context, scope, path, list(known))
    return tuple(found)


def unknown_permission(context: Context, scope: ModuleScope, path: n.Path, known: list[str]) -> None:
    """Report a permission that nothing declares."""
    library = path.parts[0].text == STANDARD
    if _of_absent(context, scope, path) or _broken(context, path, "permission") or (library and _lacks_a_module(context, scope)):
        return
    hint, fix = suggestion(scope.source, path.span, path.text, _seen(context, scope, known))
    note = f"declare it: `permission {path.text}`"
    if library:
        note = "a permission of the standard library comes with its module: `use std/NAME.{…}`"
    notes = () if fix else (note,)
    context.report("AEL0501", f"no permission `{path.text}` is declared{hint}", scope.name, path, notes=notes, fix=fix)


def _lacks_a_module(context: Context, scope: ModuleScope) -> bool:
    """Whether this module uses one of the library that cannot be used: that was told, and its permissions are missing with it."""
    uses = (node.module for node in scope.tree.declarations if isinstance(node, n.Use))
    return any(name.startswith(f"{STANDARD}/") and name not in context.collected.modules for name in uses)


def named(context: Context, scope: ModuleScope, path: n.Path) -> str | None:
    """The permission that a clause names, or None, reported."""
    name = meant(context, scope, path)
    if name in context.permissions:
        return name
    unknown_permission(context, scope, path, list(context.permissions))
    return None


def meant(context: Context, scope: ModuleScope, path: n.Path) -> str:
    """The name in the whole program of the permission or role that a clause names, "" for none that its pack sees.

    The standard library's have their own names in every pack.
    """
    name = shared_name(context.collected.packs, scope.name, path.text)
    return next((one for one in (name, path.text) if _known_to(context, scope, one)), "")


def _known_to(context: Context, scope: ModuleScope, name: str) -> bool:
    """Whether a pack sees the permission or role of this name: its own, those of the packs that it depends on, the library's."""
    collected = context.collected
    symbol = collected.permissions.get(name) or collected.roles.get(name)
    if symbol is None:
        return False
    own, other = pack_of(collected.packs, scope.name), pack_of(collected.packs, symbol.module)
    return own == other or other in collected.packs[own].depends or symbol.module.startswith("std/")


def _of_absent(context: Context, scope: ModuleScope, path: n.Path) -> bool:
    packs = context.collected.packs
    return absent(packs, pack_of(packs, scope.name), path.parts[0].text)


def _broken(context: Context, path: n.Path, word: str) -> bool:
    """Whether a declaration of it stands in some module, and was reported since it did not parse."""
    return any(broken(scope, path.text, word) for scope in context.collected.modules.values())


def _seen(context: Context, scope: ModuleScope, names: list[str]) -> list[str]:
    """Those of the names that a module sees, as it writes them."""
    return [written_name(context.collected.packs, scope.name, name) for name in names if _known_to(context, scope, name)]


def role(context: Context, scope: ModuleScope, path: n.Path) -> str | None:
    """The role that a clause names, or None, reported."""
    name = meant(context, scope, path)
    if name in context.roles:
        return name
    if _of_absent(context, scope, path) or _broken(context, path, "role"):
        return None
    hint, fix = suggestion(scope.source, path.span, path.text, _seen(context, scope, list(context.roles)))
    notes = () if fix else (f"declare it: `role {path.text}`; the deployment says who has it",)
    context.report("AEL0504", f"no role `{path.text}` is declared{hint}", scope.name, path, notes=notes, fix=fix)
    return None


def _close(
    context: Context, direct: dict[str, tuple[str, ...]], places: dict[str, tuple[ModuleScope, n.PermissionDecl]]
) -> dict[str, frozenset[str]]:
    """Every permission with all it includes, itself too. A cycle is reported once, with its path, and then cut."""
    closed: dict[str, frozenset[str]] = {}
    for start in direct:
        path: list[str] = []
        stack: list[tuple[str, int]] = [(start, 0)]
        while stack:
            name, at = stack.pop()
            if at == 0:
                if name in closed:
                    continue
                path.append(name)
            following = direct[name]
            while at < len(following) and (following[at] in closed or following[at] in path):
                if following[at] not in closed:
                    _cycle(context, [*path[path.index(following[at]) :], following[at]], places)
                at += 1
            if at < len(following):
                stack.append((name, at + 1))
                stack.append((following[at], 0))
            else:
                path.pop()
                closed[name] = frozenset({name}).union(*(closed.get(other, frozenset({other})) for other in following))
    return closed


def _cycle(context: Context, names: list[str], places: dict[str, tuple[ModuleScope, n.PermissionDecl]]) -> None:
    scope, node = places[names[-2]]
    packs = context.collected.packs
    spot = next((path for path in node.includes if shared_name(packs, scope.name, path.text) == names[-1]), node.path)
    shown = " → ".join(f"`{name}`" for name in names)
    message = f"`{names[-1]}` includes itself: {shown}"
    labels = tuple(context.label(places[name][0].name, places[name][1].path, "part of the cycle") for name in names[:-2])
    context.report("AEL0503", message, scope.name, spot, labels=labels)
