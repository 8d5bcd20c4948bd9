"""Lines that bind what a program declares: its stores, services, tools and roles."""

from __future__ import annotations

from difflib import get_close_matches

from ael.check.basis import short
from ael.check.program import CheckedProgram
from ael.data import replace
from ael.project import bind_service
from ael.project.bind_state import ProgramState, construct, matching, named, subject, value
from ael.project.connectors import TRANSPORT, providers
from ael.project.deployment import StoreBinding, ToolBinding
from ael.project.form import milliseconds, text_of
from ael.project.literal import Construct, evaluate
from ael.project.wrong import Wrong, listing
from ael.syntax import nodes as n


def store(state: ProgramState, binding: n.Binding) -> None:
    """`store notes = sqlite("notes.db")` or `memory`."""
    name = named(binding, "store", state.program.stores)
    found = construct(binding, ("memory", "sqlite"))
    if found.name == "memory":
        state.stores[name] = StoreBinding("memory")
        return
    path = text_of(found)
    if path is None:
        raise Wrong("AEL0814", 'a SQLite store names its file: `sqlite("orders.db")`', value(binding))
    state.stores[name] = StoreBinding("sqlite", path)


def service(state: ProgramState, binding: n.Binding) -> None:
    """`service Orders = sql_orders`: which `provide` serves; or where it runs, if not in the process."""
    name = named(binding, "service", state.program.services)
    if bind_service.placed(state, binding, name):
        return
    node = value(binding)
    found = evaluate(node)
    provides = {p.rpartition(".")[2]: p for p, spec in _provides(state.program).items() if spec == name}
    if not isinstance(found, Construct) or found.positional or found.named or found.name not in provides:
        notes = [listing("there is", provides)]
        if transports := providers(state.program, TRANSPORT):
            notes.append(listing("or it goes elsewhere by a transport of the program, with an address:", transports))
        raise Wrong("AEL0816", f"`{name}` is bound to the name of a `provide`", node, *notes)
    state.services[name] = provides[found.name]


def _provides(program: CheckedProgram) -> dict[str, str]:
    return {name: spec.service for name, spec in program.provides.items()}


def tool(state: ProgramState, binding: n.Binding) -> None:
    """`tool refund_order timeout 20s approval required by finance`, which may only tighten."""
    name = named(binding, "tool", state.program.tools)
    made = state.tools.get(name, ToolBinding())
    for clause in binding.clauses:
        with state.told():
            made = _tightened(state, name, made, clause)
    state.tools[name] = made


def _tightened(state: ProgramState, name: str, made: ToolBinding, clause: n.Clause) -> ToolBinding:
    match clause:
        case n.Timeout(value=None):
            raise Wrong("AEL0817", "a deployment may only tighten: it cannot lift a tool's time limit", clause)
        case n.Timeout(value=length) if length is not None:
            timeout = milliseconds(evaluate(length), clause)
            declared = state.program.tools[name].timeout
            if declared is not None and 0 <= declared < timeout:
                message = f"a deployment may only tighten: `{name}` has a time limit of {declared} ms already"
                raise Wrong("AEL0817", message, clause)
            return replace(made, timeout=timeout)
        case n.Approval(role=path, condition=condition):
            if condition is not None:
                raise Wrong("AEL0817", "a deployment's approval has no condition: it may only tighten", clause)
            role = None if path is None else _role_name(state, path)
            own = state.program.tools[name].approval
            if role is not None and own is not None and own.role not in (None, role):
                message = f"a deployment may only tighten: the program lets `{own.role}` approve `{name}`, and nobody else"
                raise Wrong("AEL0817", message, clause)
            return replace(made, approval=True, role=role)
        case _:
            raise Wrong("AEL0817", "a deployment may give a tool a time limit and an approval", clause)


def role(state: ProgramState, binding: n.Binding) -> None:
    """`role finance = ["alice"]`: its members."""
    name = _role_name(state, subject(binding))
    found = evaluate(value(binding))
    members = [member for member in found if isinstance(member, str)] if isinstance(found, list) else None
    if members is None or not isinstance(found, list) or len(members) != len(found):
        raise Wrong("AEL0814", 'a role is bound to its members: `role finance = ["alice"]`', value(binding))
    state.roles[name] = tuple(members)


def _role_name(state: ProgramState, path: n.Path) -> str:
    roles = state.program.roles
    if path.text not in roles:
        raise Wrong("AEL0810", f"there is no role `{path.text}`", path, listing("the program has", roles))
    return path.text


def deny(state: ProgramState, binding: n.Binding) -> None:
    """`deny orders.refund` takes a permission from everybody; a tool or an MCP server may be named too, and then nobody calls it."""
    for path in _listed(binding):
        with state.told():
            permission, tools = _listable(state, path)
            if permission is not None:
                state.denied.add(permission)
            for name in tools:
                state.tools[name] = replace(state.tools.get(name, ToolBinding()), denied=True)


def allow(state: ProgramState, binding: n.Binding) -> None:
    """`allow orders.read, crm`: with permissions listed no others are granted here, with tools or servers listed no others are called.

    Several lines add up to one list.
    """
    for path in _listed(binding):
        with state.told():
            permission, tools = _listable(state, path)
            if permission is not None:
                spec = state.program.permissions[permission]
                state.allowed = (state.allowed or set()) | {permission, *spec.includes}
            else:
                state.allowed_tools = (state.allowed_tools or set()) | set(tools)


def settle_allowed(state: ProgramState) -> None:
    """With tools on the allow-list, every other is denied."""
    if state.allowed_tools is None:
        return
    for name in state.program.tools.keys() - state.allowed_tools:
        state.tools[name] = replace(state.tools.get(name, ToolBinding()), denied=True)


def _listed(binding: n.Binding) -> list[n.Path]:
    return [path for clause in binding.clauses if isinstance(clause, n.Grants) for path in clause.permissions]


def _listable(state: ProgramState, path: n.Path) -> tuple[str | None, list[str]]:
    """What a list of the operator names: a permission, else the tools of that name, else those of the MCP server. Raises `Wrong`."""
    program = state.program
    if path.text in program.permissions:
        return path.text, []
    tools = matching(path.text, program.tools)
    servers = matching(path.text, program.servers) if not tools else []
    tools += [name for name, spec in program.tools.items() if spec.remote is not None and spec.remote.server in servers]
    if tools or servers:
        return None, tools
    known = [*program.permissions, *map(short, program.tools), *map(short, program.servers)]
    close = get_close_matches(path.text, known, 1)
    note = f"did you mean `{close[0]}`?" if close else listing("the program has", program.permissions)
    raise Wrong("AEL0810", f"the program has no permission and no tool `{path.text}`", path, note)
