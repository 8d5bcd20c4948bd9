"""One pinned definition: the types that it becomes, what it says of itself, and where that disagrees with the program.

Only `ael.check.mcp` loads this, for programs whose servers are pinned: reading schemas is work that no other check does.
"""

from __future__ import annotations

from collections.abc import Mapping

from ael.check.basis import short
from ael.check.collect import Collected, Kind, ModuleScope, Remote, Server, Symbol
from ael.check.mcp import ends, repeat_of
from ael.diagnostics.diagnostic import Bag, Label, Place, Severity
from ael.syntax import nodes as n
from ael.types.definition import AliasDef, Definition, EnumDef, FieldDef, RecordDef
from ael.types.pin import Pin
from ael.types.signature import Repeat, Signature
from ael.types.spec import RemoteSpec
from ael.types.tool_schema import SchemaRefused, prompt_parameters, tool_types
from ael.types.type import ListType, LiteralType, Named, StringType, union

MESSAGE = "Message"
"""The type of what a prompt gives a list of."""


class PinReader:
    """Reads the pins of one server."""

    def __init__(self, collected: Collected, scope: ModuleScope, bag: Bag, server: Server, symbol: Symbol) -> None:
        self.collected = collected
        self.scope = scope
        self.bag = bag
        self.server = server
        self.symbol = symbol

    def read(self, member: n.McpTool | n.McpPrompt, pin: Pin) -> None:
        """Make the signature of a tool or prompt, and the definitions of its types; what has none is reported."""
        if isinstance(member, n.McpTool):
            self._tool(member, pin)
        else:
            self._prompt(member, pin)

    def _tool(self, member: n.McpTool, pin: Pin) -> None:
        own = self.server.symbol.name
        if task_required(pin.definition):
            message = f"the tool `{self._shown(pin)}` runs only as a task, which a call cannot wait for"
            notes = ("its definition says `taskSupport: required`; leave it out, the others of the server are not touched",)
            self._report("AEL1206", message, member, notes)
            return
        try:
            types = tool_types(pin.definition, f"{own}.{camel(member.name.text)}")
        except SchemaRefused as refused:
            self._refused(member, pin, refused)
            return
        if not self._define(types.definitions, member):
            return
        asks_more = not isinstance(types.input, Named) or not isinstance(types.definitions.get(types.input.name), RecordDef)
        exact = types.input if asks_more else None
        spec = RemoteSpec(own, "tool", pin.name, pin.sha256, types.text, types.extra, exact)
        self._made(member, pin, spec, Signature(self.symbol.name, types.parameters, types.result, ends(member)))
        _Hints(self.scope, self.bag, member, pin.definition).check()

    def _prompt(self, member: n.McpPrompt, pin: Pin) -> None:
        own = self.server.symbol.name
        try:
            parameters = prompt_parameters(pin.definition)
        except SchemaRefused as refused:
            self._refused(member, pin, refused)
            return
        name = f"{own}.{MESSAGE}"
        role = union(LiteralType("user"), LiteralType("assistant"))
        message = RecordDef(name, (FieldDef("role", "role", role), FieldDef("text", "text", StringType())))
        if self.collected.definitions.get(name) != message and not self._define({name: message}, member):
            return
        spec = RemoteSpec(own, "prompt", pin.name, pin.sha256)
        self._made(member, pin, spec, Signature(self.symbol.name, parameters, ListType(Named(name))))

    def _made(self, member: n.McpTool | n.McpPrompt, pin: Pin, spec: RemoteSpec, signature: Signature) -> None:
        doc = member.doc.text if member.doc is not None else str(pin.definition.get("description") or "")
        self.server.remotes[self.symbol.name] = Remote(spec, pin.definition, doc)
        self.collected.signatures[self.symbol.name] = signature

    def _define(self, definitions: Mapping[str, Definition], member: n.McpTool | n.McpPrompt) -> bool:
        """Declare the types of a tool in the namespace of its server; False where one would have the name of something else."""
        for name in definitions:
            other = self.collected.symbols.get(name)
            if other is not None and other.node is not None:
                labels: tuple[Label, ...] = ()
                if isinstance(other.node, n.McpMember):
                    labels = (Label(Place(self.scope.source, other.node.name.span), "whose type is called so"),)
                message = f"the type `{short(name)}` of this tool has the name of another type"
                notes = ('give one of the tools another name: `tool other_name as "its_name_there"`',)
                self._report("AEL1212", message, member, notes, labels)
                return False
        for name, definition in definitions.items():
            self.collected.definitions[name] = definition
            self.collected.symbols[name] = Symbol(_kind(definition), name, self.scope.name, member, self.symbol.public)
        return True

    def _refused(self, member: n.McpTool | n.McpPrompt, pin: Pin, refused: SchemaRefused) -> None:
        at = f"`{refused.keyword}` at `{refused.path[:200] or '/'}`" if refused.keyword else f"`{refused.path[:200] or '/'}`"
        message = f"the definition of `{self._shown(pin)}` has no exact type: {refused.reason} ({at})"
        notes = ("no keyword is ignored; leave the tool out, the others of the server are not touched",)
        self._report("AEL1205", message, member, notes)

    def _report(
        self,
        code: str,
        message: str,
        member: n.McpTool | n.McpPrompt,
        notes: tuple[str, ...],
        labels: tuple[Label, ...] = (),
    ) -> None:
        place = (member.wire or member.name).span
        self.bag.report(code, message, self.scope.source, place, labels=labels, notes=notes)

    def _shown(self, pin: Pin) -> str:
        return pin.name if len(pin.name) <= 80 else f"{pin.name[:79]}…"


def task_required(definition: Mapping[str, object]) -> bool:
    """Whether a tool can only be called as a task."""
    execution = definition.get("execution")
    return isinstance(execution, Mapping) and execution.get("taskSupport") == "required"


def camel(name: str) -> str:
    """`GetCustomer` for `get_customer`: how the types of a tool begin."""
    return "".join(part[:1].upper() + part[1:] for part in name.split("_")) or "Tool"


def _kind(definition: Definition) -> Kind:
    match definition:
        case RecordDef():
            return "record"
        case EnumDef():
            return "enum"
        case AliasDef():
            return "alias"


class _Hints:
    """What a server says of a tool's effects, against what the program says: hints of a stranger, so they only warn."""

    def __init__(self, scope: ModuleScope, bag: Bag, member: n.McpTool, definition: Mapping[str, object]) -> None:
        self.scope = scope
        self.bag = bag
        self.member = member
        said = definition.get("annotations")
        self.said: Mapping[str, object] = said if isinstance(said, Mapping) else {}

    def check(self) -> None:
        reads = self.said.get("readOnlyHint") is True
        repeat = repeat_of(self.member)
        clause = next((c for c in self.member.clauses if isinstance(c, n.RepeatClause)), None)
        if repeat is Repeat.IDEMPOTENT and not reads:
            if self.said.get("idempotentHint") is False:
                why = "its server says that doing it again does more"
            elif self.said.get("destructiveHint") is True and self.said.get("idempotentHint") is not True:
                why = "its server says that it destroys"
            else:
                why = ""
            if why:
                note = "a lost reply is tried again: say `repeat reconcile` or `repeat never` where that could do harm"
                self._warn("AEL1220", f"`{self.member.name.text}` is declared `repeat idempotent`, and {why}", clause, note)
        elif repeat is Repeat.NEVER and reads:
            said = "is declared `repeat never`" if clause is not None else "says no `repeat`, so it is `never`"
            note = "if that is so, `repeat idempotent` lets a lost reply be tried again, and it cannot end `Uncertain`"
            self._warn("AEL1221", f"`{self.member.name.text}` {said}, and its server says that it only reads", clause, note)
        parallel = next((c for c in self.member.clauses if isinstance(c, n.ParallelClause)), None)
        if parallel is not None and self.said.get("readOnlyHint") is False:
            note = "`parallel` is for a tool that only reads"
            self._warn(
                "AEL1220", f"`{self.member.name.text}` says `parallel`, and its server says that it writes", parallel, note
            )

    def _warn(self, code: str, message: str, clause: n.Clause | None, note: str) -> None:
        place = (clause or self.member.name).span
        notes = (note, "annotations are hints from a stranger: what the program declares is what holds")
        self.bag.report(code, message, self.scope.source, place, notes=notes, severity=Severity.WARNING)
