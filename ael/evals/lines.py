"""The lines of an `eval.ael`, before any program is looked at: which there are, each once, and the constants in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from decimal import Decimal
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from ael.data import dataclass
from ael.diagnostics.diagnostic import Bag, Label, Place
from ael.project.literal import Construct, NotConstant, evaluate
from ael.project.wrong import Wrong, listing
from ael.source import Source
from ael.syntax import nodes as n

FORM = "AEL0950"
NAME = "AEL0951"
MOST_SAMPLES, MOST_JOBS = 1_000, 256

FORMS: Mapping[str, str] = {
    "cases": '`cases = jsonl("cases.jsonl")` or `cases = csv("cases.csv")`',
    "program": '`program = "./desk"`: the module that is run, if it is not `main`',
    "entry": "`entry = main`",
    "expected": "`expected = Topic`: the type of what a case expects, if it is not the output's",
    "graders": '`graders = "./graders"`: the module in whose names the graders are written',
    "deployment": '`deployment = "local"`',
    "samples": "`samples = 3`",
    "jobs": "`jobs = 4`",
    "golden": "`golden = true`",
    "approvals": "`approvals = park`, `approve` or `deny`",
    "grader": "`grader NAME = exact`, `grader NAME = output.topic == expected.topic` or `grader NAME = judge(NODE, min: 0.7)`",
    "threshold": "`threshold pass = 0.9`",
    "budget": "`budget cost $2, time 10min`",
    "allow": "`allow send_mail`: a tool that may take effect outside",
}
"""Kind of line -> how it is written."""
_NAMED = ("grader", "threshold")
_BUILT_IN = ("budget", "allow")


@dataclass(frozen=True, eq=False)
class Lines:
    """The lines of one file: those that stand once, by kind, and the named ones in their order."""

    source: Source
    bag: Bag
    single: Mapping[str, n.Binding]
    named: Mapping[tuple[str, str], n.Binding]

    def report(self, wrong: Wrong | NotConstant) -> None:
        """Tell what is wrong with one line."""
        if isinstance(wrong, NotConstant):
            message = "this line holds a constant: a literal, a list, a map, or one of its own words"
            self.bag.report(FORM, message, self.source, wrong.node.span)
            return
        labels = () if wrong.first is None else (Label(Place(self.source, wrong.first.span), "first here"),)
        self.bag.report(wrong.code, wrong.message, self.source, wrong.node.span, labels=labels, notes=wrong.notes)

    @contextmanager
    def told(self) -> Iterator[None]:
        """`report` what is wrong in this part, and go on with the others."""
        try:
            yield
        except (Wrong, NotConstant) as wrong:
            self.report(wrong)

    def take(self, kind: str, read: Callable[[n.Expr], Any], default: Any = None) -> Any:
        """What the line `kind` says, read by `read`; `default` where there is none, or where it is wrong, which is told."""
        binding = self.single.get(kind)
        if binding is None:
            return default
        with self.told():
            return read(value(binding))
        return default


def lines_of(module: n.Module, bag: Bag) -> Lines:
    """The lines of a parsed `eval.ael`. What is no line of one is told."""
    single: dict[str, n.Binding] = {}
    named: dict[tuple[str, str], n.Binding] = {}
    lines = Lines(module.source, bag, single, named)
    for declaration in module.declarations:
        with lines.told():
            if not isinstance(declaration, n.Binding):
                raise Wrong(FORM, "an evaluation has no such line", declaration, listing("it has", FORMS))
            _sort(declaration, single, named)
    return lines


def _sort(binding: n.Binding, single: dict[str, n.Binding], named: dict[tuple[str, str], n.Binding]) -> None:
    kind = binding.kind.text
    if kind not in FORMS:
        close = get_close_matches(kind, FORMS, 1)
        note = f"did you mean `{close[0]}`?" if close else listing("it has", FORMS)
        raise Wrong(FORM, f"an evaluation has no `{kind}`", binding.kind, note)
    whole = kind in _BUILT_IN or (binding.value is not None and (binding.subject is not None) == (kind in _NAMED))
    if not whole or binding.target is not None or (kind not in _BUILT_IN and (binding.options or binding.clauses)):
        raise Wrong(FORM, f"this is no `{kind}` line", binding, f"it is written {FORMS[kind]}")
    if kind == "allow":
        named[kind, str(len(named))] = binding
        return
    if binding.subject is None:
        if kind in single:
            raise Wrong(FORM, f"`{kind}` is said twice", binding.kind, first=single[kind].kind)
        single[kind] = binding
        return
    key = (kind, binding.subject.text)
    if key in named:
        raise Wrong(FORM, f"`{kind} {key[1]}` is said twice", binding.subject, first=named[key].subject)
    if "." in key[1]:
        raise Wrong(FORM, f"a {kind} has a plain name", binding.subject, f"it is written {FORMS[kind]}")
    named[key] = binding


def value(binding: n.Binding) -> n.Expr:
    """What stands behind the `=`."""
    assert binding.value is not None
    return binding.value


# --- constants --------------------------------------------------------------------------------------------------------


def text(node: n.Expr) -> str:
    """A text that is not empty. Raises `Wrong`, `NotConstant`."""
    found = evaluate(node)
    if not isinstance(found, str) or not found.strip() or "\0" in found:
        raise Wrong(FORM, "this takes a text", node)
    return found


def word(node: n.Expr) -> str:
    """A bare word. Raises `Wrong`, `NotConstant`."""
    found = evaluate(node)
    if not isinstance(found, Construct) or found.positional or found.named:
        raise Wrong(FORM, "this takes a name", node)
    return found.name


def one_of(words: tuple[str, ...]) -> Callable[[n.Expr], str]:
    """A reader of one of `words`."""

    def read(node: n.Expr) -> str:
        found = word(node)
        if found not in words:
            raise Wrong(FORM, f"`{found}` is none of the words that this takes", node, listing("there is", words))
        return found

    return read


def truth(node: n.Expr) -> bool:
    """`true` or `false`. Raises `Wrong`, `NotConstant`."""
    found = evaluate(node)
    if not isinstance(found, bool):
        raise Wrong(FORM, "this takes `true` or `false`", node)
    return found


def whole(least: int, most: int) -> Callable[[n.Expr], int]:
    """A reader of a whole number within these."""

    def read(node: n.Expr) -> int:
        found = evaluate(node)
        if isinstance(found, bool) or not isinstance(found, int) or not least <= found <= most:
            raise Wrong(FORM, f"this takes a whole number from {least} to {most:,}", node)
        return found

    return read


def share(node: n.Expr) -> float:
    """A number from 0 to 1. Raises `Wrong`, `NotConstant`."""
    found = number(node)
    if not 0 <= found <= 1:
        raise Wrong(FORM, "this takes a number from 0 to 1", node)
    return found


def number(node: n.Expr) -> float:
    """A number. Raises `Wrong`, `NotConstant`."""
    found = evaluate(node)
    if isinstance(found, bool) or not isinstance(found, int | Decimal) or isinstance(node, n.MoneyLit):
        raise Wrong(FORM, "this takes a number", node)
    return float(found)


def money(node: n.Expr) -> Decimal:
    """Money. Raises `Wrong`, `NotConstant`."""
    found = evaluate(node)
    if isinstance(found, bool) or not isinstance(found, int | Decimal) or found < 0:
        raise Wrong(FORM, "this takes money, such as `$0.50`", node)
    return Decimal(found)


def seconds(node: n.Expr) -> float:
    """A duration. Raises `Wrong`, `NotConstant`."""
    found = evaluate(node)
    if not isinstance(found, timedelta) or found.total_seconds() < 0:
        raise Wrong(FORM, "this takes a duration, such as `30s`", node)
    return found.total_seconds()


def file(node: n.Expr, folder: Path) -> Path:
    """A file beside the evaluation or below. Raises `Wrong`, `NotConstant`."""
    found = folder / text(node)
    if not found.resolve().is_relative_to(folder.resolve()):
        raise Wrong(FORM, "a file of an evaluation is beside it, or below", node)
    return found
