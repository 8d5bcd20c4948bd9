"""What reading a deployment has found so far, and how its lines name what a program declares."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches

from ael.check.basis import short
from ael.check.program import CheckedProgram
from ael.data import dataclass
from ael.diagnostics.diagnostic import Bag, Label, Place
from ael.diagnostics.hidden import without_strings
from ael.project.deployment import (
    Defaults,
    McpBinding,
    ModelBinding,
    PriceEntry,
    SecretSource,
    SizeLimits,
    StoreBinding,
    ToolBinding,
)
from ael.project.literal import Construct, NotConstant, evaluate
from ael.project.logs import LogBinding
from ael.project.placements import PlacementBinding
from ael.project.runs import RunsBinding
from ael.project.serving import CallerBinding, Listen
from ael.project.tenants import TenantBinding
from ael.project.wrong import Wrong, listing
from ael.source import Source, Span
from ael.syntax import nodes as n
from ael.types.spec import BudgetSpec, ServerSpec


@dataclass(frozen=True, eq=False)
class ServerFacts:
    """A declared MCP server as a deployment sees it.

    `tools` are those that the program uses, qualified name -> name there; `pinned` the names of all that are pinned, None where
    nothing is.
    """

    spec: ServerSpec
    source: Source
    span: Span
    tools: Mapping[str, str]
    pinned: frozenset[str] | None = None


class State:
    """What can be read without a program that checks: the world, and the MCP servers in it."""

    def __init__(self, source: Source, bag: Bag, packages: frozenset[str], declared: Mapping[str, ServerFacts]) -> None:
        """`packages` are the optional ones that the pack lists."""
        self.source = source
        self.bag = bag
        self.packages = packages
        self.declared = declared
        self.settings: dict[str, object] = {}
        self.secrets: dict[str, SecretSource] = {}
        self.owned_secrets: dict[tuple[str, str], SecretSource] = {}
        self.owned_places: dict[tuple[str, str], n.Node] = {}
        self.hosts: set[str] = set()
        self.commands: set[str] = set()
        self.servers: dict[str, McpBinding] = {}
        self.tools: dict[str, ToolBinding] = {}
        self.runs = RunsBinding()
        self.natives: dict[str, object] = {}
        """Topic of the standard library's native effects -> what the deployment says of it."""
        self.logs: list[LogBinding] = []
        self.wanted: list[tuple[str, Source, Span]] = []
        """The secrets that something needs, and where it says so."""
        self.seen: dict[tuple[str, str], n.Binding] = {}
        self.doubtful = bool(bag.errors)
        """Whether a line that is not understood may have bound a server: then that nothing binds it is no news."""

    def report(self, wrong: Wrong | NotConstant) -> None:
        """Tell what is wrong, and go on: a deployment with an error is not used, and what else is wrong with it is told too."""
        if isinstance(wrong, NotConstant):
            message = "a deployment holds constants: literals, lists, maps, and calls of its own words"
            self.bag.report("AEL0812", message, self.source, wrong.node.span)
            return
        # A secret that stands in the file is not shown with it.
        source = without_strings(self.source, wrong.node.span) if wrong.code == "AEL0815" else self.source
        labels = () if wrong.first is None else (Label(Place(self.source, wrong.first.span), "first here"),)
        self.bag.report(wrong.code, wrong.message, source, wrong.node.span, labels=labels, notes=wrong.notes)

    @contextmanager
    def told(self) -> Iterator[None]:
        """`report` what is wrong with one part of a line, so that its other parts are read too."""
        try:
            yield
        except (Wrong, NotConstant) as wrong:
            self.report(wrong)

    def want(self, secret: str, node: n.Node) -> None:
        """Something in this deployment needs a secret."""
        self.wanted.append((secret, self.source, node.span))


class ProgramState(State):
    """And what a program declares."""

    def __init__(
        self,
        source: Source,
        bag: Bag,
        packages: frozenset[str],
        declared: Mapping[str, ServerFacts],
        program: CheckedProgram,
    ) -> None:
        super().__init__(source, bag, packages, declared)
        self.program = program
        self.models: dict[str, ModelBinding] = {}
        self.stores: dict[str, StoreBinding] = {}
        self.roles: dict[str, tuple[str, ...]] = {}
        self.services: dict[str, str] = {}
        self.placements: dict[str, PlacementBinding] = {}
        self.placement_places: dict[str, n.Node] = {}
        self.here: set[str] = set()
        self.edge_places: dict[str, n.Node] = {}
        """The edges that a line places, in the process too, and where it says so."""
        self.prices: list[PriceEntry] = []
        self.denied: set[str] = set()
        self.budget = BudgetSpec()
        self.defaults = Defaults()
        self.limits = SizeLimits()
        self.exposed: dict[str, str] = {}
        self.exposed_services: dict[str, str | None] = {}
        self.callers: dict[str, CallerBinding] = {}
        self.caller_places: dict[str, n.Node] = {}
        self.listen: Listen | None = None
        self.allowed: set[str] | None = None
        self.allowed_tools: set[str] | None = None
        self.tenants: dict[str, TenantBinding] = {}


ONE = frozenset({"runs", "files", "code", "knowledge", "process"})
"""The kinds of lines without a name that stand once at most."""


def once(state: State, binding: n.Binding) -> None:
    """Raise `Wrong` for a name that is bound already."""
    kind = binding.kind.text
    if binding.subject is None and kind not in ONE:
        return
    name = "" if binding.subject is None else f" {binding.subject.text}"
    name += "" if binding.target is None else f" -> {binding.target.text}"
    key = (kind, name)
    if key in state.seen:
        raise Wrong("AEL0813", f"`{kind}{name}` is bound twice", _name(binding), first=_name(state.seen[key]))
    state.seen[key] = binding


def _name(binding: n.Binding) -> n.Node:
    return binding.subject or binding.kind


def named(binding: n.Binding, kind: str, known: Iterable[str]) -> str:
    """The qualified name of what a line binds: it is written whole or by its end (`get_customer`, `crm.get_customer`)."""
    path = subject(binding)
    names = list(known)
    matches = matching(path.text, names)
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise Wrong("AEL0810", f"more than one {kind} is called `{path.text}`", path, listing("say which:", matches))
    shorts = [short(name) for name in names]
    close = get_close_matches(path.text, shorts, 1)
    note = f"did you mean `{close[0]}`?" if close else listing("the program has", shorts)
    raise Wrong("AEL0810", f"the program has no {kind} `{path.text}`", path, note)


def matching(text: str, names: Iterable[str]) -> list[str]:
    """Those of the qualified `names` that `text` names: whole, else by its end.

    What another module or pack declares is written with its path, `/` as `.` (`refunds.orders.Orders`), and the main module of a pack is
    the pack itself: `refunds.Refunds` is `refunds/main.Refunds`.
    """
    every = list(names)
    whole = [name for name in every if name == text] or [name for name in every if text in _written(name)]
    return whole or [name for name in every if name.endswith(f".{text}")]


def _written(name: str) -> tuple[str, str]:
    module, _, own = name.partition(".")
    return f"{module.replace('/', '.')}.{own}", f"{module.removesuffix('/main').replace('/', '.')}.{own}"


def construct(binding: n.Binding, known: tuple[str, ...]) -> Construct:
    """The value of a line, which is one of the words `known`. Raises `Wrong`, `NotConstant`."""
    node = value(binding)
    found = evaluate(node)
    if not isinstance(found, Construct) or found.name not in known:
        name = f"`{found.name}`" if isinstance(found, Construct) else "this"
        message = f"a `{binding.kind.text}` line cannot have {name} as its value"
        raise Wrong("AEL0814", message, node, listing("there is", known))
    return found


def argument(call: n.Expr, word: str) -> n.Node:
    """Where a call says `word: …`, for what is wrong with it; the call itself where it does not."""
    arguments = call.arguments if isinstance(call, n.Call) else ()
    return next((one for one in arguments if one.name is not None and one.name.text == word), call)


def subject(binding: n.Binding) -> n.Path:
    """What a line binds. Raises `Wrong`."""
    if binding.subject is None:
        raise Wrong("AEL0814", f"`{binding.kind.text}` needs a name", binding.kind)
    return binding.subject


def value(binding: n.Binding) -> n.Expr:
    """What follows the `=` of a line. Raises `Wrong`."""
    if binding.value is None:
        raise Wrong("AEL0814", f"`{binding.kind.text}` needs `= …`", binding)
    return binding.value


def permissions(state: ProgramState, paths: Iterable[n.Path]) -> frozenset[str]:
    """The permissions that `paths` name, with all that they include; one that there is not is reported."""
    found: set[str] = set()
    for path in paths:
        spec = state.program.permissions.get(path.text)
        if spec is not None:
            found |= {path.text, *spec.includes}
            continue
        close = get_close_matches(path.text, state.program.permissions, 1)
        note = f"did you mean `{close[0]}`?" if close else listing("the program has", state.program.permissions)
        state.report(Wrong("AEL0810", f"there is no permission `{path.text}`", path, note))
    return frozenset(found)


def declared_node(program: CheckedProgram, text: str, place: n.Node) -> str:
    """The qualified name of a node that a line names; one of the main module goes before others. Raises `Wrong` (AEL0810)."""
    return declared(program, "node", program.nodes, text, place)


def declared(program: CheckedProgram, kind: str, known: Iterable[str], text: str, place: n.Node) -> str:
    """The one of the qualified names `known` that `text` names, as `declared_node`."""
    names = list(known)
    matches = matching(text, names)
    own = f"{program.main}.{text}"
    if own in matches or len(matches) == 1:
        return own if own in matches else matches[0]
    if matches:
        raise Wrong("AEL0810", f"more than one {kind} is called `{text}`", place, listing("say which:", matches))
    shorts = [short(name) for name in names]
    close = get_close_matches(text, shorts, 1)
    note = f"did you mean `{close[0]}`?" if close else listing("the program has", shorts)
    raise Wrong("AEL0810", f"the program has no {kind} `{text}`", place, note)


def dotted(node: n.Node) -> str | None:
    """The name that an expression is, `answer` or `support.answer`; None when it is something else."""
    match node:
        case n.Reference(name=name):
            return name.text
        case n.FieldAccess(target=inner, name=name):
            lead = dotted(inner)
            return None if lead is None else f"{lead}.{name.text}"
        case _:
            return None
