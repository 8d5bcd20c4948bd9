"""What each form becomes in the tree."""

from __future__ import annotations

import pickle

import pytest

from ael.diagnostics.diagnostic import Bag
from ael.source import Source, Span
from ael.syntax import nodes as n
from ael.syntax.parse import parse_expression, parse_module
from ael.syntax.tree import same, walk
from tests.syntax.helpers import ROOT, expression, good, statements

SUPPORT = (ROOT / "tests" / "syntax" / "programs" / "support.ael").read_text("utf-8")


def show(node: object) -> str:
    """An expression with all its parentheses."""
    match node:
        case n.Reference():
            return node.name.text
        case n.IntLit():
            return str(node.value)
        case n.Binary():
            return f"({show(node.left)} {node.op} {show(node.right)})"
        case n.Unary():
            return f"({node.op} {show(node.operand)})"
        case n.Try():
            return f"(try {show(node.operand)})"
        case n.Catch():
            return f"({'try ' if node.passes else ''}{show(node.operand)} catch)"
        case n.With():
            return f"({show(node.base)} with)"
        case n.Call():
            return f"{show(node.callee)}()"
        case n.FieldAccess():
            return f"{show(node.target)}.{node.name.text}"
        case n.Index():
            return f"{show(node.target)}[{show(node.index)}]"
        case n.Lambda():
            return f"(fn => {show(node.body)})"
        case _:
            return type(node).__name__


def test_the_program_of_the_design_parses() -> None:
    module = good(SUPPORT)
    assert [type(d).__name__ for d in module.declarations] == (
        ["Use"] * 2 + ["PermissionDecl"] * 4 + ["RoleDecl", "EnumDecl", "RecordDecl", "RecordDecl", "ErrorDecl"]
        + ["ToolDecl"] * 2 + ["FunctionDecl", "McpDecl", "ModelDecl", "ModelDecl"] + ["NodeDecl"] * 4 + ["AgentDecl", "TestDecl"]
    )  # fmt: skip
    assert module.doc is not None
    assert module.doc.text.startswith("Answer customer tickets")
    assert len(module.comments) == 7
    assert all(comment.trailing for comment in module.comments)


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a or b and not c == d ?? e + f * -g.h", "(a or (b and (not (c == (d ?? (e + (f * (- g.h))))))))"),
        ("a + b - c", "((a + b) - c)"),
        ("a * b div c % d / e", "((((a * b) div c) % d) / e)"),
        ("a ?? b ?? c", "(a ?? (b ?? c))"),
        ("(a + b) * c", "((a + b) * c)"),
        ("not a in b", "(not (a in b))"),
        ("a not in b", "(a not in b)"),
        ("try a() + try b()", "((try a()) + (try b()))"),
        ("try a().b catch {}", "(try a().b catch)"),
        ("(try a()) catch {}", "((try a()) catch)"),
        ("a + try b catch {}", "((a + (try b)) catch)"),
        ("try a catch {} catch {}", "((try a catch) catch)"),
        ("-a with {}", "((- a) with)"),
        ("a * b with {}", "(a * (b with))"),
        ("fn(x) => a or b", "(fn => (a or b))"),
        ("fn(x) => a catch {}", "(fn => (a catch))"),
        ("a.b(c)[1].type", "a.b()[1].type"),
        ("- -a", "(- (- a))"),
        ("a >= b", "(a >= b)"),
    ],
)
def test_precedence(text: str, tree: str) -> None:
    assert show(expression(text)) == tree


@pytest.mark.parametrize("text", ["a == b == c", "a < b < c", "a in b in c"])
def test_comparisons_do_not_chain(text: str) -> None:
    bag = Bag()
    assert parse_expression(Source("x", text), bag) is None
    assert [d.code for d in bag.sorted()] == ["AEL0101"]


def test_patterns() -> None:
    (statement,) = statements(
        'match x {\n  _ => 1\n  a => 1\n  NotFound e => 1\n  Topic.Refund => 1\n  Paid _ => 1\n  Circle(r, radius: 1) if r > 1 => 1\n'
        '  "low" | -1 | null => 1\n  [] => 1\n  [a, ..rest] => 1\n  [..] => 1\n  orders.Order o => return\n}'
    )  # fmt: skip
    assert isinstance(statement, n.ExprStatement)
    match = statement.value
    assert isinstance(match, n.Match)
    found = [arm.pattern for arm in match.arms]
    assert [type(p) for p in found] == [
        n.WildcardPattern, n.BinderPattern, n.TypePattern, n.TypePattern, n.TypePattern, n.VariantPattern, n.OrPattern, n.ListPattern,
        n.ListPattern, n.ListPattern, n.TypePattern,
    ]  # fmt: skip
    assert isinstance(found[4], n.TypePattern)
    assert found[4].binder is None
    assert isinstance(found[8], n.ListPattern)
    assert isinstance(found[8].rest, n.BinderPattern)
    assert isinstance(found[9], n.ListPattern)
    assert isinstance(found[9].rest, n.WildcardPattern)
    last = match.arms[-1].body
    assert isinstance(last, n.Block)
    assert isinstance(last.statements[0], n.Return)


def test_types() -> None:
    (declaration,) = good("type T = fn(A, B?) -> Map<String, List<c.D>(max: 3)>(0..5) | null").declarations
    assert isinstance(declaration, n.TypeDecl)
    assert isinstance(declaration.type, n.FunctionType)
    assert isinstance(declaration.type.result, n.UnionType)
    (declaration,) = good('type T = "low" | 3 | -4 | -1.5 | true | (A | B) | String(pattern: r"a", ..5)').declarations
    assert isinstance(declaration, n.TypeDecl)
    assert isinstance(declaration.type, n.UnionType)
    values = [m.value for m in declaration.type.members if isinstance(m, n.LiteralType)]
    assert [v.value for v in values if isinstance(v, n.IntLit)] == [3, -4]
    assert isinstance(declaration.type.members[5], n.UnionType)


def test_use() -> None:
    text = "use ./orders.{A, B as C,}\nuse ../../x/y as z\nuse std/model.Model\nuse std/text\nuse a.{\n  B,\n}"
    found = [d for d in good(text).declarations if isinstance(d, n.Use)]
    assert [(u.module, [(x.name.text, x.alias and x.alias.text) for x in u.names], u.alias and u.alias.text) for u in found] == [
        ("./orders", [("A", None), ("B", "C")], None),
        ("../../x/y", [], "z"),
        ("std/model", [("Model", None)], None),
        ("std/text", [], None),
        ("a", [("B", None)], None),
    ]


def test_edges() -> None:
    (agent,) = good(
        "agent a() -> T {\n  edge start -> b(x) when x > 1 up to 3\n  edge b, c -> finish\n  edge b & c -> d(b, c)\n"
        "  edge b -> each e(b.items) up to 20\n  edge b -> d\n    otherwise\n  edge b -> d on Fault, m.E\n}"
    ).declarations
    assert isinstance(agent, n.AgentDecl)
    first, any_, all_, each, otherwise, on = agent.edges
    assert first.condition is not None
    assert first.limit is not None
    assert (len(any_.sources), any_.joined, any_.target.arguments) == (2, False, None)
    assert (len(all_.sources), all_.joined) == (2, True)
    assert each.target.each
    assert otherwise.otherwise
    assert [e.text for e in on.errors] == ["Fault", "m.E"]


def test_pack() -> None:
    (pack,) = good(
        'pack support { version "0.1.0"  uses std/process, server/mcp  depends refunds "1.2" from "../refunds"  extern "orders_native" }',
        "pack",
    ).declarations
    assert isinstance(pack, n.PackDecl)
    assert pack.uses == ("std/process", "server/mcp")
    assert [(d.name.text, d.origin is not None) for d in pack.depends] == [("refunds", True)]
    assert len(pack.externs) == 1
    assert pack.version is not None


def test_deployment() -> None:
    module = good(
        'model fast = anthropic("m", key: secret("k"))\nservice Orders = https("u")\n  retry 3\n  breaker(failures: 5)\n'
        "  limit concurrent 64\n"
        'node support.research = process(workers: 4)\nnode a = in process\nedge a.b -> a.c = grpc("u")\nruns = sqlite("f")\n'
        'secret K = env("K")\n'
        'role finance = ["alice"]\nhost "api.example.com"\ndefault steps 8, tool_calls 16\nlimit result 32KiB\n'
        'tool refund timeout 20s approval required by finance\nprice "m" input $0.25 output $1.25\nlog = stdout() level "info" plain\n'
        "tenant acme {\n  grants a, b\n  deny c\n  budget cost $50 per day\n}\n",
        "deployment",
    )
    found = [d for d in module.declarations if isinstance(d, n.Binding)]
    assert [
        (b.kind.text, b.subject and b.subject.text, len(b.clauses), [(o.name.text, len(o.values)) for o in b.options])
        for b in found
    ] == [
        ("model", "fast", 0, []),
        ("service", "Orders", 2, [("breaker", 1)]),
        ("node", "support.research", 0, []),
        ("node", "a", 0, []),
        ("edge", "a.b", 0, []),
        ("runs", None, 0, []),
        ("secret", "K", 0, []),
        ("role", "finance", 0, []),
        ("host", None, 0, []),
        ("default", None, 0, [("steps", 1), ("tool_calls", 1)]),
        ("limit", None, 0, [("result", 1)]),
        ("tool", "refund", 2, []),
        ("price", None, 0, [("input", 1), ("output", 1)]),
        ("log", None, 0, [("level", 1), ("plain", 0)]),
    ]
    assert found[4].target is not None
    assert isinstance(module.declarations[-1], n.TenantDecl)


def test_spans_hold_what_they_name_and_their_children() -> None:
    module = good(SUPPORT)
    for declaration in module.declarations:
        for node in walk(declaration):
            for child in node.children():
                if not isinstance(child, n.Doc):
                    assert node.span.start <= child.span.start <= child.span.end <= node.span.end, (node, child)
            if isinstance(node, n.Name):
                assert SUPPORT[node.span.start : node.span.end] == node.text


def test_a_declaration_is_where_its_words_are_and_its_doc_before_it() -> None:
    (function,) = good("/// One.\n/// Two.\npub fn f() {}").declarations
    assert isinstance(function, n.FunctionDecl)
    assert function.doc is not None
    assert (function.doc.text, function.doc.span) == ("One.\nTwo.", Span(0, 17))
    assert function.span == Span(18, 31)


def test_docs_of_members_and_docs_of_nothing() -> None:
    module = good("record R {\n  /// A.\n  a: Int\n  /// Nothing.\n}\nfn f() {\n  /// Not a doc.\n  x\n}\n/// End.\n")
    record = module.declarations[0]
    assert isinstance(record, n.RecordDecl)
    assert [f.doc and f.doc.text for f in record.fields] == ["A."]
    assert [c.text for c in module.comments] == ["/// Nothing.", "/// Not a doc.", "/// End."]


def test_nodes_are_frozen_and_can_be_pickled() -> None:
    module = good("fn f() { 1 }")
    with pytest.raises(AttributeError, match="never changed"):
        module.doc = None  # type: ignore[misc]
    with pytest.raises(AttributeError):
        del module.declarations
    with pytest.raises(TypeError):
        n.Name(Span(0, 1))  # type: ignore[call-arg]
    assert same(pickle.loads(pickle.dumps(module)), module)
    assert not same(good("fn f() { 1 }"), good("fn f() { 2 }"))
    assert not same(good("fn f() { 1 }"), good("fn f() { 1.0 }"))
    assert not same(good("fn f() { a }"), good("fn f() { a\n b }"))


@pytest.mark.parametrize(
    "word", ["tool", "node", "agent", "service", "mcp", "skill", "provide", "store", "model", "extern", "tenant"]
)
@pytest.mark.parametrize("after", ["", "\n", "permission a\n", "\npermission a\n", " {", "\n{\n"])
def test_a_word_that_begins_a_file_and_goes_no_further_is_told(word: str, after: str) -> None:
    """As a file is while it is written: one word at its very start."""
    bag = Bag()
    parse_module(Source("test.ael", word + after), bag)
    assert bag.errors


def test_an_expression_with_an_error_in_it_has_no_tree() -> None:
    bag = Bag()
    assert parse_expression(Source("test.ael", "1use"), bag) is None
    assert bag.errors
