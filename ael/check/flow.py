"""How data flows through one callable: for every value, whether outside data had a hand in it (docs/decisions/taint.md).

A value's qualifier is a set of bits: `TAINTED`, one for each store that it was read from, and one for each parameter of the callable that
has a hand in it. The summary of a callable says this of its result, so that a call is as tainted as what is passed makes it. Where a value
was decided by a condition, the condition has a hand in it; that an act is done at all because of a condition is not followed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ael.check.choosing import Choosing
from ael.check.collect import ModuleScope
from ael.check.effect import STORE_OPERATIONS
from ael.check.program import CallInfo, Local, Meaning
from ael.check.summary import CHOICE, TAINTED, Shared, Sink, Summary, Target
from ael.syntax import nodes as n

_DEPTH = 120
"""How deep expressions are followed; anything deeper is taken for tainted."""
_PASSES = 24
"""How often a body is gone through until nothing changes; after that everything that changes is tainted."""


class Flow(Choosing):
    """Follows the data through one body."""

    def __init__(self, shared: Shared, scope: ModuleScope, summary: Summary, unknown: int = 0) -> None:
        self.shared = shared
        self.tables = scope.tables
        self.module = scope.name
        self.summary = summary
        self.unknown = unknown
        """What a local has that nothing here declares."""
        self.env: dict[Local, int] = {}
        self.values: dict[Local, n.Expr] = {}
        """Locals that are a function value of this body, followed through their calls."""
        self.lambdas: dict[n.Lambda, int] = {}
        self.bound: dict[n.Lambda, int] = {}
        """What came into a function value's parameters in this pass."""
        self.definitions: dict[Local, n.Node] = {}
        self.sources: dict[n.Node, str] = {}
        self.read: set[Local] = set()
        self.errors = 0
        self.returned = 0
        self.decided = 0
        self.nothing_chosen()
        self.depth = 0
        self.again = False
        self.widen = False

    # --- a whole body -----------------------------------------------------------------------------------------------

    def run(self, body: n.Node, parameters: Mapping[Local, int]) -> None:
        """Follow a body, and put what it does into the summary."""
        self.env.update(parameters)
        for count in range(_PASSES):
            self.again, self.read, self.bound, self.errors, self.returned, self.decided = False, set(), {}, 0, 0, 0
            self.nothing_chosen()
            self.widen = count == _PASSES - 1
            self.summary.result |= self.eval(body) | self.returned
            self.summary.errors |= self.errors
            if not self.again:
                return

    def eval(self, node: n.Node) -> int:
        """The bits of a node's value."""
        if self.depth > _DEPTH:
            return TAINTED
        self.depth += 1
        found = _TABLE.get(type(node), Flow._any)(self, node)
        self.depth -= 1
        return found

    def _any(self, node: n.Node) -> int:
        """Any form whose value is made of its parts: operators, lists, maps, `with`, `parallel { … }`."""
        found = 0
        for child in node.children():
            found |= self.eval(child)
        return found

    def _binary(self, node: n.Binary) -> int:
        left = self.eval(node.left)
        if node.op not in _SHORT:
            return left | self.eval(node.right)
        before = self.choosing(left, node.left)
        right = self.eval(node.right)
        self.chosen, self.deciding = before
        return left | right

    def _list(self, node: n.ListLit) -> int:
        found = 0
        for item in node.items:
            found |= self.eval(item)
        return found

    def _string(self, node: n.StringLit) -> int:
        found = 0
        for part in node.parts:
            if not isinstance(part, n.TextPart):
                found |= self.eval(part)
        return found

    # --- names ------------------------------------------------------------------------------------------------------

    def _name(self, node: n.Reference | n.FieldAccess) -> int:
        meaning = self.tables.resolved.get(node)
        if isinstance(meaning, Local):
            if meaning in self.values:
                return self.bind(self.values[meaning], TAINTED)
            return self.local(meaning)
        if isinstance(meaning, Meaning):
            if meaning.kind not in ("function", "tool", "node", "agent"):
                return TAINTED if meaning.name in self.shared.given else 0
            self.chosen_call(meaning.name, node)
            return self.bind(node, TAINTED)
        return self.eval(node.target) if isinstance(node, n.FieldAccess) else self.unknown

    def local(self, local: Local) -> int:
        """The bits of a local."""
        self.read.add(local)
        return self.env.get(local, self.unknown)

    def join(self, local: Local, mask: int) -> None:
        """Something more comes into a local."""
        old = self.env.get(local)
        if old is None:
            self.env[local] = mask
        elif mask & ~old:
            self.env[local] = old | mask | (TAINTED if self.widen else 0)
            if local in self.read:
                self.again = True

    def declare(self, at: n.Node, mask: int, definition: n.Node | None = None) -> None:
        """A binder, `let` or `var` takes a value."""
        local = self.tables.locals.get(at)
        if local is not None:
            self.join(local, mask)
            if definition is not None:
                self.definitions.setdefault(local, definition)

    # --- function values --------------------------------------------------------------------------------------------

    def function_of(self, node: n.Node) -> n.Node | None:
        """The function value that an expression is, when it can be followed: a lambda, a named function, a local that is one."""
        if isinstance(node, n.Lambda):
            return node
        if isinstance(node, n.Reference | n.FieldAccess):
            meaning = self.tables.resolved.get(node)
            if isinstance(meaning, Local):
                return self.values.get(meaning)
            if isinstance(meaning, Meaning) and meaning.kind in ("function", "tool", "node", "agent"):
                return node
        return None

    def bind(self, node: n.Node, mask: int) -> int:
        """What a function value gives when `mask` may come into its parameters."""
        if isinstance(node, n.Lambda):
            known = self.bound.get(node)
            if known is not None and not mask & ~known:
                # Followed in this pass already; nested function values would otherwise be followed twice at each level.
                return self.lambdas.get(node, 0)
            self.bound[node] = mask | (known or 0)
            for parameter in node.parameters:
                self.declare(parameter, mask)
            outer, self.returned = self.returned, self.lambdas.get(node, 0)
            gone, skipped = self.gone, self.skipped
            found = self.returned | self.eval(node.body)
            found |= self.returned
            self.lambdas[node], self.returned = found, outer
            self.gone, self.skipped = gone, skipped
            return found
        meaning = self.tables.resolved.get(node)
        target = self.shared.targets(meaning.name) if isinstance(meaning, Meaning) else None
        if target is None:
            return mask
        return self.apply(target, [mask] * len(target.parameters), [None] * len(target.parameters), node)

    def _escaping(self, node: n.Lambda) -> int:
        return self.bind(node, TAINTED)

    # --- calls ------------------------------------------------------------------------------------------------------

    def _call(self, node: n.Call) -> int:
        info = self.tables.calls.get(node)
        if info is None:
            return self._any(node)
        functions: list[tuple[int, n.Node]] = []
        masks: list[int] = []
        for at, argument in enumerate(info.arguments):
            function = self.function_of(argument) if argument is not None else None
            if function is not None:
                functions.append((at, function))
                masks.append(0)
            else:
                masks.append(self.eval(argument) if argument is not None else 0)
        match info.kind:
            case "function" | "effect":
                return self._to(node, info, masks, functions)
            case "builtin":
                return self._builtin(node, info, masks, functions)
            case "value":
                return self._value(node, masks, functions)
            case _:
                return self._passed(masks, functions)

    def _passed(self, masks: list[int], functions: list[tuple[int, n.Node]]) -> int:
        found = 0
        for mask in masks:
            found |= mask
        for _, function in functions:
            found |= self.bind(function, found)
        return found

    def _builtin(self, node: n.Call, info: CallInfo, masks: list[int], functions: list[tuple[int, n.Node]]) -> int:
        if info.name == "release":
            self.shared.releases[node] = (self.module, masks[0] if masks else 0)
            return 0
        found = self._passed(masks, functions)
        if functions and info.name.endswith("fold"):
            found |= self._passed([found], functions)
        return found

    def _value(self, node: n.Call, masks: list[int], functions: list[tuple[int, n.Node]]) -> int:
        given = self._passed(masks, functions)
        function = self.function_of(node.callee)
        self.chosen_value(function, node)
        if isinstance(function, n.Lambda):
            for parameter, mask in zip(function.parameters, masks, strict=False):
                self.declare(parameter, mask)
            before = self.lambdas.get(function)
            if before is None:
                before = self.bind(function, 0)
            return before
        if function is not None:
            return self.bind(function, given)
        self.summary.passes |= given
        return given | self.eval(node.callee)

    def _to(self, node: n.Call, info: CallInfo, masks: list[int], functions: list[tuple[int, n.Node]]) -> int:
        self.chosen_call(info.name, node)
        target = self.shared.targets(info.name)
        if target is None:
            given = self._passed(masks, functions)
            return self._store(info.name, given)
        if functions:
            given = 0
            for mask in masks:
                given |= mask
            for summary in target.summaries:
                given |= self.instantiate(summary.passes, masks) if summary is not None else TAINTED
            for at, function in functions:
                masks[at] = self.bind(function, given)
                for summary in target.summaries:
                    if summary is not None and summary.chosen_values:
                        self.given_value(function, self.instantiate(summary.chosen_values, masks), node)
                if any(s is not None and s.passes & self._bit(at) for s in target.summaries):
                    masks[at] |= self.bind(function, given | masks[at])
        arguments = list(info.arguments)
        found = self.apply(target, masks, arguments, node)
        if found & TAINTED and node not in self.sources and not any(mask & TAINTED for mask in masks):
            self.sources[node] = info.name
        return found

    def _bit(self, at: int) -> int:
        return 1 << (self.shared.first_parameter + at)

    def instantiate(self, mask: int, arguments: list[int]) -> int:
        """A mask of a callee, its parameters replaced by what is passed."""
        found = self.shared.common(mask)
        rest = mask >> self.shared.first_parameter
        for argument in arguments:
            if not rest:
                break
            if rest & 1:
                found |= argument
            rest >>= 1
        return found

    def apply(self, target: Target, masks: list[int], arguments: list[n.Expr | None], node: n.Node) -> int:
        """A call of a known target: its sinks, its writes, its errors; gives the bits of its result."""
        for at, trusted in enumerate(target.trusted):
            if trusted and at < len(masks) and masks[at]:
                argument = arguments[at]
                self.sink(masks[at], Sink(self.module, argument or node, target.name, target.parameters[at]))
        found = 0
        for summary in target.summaries:
            if summary is None:
                found |= TAINTED
                self.errors |= TAINTED
                continue
            for at, onward in summary.sinks.items():
                if at < len(masks) and masks[at]:
                    argument = arguments[at]
                    self.sink(masks[at], Sink(self.module, argument or node, target.name, onward.end.parameter, onward))
            for at, onward in summary.picks.items():
                if at < len(masks) and masks[at]:
                    decides: n.Node = arguments[at] or node
                    self.pick(masks[at], Sink(self.module, decides, target.name, CHOICE, onward), decides)
            for one in summary.picked.values():
                self.picked(one)
            for store, mask in summary.stores.items():
                self.write(store, self.instantiate(mask, masks))
            if summary.passes:
                self.summary.passes |= self.instantiate(summary.passes, masks)
            self.errors |= self.instantiate(summary.errors, masks)
            found |= self.instantiate(summary.result, masks)
        return found

    def sink(self, mask: int, sink: Sink) -> None:
        """A value reaches a trusted parameter."""
        common = self.shared.common(mask)
        if common:
            key = (sink.node, sink.parameter)
            before = self.shared.violations.get(key)
            if before is None or common & ~before[0]:
                source = self.source(sink.node) if common & TAINTED else (None, "")
                self.shared.violations[key] = (common | (before[0] if before else 0), sink, self.module, *source)
        rest, at = mask >> self.shared.first_parameter, 0
        while rest:
            if rest & 1:
                self.summary.sinks.setdefault(at, sink)
            rest >>= 1
            at += 1

    def source(self, node: n.Node) -> tuple[n.Node | None, str]:
        """A call that brought outside data into a value, and the name of what was called."""
        pending, seen = [node], {node}
        while pending:
            current = pending.pop()
            for inner in n.walk(current):
                if inner in self.sources:
                    return inner, self.sources[inner]
                meaning = self.tables.resolved.get(inner)
                definition = self.definitions.get(meaning) if isinstance(meaning, Local) else None
                if definition is not None and definition not in seen:
                    seen.add(definition)
                    pending.append(definition)
        return None, ""

    # --- stores -----------------------------------------------------------------------------------------------------

    def _store(self, name: str, given: int) -> int:
        owner, _, operation = name.rpartition(".")
        bit = self.shared.store_bits.get(owner)
        if bit is None or operation not in STORE_OPERATIONS:
            return 0
        if operation in ("put", "swap"):
            self.write(owner, given)
        if operation == "put":
            return 0
        return bit | given

    def write(self, store: str, mask: int) -> None:
        """Something comes into a store."""
        common = self.shared.common(mask)
        if common:
            self.shared.contents[store] = self.shared.contents.get(store, 0) | common
        if mask & ~common:
            self.summary.stores[store] = self.summary.stores.get(store, 0) | (mask & ~common)

    # --- forms that decide --------------------------------------------------------------------------------------------

    def _if(self, node: n.If) -> int:
        condition = self.eval(node.condition)
        before, chosen = self.decided, self.choosing(condition, node.condition)
        self.decided |= condition
        found = condition | self.eval(node.then)
        if node.otherwise is not None:
            found |= self.eval(node.otherwise)
        self.decided = before
        self.chosen, self.deciding = chosen
        return found

    def _match(self, node: n.Match) -> int:
        return self._arms(self.eval(node.subject), node.arms, node.subject)

    def _arms(self, subject: int, arms: tuple[n.Arm, ...], at: n.Node) -> int:
        before, found = self.decided, subject
        chosen = self.choosing(subject, at)
        for arm in arms:
            self._pattern(arm.pattern, subject)
            if arm.guard is not None:
                guard = self.eval(arm.guard)
                found |= guard
                self.choosing(guard, arm.guard)
            self.decided = before | found
            found |= self.eval(arm.body)
        self.decided = before
        self.chosen, self.deciding = chosen
        return found

    def _pattern(self, pattern: n.Pattern, mask: int) -> None:
        for node in n.walk(pattern):
            if isinstance(node, n.Name | n.TypePattern | n.BinderPattern):
                self.declare(node, mask)

    def _catch(self, node: n.Catch) -> int:
        outer, self.errors = self.errors, 0
        found = self.eval(node.operand)
        errors, self.errors = self.errors, self.errors | outer
        return found | self._arms(errors, node.arms, node.operand)

    def _parallel(self, node: n.ParallelFor) -> int:
        items = self.eval(node.iterable) | (self.eval(node.limit) if node.limit is not None else 0)
        self.declare(node.binder, items, node.iterable)
        return items | self.eval(node.body)

    # --- statements ---------------------------------------------------------------------------------------------------

    def _block(self, node: n.Block) -> int:
        found = self.statements(node.statements)
        return found if node.statements and isinstance(node.statements[-1], n.ExprStatement) else 0

    def _try(self, node: n.Try) -> int:
        found = self.eval(node.operand)
        self.errors |= self.decided
        return found

    def _let(self, node: n.Let) -> int:
        function = self.function_of(node.value) if not node.mutable else None
        local = self.tables.locals.get(node)
        if function is not None and local is not None:
            self.values[local] = function  # type: ignore[assignment]  # a function value is an expression
            if isinstance(function, n.Lambda):
                self.bind(function, 0)
            return 0
        self.declare(node, self.eval(node.value) | (self.decided if node.mutable else 0), node.value)
        return 0

    def _assign(self, node: n.Assign) -> int:
        local = self.tables.resolved.get(node.name) or self.tables.resolved.get(node)
        mask = self.eval(node.value) | self.decided
        if isinstance(local, Local):
            self.join(local, mask)
            self.definitions.setdefault(local, node.value)
        return 0

    def _for(self, node: n.For) -> int:
        items, before = self.eval(node.iterable), self.decided
        self.declare(node.binder, items, node.iterable)
        if node.index is not None:
            self.declare(node.index, items, node.iterable)
        self.decided |= items
        skipped = self.skipped
        self.eval(node.body)
        self.decided, self.skipped = before, skipped
        return 0

    def _while(self, node: n.While) -> int:
        before, skipped = self.decided, self.skipped
        condition = self.eval(node.condition)
        self.decided |= condition | (self.eval(node.limit) if node.limit is not None else 0)
        chosen = self.choosing(condition, node.condition)
        self.eval(node.body)
        self.decided, self.skipped = before, skipped
        self.chosen, self.deciding = chosen
        return 0

    def _skip(self, node: n.Node) -> int:
        self.skipped |= self.chosen
        return 0

    def _return(self, node: n.Return) -> int:
        if node.value is not None:
            self.returned |= self.eval(node.value) | self.decided
        self.gone |= self.chosen
        return 0

    def _fail(self, node: n.Fail) -> int:
        self.errors |= self.eval(node.value) | self.decided
        self.gone |= self.chosen
        return 0


def _clean(flow: Flow, node: n.Node) -> int:
    return 0


_SHORT = frozenset({"and", "or", "??"})
"""Operators whose right side is not always done."""
_TABLE: dict[type, Callable[[Flow, Any], int]] = {
    n.Reference: Flow._name, n.FieldAccess: Flow._name, n.StringLit: Flow._string, n.Call: Flow._call, n.If: Flow._if,
    n.Match: Flow._match, n.Catch: Flow._catch, n.Lambda: Flow._escaping, n.Block: Flow._block, n.ParallelFor: Flow._parallel,
    n.Rows: Flow._block,
    n.Let: Flow._let, n.Assign: Flow._assign, n.For: Flow._for, n.While: Flow._while, n.Return: Flow._return, n.Fail: Flow._fail,
    n.Break: Flow._skip, n.Continue: Flow._skip,
    n.ExprStatement: lambda f, s: f.eval(s.value), n.Try: Flow._try, n.FieldValue: lambda f, v: f.eval(v.value),
    n.Index: lambda f, i: f.eval(i.target) | f.eval(i.index), n.Binary: Flow._binary, n.ListLit: Flow._list,
    n.Name: _clean, n.TextPart: _clean, n.IntLit: _clean, n.BoolLit: _clean, n.NullLit: _clean, n.FloatLit: _clean,
    n.MoneyLit: _clean, n.DurationLit: _clean,
}  # fmt: skip
"""How each form is followed; any other is made of its parts."""
