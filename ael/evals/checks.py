"""The built-in graders of an `eval.ael`: `exact`, `schema("…")`, `visited(…)`, `judge(…)`; everything else is an expression of AEL."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from ael.check.program import CheckedProgram
from ael.data import dataclass
from ael.evals.amounts import budget
from ael.evals.lines import FORM, NAME, Lines, file, number, share, text, truth, whole, word
from ael.evals.plan import (
    Called,
    Check,
    Contains,
    Exact,
    Grader,
    Judge,
    Kept,
    Matches,
    Schema,
    Status,
    Visited,
    Within,
)
from ael.project.bind_state import declared, dotted
from ael.project.form import constant
from ael.project.literal import evaluate
from ael.project.wrong import Wrong, listing
from ael.syntax import nodes as n
from ael.types.definition import RecordDef
from ael.types.fault import FaultKind
from ael.types.pattern import check_pattern
from ael.types.relate import fits
from ael.types.signature import Signature
from ael.types.type import BoolType, DecimalType, FloatType, IntType, Named, Type

STATUSES = ("value", "error", "fault", "uncertain", "parked")
MAX_SCHEMA_BYTES = 1 << 20


@dataclass(frozen=True)
class Known:
    """What graders may name. `given`: the entry's parameters, `output` and `expected`, by name, with their types."""

    program: CheckedProgram
    entry: str
    folder: Path
    given: Mapping[str, Type]
    module: str

    @property
    def output(self) -> Type:
        """The type of the entry's result."""
        return self.program.signatures[self.entry].result

    def node(self, text: str, place: n.Node) -> str:
        """The node of a name: one of the graders' own module goes before others. Raises `Wrong`."""
        return self._own(self.program.nodes, text) or _declared(self.program, "node", self.program.nodes, text, place)

    def tool(self, text: str, place: n.Node) -> str:
        """The tool of a name. Raises `Wrong`."""
        return self._own(self.program.tools, text) or _declared(self.program, "tool", self.program.tools, text, place)

    def store(self, text: str, place: n.Node) -> str:
        """The store of a name. Raises `Wrong`."""
        return _declared(self.program, "store", self.program.stores, text, place)

    def error(self, text: str, place: n.Node) -> str:
        """One of the errors that the entry can fail with. Raises `Wrong`."""
        return _declared(self.program, "error that its entry fails with,", self.program.signatures[self.entry].fails, text, place)

    def _own(self, names: Mapping[str, object], text: str) -> str | None:
        name = f"{self.module}.{text}"
        return name if name in names else None


def _declared(program: CheckedProgram, kind: str, names: object, text: str, place: n.Node) -> str:
    try:
        return declared(program, kind, names, text, place)  # type: ignore[arg-type]
    except Wrong as wrong:
        raise Wrong(NAME, wrong.message, wrong.node, *wrong.notes) from None


@dataclass(frozen=True)
class Written:
    """A call as it is written: its arguments by place and by name, and where it stands."""

    places: tuple[n.Expr, ...]
    named: Mapping[str, n.Expr]
    node: n.Expr

    def only(self, *names: str, places: int = 0) -> None:
        """Raise `Wrong` for an argument that has no meaning here."""
        for name, node in self.named.items():
            if name not in names:
                raise Wrong(FORM, f"this grader takes no `{name}`", node, listing("it takes", names))
        if len(self.places) > places:
            raise Wrong(FORM, "this grader takes no more arguments", self.places[places])

    def first(self, what: str) -> n.Expr:
        """The argument at the first place. Raises `Wrong`."""
        if not self.places:
            raise Wrong(FORM, f"this grader takes {what}", self.node)
        return self.places[0]


def written(node: n.Expr) -> tuple[str, Written] | None:
    """A bare word or a call of one, with its arguments; None for any other expression."""
    match node:
        case n.Reference(name=name):
            return name.text, Written((), {}, node)
        case n.Call(callee=n.Reference(name=name), arguments=arguments):
            named = {a.name.text: a.value for a in arguments if a.name is not None}
            return name.text, Written(tuple([a.value for a in arguments if a.name is None]), named, node)
        case _:
            return None


def built_in(node: n.Expr) -> tuple[str, Written] | None:
    """The built-in grader that a line has, None where it is an expression of the program."""
    found = written(node)
    return found if found is not None and found[0] in CHECKS else None


def check_of(name: str, call: Written, known: Known) -> Check:
    """The built-in check. Raises `Wrong` and `NotConstant`."""
    return CHECKS[name](call, known)


def grader(name: str, node: n.Expr, known: Known, lines: Lines) -> Grader | None:
    """The built-in grader that stands at `node`; None for an expression. Raises `Wrong` and `NotConstant`."""
    found = built_in(node)
    if found is None:
        return None
    word_, call = found
    least = 1.0
    if word_ == "judge":
        least = number(call.named["min"]) if "min" in call.named else 0.5
    check = check_of(word_, call, known)
    if isinstance(check, Judge):
        if not 0 <= least <= check.of:
            raise Wrong(FORM, f"`min` is a score from 0 to {check.of:g}", call.named["min"])
        least /= check.of
    return Grader(name, check, least, lines.source.text[node.span.start : node.span.end])


# --- one function for each -----------------------------------------------------------------------------------------------


def _exact(call: Written, known: Known) -> Check:
    call.only("fields")
    if "fields" not in call.named:
        return Exact()
    node = call.named["fields"]
    fields = evaluate(node)
    if not isinstance(fields, list) or not fields or not all(isinstance(one, str) for one in fields):
        raise Wrong(FORM, '`fields` is a list of names, such as `["topic"]`', node)
    record = known.program.definitions.get(known.output.name) if isinstance(known.output, Named) else None
    if not isinstance(record, RecordDef):
        raise Wrong(NAME, "the output is no record, so it has no fields", node)
    there = [one.wire for one in record.fields]
    for one in fields:
        if one not in there:
            raise Wrong(NAME, f"the output has no field `{one}`", node, listing("it has", there))
    return Exact(tuple(fields))


def _schema(call: Written, known: Known) -> Check:
    call.only(places=1)
    node = call.first('the file of a JSON Schema, such as `schema("reply.schema.json")`')
    path = file(node, known.folder)
    try:
        data = path.read_bytes()
        if len(data) > MAX_SCHEMA_BYTES:
            raise Wrong(FORM, f"`{path.name}` is larger than {MAX_SCHEMA_BYTES} bytes", node)
        found = data.decode("utf-8-sig")
    except OSError as error:
        raise Wrong(FORM, f"`{path.name}` cannot be read: {(error.strerror or 'no such file').lower()}", node) from None
    except UnicodeDecodeError:
        raise Wrong(FORM, f"`{path.name}` is no UTF-8", node) from None
    from ael.evals.schema import problem_of_schema

    problem = problem_of_schema(found)
    if problem is not None:
        raise Wrong(FORM, f"`{path.name}` is no JSON Schema: {problem}", node)
    return Schema(path.name, found)


def _contains(call: Written, known: Known) -> Check:
    call.only("ignore_case", places=1)
    ignore = truth(call.named["ignore_case"]) if "ignore_case" in call.named else False
    return Contains(text(call.places[0]) if call.places else None, ignore)


def _matches(call: Written, known: Known) -> Check:
    call.only(places=1)
    node = call.first("a pattern")
    return Matches(pattern(text(node), lambda why: Wrong(FORM, f"this is no pattern: {why}", node)))


def pattern(found: str, wrong: Callable[[str], Exception]) -> str:
    """A pattern that can be matched. Raises what `wrong` makes."""
    error = check_pattern(found)
    if error is not None:
        raise wrong(str(error))
    return found


def _status(call: Written, known: Known) -> Check:
    call.only("error", "fault", "parked", places=1)
    if len(call.places) + len(call.named) != 1:
        raise Wrong(FORM, "`status` takes one way to end", call.node, "such as `status(value)` or `status(error: NotFound)`")
    if call.places:
        found = word(call.places[0])
        if found not in STATUSES:
            raise Wrong(FORM, f"no run ends as `{found}`", call.places[0], listing("there is", STATUSES))
        return Status(found)
    how, node = next(iter(call.named.items()))
    return status(how, name_of(node), known, node)


def status(how: str, name: str, known: Known, node: n.Node) -> Status:
    """The check that a run ended with the error, fault or wait of this name. Raises `Wrong`."""
    match how:
        case "error":
            return Status(how, known.error(name, node))
        case "parked":
            return Status(how, known.tool(name, node))
        case _:
            kinds = [kind.value for kind in FaultKind]
            if name not in kinds:
                raise Wrong(NAME, f"there is no fault `{name}`", node, listing("there is", kinds))
            return Status(how, name)


def name_of(node: n.Expr) -> str:
    """A name, with dots or without. Raises `Wrong`."""
    found = dotted(node)
    if found is None:
        raise Wrong(FORM, "this takes a name", node)
    return found


def _visited(how: str) -> Callable[[Written, Known], Check]:
    def read(call: Written, known: Known) -> Check:
        call.only(places=len(call.places))
        call.first("nodes of the program")
        nodes = tuple([known.node(name_of(node), node) for node in call.places])
        return Visited(nodes, how)  # type: ignore[arg-type]

    return read


def _called(call: Written, known: Known) -> Check:
    call.only("args", "times", places=1)
    node = call.first("a tool of the program")
    arguments = None
    if "args" in call.named:
        found = constant(evaluate(call.named["args"]), call.named["args"])
        if not isinstance(found, dict):
            raise Wrong(FORM, '`args` is a map, such as `["id": "A-42"]`', call.named["args"])
        arguments = found
    times = whole(0, 10_000)(call.named["times"]) if "times" in call.named else None
    return Called(known.tool(name_of(node), node), arguments, times)


def _not_called(call: Written, known: Known) -> Check:
    call.only(places=1)
    node = call.first("a tool of the program")
    return Called(known.tool(name_of(node), node), None, 0)


def _kept(call: Written, known: Known) -> Check:
    ways = ("absent", "equals", "contains", "matches")
    call.only("key", *ways, places=1)
    node = call.first("a store of the program")
    store = known.store(name_of(node), node)
    if "key" not in call.named:
        raise Wrong(FORM, "this grader takes the `key` that it looks at", call.node)
    key = text(call.named["key"])
    said = [way for way in ways if way in call.named]
    if len(said) > 1:
        raise Wrong(FORM, "this grader looks at one thing", call.named[said[1]], listing("one of", ways))
    if not said:
        return Kept(store, key)
    at = call.named[said[0]]
    match said[0]:
        case "absent":
            return Kept(store, key, "absent" if truth(at) else "there")
        case "equals":
            return Kept(store, key, "equals", constant(evaluate(at), at))
        case "contains":
            return Kept(store, key, "contains", text(at))
        case _:
            return Kept(store, key, "matches", pattern(text(at), lambda why: Wrong(FORM, f"this is no pattern: {why}", at)))


def _within(call: Written, known: Known) -> Check:
    call.only("tokens", "cost", "time", "steps", "tool_calls")
    return Within(budget(call.named, call.node))


def _judge(call: Written, known: Known) -> Check:
    call.only("min", "of", "cost", "tokens", places=1)
    node = call.first("a node of the program, which gives the grade")
    judge = known.node(name_of(node), node)
    spec = known.program.nodes[judge]
    if spec.model is None:
        note = "a grader that is code is written as an expression"
        raise Wrong(NAME, f"`{name_of(node)}` asks no model", node, note)
    signature = spec.signature
    for parameter in signature.parameters:
        there = known.given.get(parameter.name)
        if there is None:
            if parameter.required:
                message = f"`{name_of(node)}` takes `{parameter.name}`, which nothing here is called"
                raise Wrong(NAME, message, node, listing("there is", known.given))
        elif parameter.trusted and not _trusted(known, parameter.name):
            # It would stand among the instructions, where what is graded could say what it is worth.
            message = f"`{name_of(node)}` takes `{parameter.name}` as trusted, and what is graded is nobody's to trust"
            raise Wrong(NAME, message, node, f"take it as data: `{parameter.name}: …` without `trusted`")
        elif not fits(there, parameter.type, known.program.definitions):
            from ael.types.text import show

            message = f"`{name_of(node)}` takes `{parameter.name}: {show(parameter.type)}`, and here it is {show(there)}"
            raise Wrong(NAME, message, node)
    if not _gradable(signature, known):
        note = "it gives a Bool, a number, or a record with a field `score` or `pass`, and perhaps a `reason`"
        raise Wrong(NAME, f"what `{name_of(node)}` gives is no grade", node, note)
    names = tuple([p.name for p in signature.parameters if p.name in known.given])
    best = number(call.named["of"]) if "of" in call.named else 1.0
    if best <= 0:
        raise Wrong(FORM, "`of` is the best score, above 0", call.named["of"])
    amounts = {name: call.named[name] for name in ("cost", "tokens") if name in call.named}
    limit = budget(amounts, call.node) if amounts else None
    return Judge(judge, names, best) if limit is None else Judge(judge, names, best, limit)


def _trusted(known: Known, name: str) -> bool:
    """Whether the entry takes this as trusted itself."""
    return any(one.name == name and one.trusted for one in known.program.signatures[known.entry].parameters)


def _gradable(signature: Signature, known: Known) -> bool:
    result = signature.result
    record = known.program.definitions.get(result.name) if isinstance(result, Named) else None
    if isinstance(record, RecordDef):
        fields = {one.wire: one.type for one in record.fields}
        return isinstance(fields.get("score"), _NUMBERS) or isinstance(fields.get("pass", fields.get("passed")), BoolType)
    return isinstance(result, (BoolType, *_NUMBERS))


_NUMBERS = (FloatType, IntType, DecimalType)

CHECKS: Mapping[str, Callable[[Written, Known], Check]] = {
    "exact": _exact,
    "schema": _schema,
    "contains": _contains,
    "matches": _matches,
    "status": _status,
    "visited": _visited("all"),
    "not_visited": _visited("none"),
    "order": _visited("order"),
    "called": _called,
    "not_called": _not_called,
    "kept": _kept,
    "within": _within,
    "judge": _judge,
}
"""The words of the built-in graders."""
SCORE = "score"
"""`score(EXPRESSION, min: 0.8)`: an expression that gives a number."""


def scored(node: n.Expr) -> tuple[n.Expr, float] | None:
    """The expression of `score(…)` and its `min`; None for another one. Raises `Wrong`."""
    found = written(node)
    if found is None or found[0] != SCORE:
        return None
    call = found[1]
    call.only("min", places=1)
    return call.first("an expression that gives a number from 0 to 1"), share(call.named["min"]) if "min" in call.named else 0.5
