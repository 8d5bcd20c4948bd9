"""What a tool is: the one that was declared, under its own name, with the schema and the implementation it was bound with."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from ael.host import open_host
from ael.journal.memory import MemoryJournal
from ael.models.script import parse_script
from ael.models.scripted import ScriptedProvider
from ael.run import offer
from ael.run.bindings import BoundModel, Options
from ael.run.outcome import Outcome
from ael.run.ports import ConversationSpec, Decision
from ael.types.spec import ApprovalSpec
from ael.types.type import IntType
from tests.check.helpers import check, offered
from tests.programs import open_files
from tests.run.fakes import FakeApprover, FakeModel, call, calls, said
from tests.run.helpers import ORDER, code, engine, node, parameter, run, tool, unit, value_of
from tests.run.loops import ASK, Body, answers, program

NODE = """permission a.b
record Order {{ id: String }}
/// Look. Call it when asked.
tool look(id: String) -> Order
  needs a.b
  repeat idempotent
{{ Order(id: id) }}
fn twin(id: String) -> Order {{ look(id) }}
const ORDER = "look"
service Shop {{
  look(id: String) -> Order
    needs a.b
    repeat idempotent
}}
model m {{ provider openai, name "x" }}
node n(q: String) -> String
  model m
  policy loop(steps: 2, tool_calls: 2)
  grants a.b
  tools {offered}
  budget tokens 100
{{ instructions "Answer." }}
"""


@pytest.mark.feature("A1.10")
@pytest.mark.parametrize(
    ("named", "told"),
    [
        ("twin", "`twin` is a function, and a model can be offered tools, nodes and agents only"),
        ("ORDER", "`ORDER` is a constant, and a model can be offered tools, nodes and agents only"),
        ("Order", "`Order` is a record, and a model can be offered tools, nodes and agents only"),
        ("Shop", "`Shop` is a service, and a model can be offered tools, nodes and agents only"),
        ("Shop.look", "`Shop.look` is an operation, and a model can be offered tools, nodes and agents only"),
        ("m", "`m` is a model, and a model can be offered tools, nodes and agents only"),
        ("Look", "there is no tool or node `Look`; did you mean `look`?"),
    ],
)
def test_what_only_looks_like_a_tool_is_not_offered(named: str, told: str) -> None:
    """A function of the same shape, an operation of the same name, a constant that names it: none of them is the tool."""
    assert check(NODE.format(offered="look")) == []
    (found,) = check(NODE.format(offered=named))
    assert found.startswith("AEL0601")
    assert found.endswith(told)


@pytest.mark.feature("A1.10")
def test_a_tool_cannot_be_copied_wrapped_or_handed_on() -> None:
    """It is no value: no second name, no list of tools, no record that holds one."""
    for code_ in ("let copy = look", "let all = [look]", 'let proxy = ["look": look]'):
        (found,) = check(NODE.format(offered="look") + f"fn f() {{ {code_} }}")
        assert found.startswith("AEL0213")
        assert "`look` is a tool, no value" in found


@pytest.mark.feature("A1.10")
def test_two_tools_of_one_name_and_shape_are_two_tools(tmp_path: Path) -> None:
    """What the deployment says of one holds for that one; what one was approved for is nothing to the other."""
    module = """
/// Look. Call it when asked.
pub tool look(id: String(max: 9)) -> String(max: 20)
  needs a.b
  repeat idempotent
{ "PLACE ${id}" }
"""
    main = """
use ./one
use ./two
permission a.b
node main(id: String(max: 9)) -> String
  grants a.b
{
  let first = one.look(id)
  let second = try two.look(id) catch { Denied d => "denied" }
  "${first} ${second}"
}
"""
    files = {"main.ael": main, "one.ael": module.replace("PLACE", "one"), "two.ael": module.replace("PLACE", "two")}
    opened, bag = open_files(tmp_path, {**files, "deploy.ael": "deny two.look\n"})
    assert opened is not None, [d.message for d in bag.sorted()]

    async def go() -> Outcome:
        async with open_host(opened, "main.main") as host:
            return await host.engine.start("main.main", {"id": "7"}, Options(caller="c")).outcome()

    assert value_of(asyncio.run(go())) == "one 7 denied"


@pytest.mark.feature("A1.10")
@pytest.mark.parametrize("name", ["look_alike", "main.look", "lооk", "loo\u200bk", "delegate__look", "look.call"])
def test_a_name_that_is_not_the_tools_own_runs_nothing(name: str) -> None:
    """Cyrillic letters, invisible characters, a qualified or a decorated name."""
    body, other = Body("ran"), Body("ran")
    made, fake = program(calls(call(name, {})), said("done"), tools=[tool("look", body), tool("look_up", other)])
    assert value_of(run(made, "answer", ASK)) == "done"
    assert (body.got, other.got) == ([], [])
    assert answers(fake)[0].is_error


# --- the schema -----------------------------------------------------------------------------------------------------------


class Seen(FakeModel):
    """Keeps the spec of every conversation, as JSON of that moment, and spoils what it was given."""

    def __init__(self, *replies: Any) -> None:
        super().__init__(list(replies))
        self.specs: list[ConversationSpec] = []
        self.told: list[str] = []

    def converse(self, spec: ConversationSpec) -> Any:
        self.specs.append(spec)
        self.told.append(json.dumps([[one.name, one.description, one.schema] for one in spec.tools]))
        return super().converse(spec)


@pytest.mark.feature("A1.11")
def test_a_schema_is_made_once_and_is_the_same_in_every_turn_and_run(monkeypatch: pytest.MonkeyPatch) -> None:
    made_schemas: list[object] = []
    real = offer.record_schema

    def counting(*arguments: Any) -> Any:
        made_schemas.append(arguments[0])
        return real(*arguments)

    monkeypatch.setattr(offer, "record_schema", counting)
    turn = calls(call("look", {"id": "A"}))
    fake = Seen(turn, turn, said("done"), turn, said("again"))
    look = tool("look", Body("x"), parameter("id"), parameter("n", IntType(0, 9), optional=True))
    made = engine(unit(tools=[look], nodes=[node("answer", parameter("q"), tools=["look"])]), fake)
    assert value_of(run(made, "answer", ASK)) == "done"
    assert value_of(run(made, "answer", ASK)) == "again"
    assert len(made_schemas) == 1
    assert len(fake.specs) == 2
    assert fake.specs[0].tools is fake.specs[1].tools
    assert fake.told[0] == fake.told[1] == json.dumps([[one.name, one.description, one.schema] for one in fake.specs[0].tools])


MODULE = """
reads = []

def first(text):
    return "first " + text

def second(text):
    return "second " + text

def __getattr__(name):
    if name != "send":
        raise AttributeError(name)
    reads.append(name)
    return first if len(reads) == 1 else second
"""
EXTERN = """
permission mail.send

/// Send it. Call it once.
tool send(text: String(max: 200)) -> String(max: 80)
  needs mail.send
  repeat idempotent
  extern "stateful_mail:send"

model fast { provider openai, name "m" }

node main(text: String(max: 20)) -> String
  grants mail.send
{
  let one = send(text)
  let two = ask(text)
  "${one}, ${two}"
}
node ask(text: String(max: 20)) -> String(max: 80)
  model fast
  policy loop(steps: 3, tool_calls: 2)
  grants mail.send
  tools send
  budget tokens 9_000
{ instructions "Send it." }
"""


@pytest.mark.feature("A1.11")
def test_an_implementation_that_is_another_each_time_is_read_exactly_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The Python module gives another function at each look: the one that was bound is the one, in code and for the model."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "stateful_mail.py").write_text(MODULE)
    pack = 'pack mail {\n  version "1"\n  extern "stateful_mail"\n}\n'
    opened, bag = open_files(tmp_path, {"main.ael": EXTERN, "pack.ael": pack})
    assert opened is not None, [d.message for d in bag.sorted()]
    script = [{"call": "send", "with": {"text": "b"}}, {"final": "sent"}] * 2
    models = {"main.fast": BoundModel(ScriptedProvider(parse_script(script)), "m")}

    async def go() -> list[Outcome]:
        async with open_host(opened, "main.main", models=models) as host:
            return [await host.engine.start("main.main", {"text": "a"}, Options(caller="c")).outcome() for _ in range(2)]

    assert [value_of(outcome) for outcome in asyncio.run(go())] == ["first a, sent"] * 2
    assert sys.modules["stateful_mail"].reads == ["send"]


# --- who calls ------------------------------------------------------------------------------------------------------------


@pytest.mark.feature("A1.12")
def test_a_function_knows_on_whose_behalf_it_runs_and_the_model_does_not() -> None:
    """Tenant, caller, run and permission come with the call; they are in no prompt, description, schema or result."""
    seen: list[Any] = []

    def mine(n: int, *, call: Any) -> str:
        seen.append(call)
        return f"{n} orders"

    fake = Seen(calls(call("mine", {"n": 2})), said("done"))
    made = unit(tools=[tool("mine", None, parameter("n", IntType()))], nodes=[node("answer", parameter("q"), tools=["mine"])])
    bound = engine(made, fake, externs={"main.mine": mine})
    options = Options(caller="ann@example.com", tenant="acme-7731", run="run-5519")
    assert value_of(run(bound, "answer", ASK, options)) == "done"
    [context] = seen
    assert (context.tenant, context.caller, context.run, context.permission) == (
        "acme-7731",
        "ann@example.com",
        "run-5519",
        "read",
    )
    prompt = fake.specs[0].system + fake.told[0] + str([asked.messages for asked in fake.asked])
    for hidden in ("acme-7731", "ann@example.com", "run-5519", context.key, "'call'", '"call"'):
        assert hidden not in prompt


@pytest.mark.feature("A1.12")
def test_an_identity_cannot_be_proposed_by_the_model() -> None:
    """`call` is no argument: a model that sends one is refused, whoever it says it is."""
    seen: list[Any] = []

    def mine(*, call: Any) -> str:
        seen.append(call.tenant)
        return "ok"

    made, fake = program(
        calls(call("mine", {"call": {"tenant": "other"}})),
        calls(call("mine", {})),
        said("done"),
        tools=[tool("mine", None)],
        bound={"externs": {"main.mine": mine}},
    )
    assert value_of(run(made, "answer", ASK, Options(caller="c", tenant="own"))) == "done"
    assert [answer.is_error for answer in answers(fake)] == [True, False]
    assert seen == ["own"]


# --- names and implementations --------------------------------------------------------------------------------------------


@pytest.mark.feature("A1.16")
def test_a_journal_and_a_program_refer_to_a_tool_by_name() -> None:
    """Records are plain JSON that names the tool; another implementation under the name goes on with the run."""
    journal, ran = MemoryJournal(), []

    def first(id: str) -> dict[str, object]:
        ran.append("first")
        return {"id": id, "total": 1}

    def second(id: str) -> dict[str, object]:
        ran.append("second")
        return {"id": id, "total": 2}

    async def main(k: Any) -> object:
        one = await k.act(0, "main.look", ("A",))
        two = await k.act(1, "main.look", ("B",))
        return f"{one['total']} {two['total']}"

    made = unit(tools=[tool("look", None, parameter("id"), result=ORDER)], nodes=[code("main", main)])
    options = Options(caller="c", run="r1")
    started: list[Any] = []
    bound = engine(made, externs={"main.look": first}, journal=journal)
    assert value_of(run(bound, "main", options=options, during=started.append)) == "1 1"
    entries = started[0].journal.entries()
    assert {entry.target for entry in entries} == {"main.look"}
    assert json.loads(json.dumps([list(entry) for entry in entries]))
    assert "function" not in repr(entries)
    again = engine(made, externs={"main.look": second}, journal=journal)
    assert value_of(run(again, "main", options=options)) == "1 1"
    assert ran == ["first", "first"]
    assert value_of(run(again, "main", options=Options(caller="c", run="r2"))) == "2 2"


@pytest.mark.feature("A1.17")
@pytest.mark.parametrize("name", ["now", "today", "new_id", "random_int", "log"])
def test_a_name_of_the_language_goes_before_one_of_ones_own(name: str) -> None:
    """Nothing of a program can stand in for a built-in: not a tool, a function, a node, an import of another module."""
    tool_text = f"permission a.b\n/// Do it. Call it.\ntool {name}() -> Int\n  needs a.b\n  repeat idempotent\n{{ 1 }}\n"
    for text in (tool_text, f"fn {name}() -> Int {{ 1 }}", f"node {name}() -> Int {{ 1 }}"):
        (found,) = check(text)
        assert found.startswith("AEL0204")
        assert f"`{name}` belongs to the language" in found


@pytest.mark.feature("A1.17")
def test_an_own_body_goes_before_a_function_from_outside() -> None:
    """One form of declaration, one way of calling; what resolves names from outside cannot replace what the program has."""
    outside: list[str] = []

    def stranger() -> str:
        outside.append("ran")
        return "outside"

    async def main(k: Any) -> object:
        own = await k.act(0, "main.own", ())
        far = await k.act(1, "main.far", ())
        return f"{own} {far} {type(await k.act(2, 'std.new_id', ())).__name__}"

    made = unit(tools=[tool("own", Body("own")), tool("far", None)], nodes=[code("main", main)])
    bound = engine(made, externs={"main.own": stranger, "main.far": stranger, "std.new_id": stranger})
    started: list[Any] = []
    assert value_of(run(bound, "main", during=started.append)) == "own outside str"
    assert outside == ["ran"]
    assert {entry.target for entry in started[0].journal.entries()} == {"main.own", "main.far", "std.new_id"}


@pytest.mark.feature("A1.19")
def test_a_tool_that_is_named_in_several_places_is_one_tool() -> None:
    """In the list, as the choice, by the deployment, from code: one offer, one budget, one rule for approval."""
    body = Body("x")
    fake = Seen(calls(call("look", {})), said("done"))

    async def main(k: Any) -> object:
        await k.act(0, "main.look", ())
        return await k.act(1, "main.answer", ("hi",))

    asked = FakeApprover(*[_approve] * 2)
    made = unit(
        tools=[tool("look", body, approval=ApprovalSpec("boss"))],
        nodes=[node("answer", parameter("q"), tools=["look"], choice="look"), code("main", main)],
    )
    bound = engine(made, fake, approver=asked)
    outcome = run(bound, "main")
    assert value_of(outcome) == "done"
    assert [one.name for one in fake.specs[0].tools] == ["look"]
    assert (len(body.got), len(asked.requests), outcome.spent.tool_calls) == (2, 2, 2)
    assert len({id(plan) for plan in (bound._plans["main.look"], bound._plans["main.look"])}) == 1


async def _approve(request: Any) -> Decision:
    return Decision(True, "boss")


@pytest.mark.feature("A1.19")
def test_a_second_mention_in_a_list_is_told_and_never_a_second_tool() -> None:
    """In the source it is a slip, and its fix leaves the one."""
    text = NODE.format(offered="look, look")
    (found,) = check(text)
    assert found.startswith("AEL0602")
    assert check(offered(text, "AEL0602")) == []
