"""Which nodes of a program clients see, and as what: the type is the schema, the doc comment the description (feature A10.4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from ael.check.program import CheckedProgram
from ael.host import HostError
from ael.project.entry import EntryError, choose
from ael.project.program import Opened
from ael.syntax import nodes as n
from ael.types.definition import Definitions
from ael.types.naming import wire_name
from ael.types.schema import Schema, record_schema, schema
from ael.types.signature import Effects, Repeat, Signature
from ael.types.text import show
from ael.types.type import AnonymousRecord, Type

RESULT = "result"
"""The key under which a result stands whose type is no object: structured content is always an object."""


@dataclass(frozen=True)
class ExposedTool:
    """A node as a tool. `definition` is its entry in `tools/list`; `wrapped`: its result stands under the key `result`."""

    name: str
    node: str
    wrapped: bool
    definition: Mapping[str, object]


def expose(opened: Opened, chosen: Sequence[str] = ()) -> dict[str, ExposedTool]:
    """The tools by name: the nodes `chosen` on the command line, else those of the deployment's lines, else the public ones.

    Raises `HostError` (AEL0871): there is nothing to serve, or no such node.
    """
    program = opened.program
    if chosen:
        nodes = {_name(program, node): node for node in (_chosen(program, name) for name in chosen)}
    else:
        nodes = dict(opened.deployment.serving.exposed) or {_name(program, node): node for node in _public(program)}
    if not nodes:
        note = "mark a node `pub`, name it with `--only`, or write `serve = [NODE]` in the deployment"
        raise HostError("AEL0871", f"there is nothing to serve in `{program.main}`: it has no public node", note)
    return {name: _tool(program, name, node) for name, node in nodes.items()}


def _chosen(program: CheckedProgram, name: str) -> str:
    if name in program.nodes:
        return name
    try:
        return choose(program, name)
    except EntryError as error:
        raise HostError("AEL0871", str(error)) from None


def _public(program: CheckedProgram) -> list[str]:
    """The public nodes and agents of the main module; what other modules export is for modules."""
    found = []
    for name in program.nodes:
        module, declaration = program.declarations[name]
        if module == program.main and isinstance(declaration, n.NodeDecl | n.AgentDecl) and declaration.public:
            found.append(name)
    return found


def _name(program: CheckedProgram, node: str) -> str:
    return wire_name(node.removeprefix(f"{program.main}."))


def _tool(program: CheckedProgram, name: str, node: str) -> ExposedTool:
    spec = program.nodes[node]
    signature = spec.signature
    inputs = record_schema(signature.input_record(), program.definitions)
    outputs, wrapped = _output(signature.result, program.definitions)
    definition: dict[str, object] = {"name": name}
    if spec.doc:
        definition["description"] = spec.doc
    definition |= {"inputSchema": {"type": "object", **inputs}, "outputSchema": outputs}
    definition["annotations"] = hints(signature, program.effects.get(node, signature.effects), model=spec.model is not None)
    return ExposedTool(name, node, wrapped, definition)


def _output(result: Type, definitions: Definitions) -> tuple[Schema, bool]:
    plain = schema(result, definitions)
    if plain.get("type") == "object":
        return plain, False
    return schema(AnonymousRecord(((RESULT, result),)), definitions), True


def hints(signature: Signature, effects: Effects, *, model: bool) -> dict[str, object]:
    """Hints that hold. Only what computes and acts on nothing is called read-only and repeatable.

    `repeat idempotent` promises that one effect under one key happens once; another call from outside is another run with keys of
    its own, so it is not claimed that a second call has no further effect.
    """
    pure = not model and effects.repeat is Repeat.PURE and not effects.permissions
    found: dict[str, object] = {"readOnlyHint": pure, "openWorldHint": not pure}
    if pure:
        found |= {"destructiveHint": False, "idempotentHint": True}
    return found


def described(tools: Mapping[str, ExposedTool], program: CheckedProgram) -> list[str]:
    """A line for each tool, for people: `answer(ticket: Ticket) -> Reply`."""
    lines = []
    for tool in tools.values():
        signature = program.nodes[tool.node].signature
        inside = ", ".join(f"{p.name}{'?' if p.optional else ''}: {show(p.type)}" for p in signature.parameters)
        lines.append(f"{tool.name}({inside}) -> {show(signature.result)}")
    return lines


def listing(tools: Mapping[str, ExposedTool]) -> list[dict[str, object]]:
    """The `tools` of `tools/list`, in the order in which they are exposed."""
    return [cast("dict[str, object]", dict(tool.definition)) for tool in tools.values()]
