"""From an `eval.ael` and the program beside it to an evaluation that is checked whole: every line, every grader, before anything runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ael.check.program import CheckedProgram
from ael.data import dataclass, replace
from ael.diagnostics.diagnostic import Bag, Place
from ael.evals import generated, lines
from ael.evals.checks import Known, built_in, grader, scored
from ael.evals.generated import EXPECTED, PREFIX, Expression
from ael.evals.lines import FORM, NAME, Lines
from ael.evals.plan import Approvals, Code, Evaluation, Grader, Thresholds
from ael.project.bind_state import declared
from ael.project.entry import EntryError, choose
from ael.project.form import amounts
from ael.project.load import Project, load_project, shown
from ael.project.pack import find_root, report_unreadable
from ael.project.program import Opened, check, load_deployment
from ael.project.wrong import Wrong, listing
from ael.source import Source, SourceError, Span, read
from ael.syntax import nodes as n
from ael.syntax.parse import parse_deployment, parse_module
from ael.types.spec import BudgetSpec
from ael.types.type import Type

PREFIX_OF_FILES = "eval."


@dataclass(frozen=True)
class OpenedEvaluation:
    """An evaluation that checks. `program`: as it is; `graded`: with the code of the graders, which is what runs."""

    evaluation: Evaluation
    folder: Path
    program: Opened
    graded: Opened

    @property
    def cases(self) -> Path:
        """The file of the cases."""
        return self.folder / self.evaluation.cases


def file_of(path: Path, name: str | None) -> Path:
    """The evaluation that a path and a name mean: `eval.ael` or `eval.NAME.ael` of the program's folder; or the path itself."""
    if path.is_file() and is_evaluation(path.name):
        return path
    start = path if path.is_dir() else path.parent
    folder = start if (start / "main.ael").is_file() else find_root(start.resolve()) or start
    return folder / ("eval.ael" if name is None else f"eval.{name}.ael")


def is_evaluation(name: str) -> bool:
    """Whether a file of this name is an evaluation."""
    return name.startswith(PREFIX_OF_FILES) and name.endswith(".ael")


def name_of(file: Path) -> str:
    """How an evaluation is called: `NAME` of `eval.NAME.ael`, else the folder's."""
    return file.name.removeprefix("eval").removesuffix(".ael").strip(".") or file.resolve().parent.name


def open_evaluation(path: Path, bag: Bag, *, name: str | None = None, deploy: str | None = None) -> OpenedEvaluation | None:
    """Read, load and check everything that an evaluation needs; problems go to the bag, None says that there were errors.

    `path`: the program (a file or a folder), or the `eval.ael`; `deploy` goes before what the file says.
    """
    file = file_of(path, name)
    if not path.exists():
        report_unreadable(SourceError(shown(path), "no such file or folder"), bag)
        return None
    if not file.exists():
        _missing(file, bag)
        return None
    try:
        source = read(file, shown(file))
    except SourceError as error:
        report_unreadable(error, bag)
        return None
    found = lines.lines_of(parse_deployment(source, bag), bag)
    if bag.errors:
        return None
    program = path if path.is_file() and not is_evaluation(path.name) else _main(found, file.parent)
    if program is None:
        return None
    opened, module = _program(program, file.parent, found, deploy, bag)
    if opened is None:
        return None
    return _checked(opened, module, found, file, bag)


def _missing(file: Path, bag: Bag) -> None:
    """There is no such evaluation: say which there are, or how one begins."""
    there = sorted(one.name for one in file.parent.glob("eval*.ael") if one.name == "eval.ael" or is_evaluation(one.name))
    if there:
        notes: tuple[str, ...] = (listing("there is", there), "`--eval NAME` takes `eval.NAME.ael`")
    else:
        notes = ('it begins with `cases = jsonl("cases.jsonl")` and has a line for each grader: `grader same = exact`',)
    bag.report(FORM, f"there is no evaluation `{file.name}` beside the program", Source(shown(file), ""), Span(0, 0), notes=notes)


def _main(found: Lines, folder: Path) -> Path | None:
    """The file of the program: what the line `program` says, else `main.ael`."""
    if "program" not in found.single:
        return folder / "main.ael"
    return found.take("program", lambda node: _module(node, folder))  # type: ignore[no-any-return]


def _module(node: n.Expr, folder: Path) -> Path:
    """The file of a module that is written `./name`. Raises `Wrong`."""
    named = lines.text(node)
    file = folder / f"{named.removesuffix('.ael')}.ael"
    if not file.is_file() or not file.resolve().is_relative_to(folder.resolve()):
        raise Wrong(NAME, f"there is no module `{named}`", node, "`./desk` is `desk.ael` beside this file")
    return file


def _program(main: Path, folder: Path, found: Lines, deploy: str | None, bag: Bag) -> tuple[Opened | None, str]:
    """The program with its deployment, and the module in whose names the graders are written."""
    own = found.take("graders", lambda node: _module(node, folder))
    others: list[Path] = [] if own is None else [own]
    name = deploy or found.take("deployment", lines.text)
    project = None if bag.errors else load_project(main, bag, others)
    program = check(project, bag) if project is not None else None
    if project is None or program is None or bag.errors:
        return None, ""
    deployment = load_deployment(project, program, name, bag)
    if deployment is None or bag.errors:
        return None, ""
    opened = Opened(project, program, deployment)
    return opened, _module_of(project, others[0]) if others else project.main


def _module_of(project: Project, file: Path) -> str:
    path = file.resolve()
    found = (
        name for name, tree in project.modules.items() if tree.source.path is not None and tree.source.path.resolve() == path
    )
    return next(found, project.main)


def _checked(opened: Opened, module: str, found: Lines, file: Path, bag: Bag) -> OpenedEvaluation | None:
    program = opened.program
    entry = _entry(program, found)
    if entry is None:
        return None
    tree = _declaration(opened.project, entry)
    own = opened.project.modules[module]
    expected: str | None = found.take("expected", lines.word)
    at = lines.value(found.single["expected"]) if "expected" in found.single else None
    place = Place(found.source, at.span if at is not None else Span(0, min(1, len(found.source.text))))
    texts = generated.texts_of(opened.project.modules[entry.rpartition(".")[0]].source, tree.parameters, tree.result, expected)
    given = {p.name: p.type for p in program.signatures[entry].parameters}
    for taken in ("output", "expected", "run"):
        if taken in given:
            bag.report(NAME, f"the entry has a parameter `{taken}`, which is a name of evaluations", found.source, place.span)
            return None
    types: dict[str, Type] = {**given, "output": program.signatures[entry].result}
    expressions, values = _expressions(found, texts)
    if bag.errors or generated.clashes(own, (EXPECTED, generated.RUN, *(one.node for one in expressions)), bag, place):
        return None
    made = generated.generate(own.source, texts, expressions, place)
    graded = _graded(opened, module, made, bag)
    if graded is None:
        return None
    types["expected"] = graded.program.signatures[f"{module}.{EXPECTED}"].parameters[0].type
    known = Known(program, entry, file.parent, types, module)
    graders = _graders(found, known, values, module)
    evaluation = _evaluation(found, known, graders, name_of(file))
    if evaluation is None or bag.errors:
        return None
    return OpenedEvaluation(evaluation, file.parent, opened, graded)


def _entry(program: CheckedProgram, found: Lines) -> str | None:
    name = found.take("entry", lambda node: node)
    entry = None
    with found.told():
        if name is None:
            try:
                entry = choose(program, None)
            except EntryError as error:
                first = next(iter(found.single.values()), None) or next(iter(found.named.values()), None)
                if first is None:
                    raise Wrong(FORM, "an evaluation says which cases it has", n.Node(Span(0, 0)), FORMS_NOTE) from None
                raise Wrong(NAME, str(error), first.kind, "add a line `entry = NAME`") from None
        else:
            text = lines.word(name)
            try:
                entry = declared(program, "node", program.nodes, text, name)
            except Wrong as wrong:
                raise Wrong(NAME, wrong.message, wrong.node, *wrong.notes) from None
    return entry


FORMS_NOTE = f"it is written {lines.FORMS['cases']}"


def _declaration(project: Project, entry: str) -> n.NodeDecl | n.AgentDecl:
    module, _, name = entry.rpartition(".")
    return next(
        one for one in project.modules[module].declarations if isinstance(one, n.NodeDecl | n.AgentDecl) and one.name.text == name
    )


def _expressions(found: Lines, texts: dict[str, str]) -> tuple[list[Expression], dict[str, tuple[Expression, float]]]:
    """The graders that are expressions: in order, and by name with their `min`."""
    made: list[Expression] = []
    by: dict[str, tuple[Expression, float]] = {}
    for (kind, name), binding in found.named.items():
        if kind != "grader" or built_in(lines.value(binding)) is not None:
            continue
        with found.told():
            whole = lines.value(binding)
            number = scored(whole)
            node, least = number if number is not None else (whole, 1.0)
            text = found.source.text[node.span.start : node.span.end]
            names = generated.names_in(node, texts)
            one = Expression(f"{PREFIX}{len(made)}", names, number is not None, text, Place(found.source, node.span))
            made.append(one)
            by[name] = (one, least)
    return made, by


def _graded(opened: Opened, module: str, made: generated.Generated, bag: Bag) -> Opened | None:
    """The program with what was generated; what is wrong with that is told where it is written in the evaluation."""
    own = Bag()
    project = opened.project
    modules = {**project.modules, module: parse_module(made.source, own)}
    changed = replace(project, modules=modules)
    program = None if own.errors else check(changed, own)
    if program is None or own.errors:
        before = bag.errors
        for diagnostic in made.retold(own.sorted()):
            bag.add(diagnostic)
        if bag.errors == before:
            piece = made.pieces[-1].place
            bag.report(NAME, "the graders do not check with this program", piece.source, piece.span)
        return None
    return replace(opened, project=changed, program=program)


def _graders(found: Lines, known: Known, values: dict[str, tuple[Expression, float]], module: str) -> tuple[Grader, ...]:
    made: list[Grader] = []
    for (kind, name), binding in found.named.items():
        if kind != "grader":
            continue
        with found.told():
            node = lines.value(binding)
            if name in values:
                one, least = values[name]
                check = Code(f"{module}.{one.node}", one.names, one.scored)
                made.append(Grader(name, check, least, found.source.text[node.span.start : node.span.end]))
            else:
                built = grader(name, node, known, found)
                assert built is not None
                made.append(built)
    return tuple(made)


def _evaluation(found: Lines, known: Known, graders: tuple[Grader, ...], name: str) -> Evaluation | None:
    said = found.take("cases", lambda node: _cases(node, known))
    if "cases" not in found.single:
        first = next(iter((*found.single.values(), *found.named.values())), None)
        found.report(Wrong(FORM, "an evaluation says which cases it has", first or _nothing(found), FORMS_NOTE))
    approvals: Approvals = found.take("approvals", lines.one_of(("park", "approve", "deny")), "park")
    limit = BudgetSpec()
    if "budget" in found.single:
        limit = BudgetSpec(**amounts(found.single["budget"].options, ("tokens", "cost", "time"), found.report))
    samples = found.take("samples", lines.whole(1, lines.MOST_SAMPLES), 1)
    jobs = found.take("jobs", lines.whole(1, lines.MOST_JOBS), 4)
    golden = found.take("golden", lines.truth, False)
    allowed, thresholds = _allowed(found, known), _thresholds(found, graders)
    if said is None:
        return None
    form, file = said
    return Evaluation(
        name, file, form, known.entry, graders, samples, jobs, golden, approvals, allowed, limit, thresholds
    )  # fmt: skip


def _nothing(found: Lines) -> n.Node:
    return n.Name(Span(0, min(1, len(found.source.text))), "")


def _cases(node: n.Expr, known: Known) -> tuple[str, str]:
    if not isinstance(node, n.Call) or not isinstance(node.callee, n.Reference) or node.callee.name.text not in ("jsonl", "csv"):
        raise Wrong(FORM, "cases are in a file", node, FORMS_NOTE)
    if len(node.arguments) != 1 or node.arguments[0].name is not None:
        raise Wrong(FORM, "this takes the name of one file", node, FORMS_NOTE)
    inner = node.arguments[0].value
    lines.file(inner, known.folder)
    return node.callee.name.text, lines.text(inner)


def _allowed(found: Lines, known: Known) -> frozenset[str]:
    allowed: set[str] = set()
    for (kind, _), binding in found.named.items():
        if kind != "allow":
            continue
        for clause in binding.clauses:
            for path in getattr(clause, "permissions", ()):
                with found.told():
                    allowed.add(known.tool(path.text, path))
    return frozenset(allowed)


def _thresholds(found: Lines, graders: Sequence[Grader]) -> Thresholds:
    words = {"pass": lines.share, "score": lines.share, "cost": lines.money, "p95": lines.seconds, "drift": lines.share,
             "flaky": lines.share}  # fmt: skip
    said: dict[str, object] = {}
    by: dict[str, float] = {}
    names = [one.name for one in graders]
    for (kind, name), binding in found.named.items():
        if kind != "threshold":
            continue
        with found.told():
            if name in words:
                said["passed" if name == "pass" else name] = words[name](lines.value(binding))
            elif name in names:
                by[name] = lines.share(lines.value(binding))
            else:
                assert binding.subject is not None
                note = listing("there is", [*words, *names])
                raise Wrong(NAME, f"there is no threshold or grader `{name}`", binding.subject, note)
    return Thresholds(graders=by, **said)  # type: ignore[arg-type]
