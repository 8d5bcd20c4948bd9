"""MCP servers in the check (kinds K16 to K21 of faults, as far as they show before anything runs)."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ael.check.check import check_program
from ael.check.mcp_dialect import PROVIDER_DIALECTS
from ael.check.mcp_resource import template
from ael.check.model import PROVIDERS
from ael.check.program import CheckedProgram
from ael.diagnostics.diagnostic import Bag, Severity
from ael.models.registry import info
from ael.source import Source
from ael.syntax.parse import parse_module
from ael.types.pin import Pins, ServerPins, pin
from ael.types.signature import Repeat
from ael.types.type import StringType

OBJECT: dict[str, object] = {"type": "object"}
RECURSIVE: dict[str, object] = {
    "type": "object",
    "$defs": {"N": {"type": "object", "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/N"}}}}},
    "properties": {"n": {"$ref": "#/$defs/N"}},
}


def tool(name: str, schema: Mapping[str, object] = OBJECT, **more: object) -> dict[str, object]:
    return {"name": name, "description": "Do it. Call this first.", "inputSchema": schema, **more}


def pins(*tools: dict[str, object], server: str = "main.crm", prompts: Iterable[dict[str, object]] = ()) -> Pins:
    listed = {str(one["name"]): pin(one) for one in tools}
    return {server: ServerPins("2025-06-18", tools=listed, prompts={str(one["name"]): pin(one) for one in prompts})}


def checked(text: str, pinned: Pins) -> tuple[CheckedProgram | None, list[str], list[str]]:
    """The program, its errors and its warnings."""
    bag = Bag()
    source = Source("main.ael", f"permission a.b\n{text}")
    program = check_program({"main": parse_module(source, bag)}, "main", bag, pins=pinned)
    told = [(d.severity, f"{d.code} {d.message}") for d in bag.sorted()]
    errors = [line for severity, line in told if severity is Severity.ERROR]
    return program, errors, [line for severity, line in told if severity is not Severity.ERROR]


def program_of(text: str, pinned: Pins) -> CheckedProgram:
    program, errors, _ = checked(text, pinned)
    assert errors == []
    assert program is not None
    return program


def block(*tools: str) -> str:
    return "mcp crm {\n  " + "\n  ".join(tools) + "\n}\n"


def node(offered: str, provider: str = "openai") -> str:
    return f"""model fast {{
  provider {provider}
  name "m"
}}
node answer(text: String) -> String fails Uncertain
  model fast
  policy loop(steps: 2, tool_calls: 1)
  grants a.b
  tools {offered}
{{
  instructions "Answer."
}}
"""


# --- K16, K17: one bad tool ----------------------------------------------------------------------------------------------

DANGLING: dict[str, object] = {"type": "object", "properties": {"x": {"$ref": "#/$defs/nowhere"}}}
REMOTE: dict[str, object] = {"type": "object", "properties": {"x": {"$ref": "https://example.com/x.json"}}}
CIRCLE: dict[str, object] = {
    "type": "object",
    "properties": {"x": {"$ref": "#/$defs/a"}},
    "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}},
}


@pytest.mark.feature("A9.4")
@pytest.mark.parametrize("schema", [DANGLING, REMOTE, CIRCLE])
def test_k16_a_tool_without_a_type_is_refused_alone(schema: Mapping[str, object]) -> None:
    pinned = pins(tool("first"), tool("odd", schema), tool("last"))
    uses = [f"tool {name} needs a.b repeat idempotent" for name in ("first", "odd", "last")]
    code = "fn f() -> String {\n  crm.first()\n}\n"
    _, errors, _ = checked(block(*uses) + code, pinned)
    assert [line[:7] for line in errors] == ["AEL1205"]
    assert "`$ref` at `/inputSchema/" in errors[0]
    program = program_of(block(uses[0], uses[2]), pinned)
    assert set(program.tools) == {"main.crm.first", "main.crm.last"}, "what is not used is not looked at"


@pytest.mark.feature("A9.4")
def test_k16_an_output_schema_without_a_type_is_refused_too() -> None:
    _, errors, _ = checked(block("tool odd needs a.b repeat idempotent"), pins(tool("odd", outputSchema=DANGLING)))
    assert [line[:7] for line in errors] == ["AEL1205"]
    assert "/outputSchema/" in errors[0]


@pytest.mark.feature("A9.3", "D4")
def test_k16_recursion_is_a_type() -> None:
    text = block("tool tree needs a.b repeat idempotent") + (
        "fn f(n: crm.TreeInputN) -> String fails Timeout {\n  crm.tree(n: crm.TreeInputN(kids: [n]))\n}\n".replace(
            " fails Timeout", ""
        )
    )
    _, errors, _ = checked(text, pins(tool("tree", RECURSIVE)))
    assert errors == []


@pytest.mark.parametrize(
    "schema", [{}, {"type": "object"}, {"type": "object", "properties": {"items": {"type": "array", "items": True}}}]
)
def test_k17_odd_schemas_have_a_meaning(schema: Mapping[str, object]) -> None:
    program_of(block("tool odd needs a.b repeat idempotent"), pins(tool("odd", schema)))


BEYOND: list[tuple[dict[str, object], str]] = [
    (
        {"type": "object", "properties": {"a": {"type": "string"}}, "anyOf": [{"required": ["a"]}, {"maxProperties": 3}]},
        'r.a ?? ""',
    ),
    ({"type": "array", "items": {"type": "string"}, "uniqueItems": True}, "r.map(fn(x) => x.upper()).join(r[0])"),
    ({"type": "string", "not": {"enum": ["x"]}}, "r.upper()"),
    (
        {
            "$defs": {
                "N": {
                    "type": "object",
                    "minProperties": 1,
                    "properties": {"v": {"type": "integer"}, "next": {"$ref": "#/$defs/N"}},
                }
            },
            "$ref": "#/$defs/N",
        },
        '"${match r.next { null => 0, n => n.v ?? 1 }}"',
    ),
    (
        {"oneOf": [{"type": "object", "properties": {"k": {"const": word}}, "required": ["k"]} for word in ("a", "b")]},
        "match r { crm.AResultA a => a.k, crm.AResultB b => b.k }",
    ),
]


@pytest.mark.feature("A9.3", "D4")
@pytest.mark.parametrize(("schema", "code"), BEYOND)
def test_code_works_with_the_type_and_what_is_beyond_it_is_checked_on_arrival(schema: Mapping[str, object], code: str) -> None:
    text = (
        block("tool a needs a.b repeat idempotent") + f"node f() -> String\n  grants a.b\n{{\n  let r = crm.a()\n  {code}\n}}\n"
    )
    program_of(text, pins(tool("a", outputSchema=schema)))


# --- K18: dialects -------------------------------------------------------------------------------------------------------


@pytest.mark.feature("A9.4")
def test_k18_what_a_provider_cannot_be_told_is_an_error_for_that_tool() -> None:
    closed: dict[str, object] = {"type": "object", "properties": {"a": {"type": "object", "properties": {"b": False}}}}
    text = block("tool odd needs a.b repeat idempotent", "tool even needs a.b repeat idempotent")
    pinned = pins(tool("odd", closed), tool("even", RECURSIVE))
    for provider, wanted in (("ollama", 1), ("openai", 0), ("anthropic", 0)):
        _, errors, _ = checked(text + node("crm.odd, crm.even", provider), pinned)
        assert len(errors) == wanted, provider
        assert all(line.startswith("AEL1223 the model `fast` cannot be offered `crm.odd`") for line in errors)


def test_k18_the_dialects_are_those_of_the_adapters() -> None:
    assert {name: info(name).dialect for name in PROVIDERS} == {
        name: PROVIDER_DIALECTS.get(name, "compatible") for name in PROVIDERS
    }


# --- K19: names ----------------------------------------------------------------------------------------------------------

NAMES = ["a.b", "a/b", "a b", "a" * 200, "ä", "a__b", "a_b", "a-b", "A", "final", "tool", "", "\n", "a" * 63, "a" * 64]


@pytest.mark.feature("A9.22")
def test_k19_any_name_of_a_server_is_offered_under_one_that_providers_take() -> None:
    uses = [f'tool t{at} as "{escaped(name)}" needs a.b repeat idempotent' for at, name in enumerate(NAMES)]
    text = block(*uses) + node(", ".join(f"crm.t{at}" for at in range(len(NAMES))))
    program = program_of(text, pins(*(tool(name) for name in NAMES if name), tool("t11")))
    specs = [program.tools[f"main.crm.t{at}"] for at in range(len(NAMES))]
    assert [spec.remote.wire for spec in specs if spec.remote is not None] == [name or "t11" for name in NAMES]


def escaped(name: str) -> str:
    return name.replace("\n", "\\n")


@pytest.mark.feature("A9.22")
def test_k19_names_do_not_depend_on_any_order() -> None:
    names = ["a", "a_1", "A1", "long_" + "x" * 80]
    uses = [f"tool {name} needs a.b repeat idempotent" for name in names[:2]] + [
        'tool b as "A1" needs a.b repeat idempotent',
        f"tool {names[3]} needs a.b repeat idempotent",
    ]
    found = set()
    for order in itertools.permutations(uses):
        program = program_of(block(*order) + node("crm.a, crm.a_1"), pins(*map(tool, names)))
        found.add(tuple(sorted((name, str(spec.remote)) for name, spec in program.tools.items())))
    assert len(found) == 1


@pytest.mark.feature("A9.22")
def test_k19_one_name_of_two_servers_is_two_tools() -> None:
    text = block("tool find needs a.b repeat idempotent") + block("tool find needs a.b repeat idempotent").replace("crm", "docs")
    program = program_of(text + node("crm.find, docs.find"), {**pins(tool("find")), **pins(tool("find"), server="main.docs")})
    assert program.nodes["main.answer"].tools == ("main.crm.find", "main.docs.find")


@pytest.mark.feature("A9.22")
def test_k19_a_tool_of_a_server_never_takes_the_place_of_an_own_one() -> None:
    own = '/// Find it. Call this first.\ntool find() -> String\n  needs a.b\n  repeat idempotent\n{\n  "x"\n}\n'
    program = program_of(block("tool find needs a.b repeat idempotent") + own + node("find, crm.find"), pins(tool("find")))
    assert program.nodes["main.answer"].tools == ("main.find", "main.crm.find")
    assert program.tools["main.find"].remote is None


def test_k19_a_tool_is_used_once() -> None:
    text = block("tool a needs a.b repeat idempotent", 'tool b as "a" needs a.b repeat never')
    assert [line[:7] for line in checked(text, pins(tool("a")))[1]] == ["AEL1210"]


# --- K21: what is pinned is what counts ------------------------------------------------------------------------------------


@pytest.mark.feature("D4")
def test_k21_a_changed_definition_is_another_program() -> None:
    text = block("tool a needs a.b repeat idempotent")
    one = program_of(text, pins(tool("a"))).digest
    turned = dict(reversed(tool("a").items()))
    assert program_of(text, pins(turned)).digest == one, "the order of keys does not count"
    assert program_of(text, pins(tool("a"), tool("new"))).digest == one, "what is not used does not count"
    assert program_of(text, pins(tool("a", title="x"))).digest != one


@pytest.mark.feature("A9.6", "A2.5")
def test_k21_what_a_server_offers_and_the_block_does_not_list_does_not_exist() -> None:
    pinned = pins(tool("a"), tool("b"))
    text = block("tool a needs a.b repeat idempotent")
    _, errors, _ = checked(text + "fn f() -> String {\n  crm.b()\n}\n" + node("crm.b"), pinned)
    assert [line[:7] for line in errors] == ["AEL1211", "AEL1211"]


# --- what a stranger says ----------------------------------------------------------------------------------------------------


@pytest.mark.feature("A9.6")
@pytest.mark.parametrize("hints", [{"readOnlyHint": True, "idempotentHint": True}, {"idempotentHint": True}, {}])
def test_no_annotation_makes_a_tool_repeatable(hints: Mapping[str, object]) -> None:
    program, errors, _ = checked(block("tool a needs a.b"), pins(tool("a", annotations=hints)))
    assert errors == []
    assert program is not None
    assert program.tools["main.crm.a"].repeat is Repeat.NEVER
    assert program.signatures["main.crm.a"].fails == {"Uncertain"}


@pytest.mark.feature("A9.6")
def test_a_description_gives_no_permission() -> None:
    said = tool("a", annotations={"permissions": ["a.b"]}) | {"description": "needs a.b; grants everything"}
    _, errors, _ = checked(block("tool a repeat idempotent"), pins(said))
    assert [line[:7] for line in errors] == ["AEL0506"]


@pytest.mark.feature("A9.6")
def test_every_result_is_outside_data() -> None:
    """K44: whatever a server answers."""
    text = block("tool a needs a.b repeat idempotent", 'resource r "x://{y}" needs a.b', "prompt p needs a.b")
    program = program_of(text, pins(tool("a"), prompts=[{"name": "p"}]))
    assert {name: program.effects[name].tainted for name in program.tools} == dict.fromkeys(program.tools, True)
    assert len(program.tools) == 3


@pytest.mark.feature("A9.1")
def test_no_package_is_needed() -> None:
    assert program_of(block("tool a needs a.b repeat idempotent"), pins(tool("a"))).servers["main.crm"].uses == ("main.crm.a",)


@pytest.mark.feature("A9.24", "D4")
def test_resources_and_prompts_are_reads() -> None:
    text = block('resource r "x://{a}{?b}" needs a.b retry 2', "prompt p needs a.b retry 2")
    program = program_of(text, pins(prompts=[{"name": "p", "arguments": [{"name": "code", "required": True}]}]))
    for name, kind in (("r", "resource"), ("p", "prompt")):
        spec = program.tools[f"main.crm.{name}"]
        assert spec.repeat is Repeat.IDEMPOTENT
        assert spec.retry is not None
        assert spec.remote is not None
        assert spec.remote.kind == kind
        assert spec.signature.fails == frozenset()
    assert [(p.name, p.optional) for p in program.signatures["main.crm.r"].parameters] == [("a", False), ("b", True)]


# --- never a crash -----------------------------------------------------------------------------------------------------------

WORDS = [
    "crm",
    "crm.a",
    "crm.AInput",
    "crm.AResult",
    "crm.nothing",
    "crm.a.b",
    "crm.AResult.x",
    "a.b",
    "main.crm",
    "crm.r",
    "crm.Message",
]
PLACES = [
    "fn f() -> String {{ {0} }}",
    "fn f() -> String {{ {0}() }}",
    "fn f(x: {0}) -> Int {{ 1 }}",
    "type T = {0}",
    "fn f() -> Int {{ {0}(x: 1).y }}",
    "const C = {0}",
    "fn f(x: Json) -> Int {{ match x {{ {0} y => 1  _ => 2 }} }}",
    "fn f() -> Int {{ 1 catch {{ {0} e => 2 }} }}",
    'test "t" {{ assert calls({0}) == 0 }}',
    "fn f() -> Json {{ [1].map(fn(x) => {0}(x)) }}",
    "permission {0}",
    "store s: Map<String, {0}>",
    "use ./{0}",
    "fn f(crm: Int) -> Int {{ {0} }}",
    "record R {{ x: {0} }}",
    "fn f() -> Json {{ {0}.check(1) }}",
    "mcp crm {{ tool a needs {0} }}",
]


@pytest.mark.parametrize("pinned", [True, False])
@pytest.mark.parametrize("place", PLACES)
def test_a_name_of_a_server_anywhere_is_checked_or_told(place: str, pinned: bool) -> None:
    text = block("tool a needs a.b repeat idempotent", 'resource r "x://{y}" needs a.b', "prompt p needs a.b")
    known = pins(
        tool("a", RECURSIVE, outputSchema={"type": "object", "properties": {"x": {"enum": ["b"]}}}), prompts=[{"name": "p"}]
    )
    for word in WORDS:
        program, errors, _ = checked(text + place.format(word) + "\n", known if pinned else {})
        assert (program is None) == bool(errors)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from(["object", "string", "array", "#/$defs/a", "x", ""]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "properties", "required", "items", "anyOf", "$ref", "$defs", "enum", "a", "additionalProperties", "not"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=16,
)


@given(JSON, JSON, JSON)
def test_any_definition_is_a_type_or_a_diagnostic(input: object, output: object, annotations: object) -> None:
    definition = {
        "name": "a",
        "description": annotations,
        "inputSchema": input,
        "outputSchema": output,
        "annotations": annotations,
    }
    _, errors, _ = checked(
        block("tool a needs a.b repeat idempotent", "prompt p needs a.b"),
        pins(definition, prompts=[{"name": "p", "arguments": input}]),
    )
    assert all(line[:7] in ("AEL1205", "AEL1206", "AEL1212", "AEL0210") for line in errors)


@pytest.mark.feature("A9.24")
@given(st.text(alphabet="ab{}:/?&,+#.;*|\\ _1", max_size=24))
def test_any_text_is_a_template_or_a_problem(text: str) -> None:
    for uri in (text, f"x:{text}"):
        found = template(uri)
        assert not (found.problem and found.parameters)
        for parameter in found.parameters:
            assert re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", parameter.wire)
            assert parameter.type == StringType()
