"""Policies of model-driven nodes: `one_call`, or `loop` with its bounds."""

from __future__ import annotations

from ael.check import budget
from ael.check.basis import Context, listed, offered_as, short, suggestion
from ael.check.collect import ModuleScope, Symbol
from ael.diagnostics.diagnostic import Label
from ael.syntax import nodes as n
from ael.types.relate import fits
from ael.types.signature import Signature
from ael.types.spec import PolicySpec
from ael.types.text import show

KINDS = ("one_call", "loop")


def read(context: Context, scope: ModuleScope, clause: n.Policy | None, draft: budget.Draft) -> PolicySpec | None:
    """The policy of a node; its `steps` and `tool_calls` go into the budget. None means the deployment's default."""
    if clause is None:
        return None
    name = clause.name.text
    if name not in KINDS:
        hint, fix = suggestion(scope.source, clause.name.span, name, list(KINDS))
        context.report("AEL0606", f"there is no policy `{name}`{hint}", scope.name, clause.name, fix=fix)
        return None
    for argument in clause.arguments:
        word = argument.name.text if argument.name is not None else None
        if name == "one_call":
            message = "`one_call` takes nothing: it makes exactly one model call"
            context.report("AEL0606", message, scope.name, argument)
        elif word is None or word not in budget.LIMITS:
            hint, fix = ("", None)
            if argument.name is not None and word is not None:
                hint, fix = suggestion(scope.source, argument.name.span, word, list(budget.LIMITS))
            shown = f"no `{word}`{hint}" if word is not None else "no unnamed bound: write `steps: 8` or `tool_calls: 12`"
            context.report("AEL0606", f"the policy `loop` has {shown}", scope.name, argument.name or argument, fix=fix)
        elif budget.once(context, scope, draft, word, argument):
            budget.count(context, scope, draft, word, argument.value)
    return PolicySpec("one_call" if name == "one_call" else "loop")


def strict(context: Context, scope: ModuleScope, clause: n.Policy | None) -> bool:
    """Whether an agent says `policy strict`: no outside data decides which of its edges is taken (feature A14.4)."""
    if clause is None:
        return False
    if clause.name.text != "strict":
        hint, fix = suggestion(scope.source, clause.name.span, clause.name.text, ["strict"])
        message = f"an agent has no policy `{clause.name.text}`{hint}"
        context.report("AEL0606", message, scope.name, clause.name, fix=fix)
        return False
    for argument in clause.arguments:
        context.report("AEL0606", "`strict` takes nothing: it holds for all edges of the agent", scope.name, argument)
    return True


def one_call(
    context: Context, scope: ModuleScope, node: n.NodeDecl, own: Signature, offered: list[tuple[n.Path, Symbol]]
) -> None:
    """Under `one_call` a proposed call's result is the node's result, so it must be of its type (feature A7.4); so are its errors."""
    collected = context.collected
    result, fails = own.result, own.fails
    for path, symbol in offered:
        signature = collected.signatures.get(symbol.name)
        if signature is None:
            continue
        if fits(signature.result, result, collected.definitions):
            _errors(context, scope, node, path, symbol, signature.fails - fails)
            continue
        message = (
            f"`{offered_as(path, symbol)}` cannot be offered under `policy one_call`: it gives {show(signature.result)} and the node "
            f"{show(result)}, so a second model call would be needed"
        )
        notes = (
            "under `one_call` the result of a proposed call is the node's result; `policy loop` lets the model go on from it",
        )
        labels = [
            context.label(scope.name, clause, "one model call, by this policy")
            for clause in node.clauses
            if isinstance(clause, n.Policy)
        ]
        if isinstance(symbol.node, n.ToolDecl | n.NodeDecl | n.AgentDecl) and symbol.node.result is not None:
            labels.append(context.label(symbol.module, symbol.node.result, f"`{short(symbol.name)}` gives this"))
        context.report("AEL0605", message, scope.name, path, labels=tuple(labels), notes=notes)


def _errors(context: Context, scope: ModuleScope, node: n.NodeDecl, path: n.Path, symbol: Symbol, left: frozenset[str]) -> None:
    """The declared errors of a tool end a node of one call, so the node lists them (`Uncertain` is told where bodies are checked)."""
    names = sorted(short(name) for name in left if name != "Uncertain")
    if not names:
        return
    message = f"when `{offered_as(path, symbol)}` fails with {listed(names, 'or')}, that ends `{node.name.text}`, which does not list it"
    notes = ("under `one_call` no second model call is left that could read the error",)
    labels: tuple[Label, ...] = ()
    if isinstance(symbol.node, n.ToolDecl | n.NodeDecl | n.AgentDecl) and symbol.node.fails:
        labels = (context.label(symbol.module, symbol.node.fails[0], "declared here"),)
    context.report("AEL0630", message, scope.name, path, labels=labels, notes=notes)
