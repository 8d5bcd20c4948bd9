"""Function values: which of the two calling conventions they have.

What acts is `async def f(k, a)`, what does not is `def f(a)`. A function that is given functions (or gives one) exists in both forms. In
code that acts, every function value acts, so that nothing has to say which kind a value is; only a lambda or a named function that
stands right in a call is passed in its plain form where nothing in the call acts.
"""

from __future__ import annotations

from ael.check.program import CallInfo, CheckedProgram, Local, Meaning
from ael.lower.scope import Builder
from ael.syntax import nodes as n
from ael.types.signature import Signature
from ael.types.type import AnonymousRecord, FunctionType, ListType, MapType, Type, UnionType


def holds_function(type: Type) -> bool:
    """Whether a function can be (in) a value of this type; declared records hold data only."""
    match type:
        case FunctionType():
            return True
        case ListType(item=inner) | MapType(value=inner):
            return holds_function(inner)
        case UnionType(members):
            return any(holds_function(m) for m in members)
        case AnonymousRecord(fields):
            return any(holds_function(t) for _, t in fields)
        case _:
            return False


def two_forms(signature: Signature) -> bool:
    """Whether a function that does not act by itself is compiled for acting arguments, too."""
    return holds_function(signature.result) or any(holds_function(p.type) for p in signature.parameters)


def acts(checked: CheckedProgram, name: str) -> bool:
    """Whether a function acts whatever it is given."""
    effects = checked.effects.get(name)
    if effects is None:
        signature = checked.signatures.get(name)
        return signature is not None and signature.effects.acts
    return effects.acts


def is_plain(b: Builder, e: n.Expr) -> bool:
    """Whether `e`, an argument, can be passed to code that does not act: no function, or one that stands here, acts not, and gives none."""
    if not holds_function(b.type(e)):
        return True
    match e:
        case n.Lambda():
            type = b.type(e)
            gives_function = isinstance(type, FunctionType) and holds_function(type.result)
            return e not in b.tables.acting and not gives_function and not _mentions_function_value(b, e)
        case n.Reference() | n.FieldAccess():
            meaning = b.tables.resolved.get(e)
            return (
                isinstance(meaning, Meaning)
                and meaning.kind == "function"
                and not acts(b.program.checked, meaning.name)
                and not two_forms(b.program.checked.signatures[meaning.name])
            )
        case _:
            return False


def _mentions_function_value(b: Builder, e: n.Lambda) -> bool:
    inside = {b.tables.locals.get(node) for node in n.walk(e)}
    for node in n.walk(e.body):
        if isinstance(node, n.Reference):
            local = b.tables.resolved.get(node)
            if isinstance(local, Local) and holds_function(local.type) and local not in inside:
                return True
    return False


def call_acts(b: Builder, info: CallInfo) -> bool:
    """Whether the acting form of what is called is used here."""
    if not b.function.acting:
        return False
    if info.kind == "function":
        if acts(b.program.checked, info.name):
            return True
        signature = b.program.checked.signatures[info.name]
        if not two_forms(signature):
            return False
        if holds_function(signature.result):
            return True
    return info.acts or not all(is_plain(b, a) for a in info.arguments if a is not None)
