"""Content that is no text: named by a marker where it cannot be shown, whole for code (feature A5.5)."""

from __future__ import annotations

from typing import Any

import pytest

from ael.types.definition import FieldDef, RecordDef
from ael.types.type import FileType, ListType, MapType, Named, StringType, optional
from ael.types.value import File
from tests.run.fakes import call, calls, final, model, said
from tests.run.helpers import code, engine, node, parameter, run, tool, unit, value_of
from tests.run.loops import ASK, Body, answers, program

PHOTO = RecordDef(
    "main.Photo",
    (
        FieldDef("title", "title", StringType()),
        FieldDef("image", "image", FileType()),
        FieldDef("more", "more", MapType(optional(ListType(FileType())))),
    ),
)
SMALL = File("image/png", b"\x89PNG-content")
FAR = File("application/pdf", uri="https://example.com/private/report.pdf?key=abc")


@pytest.mark.feature("A5.5")
def test_files_deep_in_a_result_are_markers_in_their_places() -> None:
    """By value and by reference; what stands around them is whole, and neither content nor address is shown."""
    body = Body({"title": "T", "image": SMALL, "more": {"a": [FAR, SMALL], "b": None}})
    fake = model(calls(call("draw", {})), said("done"))
    made = unit(
        tools=[tool("draw", body, result=Named("main.Photo"))],
        nodes=[node("answer", parameter("q"), tools=["draw"])],
        definitions={"main.Photo": PHOTO},
    )
    assert value_of(run(engine(made, fake), "answer", ASK)) == "done"
    assert answers(fake)[0].content == (
        '{"title":"T","image":"(file not shown 1: image/png)",'
        '"more":{"a":["(file not shown 2: application/pdf)","(file not shown 3: image/png)"],"b":null}}'
    )


@pytest.mark.feature("A5.5")
def test_code_gets_the_file_itself() -> None:
    """The marker is for the model alone."""

    async def main(k: Any) -> object:
        found = await k.act(0, "main.draw", ())
        return f"{found.media} {len(found.data)}"

    made = unit(tools=[tool("draw", Body(SMALL), result=FileType())], nodes=[code("main", main)])
    assert value_of(run(engine(made), "main")) == "image/png 12"


@pytest.mark.feature("A5.5")
def test_a_marker_is_no_file_that_a_model_could_give_back() -> None:
    """A result that must hold a file is not satisfied by the words that stood for one."""
    made, _ = program(
        calls(call("draw", {})),
        final('"(file not shown 1: image/png)"'),
        final({"media": "image/png", "data": "aGk="}),
        tools=[tool("draw", Body(SMALL), result=FileType())],
        result=FileType(),
        attempts=2,
    )
    assert value_of(run(made, "answer", ASK)) == File("image/png", b"hi")
