"""What a model is told of what went wrong: plain words that say what to do (feature A5.4)."""

from __future__ import annotations

import pytest

from ael.run.ports import ToolAnswer
from ael.types.type import IntType
from tests.run.fakes import call, calls, model, said
from tests.run.helpers import engine, node, parameter, run, tool, unit, value_of
from tests.run.loops import ASK, Body, answers


@pytest.mark.feature("A5.4")
def test_every_error_says_what_to_do_and_none_shows_the_program() -> None:
    """A name, a key, a kind of value, a permission, a failing function: each is an error result in plain words."""

    def broken() -> str:
        raise RuntimeError("the disk is full")

    tools = [
        tool("look_up", Body("x"), parameter("order_id"), parameter("size", IntType(0, 9), optional=True)),
        tool("write", Body("x"), permission="write"),
        tool("broken", None),
    ]
    wrong = [
        (call("lookup", {}), "did you mean `look_up`?"),
        (call("look_up", {"orderid": "A"}), "`order_id`"),
        (call("look_up", {"order_id": 7}), "`order_id`: expected"),
        (call("look_up", {"order_id": "A", "size": 12}), "`size`"),
        (call("write", {}), "needs the permission `write`, which the node `answer` does not grant"),
        (call("broken", {}), "RuntimeError: the disk is full"),
        (call("look_up", '{"order_id": '), "JSON"),
    ]
    made = unit(
        tools=tools, nodes=[node("answer", parameter("q"), tools=["look_up", "write", "broken"], grants=frozenset({"read"}))]
    )
    fake = model(calls(*[one for one, _ in wrong]), said("done"))
    assert value_of(run(engine(made, fake, externs={"main.broken": broken}), "answer", ASK)) == "done"
    told: list[ToolAnswer] = answers(fake)
    for answer, (_, says) in zip(told, wrong, strict=True):
        assert answer.is_error
        assert says in answer.content
        for trace in ("Traceback", 'File "', ".py", "0x"):
            assert trace not in answer.content
        assert len(answer.content) < 600
