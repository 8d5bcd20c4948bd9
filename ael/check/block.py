"""Blocks and what stands in them: statements, conditions, what comes after what never comes back."""

from __future__ import annotations

from ael.check.builtin import METHODS
from ael.check.checker import DISCARD, NEVER, UNIT, UNKNOWN, Checker
from ael.check.compensate import compensate
from ael.check.failure import fail
from ael.check.kind import STRING, has_null, plain
from ael.check.loop import for_, jump_out, while_
from ael.check.module import seen
from ael.check.narrow import facts, forget, untouched
from ael.check.program import Local
from ael.check.suggest import did_you_mean
from ael.check.test_call import script
from ael.diagnostics.diagnostic import Label
from ael.syntax import nodes as n
from ael.types.text import show
from ael.types.type import FunctionType, ListType, MapType, Never, NullType, Type, UnionType, Unknown


def block(c: Checker, node: n.Block, expected: Type | None) -> Type:
    """The type of a block: that of its last expression, Unit without one, `Never` when its end is not reached."""
    narrowed, assigned = c.narrowed, c.assigned
    c.assigned = set()
    c.locals.append({})
    found: Type = UNIT
    ended: n.Node | None = None
    statements = node.statements
    last = len(statements) - 1
    for at, statement in enumerate(statements):
        if ended is not None:
            c.report(
                "AEL1103",
                "this is never reached",
                statement.span,
                labels=(c.label(ended.span, "nothing comes after this"),),
                warning=True,
            )
            ended = None
            found = NEVER
            _rest(c, statements[at:])
            break
        if type(statement) is n.Compensate:
            compensate(c, statement, follows=at < last)
        elif at == last and type(statement) is n.ExprStatement:
            found = _last(c, statement.value, expected)
        elif _statement(c, statement):
            ended = statement
            found = NEVER
    _close(c)
    c.narrowed = untouched(narrowed, c.assigned)
    c.assigned |= assigned
    return found


def _last(c: Checker, value: n.Expr, expected: Type | None) -> Type:
    if expected is DISCARD:
        found = c.discard(value)
        _unused(c, value)
        return NEVER if found == NEVER else UNIT
    return c.infer(value) if expected is None else c.check(value, expected)


def _rest(c: Checker, statements: tuple[n.Statement, ...]) -> None:
    """Look at what is never reached all the same, so that its names have types."""
    for statement in statements:
        if isinstance(statement, n.ExprStatement):
            c.discard(statement.value)
        else:
            _statement(c, statement)


def _close(c: Checker) -> None:
    """Leave the innermost scope; `let`s that nothing read are reported."""
    for name, local in c.locals.pop().items():
        at = c.unread.pop(local, None)
        if at is not None and local not in c.read and name[0] != "_":
            word = "`var`" if local.mutable else "`let`"
            c.report(
                "AEL1101",
                f"the {word} `{name}` is never read",
                at.span,
                notes=(f"if that is meant, call it `_{name}`",),
                warning=True,
            )


def _statement(c: Checker, node: n.Statement) -> bool:
    """Check a statement; whether nothing after it is reached."""
    match node:
        case n.ExprStatement(value=value):
            found = c.discard(value)
            _unused(c, value)
            return found == NEVER
        case n.Let():
            return _let(c, node)
        case n.Assign():
            return _assign(c, node)
        case n.For():
            for_(c, node)
            return False
        case n.While():
            return while_(c, node)
        case n.Break() | n.Continue():
            jump_out(c, node)
            return True
        case n.Return():
            _return(c, node)
            return True
        case n.Fail():
            fail(c, node)
            return True
        case n.Assert(condition=condition, message=message):
            c.check_condition(condition, "an `assert`")
            when_true, _ = facts(c, condition)
            if message is not None:
                c.check(message, STRING, " as the message of an `assert`")
            if when_true:
                c.narrowed = {**c.narrowed, **when_true}
            return False
        case n.Script():
            script(c, node)
            return False
        case n.Compensate():
            compensate(c, node, follows=True)
            return False


_PLAIN = (n.IntLit, n.FloatLit, n.BoolLit, n.StringLit, n.Reference, n.ListLit, n.MapLit, n.FieldAccess, n.Unary, n.MoneyLit)


def _unused(c: Checker, value: n.Expr) -> None:
    """A value that is worked out for nothing."""
    if isinstance(c.types.get(value), Unknown | Never):
        return
    if isinstance(value, n.Binary) and value.op not in ("and", "or", "??"):
        hint = ": is an `assert` meant?" if value.op in ("==", "!=", "<", "<=", ">", ">=", "in", "not in") else ""
        c.report("AEL1106", f"this value is worked out and not used{hint}", value.span, warning=True)
    elif isinstance(value, _PLAIN) and not (isinstance(value, n.StringLit | n.ListLit | n.MapLit) and _calls(value)):
        c.report("AEL1106", "this value is not used", value.span, warning=True)
    elif isinstance(value, n.Lambda):
        c.report("AEL1106", "this function is made and never called", value.span, warning=True)
    elif isinstance(value, n.Call) and (name := _pure_method(c, value)) is not None:
        message = f"this value is not used: `{name}` gives a new value and changes nothing"
        c.report("AEL1106", message, value.span, warning=True)


def _pure_method(c: Checker, call: n.Call) -> str | None:
    """The name of a method of the language that is called and could do nothing but give a value."""
    info = c.tables.calls.get(call)
    if info is None or info.kind != "builtin":
        return None
    owner, _, own = info.name.partition(".")
    method = METHODS.get(owner, {}).get(own)
    return own if method is not None and not any(isinstance(p, FunctionType) for p in method.parameters) else None


def _calls(value: n.Expr) -> bool:
    return any(isinstance(node, n.Call) for node in n.walk(value))


def _let(c: Checker, node: n.Let) -> bool:
    word = "var" if node.mutable else "let"
    if node.type is not None:
        declared = c.type_of(node.type)
        found = c.check(node.value, declared, f" for `{node.name.text}`")
        type = declared
    else:
        found = c.infer(node.value)
        type = plain(found) if node.mutable else found
        if node.mutable and _hollow(type):
            what = "null" if isinstance(type, NullType) else "an empty list" if isinstance(type, ListType) else "an empty map"
            form = "T?" if isinstance(type, NullType) else "List<T>" if isinstance(type, ListType) else "Map<String, V>"
            message = f"{what} does not say what the `var` may hold later: give it a type, `var {node.name.text}: {form} = …`"
            c.report("AEL0314", message, node.span)
            type = UNKNOWN
        elif type == UNIT:
            c.report(
                "AEL0301",
                f"the `{word}` `{node.name.text}` would hold nothing: what stands there gives no value",
                node.value.span,
            )
            type = UNKNOWN
    c.reserved(node.name)
    local = c.declare(node, node.name, UNKNOWN if type == NEVER else type, mutable=node.mutable)
    if local.type != UNKNOWN:
        c.unread[local] = node.name
    return found == NEVER


def _hollow(type: Type) -> bool:
    match type:
        case NullType():
            return True
        case ListType(Never()) | MapType(Never()):
            return True
        case _:
            return False


def _assign(c: Checker, node: n.Assign) -> bool:
    name = node.name.text
    local = c.find_local(name)
    if local is None:
        c.infer(node.value)
        symbol = seen(c.module, name)
        if symbol is not None and symbol.kind != "unknown":
            c.report("AEL0316", f"`{name}` is declared outside of any body, and never changes", node.name.span)
        elif symbol is None:
            known = [key for scope in reversed(c.locals) for key, one in scope.items() if one.mutable]
            end, fix = did_you_mean(name, known, c.module.source, node.name.span)
            c.report(
                "AEL0202", f"there is no `var` `{name}`{end or f': `let {name} = …` brings a new name'}", node.name.span, fix=fix
            )
        return False
    c.tables.resolved[node.name] = local
    if not local.mutable:
        _fixed(c, node, local)
        c.infer(node.value)
        return False
    if local.slot not in c.own_slots:
        c.infer(node.value)
        message = f"`{name}` belongs to the function around this one: what is taken along does not change"
        c.report("AEL0316", message, node.name.span, notes=("give the value back instead, as `fold` and `map` do",))
        return False
    found = c.check(node.value, local.type, f" for `{name}`")
    forget(c, local)
    c.assigned.add(local)
    if (
        isinstance(local.type, UnionType)
        and not isinstance(found, Unknown | NullType)
        and has_null(local.type)
        and not has_null(found)
    ):
        c.narrowed = {**c.narrowed, (local,): found}
    return found == NEVER


def _fixed(c: Checker, node: n.Assign, local: Local) -> None:
    c.read.add(local)
    at = next((key for key, one in c.tables.locals.items() if one is local), None)
    labels: tuple[Label, ...] = ()
    fix = None
    if at is not None:
        labels = (c.label((at.name if isinstance(at, n.Let) else at).span, "brought here, to stay as it is"),)
        if isinstance(at, n.Let):
            start = c.module.source.text.find("let", at.span.start)
            span = type(at.span)(start, start + 3)
            fix = c.edit("make it a `var`", (span, "var")) if start == at.span.start else None
    c.report("AEL0316", f"`{local.name}` does not change: only a `var` does", node.name.span, labels=labels, fix=fix)


def _return(c: Checker, node: n.Return) -> None:
    body = c.body
    if c.branch is not None:
        if node.value is not None:
            c.infer(node.value)
        c.report("AEL0323", "a branch of a `parallel` gives its last expression: it cannot return from around it", node.span)
        return
    if body.kind in ("test", "clause", "constant"):
        if node.value is not None:
            c.infer(node.value)
        if body.kind != "test":
            c.report("AEL0323", "there is nothing here to return from", node.span)
        return
    if body.result is None:
        body.returns.append(UNIT if node.value is None else c.infer(node.value))
    elif node.value is None:
        if body.result != UNIT and not isinstance(body.result, Unknown):
            c.report(
                "AEL0317", f"`return` gives nothing, and `{body.name.rpartition('.')[2]}` gives `{show(body.result)}`", node.span
            )
    elif body.result == UNIT:
        found = c.infer(node.value)
        if found not in (UNIT, UNKNOWN, NEVER):
            c.mismatch(node.value, found, UNIT)
    else:
        written = getattr(body.declaration, "result", None)
        outer, c.origin = c.origin, (body.result, "", written.span) if isinstance(written, n.Node) else None
        c.check(node.value, body.result, " to return")
        c.origin = outer


# --- if ------------------------------------------------------------------------------------------------------------------


def if_(c: Checker, node: n.If, expected: Type | None) -> Type:
    c.check_condition(node.condition, "an `if`")
    before = c.narrowed
    when_true, when_false = facts(c, node.condition)
    wanted = expected
    if node.otherwise is None:
        # where a value is asked for, that there is none is told once, by whoever asks
        wanted = DISCARD if expected is DISCARD or expected == UNIT else None
    c.narrowed = {**before, **when_true} if when_true else before
    then = c.check_part(node.then, wanted)
    after_then = c.narrowed
    c.narrowed = {**before, **when_false} if when_false else before
    if node.otherwise is None:
        otherwise: Type = UNIT
    else:
        otherwise = c.check_part(node.otherwise, wanted)
    after_else = c.narrowed
    if then == NEVER and otherwise != NEVER:
        c.narrowed = after_else
    elif otherwise == NEVER and then != NEVER:
        c.narrowed = after_then
    else:
        c.narrowed = {path: type for path, type in before.items() if path in after_then and path in after_else}
    if node.otherwise is None:
        return UNIT
    if then == NEVER and otherwise == NEVER:
        return NEVER
    if wanted is DISCARD:
        return UNIT
    return _joined(c, node, then, otherwise, expected)


def _joined(c: Checker, node: n.If, then: Type, otherwise: Type, expected: Type | None) -> Type:
    if expected is None and (then == UNIT) != (otherwise == UNIT) and NEVER not in (then, otherwise):
        if UNKNOWN not in (then, otherwise):
            part = node.then if then == UNIT else node.otherwise
            c.report("AEL0301", "one side of this `if` gives a value, and the other gives nothing", (part or node).span)
        return UNKNOWN
    return c.either(then, otherwise, expected)
