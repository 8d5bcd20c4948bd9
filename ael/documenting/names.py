"""What a name means in a doc comment or a signature: as it would in the module that it stands in."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ael.check.packs import STANDARD, apart, pack_of, resolve
from ael.check.program import CheckedModule, CheckedProgram
from ael.data import dataclass, field
from ael.diagnostics.diagnostic import Bag
from ael.documenting.library import with_library
from ael.source import Source
from ael.syntax import nodes as n
from ael.syntax.parse import parse_module

KINDS: dict[type, str] = {
    n.PermissionDecl: "permission", n.RoleDecl: "role", n.EnumDecl: "enum", n.RecordDecl: "record", n.ErrorDecl: "error",
    n.TypeDecl: "type", n.ConstDecl: "const", n.FunctionDecl: "fn", n.ToolDecl: "tool", n.NodeDecl: "node",
    n.AgentDecl: "agent", n.SkillDecl: "skill", n.ServiceDecl: "service", n.McpDecl: "mcp", n.ModelDecl: "model",
    n.StoreDecl: "store", n.ProvideDecl: "provide",
}  # fmt: skip
"""The kinds of declarations that are documented, by the words that begin them."""


def shown_name(node: n.Node) -> str:
    """How a declaration is called where it stands."""
    match node:
        case n.PermissionDecl(path=path) | n.RoleDecl(path=path):
            return path.text
        case n.ProvideDecl(alias=alias, service=service):
            return alias.text if alias is not None else service.text
        case _:
            name: n.Name = node.name  # type: ignore[attr-defined]
            return name.text


def right_name(program: CheckedProgram, module: str, name: str) -> str:
    """The name in the whole program of a permission or role that a module calls `name`, "" for none that it sees."""
    own = STANDARD if module.startswith(f"{STANDARD}/") else pack_of(program.packs, module)
    for known in (f"{own}.{name}" if own else name, name):
        if known in program.permissions or known in program.roles:
            return known
    return ""


def parts(node: n.Node) -> Iterator[tuple[str, n.Node]]:
    """What a declaration has that can be named behind it: its fields, variants, operations, tools, functions."""
    match node:
        case n.RecordDecl(fields=fields) | n.ErrorDecl(fields=fields):
            yield from ((one.name.text, one) for one in fields)
        case n.EnumDecl(variants=variants):
            yield from ((one.name.text, one) for one in variants)
        case n.ServiceDecl(operations=operations):
            yield from ((one.name.text, one) for one in operations)
        case n.McpDecl(members=members):
            yield from ((one.name.text, one) for one in members)
        case n.SkillDecl(functions=functions) | n.ProvideDecl(functions=functions):
            yield from ((one.name.text, one) for one in functions)
        case _:
            pass


@dataclass(frozen=True, slots=True)
class Target:
    """Something that has a place on a page: the name of its module, its qualified name ("" for the module itself), and what it is."""

    module: str
    qualified: str
    kind: str
    part: str = ""

    @property
    def anchor(self) -> str:
        """Its anchor on the page of its module."""
        if not self.qualified:
            return ""
        own = self.qualified.removeprefix(f"{self.module}.")
        return f"{self.kind}.{own}.{self.part}" if self.part else f"{self.kind}.{own}"


@dataclass(eq=False)
class Names:
    """The names of a program, module by module."""

    program: CheckedProgram
    _declared: dict[str, dict[str, n.Node]] = field(default_factory=dict)
    _rights: dict[str, Target] = field(default_factory=dict)
    _library: dict[str, n.Module] = field(default_factory=dict)

    def declared(self, module: str) -> dict[str, n.Node]:
        """What a module declares, by name; permissions and roles are not among it."""
        if module not in self._declared:
            tree = self.tree(module)
            found = {
                shown_name(node): node
                for node in tree.declarations
                if type(node) in KINDS and not isinstance(node, n.PermissionDecl | n.RoleDecl | n.ProvideDecl)
            }
            provided = {
                shown_name(node): node for node in tree.declarations if isinstance(node, n.ProvideDecl) and node.alias is not None
            }
            self._declared[module] = {**provided, **found}
        return self._declared[module]

    def tree(self, module: str) -> n.Module:
        """The tree of a module of the program, or of one of the library that it does not use."""
        known = self.program.modules.get(module)
        return known.tree if known is not None else self._library[module]

    def _there(self, module: str) -> bool:
        """Whether there is such a module, in the program or in the library."""
        if module in self.program.modules or module in self._library:
            return True
        if re.fullmatch(rf"{STANDARD}/\w+", module) is None:
            return False
        found = with_library({"": parse_module(Source("", f"use {module}\n"), Bag())}, Bag())
        self._library.update({name: tree for name, tree in found.items() if name})
        return module in found

    def find(self, module: str, text: str) -> Target | None:
        """What a dotted name means in a module: a declaration or a part of one, a module, a permission or role."""
        if "/" in text:
            return self._through(module, text)
        first, *rest = text.split(".")
        found = self._first(module, first)
        if found is not None:
            reached = self._follow(module, found, rest)
            if reached is not None:
                return reached
        return self.right(module, text)

    def right(self, module: str, text: str) -> Target | None:
        """The permission or role that a module calls so."""
        return self.right_of(right_name(self.program, module, text))

    def right_of(self, name: str) -> Target | None:
        """The permission or role of this name in the whole program."""
        if not self._rights:
            for own, one in self.program.modules.items():
                for node in one.tree.declarations:
                    if isinstance(node, n.PermissionDecl | n.RoleDecl):
                        known = right_name(self.program, own, node.path.text)
                        self._rights[known] = Target(own, f"{own}.{node.path.text}", KINDS[type(node)])
        return self._rights.get(name)

    def qualified(self, name: str) -> Target | None:
        """What has this qualified name: `main.answer`, `orders.Orders.get`."""
        owner, _, own = name.rpartition(".")
        if owner in self.program.modules and own in self.declared(owner):
            return Target(owner, name, KINDS[type(self.declared(owner)[own])])
        above = self.qualified(owner) if "." in owner else None
        if above is None or above.part:
            return None
        node = self.declared(above.module)[above.qualified.removeprefix(f"{above.module}.")]
        return Target(above.module, owner, above.kind, own) if own in dict(parts(node)) else None

    def modules_imported(self, module: CheckedModule) -> Iterator[tuple[str, str]]:
        """The names under which a module sees others, with those."""
        for node in module.tree.declarations:
            if isinstance(node, n.Use) and not node.names:
                name = resolve(node.module, module.name, self.program.packs)
                if name is not None and name in self.program.modules:
                    yield (node.alias.text if node.alias is not None else name.rpartition("/")[2]), name

    def _first(self, module: str, text: str) -> Target | None:
        if text in self.declared(module):
            return Target(module, f"{module}.{text}", KINDS[type(self.declared(module)[text])])
        for node in self.program.modules[module].tree.declarations:
            if not isinstance(node, n.Use):
                continue
            name = resolve(node.module, module, self.program.packs)
            if name is None or name not in self.program.modules:
                continue
            for one in node.names:
                if (one.alias or one.name).text == text and one.name.text in self.declared(name):
                    return Target(name, f"{name}.{one.name.text}", KINDS[type(self.declared(name)[one.name.text])])
        for alias, name in self.modules_imported(self.program.modules[module]):
            if alias == text:
                return Target(name, "", "module")
        # A module of the same pack may be named without being used: its readers know it by that name.
        if text in self.program.modules and not apart(self.program.packs, text, module):
            return Target(text, "", "module")
        return None

    def _follow(self, module: str, found: Target, rest: list[str]) -> Target | None:
        for own in rest:
            if not found.qualified:
                node = self.declared(found.module).get(own)
                if node is None or (found.module != module and not getattr(node, "public", True)):
                    return None
                found = Target(found.module, f"{found.module}.{own}", KINDS[type(node)])
                continue
            if found.part:
                return None
            node = self.declared(found.module)[found.qualified.removeprefix(f"{found.module}.")]
            if own not in dict(parts(node)):
                return None
            found = Target(found.module, found.qualified, found.kind, own)
        return found

    def _through(self, module: str, text: str) -> Target | None:
        """`std/text.words`, `./orders.Order`, `refunds/money`."""
        head, slash, last = text.rpartition("/")
        path, *rest = last.split(".")
        name = resolve(f"{head}{slash}{path}", module, self.program.packs)
        if name is None or not self._there(name):
            return None
        return self._follow(module, Target(name, "", "module"), rest)
