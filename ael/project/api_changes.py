"""What changed between two versions of a pack for those who use it, and the version that it needs.

A change is breaking when a program that used the old version as it was shown may no longer check, may do what it was not granted, or may
end in a way that it did not have to face: so types, permissions, repeat safety, errors, taint and budgets count, and a permission that
allows more counts as much as one that allows less. What adds to a pack is compatible; what no one else can see is internal.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ael.check.program import CheckedProgram
from ael.data import dataclass
from ael.project.api import Interface, told
from ael.project.api_callable import callable_changes, called
from ael.project.api_level import Change, Level, added, broken
from ael.project.api_types import type_changes
from ael.syntax import nodes as n
from ael.types.definition import Definitions
from ael.types.text import show
from ael.types.version import Version, breaking, compatible, patched


@dataclass(frozen=True)
class Comparison:
    """Two versions of a pack. `needed` is the least version that the new one may have, `enough` whether it has."""

    old: Version
    new: Version
    changes: tuple[Change, ...]
    level: Level

    @property
    def needed(self) -> Version:
        """The least version for what changed. Before a release nothing is promised: any later one will do."""
        match self.level:
            case Level.SAME:
                return self.old
            case _ if not self.old.release:
                return patched(self.old)
            case Level.INTERNAL:
                return patched(self.old)
            case Level.COMPATIBLE:
                return compatible(self.old)
            case _:
                return breaking(self.old)

    @property
    def enough(self) -> bool:
        """Whether the new version says what changed. One before a release is on its way to it."""
        if self.level is Level.SAME:
            return self.new >= self.old
        return self.new > self.old if not self.old.release else self.new.numbers >= self.needed.numbers


def compare(old: Interface, new: Interface) -> Comparison:
    """Compare two versions of a pack."""
    changes = sorted(_changes(old, new), key=lambda change: (-change.level, change.name, change.text))
    level = max((change.level for change in changes), default=Level.INTERNAL if old.digest != new.digest else Level.SAME)
    return Comparison(old.number, new.number, tuple(changes), level)


def _changes(old: Interface, new: Interface) -> Iterator[Change]:
    yield from _pack(old, new)
    yield from _shared(old, new)
    for name in sorted(old.public.keys() | new.public.keys()):
        was, now = old.public.get(name), new.public.get(name)
        if was is None:
            yield added(told(name), f"is new: {_kind(now)}")
        elif now is None:
            yield broken(told(name), "is not there any more")
        elif type(was) is not type(now):
            yield broken(told(name), f"is {_kind(now)}, before {_kind(was)}")
        else:
            yield from _declaration(old.program, new.program, name, was)
            yield from _alias(old.program, new.program, name, was, now)
    for name in old.types.keys() & new.types.keys():
        yield from type_changes(old.types, new.types, name, told(name))


def _pack(old: Interface, new: Interface) -> Iterator[Change]:
    """What a program that depends on it must list, and the packs that it comes with."""
    for word, was, now in (("uses", old.pack.uses, new.pack.uses), ("extern", old.pack.externs, new.pack.externs)):
        for one in sorted(now - was):
            yield broken("pack", f"lists `{word} {one}`, which a program that depends on it must list too")
        for one in sorted(was - now):
            yield added("pack", f"does without `{word} {one}`")
    before, after = ({line.name: line for line in pack.depends} for pack in (old.pack, new.pack))
    for name, line in after.items():
        if name not in before:
            yield added("pack", f'depends on `{name}` "{line.requirement.text}"')
        elif line.requirement.text != before[name].requirement.text:
            text = f'depends on `{name}` "{line.requirement.text}", before "{before[name].requirement.text}"'
            apart = name in old.versions and name in new.versions and breaking(old.versions[name]) != breaking(new.versions[name])
            yield broken("pack", f"{text}: a program has one version of it") if apart else added("pack", text)
    for name in before.keys() - after.keys():
        yield added("pack", f"does without `{name}`")


def _shared(old: Interface, new: Interface) -> Iterator[Change]:
    """Permissions and roles, which all who depend on a pack see."""
    for kind, was, now in (("permission", old.permissions, new.permissions), ("role", old.roles, new.roles)):
        for name in sorted(was - now):
            yield broken(f"{kind} {name}", "is not there any more")
        for name in sorted(now - was):
            yield added(f"{kind} {name}", "is new")
    for name in sorted(old.permissions & new.permissions):
        before, after = old.program.permissions[name].includes, new.program.permissions[name].includes
        for other in sorted(after - before):
            yield broken(f"permission {name}", f"includes `{other}`: whoever is granted it may do that too")
        for other in sorted(before - after):
            yield broken(f"permission {name}", f"includes `{other}` no longer: whoever relied on that is not granted it")


def _declaration(old: CheckedProgram, new: CheckedProgram, name: str, node: n.Declaration) -> Iterator[Change]:
    definitions = {**old.definitions, **new.definitions}
    match node:
        case n.ServiceDecl():
            yield from _service(old, new, name, definitions)
        case n.McpDecl():
            yield from _server(old, new, name, definitions)
        case n.ConstDecl():
            if old.constants.get(name) != new.constants.get(name):
                same = type(old.constants.get(name)) is type(new.constants.get(name))
                yield added(told(name), "has another value") if same else broken(told(name), "is of another type")
        case n.StoreDecl():
            was, now = old.stores[name], new.stores[name]
            if was.value != now.value:
                yield broken(told(name), "keeps values of another type")
            if was.permission != now.permission:
                yield broken(told(name), f"needs `{now.permission}`, before `{was.permission}`")
        case n.ModelDecl():
            if old.models[name] != new.models[name]:
                yield added(told(name), "is another model, or has other settings")
        case n.SkillDecl():
            yield from _skill(old, new, name)
        case n.FunctionDecl() | n.ToolDecl() | n.NodeDecl() | n.AgentDecl():
            yield from _one(old, new, name, definitions)
        case _:
            return  # types are compared with those that are reached


def _alias(old: CheckedProgram, new: CheckedProgram, name: str, was: n.Declaration, now: n.Declaration) -> Iterator[Change]:
    """`type Short = String(max: 8)` is not kept by its name: what it stands for is."""
    if (
        isinstance(was, n.TypeDecl)
        and isinstance(now, n.TypeDecl)
        and name not in old.definitions.keys() & new.definitions.keys()
    ):
        before, after = (
            program.modules[program.declarations[name][0]].tables.written.get(node.type)
            for program, node in ((old, was), (new, now))
        )
        if before is not None and after is not None and before != after:
            yield broken(told(name), f"is {show(after)}, before {show(before)}")


def _one(old: CheckedProgram, new: CheckedProgram, name: str, definitions: Definitions) -> Iterator[Change]:
    was, now = called(old, name), called(new, name)
    if was is not None and now is not None:
        yield from callable_changes(was, now, told(name), new, definitions)


def _service(old: CheckedProgram, new: CheckedProgram, name: str, definitions: Definitions) -> Iterator[Change]:
    """A service is called by some and provided by others: what is easier for the ones is harder for the others."""
    before, after = ({one.name for one in program.services[name].operations} for program in (old, new))
    for gone in sorted(before - after):
        yield broken(told(gone), "is not there any more")
    for new_one in sorted(after - before):
        yield broken(told(new_one), "is new, and whoever provides the service must have it")
    for operation in sorted(before & after):
        for change in _one(old, new, operation, definitions):
            doc = old.operations[operation].doc != new.operations[operation].doc and "words" in change.text
            yield (
                change
                if doc or change.level is Level.BREAKING
                else broken(change.name, f"{change.text}; whoever provides it follows")
            )


def _server(old: CheckedProgram, new: CheckedProgram, name: str, definitions: Definitions) -> Iterator[Change]:
    before, after = (set(program.servers[name].uses) for program in (old, new))
    for gone in sorted(before - after):
        yield broken(told(gone), "is not there any more")
    for new_one in sorted(after - before):
        yield added(told(new_one), "is new")
    for tool in sorted(before & after):
        yield from _one(old, new, tool, definitions)


def _skill(old: CheckedProgram, new: CheckedProgram, name: str) -> Iterator[Change]:
    """Whoever declares a skill needs what its tools need."""
    was, now = old.skills[name], new.skills[name]
    before, after = _skill_permissions(old, name), _skill_permissions(new, name)
    for one in sorted(after - before):
        yield broken(told(name), f"has a tool that needs `{one}`")
    for tool in sorted(set(was.tools) - set(now.tools)):
        yield broken(told(name), f"has no tool `{told(tool)}` any more")
    for tool in sorted(set(now.tools) - set(was.tools)):
        yield added(told(name), f"has a tool `{told(tool)}`")
    if (was.version, was.instructions) != (now.version, now.instructions):
        yield added(
            told(name),
            f"is of the version {now.version}, before {was.version}"
            if was.version != now.version
            else "instructs in other words",
        )


def _skill_permissions(program: CheckedProgram, name: str) -> set[str]:
    found: set[str] = set()
    seen: set[str] = set()
    waiting = [name]
    while waiting:
        skill = program.skills.get(waiting.pop())
        if skill is not None and skill.name not in seen:
            seen.add(skill.name)
            found |= {program.tools[tool].permission for tool in skill.tools if tool in program.tools}
            waiting += skill.skills
    return found


def _kind(node: n.Declaration | None) -> str:
    words: Mapping[type, str] = {
        n.FunctionDecl: "a function", n.ToolDecl: "a tool", n.NodeDecl: "a node", n.AgentDecl: "an agent", n.RecordDecl: "a record",
        n.EnumDecl: "an enum", n.ErrorDecl: "an error", n.TypeDecl: "a type", n.ConstDecl: "a constant", n.ServiceDecl: "a service",
        n.McpDecl: "an MCP server", n.ModelDecl: "a model", n.StoreDecl: "a store", n.SkillDecl: "a skill",
    }  # fmt: skip
    return words.get(type(node), "a declaration")
