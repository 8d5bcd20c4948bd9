"""Resources of an MCP server: a URI, or a template of URIs (RFC 6570) whose variables are the parameters."""

from __future__ import annotations

import re

from ael.check.declare import snake
from ael.data import dataclass
from ael.types.signature import ParameterDef
from ael.types.type import StringType

_SCHEME = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*|\{[A-Za-z0-9_]+\}):")
_EXPRESSION = re.compile(r"\{([+#./;?&]?)([^{}]*)\}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_QUERY = "?&"


@dataclass(frozen=True)
class Template:
    """A URI template. `problem` says what is wrong with it, and then it has no parameters."""

    parameters: tuple[ParameterDef, ...] = ()
    problem: str = ""


def template(uri: str) -> Template:
    """What a URI template takes: a text for each variable; those of a query (`{?page,size}`) may be left out."""
    if any(ord(c) <= 32 or c in '"<>\\^`|' for c in uri):
        return Template(problem='a URI has no blanks and none of `"<>\\^`|`')
    if not _SCHEME.match(uri):
        return Template(problem="a URI begins with its scheme, such as `file:` or `docs:`")
    rest = _EXPRESSION.sub("", uri)
    if "{" in rest or "}" in rest:
        return Template(problem="a `{` in it is not closed, or a `}` not opened")
    found: dict[str, ParameterDef] = {}
    wires: dict[str, str] = {}
    for operator, names in _EXPRESSION.findall(uri):
        for wire in names.split(","):
            if not _VARIABLE.fullmatch(wire):
                what = f"`{wire}`" if wire else "nothing"
                note = "variables are letters, digits and `_`; parts of values and lists (`:3`, `*`) are not taken"
                return Template(problem=f"{what} stands where a variable should: {note}")
            name = snake(wire)
            if wires.setdefault(name, wire) != wire:
                return Template(problem=f"`{wires[name]}` and `{wire}` would be one parameter")
            before = found.get(name)
            optional = operator != "" and operator in _QUERY and (before is None or before.optional)
            found[name] = ParameterDef(name, wire, StringType(), optional=optional)
    return Template(tuple(sorted(found.values(), key=lambda p: p.optional)))
