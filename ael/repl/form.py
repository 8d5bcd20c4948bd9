"""What a statement becomes in the body of an input, so that its values can be kept."""

from __future__ import annotations

from collections.abc import Iterator

from ael.data import dataclass, field
from ael.diagnostics.diagnostic import Place
from ael.syntax import nodes as n

LAST = "it"
"""The name of the value of the last expression."""


@dataclass(eq=False)
class Keep:
    """A local of an input whose value is kept. `assigns`: a `var` of before that the input changes; `changes`: it may be assigned later."""

    name: str
    changes: bool = False
    assigns: bool = False
    shows: bool = True
    heard: list[object] = field(default_factory=list)

    async def hear(self, frame: object, value: object) -> None:
        """What the code of the input calls with the value, as it calls every function value."""
        self.heard.append(value)


@dataclass(frozen=True, eq=False)
class Form:
    """`before` and `after` are text of ours around the statement. `value` is what is kept, as it is written, where that is known.

    `plain` is the form that holds when the statement has no value.
    """

    before: str
    after: str
    keeps: tuple[Keep, ...]
    value: n.Expr | None = None
    plain: Form | None = None

    def written(self, statement: Place) -> list[str | Place]:
        """The body."""
        return [self.before, statement, self.after]


def function_name(number: int) -> str:
    """How an input calls the function that keeps its value of this number."""
    return f"keep__{number}"


def form_of(statement: n.Statement, variables: set[str]) -> Form:
    """The form of a statement; `variables` are the names of what may be assigned."""
    own = {node.name.text for node in n.walk(statement) if isinstance(node, n.Let)}
    assigned = sorted({node.name.text for node in n.walk(statement) if isinstance(node, n.Assign)} & variables - own)
    before = "".join(f"var {name} = {name}\n" for name in assigned)
    top = isinstance(statement, n.Assign)
    keeps = [Keep(name, changes=True, assigns=True, shows=top) for name in assigned]
    match statement:
        case n.Let(name=name, value=value, mutable=mutable):
            return _form(before, [*keeps, Keep(name.text, changes=mutable)], value)
        case n.ExprStatement(value=value):
            plain = _form(before, keeps)
            return _form(f"{before}let {LAST} = ", [*keeps, Keep(LAST)], value, plain)
        case _:
            return _form(before, keeps)


def _form(before: str, keeps: list[Keep], value: n.Expr | None = None, plain: Form | None = None) -> Form:
    after = "".join(f"\n{function_name(number)}({keep.name})" for number, keep in enumerate(keeps))
    return Form(before, after, tuple(keeps), value, plain)


def mentioned(node: n.Node) -> Iterator[str]:
    """The names that code mentions."""
    return (inner.name.text for inner in n.walk(node) if isinstance(inner, n.Reference))


def released(value: n.Expr | None) -> bool:
    """Whether somebody vouched for a value: all of it is a `release(…)`."""
    return isinstance(value, n.Call) and isinstance(value.callee, n.Reference) and value.callee.name.text == "release"
