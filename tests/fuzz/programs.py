"""Well-typed programs, made by Hypothesis: every form of the language, in combinations nobody writes by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from hypothesis import strategies as st

HEAD = """permission p.read
permission p.write includes p.read
permission p.store

error Bad { n: Int }
error Worse { text: String }
record Rec { a: Int, b?: String, c: List<Int> = [], other: Bool as "is-other" = false, inner?: Rec }
record Nothing { }
enum Shape { Dot, Circle(r: Float), Box(w: Int, h?: Int) }
type Num = Int | String
type Level = "low" | "high" | 3

store notes: Map<String, Int> needs p.store

service Api {
  pay(n: Int) -> Int fails Bad  needs p.write  repeat reconcile
  look(n: Int) -> String  needs p.read  repeat idempotent  retry 2
}

provide Api grants p.store {
  fn pay(n: Int) -> Int fails Bad {
    if n % 5 == 3 { fail Bad(n: n) }
    notes.put("k${n % 4}", n)
    n
  }
  fn look(n: Int) -> String { "look ${notes.get("k${n % 4}") ?? 0}" }
}

/// Read. Call it first.
tool read(n: Int, label?: String) -> Num needs p.read repeat idempotent { if n > 2 { n } else { Api.look(n) } }
/// Nothing to say. Call it first.
tool zero() -> Rec needs p.read repeat idempotent { Rec(a: 0, other: true) }
/// Write. Call it last.
tool write(n: Int) -> Int fails Bad needs p.write repeat reconcile key "w${n % 2}" { try Api.pay(n) }

fn twice(f: fn(Int) -> Int, x: Int) -> Int { f(f(x)) }
fn pick<T>(xs: List<T>, other: T) -> T { xs.last() ?? other }
fn maybe<T>(x: T?, other: fn() -> T) -> T { if x != null { x } else { other() } }
fn int_or_null(x: Int?) -> Int? { x }
fn text_or_null(x: String?) -> String? { x }
fn rec_or_null(x: Rec?) -> Rec? { x }
fn number_or_text(x: Num) -> Num { x }
fn level(x: Level) -> Level { x }
fn shape(x: Shape) -> Shape { x }
fn bad(n: Int) -> Int fails Bad { if n % 3 == 1 { fail Bad(n: n) } else { n } }
fn worse(n: Int) -> String fails Bad, Worse { if n > 40 { fail Worse(text: "w${n}") } else { "${try bad(n)}" } }
"""

TYPES = (
    "Int", "String", "Bool", "Float", "Int?", "String?", "List<Int>", "List<String>", "Map<String, Int>", "Rec", "Rec?", "Shape",
    "Num", "Level", "fn(Int) -> Int", "List<Rec>", "Nothing",
)  # fmt: skip
DATA = tuple(t for t in TYPES if not t.startswith("fn"))
WIDE = {
    "Int?": "int_or_null", "String?": "text_or_null", "Rec?": "rec_or_null", "Num": "number_or_text", "Level": "level",
    "Shape": "shape",
}  # fmt: skip
"""Functions that give what they get, with its type written."""
WORDS = ("a", "b-c", "é", "\\n", "\\u{1F600}", "")
CATCH = "Bad e => {}\n Worse e => {}\n Uncertain u => {}\n Fault f => {}"


@dataclass(frozen=True)
class At:
    """Where an expression stands: the locals in scope, whether effects may be had, what may be passed on, how deep it is."""

    names: tuple[tuple[str, str], ...] = ()
    mutable: tuple[tuple[str, str], ...] = ()
    acts: bool = False
    fails: frozenset[str] = frozenset()
    depth: int = 4
    loops: bool = False

    def deeper(self) -> At:
        return replace(self, depth=self.depth - 1)

    def inside(self, *names: tuple[str, str]) -> At:
        """Within a lambda or a branch, where nothing outside can be assigned."""
        return replace(self, names=(*self.names, *names), mutable=(), loops=False, fails=frozenset(), depth=self.depth - 1)


@dataclass
class Maker:
    """Draws one program. Names are never used twice, or (sometimes) hide one of the same type."""

    draw: Callable[[st.SearchStrategy[object]], object]
    functions: list[tuple[str, tuple[str, ...], str, bool, frozenset[str]]] = field(default_factory=list)
    count: int = 0

    # --- choices -----------------------------------------------------------------------------------------------------

    def number(self, low: int, high: int) -> int:
        found = self.draw(st.integers(low, high))
        assert isinstance(found, int)
        return found

    def one(self, *options: str) -> str:
        return options[self.number(0, len(options) - 1)]

    def name(self) -> str:
        self.count += 1
        return f"v{self.count}"

    # --- expressions -------------------------------------------------------------------------------------------------

    def expression(self, type: str, at: At) -> str:
        """An expression of the type. One of a union goes through a function, so that nothing nearer is known of it."""
        made = self.anything(type, at)
        return f"{WIDE[type]}({made})" if type in WIDE else made

    def anything(self, type: str, at: At) -> str:
        known = [name for name, has in at.names if has == type]
        if at.depth <= 0:
            return self.one(*known, self.leaf(type)) if known else self.leaf(type)
        forms: list[Callable[[str, At], str]] = [self.made, self.made, self.made, self.if_, self.match, self.block, self.called]
        if known:
            forms.append(lambda type, at: self.one(*known))
        if not type.startswith("fn"):
            forms += [self.caught, self.picked, self.parallel, self.coalesced]
        return forms[self.number(0, len(forms) - 1)](type, at.deeper())

    def leaf(self, type: str) -> str:
        match type:
            case "Int":
                return str(self.number(0, 60))
            case "String":
                return f'"{self.one(*WORDS)}"'
            case "Bool":
                return self.one("true", "false")
            case "Float":
                return self.one("0.5", "2.0", "1e3")
            case "Int?" | "String?" | "Rec?":
                return self.one("null", self.leaf(type[:-1]))
            case "List<Int>" | "List<String>" | "List<Rec>":
                return f"[{self.leaf(type[5:-1])}]"
            case "Map<String, Int>":
                return self.one("[:]", '["a": 1, "k": 2]')
            case "Rec":
                return f"Rec(a: {self.number(0, 9)})"
            case "Shape":
                return self.one("Shape.Dot", "Shape.Circle(r: 1.5)", "Shape.Box(w: 2)", "Shape.Box(w: 2, h: 3)")
            case "Num":
                return self.one("4", '"four"')
            case "Level":
                return self.one('"low"', '"high"', "3")
            case "Nothing":
                return "Nothing()"
            case _:
                return self.one("fn(n: Int) => n + 1", "fn(n: Int) => n")

    def made(self, type: str, at: At) -> str:
        """By an operator, a method or a constructor."""
        e = self.expression
        match type:
            case "Int":
                return self.one(
                    f"({e('Int', at)} {self.one('+', '-', '*', 'div', '%')} {e('Int', at)})",
                    f"({e('List<Int>', at)}).sum()",
                    f"({e('String', at)}).length()",
                    f"({e('List<Int>', at)})[{e('Int', at)}]",
                    f"(({e('Map<String, Int>', at)})[{e('String', at)}] ?? 5)",
                    f"({e('Rec', at)}).a",
                    f"({e('fn(Int) -> Int', at)})({e('Int', at)})",
                    f"twice({e('fn(Int) -> Int', at)}, {e('Int', at)})",
                    f"({e('List<Int>', at)}).fold({e('Int', at)}, fn(x, y) => x + y)",
                )
            case "String":
                return self.one(
                    f'"x${{{e("Int", at)}}} ${{{e("Level", at)}}}"',
                    f"({e('String', at)} + {e('String', at)})",
                    f'({e("List<String>", at)}).join(",")',
                    f"(({e('Rec', at)}).b ?? {e('String', at)})",
                    f"({e('String', at)}).slice({e('Int', at)}, {e('Int', at)})",
                )
            case "Bool":
                return self.one(
                    f"({e('Int', at)} {self.one('<', '<=', '==', '!=')} {e('Int', at)})",
                    f"({e('Bool', at)} {self.one('and', 'or')} not {e('Bool', at)})",
                    f"({e('Rec', at)} == {e('Rec', at)})",
                    f"({e('Int', at)} in {e('List<Int>', at)})",
                    f"({e('Shape', at)} != {e('Shape', at)})",
                    f"({e('Rec', at)}).other",
                    f"({e('Num', at)} == {e('Num', at)})",
                    f"({e('Int?', at)} == null)",
                )
            case "Float":
                return self.one(
                    f"({e('Int', at)} / {e('Int', at)})", f"({e('Float', at)} * {e('Float', at)})", f"({e('Int', at)}).to_float()"
                )
            case "Int?":
                return self.one(
                    f"({e('List<Int>', at)}).first()", f"({e('Map<String, Int>', at)})[{e('String', at)}]", e("Int", at)
                )
            case "String?":
                return self.one(f"({e('Rec', at)}).b", f"({e('List<String>', at)}).last()", e("String", at))
            case "Rec?":
                return self.one(f"({e('Rec', at)}).inner", f"({e('List<Rec>', at)}).find(fn(r) => r.other)", e("Rec", at))
            case "List<Int>":
                return self.one(
                    f"[{e('Int', at)}, {e('Int', at)}]",
                    f"({e('List<Int>', at)}).map({e('fn(Int) -> Int', at)})",
                    f"({e('List<Int>', at)}).filter(fn(x) => x > {e('Int', at.inside())})",
                    f"({e('List<Rec>', at)}).map(fn(r) => r.a)",
                    f"({e('List<Int>', at)}).sort_by(fn(x) => -x).take(4)",
                    f"({e('Rec', at)}).c",
                )
            case "List<String>":
                return self.one(
                    f"[{e('String', at)}]",
                    f"({e('Map<String, Int>', at)}).keys()",
                    f'({e("List<Int>", at)}).map(fn(x) => "${{x}}")',
                )
            case "Map<String, Int>":
                return self.one(f'["z": {e("Int", at)}]', f"({e('Map<String, Int>', at)}).set({e('String', at)}, {e('Int', at)})")
            case "Rec":
                return self.one(
                    f"Rec(a: {e('Int', at)}, b: {e('String?', at)}, inner: {e('Rec?', at)})",
                    f"Rec(a: {e('Int', at)}, other: {e('Bool', at)}, c: {e('List<Int>', at)})",
                    f"(({e('Rec', at)}) with {{ b: {e('String?', at)} }})",
                    f"(({e('Rec', at)}) with {{ a: {e('Int', at)}, other: {e('Bool', at)} }})",
                )
            case "Shape":
                return self.one(f"Shape.Circle(r: {e('Float', at)})", f"Shape.Box(w: {e('Int', at)}, h: {e('Int?', at)})")
            case "Num":
                return self.one(e("Int", at), e("String", at))
            case "List<Rec>":
                return self.one(f"[{e('Rec', at)}, {e('Rec', at)}]", f"({e('List<Rec>', at)}).reverse()")
            case "fn(Int) -> Int":
                name = self.one(self.name(), *(["v1"] if self.count else []))
                return f"fn({name}: Int) => {self.expression('Int', at.inside((name, 'Int')))}"
            case _:
                return self.leaf(type)

    def if_(self, type: str, at: At) -> str:
        subject = self.one("Int?", "String?", "Rec?")
        if self.number(0, 1):
            name = self.name()
            some = replace(at, names=(*at.names, (name, subject[:-1])))
            start = f"let {name}: {subject} = {self.expression(subject, at)}\n "
            return self.group(
                f"{start}if {name} != null {{ {self.expression(type, some)} }} else {{ {self.expression(type, at)} }}"
            )
        return f"(if {self.expression('Bool', at)} {{ {self.expression(type, at)} }} else {{ {self.expression(type, at)} }})"

    def group(self, statements: str) -> str:
        """A block as an expression."""
        return f"({{ {statements} }})"

    def match(self, type: str, at: At) -> str:
        subject = self.one("Shape", "Num", "Int?", "List<Int>", "Level", "Rec?")
        x, y = self.name(), self.name()

        def arm(*names: tuple[str, str]) -> str:
            return self.expression(type, replace(at, names=(*at.names, *names)))

        match subject:
            case "Shape":
                arms = [
                    f"Circle({x}) => {arm((x, 'Float'))}",
                    f"Box(w: {x}, h: {y}) => {arm((x, 'Int'), (y, 'Int?'))}",
                    f"Dot => {arm()}",
                ]
            case "Num":
                arms = [
                    f"Int {x} if {self.expression('Bool', at)} => {arm((x, 'Int'))}",
                    f"String {x} => {arm((x, 'String'))}",
                    f"{y} => {arm((y, 'Int'))}",
                ]
            case "Int?":
                arms = [f"null => {arm()}", f"{self.number(0, 5)} | 7 => {arm()}", f"{x} => {arm((x, 'Int'))}"]
            case "List<Int>":
                arms = [f"[] => {arm()}", f"[{x}, ..{y}] => {arm((x, 'Int'), (y, 'List<Int>'))}"]
            case "Level":
                arms = [f'"low" => {arm()}', f"3 => {arm()}", f"_ => {arm()}"]
            case _:
                arms = [f"null => {arm()}", f"{x} => {arm((x, 'Rec'))}"]
        return f"(match {self.expression(subject, at)} {{ {chr(10).join(arms)} }})"

    def caught(self, type: str, at: At) -> str:
        """An expression in which calls fail, and what is done then."""
        risky = replace(at, fails=frozenset({"Bad", "Worse", "Uncertain"}))
        failing = self.failing(type, risky)
        arms = CATCH.format(*(self.expression(type, at) for _ in range(4)))
        return f"({failing} catch {{ {arms} }})"

    def failing(self, type: str, at: At) -> str:
        """Something that can fail with each of `Bad`, `Worse` and `Uncertain`, and gives the type."""
        lines = [f"let _{self.name()} = try worse({self.expression('Int', at)})"]
        if at.acts:
            lines.append(f"let _{self.name()} = try {self.one('Api.pay', 'write')}({self.expression('Int', at)})")
        return self.group("\n ".join([*lines, self.expression(type, at)]))

    def picked(self, type: str, at: At) -> str:
        """Through a generic function."""
        if type.endswith("?") or type == "Level" or type == "Num":
            return self.expression(type, at)
        return self.one(
            f"pick([{self.expression(type, at)}], {self.expression(type, at)})",
            f"maybe({self.one('null', self.expression(type, at))}, fn() => {self.expression(type, at.inside())})",
        )

    def parallel(self, type: str, at: At) -> str:
        branch = replace(at.inside(), fails=at.fails)
        item = replace(branch, names=(*branch.names, ("x", "Int")))
        return self.one(
            f"(parallel {{ one: {self.expression(type, branch)}, two: {self.expression('Int', branch)} }}).one",
            f"(parallel x in {self.expression('List<Int>', at)} up to 2 {{ {self.expression(type, item)} }})[0]",
        )

    def coalesced(self, type: str, at: At) -> str:
        if type in ("Int", "String", "Rec"):
            return f"({self.expression(type + '?', at)} ?? {self.expression(type, at)})"
        return self.expression(type, at)

    def called(self, type: str, at: At) -> str:
        """A function made before, a tool or an operation."""
        calls: list[str] = []
        for name, parameters, result, acts, fails in self.functions:
            if result == type and (at.acts or not acts) and fails <= at.fails:
                call = f"{name}({', '.join(self.expression(p, at) for p in parameters)})"
                calls.append(f"(try {call})" if fails else call)
        if at.acts:
            match type:
                case "Num":
                    calls.append(f"read({self.expression('Int', at)}, label: {self.expression('String?', at)})")
                case "String":
                    calls.append(f"Api.look({self.expression('Int', at)})")
                case "Rec":
                    calls.append("zero()")
                case "Int?":
                    calls.append(f"notes.get({self.expression('String', at)})")
                case "Map<String, Int>":
                    calls.append("notes.entries()")
                case "Int":
                    calls.append("random_int(1, 6)")
        if type == "Int" and "Bad" in at.fails:
            calls.append(f"(try bad({self.expression('Int', at)}))")
        return self.one(*calls) if calls else self.made(type, at)

    # --- statements --------------------------------------------------------------------------------------------------

    def block(self, type: str, at: At) -> str:
        return self.group(self.statements(type, at))

    def statements(self, type: str, at: At) -> str:
        """Statements that end in a value of the type."""
        lines: list[str] = []
        for _ in range(self.number(1, 3)):
            line, at = self.statement(at)
            lines.append(line)
        return "\n ".join([*lines, self.expression(type, at)])

    def statement(self, at: At) -> tuple[str, At]:
        kind = self.number(0, 6)
        type = self.one(*TYPES)
        name = self.name()
        if kind == 0 and at.mutable:
            target, has = at.mutable[self.number(0, len(at.mutable) - 1)]
            return f"{target} = {self.expression(has, at.deeper())}", at
        if kind == 1:
            type = self.one(*DATA)
            made = f"var {name}: {type} = {self.expression(type, at.deeper())}"
            return made, replace(at, names=(*at.names, (name, type)), mutable=(*at.mutable, (name, type)))
        if kind == 2 and at.mutable:
            target, has = at.mutable[self.number(0, len(at.mutable) - 1)]
            inner = replace(at.deeper(), names=(*at.names, (name, "Int")), loops=True)
            leave = self.one("", f"if {self.expression('Bool', inner)} {{ {self.one('break', 'continue')} }}\n ")
            return (
                f"for {name} in {self.expression('List<Int>', at.deeper())} {{ {leave}{target} = {self.expression(has, inner)} }}",
                at,
            )
        if kind == 3:
            test = self.expression("Bool", at.deeper())
            return f"while {test} up to {self.number(1, 5)} {{ break }}", at
        if kind == 4 and at.acts:
            return self.one(
                f"notes.put({self.expression('String', at.deeper())}, {self.expression('Int', at.deeper())})",
                f"log({self.expression('String', at.deeper())})",
            ), at
        if kind == 5 and "Bad" in at.fails:
            return f"if {self.expression('Bool', at.deeper())} {{ fail Bad(n: {self.expression('Int', at.deeper())}) }}", at
        return f"let {name}: {type} = {self.expression(type, at.deeper())}", replace(at, names=(*at.names, (name, type)))

    # --- declarations ------------------------------------------------------------------------------------------------

    def function(self, index: int) -> str:
        parameters = tuple(self.one(*TYPES) for _ in range(self.number(0, 2)))
        result = self.one(*DATA)
        acts = bool(self.number(0, 1))
        fails = frozenset({"Bad", "Worse", "Uncertain"} if self.number(0, 1) else ())
        names = tuple((f"a{at}", type) for at, type in enumerate(parameters))
        body = self.statements(result, At(names=names, acts=acts, fails=fails, depth=3))
        self.functions.append((f"g{index}", parameters, result, acts, fails))
        listed = f" fails {', '.join(sorted(fails))}" if fails else ""
        return f"fn g{index}({', '.join(f'{n}: {t}' for n, t in names)}) -> {result}{listed} {{ {body} }}\n"

    def program(self) -> str:
        made = "".join(self.function(index) for index in range(self.number(0, 2)))
        result = self.one(*DATA)
        body = self.statements(result, At(acts=True, fails=frozenset({"Bad", "Worse", "Uncertain"}), depth=4))
        return f"{HEAD}{made}node main() -> {result} fails Bad, Worse, Uncertain grants p.read, p.write, p.store {{ {body} }}\n"


@st.composite
def programs(draw: Callable[[st.SearchStrategy[object]], object]) -> str:
    """A program with a node `main` without parameters."""
    return Maker(draw).program()
