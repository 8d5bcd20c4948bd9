"""What the check knows of a declaration, as its page says it: permissions, repeat safety, errors, budgets, effects, who calls what."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ael.check.packs import foreign
from ael.check.program import CheckedProgram
from ael.documenting import words
from ael.documenting.item import Fact, Ref, Said
from ael.documenting.names import Names
from ael.project.reach import direct, provided
from ael.types.signature import Repeat, Signature
from ael.types.spec import BudgetSpec, NodeSpec, OperationSpec, PolicySpec, ToolSpec

NONE: Said = ("none",)
_LISTED = 200
"""Names in one list; the rest is counted."""


class Facts:
    """The facts of a program, of which some are about all of it: who calls whom."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self.program: CheckedProgram = names.program
        self._calls: dict[str, tuple[str, ...]] = {}
        self._callers: dict[str, dict[str, None]] = {}
        for name in self.program.declarations:
            if not foreign(self.program.packs, self.program.declarations[name][0], self.program.main):
                self._take(name)

    def _take(self, name: str) -> None:
        own = name.removeprefix("provide ")
        if own in self.program.provides:
            operations = self.program.services[self.program.provides[own].service].operations
            each = (provided(self.program, own, one.name.rpartition(".")[2]) for one in operations)
            called = dict.fromkeys(one for found in each for one in found)
        elif own != name:
            return
        else:
            called = dict.fromkeys(direct(self.program, name))
        self._calls[own] = tuple(called)
        for one in called:
            self._callers.setdefault(one, {})[own] = None

    # --- the four that every page has ------------------------------------------------------------------------------------

    def summary(self, name: str) -> tuple[Fact, ...]:
        """Permissions, repeat safety, errors and budget of something that can be called."""
        signature = self.program.signatures.get(name)
        if signature is None:
            return ()
        return (self._permissions(name), self._repeat(name), self._errors(signature), self._budget(name))

    def _permissions(self, name: str) -> Fact:
        tool, node, operation = self._specs(name)
        if tool is not None:
            return Fact("permissions", "Needs", (self.right(tool.permission),))
        if operation is not None:
            return Fact("permissions", "Needs", (self.right(operation.permission),) if operation.permission else (NONE,))
        if node is not None:
            return Fact("permissions", "Grants", self.rights(self._smallest(node.grants)))
        return Fact("permissions", "Needs", self.rights(self.program.effects[name].permissions))

    def _smallest(self, rights: Iterable[str]) -> frozenset[str]:
        """Without those that others among them include."""
        held = frozenset(rights)
        known = self.program.permissions
        return frozenset(r for r in held if not any(r in known[o].includes for o in held if o != r and o in known))

    def _repeat(self, name: str) -> Fact:
        tool, _, operation = self._specs(name)
        spec = tool or operation
        repeat = spec.repeat if spec is not None else self.program.effects[name].repeat
        return Fact("repeat", "Repeat", ((words.REPEAT[Repeat(repeat)],),))

    def _errors(self, signature: Signature) -> Fact:
        return Fact("errors", "Errors", tuple(self.error(name) for name in sorted(signature.fails)) or (NONE,))

    def _budget(self, name: str) -> Fact:
        node = self.program.nodes.get(name)
        if node is not None:
            own = tuple((one,) for one in words.budget(node.budget))
            driven = node.model is not None or node.agent is not None
            return Fact("budget", "Budget", own or (("the deployment's defaults" if driven else "that of its caller",),))
        asked = [one for one in self._calls.get(name, ()) if one in self.program.nodes]
        return Fact("budget", "Budget", (("that of its caller" if asked or self._acts(name) else "nothing is spent",),))

    def _acts(self, name: str) -> bool:
        effects = self.program.effects.get(name)
        return effects is None or effects.acts

    def _specs(self, name: str) -> tuple[ToolSpec | None, NodeSpec | None, OperationSpec | None]:
        return self.program.tools.get(name), self.program.nodes.get(name), self.program.operations.get(name)

    # --- the others ------------------------------------------------------------------------------------------------------

    def of(self, name: str) -> tuple[Fact, ...]:
        """All other facts of something that can be called."""
        tool, node, operation = self._specs(name)
        found: list[Fact] = []
        if tool is not None:
            found += self._tool(tool)
        if operation is not None:
            found += self._operation(operation)
        if node is not None:
            found += self._node(node)
        if name in self.program.signatures:
            found += self._effects(name)
        return (*found, *self.calls(name))

    def calls(self, name: str) -> Iterator[Fact]:
        """Whom something calls, and who calls it."""
        called = [one for one in self._calls.get(name, ()) if not one.startswith("std.")]
        if called:
            yield Fact("calls", "Calls", self.listed(called))
        if name in self._callers:
            yield Fact("called_by", "Called by", self.listed(self._callers[name]))

    def _effects(self, name: str) -> Iterator[Fact]:
        effects, signature = self.program.effects.get(name), self.program.signatures[name]
        trusted = [parameter.name for parameter in signature.parameters if parameter.trusted]
        if trusted:
            yield Fact("trusted", "Takes no outside data", tuple((f"`{one}`",) for one in trusted))
        if effects is None:
            return
        told: list[Said] = []
        if effects.acts:
            told.append(("acts on the world",))
        if effects.uncertain:
            told.append(("can end Uncertain",))
        if effects.tainted:
            told.append(("its result is outside data",))
        yield Fact("effects", "Effects", tuple(told) or (("none: plain code",),))

    def _tool(self, spec: ToolSpec) -> Iterator[Fact]:
        yield Fact("timeout", "Timeout", ((words.timeout(spec.timeout),),))
        limits = tuple((one,) for one in words.limit(spec.limit))
        if limits:
            yield Fact("limits", "Limits", limits)
        if spec.approval is not None:
            yield Fact("approval", "Approval", ((words.approval(spec.approval),),))
        if spec.retry is not None:
            yield Fact("retry", "Retry", ((words.retry(spec.retry),),))
        if spec.parallel:
            yield Fact("parallel", "Parallel", (("may run beside others",),))
        if spec.extern is not None:
            yield Fact("extern", "Python", ((f"`{spec.extern}`",),))
        if spec.remote is not None:
            yield Fact("server", "MCP server", (self.ref(spec.remote.server),))
            yield Fact("wire", f"Its {spec.remote.kind} there", ((f"`{spec.remote.wire}`",),))
        offered = [name for name, node in self.program.nodes.items() if spec.name in node.tools]
        if offered:
            yield Fact("offered_by", "Offered to the model of", self.listed(offered))

    def _operation(self, spec: OperationSpec) -> Iterator[Fact]:
        yield Fact("timeout", "Timeout", ((words.timeout(spec.timeout),),))
        limits = tuple((one,) for one in words.limit(spec.limit))
        if limits:
            yield Fact("limits", "Limits", limits)
        if spec.retry is not None:
            yield Fact("retry", "Retry", ((words.retry(spec.retry),),))

    def _node(self, spec: NodeSpec) -> Iterator[Fact]:
        if spec.model is not None:
            yield Fact("model", "Model", (self.ref(spec.model),))
            yield Fact("policy", "Policy", ((_policy(spec.policy, spec.budget),),))
            yield Fact("tools", "Tools", self.listed(spec.tools) or (NONE,))
            if spec.attempts is not None:
                yield Fact("attempts", "Attempts", ((f"{spec.attempts} answers until one checks",),))
        if spec.skills:
            yield Fact("skills", "Skills", tuple(self.ref(skill.name) for skill in spec.skills))
        if spec.agent is not None:
            yield Fact("nodes", "Nodes", self.listed(dict.fromkeys(spec.agent.nodes.values())))
        servers = sorted({r.server for one in spec.tools if one in self.program.tools and (r := self.program.tools[one].remote)})
        if servers:
            yield Fact("servers", "MCP servers", tuple(self.ref(one) for one in servers))

    # --- of what is not called -------------------------------------------------------------------------------------------

    def error_facts(self, name: str) -> Iterator[Fact]:
        """Who fails with an error."""
        failing = [one for one, signature in self.program.signatures.items() if name in signature.fails]
        if failing:
            yield Fact("failed_by", "Failed with by", self.listed(failing))

    def right_facts(self, name: str) -> Iterator[Fact]:
        """What a permission includes, what needs it, and who has it; what waits for a role."""
        program = self.program
        spec = program.permissions.get(name)
        if spec is None:
            waits = [one for one, tool in program.tools.items() if tool.approval is not None and tool.approval.role == name]
            if waits:
                yield Fact("approves", "Approves", self.listed(waits))
            return
        others = spec.includes - {name}
        if others:
            yield Fact("includes", "Includes", self.rights(others))
        tools = [one for one, tool in program.tools.items() if tool.permission == name]
        tools += [one for one, operation in program.operations.items() if operation.permission == name]
        if tools:
            yield Fact("needed_by", "Needed by", self.listed(tools))
        holders = [one for one, node in program.nodes.items() if name in node.grants]
        if holders:
            yield Fact("granted_to", "Granted to", self.listed(holders))

    def model_facts(self, name: str) -> Iterator[Fact]:
        """Which model is asked, and by whom."""
        spec = self.program.models[name]
        if spec.provider is not None:
            yield Fact("provider", "Provider", ((f"`{spec.provider}`",),))
        if spec.model is not None:
            yield Fact("model", "Model", ((f"`{spec.model}`",),))
        if spec.fallback is not None:
            yield Fact("fallback", "Fallback", (self.ref(spec.fallback),))
        asking = [one for one, node in self.program.nodes.items() if node.model == name]
        if asking:
            yield Fact("asked_by", "Asked by", self.listed(asking))

    def server_facts(self, name: str) -> Iterator[Fact]:
        """Where an MCP server is, and who is offered its tools."""
        spec = self.program.servers.get(name)
        if spec is None:
            return
        if spec.url is not None or spec.url_setting is not None:
            yield Fact("url", "Address", ((f"`{spec.url}`" if spec.url is not None else f"the setting `{spec.url_setting}`",),))
        if spec.credential is not None:
            yield Fact("credential", "Credential", ((f"the secret `{spec.credential}`",),))
        offered = [one for one, node in self.program.nodes.items() if any(use in node.tools for use in spec.uses)]
        if offered:
            yield Fact("offered_by", "Offered to the model of", self.listed(offered))

    def store_facts(self, name: str) -> Iterator[Fact]:
        """The permission of a store."""
        spec = self.program.stores[name]
        yield Fact("permissions", "Needs", (self.right(spec.permission),) if spec.permission else (NONE,))

    def skill_facts(self, name: str) -> Iterator[Fact]:
        """What a skill brings, and who uses it."""
        spec = self.program.skills[name]
        yield Fact("version", "Version", ((spec.version,),))
        if spec.tools:
            yield Fact("tools", "Tools", self.listed(spec.tools))
            needs = {self.program.tools[one].permission for one in spec.tools if one in self.program.tools}
            yield Fact("permissions", "Needs", self.rights(needs))
        if spec.skills:
            yield Fact("skills", "Skills", self.listed(spec.skills))
        using = [one for one, node in self.program.nodes.items() if any(skill.name == name for skill in node.skills)]
        if using:
            yield Fact("used_by", "Used by", self.listed(using))

    def provide_facts(self, name: str) -> Iterator[Fact]:
        """The service that is provided, and the rights under which."""
        spec = self.program.provides[name]
        yield Fact("service", "Provides", (self.ref(spec.service),))
        yield Fact("permissions", "Grants", self.rights(self._smallest(spec.grants)))
        limits = tuple((one,) for one in words.limit(spec.limit))
        if limits:
            yield Fact("limits", "Limits", limits)

    def service_facts(self, name: str) -> Iterator[Fact]:
        """Who provides a service."""
        by = [one for one, spec in self.program.provides.items() if spec.service == name]
        if by:
            yield Fact("provided_by", "Provided by", self.listed(by))

    # --- names -----------------------------------------------------------------------------------------------------------

    def ref(self, name: str) -> Said:
        """A qualified name, as it is called in short."""
        target = self.names.qualified(name)
        short = name.rpartition(".")[2]
        if target is not None and target.part:
            short = ".".join(name.split(".")[-2:])
        return (Ref(short if target is not None else name.partition(".")[2] or name, target),)

    def listed(self, found: Iterable[str]) -> tuple[Said, ...]:
        """Several, each once."""
        each = list(dict.fromkeys(found))
        more: tuple[Said, ...] = ((f"and {len(each) - _LISTED} more",),) if len(each) > _LISTED else ()
        return tuple(self.ref(one) for one in each[:_LISTED]) + more

    def error(self, name: str) -> Said:
        """An error that something fails with; `Uncertain` belongs to the language."""
        return ("Uncertain",) if name == "Uncertain" else self.ref(name)

    def right(self, name: str) -> Said:
        """A permission or role, as the whole program calls it."""
        return (Ref(name, self.names.right_of(name)),)

    def rights(self, found: Iterable[str]) -> tuple[Said, ...]:
        """Several, in order."""
        return tuple(self.right(one) for one in sorted(found)) or (NONE,)


def _policy(spec: PolicySpec | None, budget: BudgetSpec) -> str:
    if spec is None:
        return "the deployment's default"
    if spec.kind == "one_call":
        return "one call of the model"
    given = ((budget.steps, "steps"), (budget.tool_calls, "tool calls"))
    bounds = ", ".join(f"{count:,} {what}" for count, what in given if count is not None)
    return f"a loop of at most {bounds}" if bounds else "a loop"


def merged(facts: Iterable[Fact]) -> Mapping[str, Fact]:
    """Facts of several things by key, each value once."""
    found: dict[str, Fact] = {}
    for fact in facts:
        known = found.get(fact.key)
        values = tuple(dict.fromkeys((*(known.values if known is not None else ()), *fact.values)))
        found[fact.key] = Fact(fact.key, fact.label, values)
    return found
