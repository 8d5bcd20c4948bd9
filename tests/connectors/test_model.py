"""A model whose provider is AEL code, in a node's loop: what it is asked, what its turns mean, what it takes, and how it streams."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from ael.run.events import Partial, Text
from ael.run.outcome import Faulted, Value
from ael.types.fault import Failure, FaultKind
from tests.connectors.asked import DEPLOY, SHOP, Asked, ask, call, turn


def looked_up(found: Asked) -> list[str]:
    """Where the tool ran."""
    return [span.path for span in found.spans.spans if span.name == "main.look_up" and span.outcome == "value"]


@pytest.mark.feature("A11.5", "A5.6")
def test_what_a_connector_is_asked(tmp_path: Path) -> None:
    """Name and settings of the declaration, the deployment's before them, instructions apart from data, the tools and the result."""
    deploy = DEPLOY + 'model big = remote("larger", endpoint: "http://127.0.0.1:9", top_p: 0.5, wait: 2s)\n'
    found = ask(tmp_path, turn(final='{"text": "here"}'), entry="answer", deploy=deploy)
    assert isinstance(found.outcome, Value)
    assert found.outcome.plain == {"text": "here", "sure": True}
    [(request, after)] = found.requests
    assert after is None
    assert request["model"] == "larger"
    assert request["endpoint"] == "http://127.0.0.1:9"
    assert request["settings"] == {"temperature": 0.5, "top_p": 0.5, "wait": 2.0}
    assert "Answer the question." in request["instructions"]
    assert "Where?" not in request["instructions"]
    [message] = request["messages"]
    assert message["kind"] == "Said"
    assert "Where?" in message["text"]
    assert [tool["name"] for tool in request["tools"]] == ["look_up"]
    assert request["output"]["text"] is False
    assert request["output"]["schema"]["properties"].keys() == {"text", "sure"}
    assert 0 < request["max_tokens"] <= 4_096
    assert (request["last"], request["followed"], request["tool_choice"]) == (False, False, "auto")


@pytest.mark.feature("A11.5", "A2.1", "K06")
def test_a_loop_with_calls_of_any_ids(tmp_path: Path) -> None:
    """Empty, repeated and endless ids are replaced; every call has one answer, paired by position, before the next turn."""
    calls = [call("look_up", f'{{"id": "{number}"}}', id) for number, id in enumerate(("", "a", "a", "x" * 300, "call_1"))]
    found = ask(tmp_path, turn("Looking.", calls=calls, stop="Calls"), turn(final='{"text": "done"}'), entry="answer")
    assert isinstance(found.outcome, Value)
    messages = found.requests[1][0]["messages"]
    assert [message["kind"] for message in messages] == ["Said", "Replied", *["Answered"] * 5]
    ids = [one["id"] for one in messages[1]["calls"]]
    assert len(set(ids)) == 5
    assert all(ids)
    assert [message["id"] for message in messages[2:]] == ids
    assert [message["content"] for message in messages[2:]] == [f"order {number}" for number in range(5)]
    assert not any(message["failed"] for message in messages[2:])


@pytest.mark.feature("A11.5", "A2.3", "K07", "K08", "K11", "K14")
def test_malformed_calls_go_back_to_it(tmp_path: Path) -> None:
    """Arguments that are no JSON, of another type, of an unknown tool, and none: refused with what is wrong, and the loop goes on."""
    calls = [
        call("look_up", "{nope"),
        call("look_up", '{"id": 1}'),
        call("delete_all", "{}"),
        call("look_up", None),
        call("look_up", '{"id": "a", "more": 1}'),
    ]
    found = ask(tmp_path, turn(calls=calls, stop="Calls"), turn(final='{"text": "done"}'), entry="answer")
    assert isinstance(found.outcome, Value)
    answers = found.requests[1][0]["messages"][2:]
    assert [answer["failed"] for answer in answers] == [True] * 5
    assert 'no tool "delete_all"' in answers[2]["content"]
    assert not looked_up(found)


STOPS: list[tuple[dict[str, object], FaultKind, str]] = [
    ({"stop": "Refused", "detail": "no"}, FaultKind.MODEL_REFUSED, "no"),
    ({"stop": "Filtered"}, FaultKind.CONTENT_FILTERED, "filtered"),
    ({"stop": "Other", "detail": "paused"}, FaultKind.MALFORMED, "paused"),
    ({"stop": "Calls"}, FaultKind.MALFORMED, "has none"),
    ({"stop": "Cut", "text": "half"}, FaultKind.MODEL_CUT, "cut"),
    ({"stop": "Cut", "calls": [call("look_up", '{"id": "1"}')]}, FaultKind.MODEL_CUT, "cut"),
    ({"stop": "Done"}, FaultKind.INVALID_OUTPUT, "no result"),
]


@pytest.mark.feature("A11.5", "A3.8", "K32", "K33")
@pytest.mark.parametrize(("given", "kind", "word"), STOPS, ids=[f"{given['stop']}{len(given)}" for given, _, _ in STOPS])
def test_each_stop_has_one_meaning(given: dict[str, object], kind: FaultKind, word: str, tmp_path: Path) -> None:
    found = ask(tmp_path, given, entry="answer")
    assert isinstance(found.outcome, Faulted)
    assert found.outcome.kind is kind
    assert word in found.outcome.message
    assert not looked_up(found), "a cut turn runs nothing"


def test_a_turn_that_reaches_its_maximum_is_cut_whatever_it_says(tmp_path: Path) -> None:
    def whole(request: dict[str, object], after: object) -> object:
        calls = [call("look_up", '{"id": "1"}')]
        return turn(calls=calls, stop="Calls", usage={"input": 10, "output": request["max_tokens"]})

    found = ask(tmp_path, whole, entry="answer")
    assert isinstance(found.outcome, Faulted)
    assert found.outcome.kind is FaultKind.MODEL_CUT


@pytest.mark.feature("A11.5", "A12.1", "K04")
def test_usage_is_settled_as_it_is_reported(tmp_path: Path) -> None:
    """In its classes, each priced once; where nothing is said, it is estimated and marked."""
    deploy = DEPLOY + 'price "large" input $10 output $100\n'
    usage = {"input": 100, "cache_read": 20, "cache_write": 5, "output": 30, "reasoning": 7}
    found = ask(tmp_path, turn("word", usage=usage), deploy=deploy)
    spent = found.outcome.spent
    assert (spent.usage.input, spent.usage.cache_read, spent.usage.output, spent.usage.reasoning) == (100, 20, 30, 7)
    assert not spent.usage.estimated
    assert spent.cost is not None
    assert spent.cost >= (100 * Decimal(10) + 37 * Decimal(100)) / 1_000_000
    silent = ask(tmp_path / "silent", turn("word"), deploy=deploy).outcome.spent
    assert silent.usage.estimated
    assert silent.usage.input > 20


@pytest.mark.feature("A11.5", "A12.1", "K02", "K03")
def test_a_budget_holds_before_and_after(tmp_path: Path) -> None:
    """The maximum fits what is left, an unknown price is refused under a money budget, and what goes beyond is settled and ends it."""
    small = SHOP.replace("budget tokens 4_000, time 60s", "budget tokens 600, time 60s")
    found = ask(tmp_path, turn("word"), main=small)
    assert isinstance(found.outcome, Value)
    assert found.requests[0][0]["max_tokens"] < 600
    over = ask(tmp_path / "over", turn("word", usage={"input": 10_000, "output": 5}), main=small).outcome
    assert isinstance(over, Faulted)
    assert over.kind is FaultKind.BUDGET_EXHAUSTED
    assert over.spent.usage.input == 10_000
    money = SHOP.replace("budget tokens 4_000, time 60s", "budget cost $1, time 60s")
    unpriced = ask(tmp_path / "unpriced", turn("word"), main=money)
    assert isinstance(unpriced.outcome, Faulted)
    assert "no known price" in unpriced.outcome.message
    assert unpriced.requests == []


def parts(*told: dict[str, object]) -> object:
    """An answer that comes in parts: each says where the next is found."""

    def answer(request: object, after: str | None) -> object:
        at = 0 if after is None else int(after)
        return told[at] if at == len(told) - 1 else {**told[at], "next": str(at + 1)}

    return answer


@pytest.mark.feature("A11.5", "A14.1", "K31")
def test_a_turn_in_parts_streams(tmp_path: Path) -> None:
    """Text and result are told as they come, the result as partial values of its type, and the whole is what they add up to."""
    long = "words " * 20
    told = parts({"text": "Let "}, {"text": "me see."}, {"final": f'{{"text": "{long}'}, turn(final='", "sure": false}'))
    found = ask(tmp_path, told, entry="answer", follow=True)  # type: ignore[arg-type]
    assert isinstance(found.outcome, Value)
    assert found.outcome.plain == {"text": long, "sure": False}
    assert "".join(event.text for event in found.events if isinstance(event, Text) and not event.final) == "Let me see."
    assert [event for event in found.events if isinstance(event, Partial)]
    assert [after for _, after in found.requests] == [None, "1", "2", "3"]
    assert all(request["followed"] for request, _ in found.requests)
    steps = [span.path for span in found.spans.spans if span.name == "std/model.Model.ask"]
    assert steps == [f"answer/turn1/remote.ask{part}" for part in ("", "#2", "#3", "#4")]


@pytest.mark.feature("A11.5", "K36")
def test_a_turn_that_never_ends_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ael.run.connector.PARTS", 20)
    endless = ask(tmp_path, {"text": "x", "next": "on"})
    assert isinstance(endless.outcome, Faulted)
    assert (endless.outcome.kind, len(endless.requests)) == (FaultKind.MALFORMED, 20)
    monkeypatch.setattr("ael.run.connector.LONGEST", 100_000)
    huge = ask(tmp_path / "huge", {"text": "x" * 60_000, "next": "on"})
    assert isinstance(huge.outcome, Faulted)
    assert "more than 100,000 characters" in huge.outcome.message


@pytest.mark.feature("A11.5", "K37")
def test_opaque_parts_go_back_to_the_same_connector_alone(tmp_path: Path) -> None:
    kept = {"signature": "abc", "blocks": [1, None]}
    calls = [call("look_up", '{"id": "1"}')]
    found = ask(tmp_path, turn(calls=calls, stop="Calls", opaque=kept), turn(final='{"text": "done"}'), entry="answer")
    assert found.requests[1][0]["messages"][1]["opaque"] == kept


HOSTILE: list[object] = [
    {"text": "x"},
    {"stop": "finished"},
    {"stop": "Done", "text": 1},
    {"stop": "Done", "text": "x" * 70_000},
    {"stop": "Done", "usage": {"input": -1}},
    {"stop": "Done", "usage": {"input": 10**12}},
    {"stop": "Calls", "calls": [{"id": 7, "name": "look_up"}]},
    {"stop": "Calls", "calls": [call("look_up")] * 1_001},
    {"stop": "Done", "unknown": True},
    {"text": "x", "next": None},
    None,
    [],
    float("nan"),
    object(),
]


@pytest.mark.feature("A11.5", "K07", "K12", "K33")
@pytest.mark.parametrize("given", HOSTILE, ids=range(len(HOSTILE)))
def test_what_is_no_answer_is_malformed(given: object, tmp_path: Path) -> None:
    """What comes back is decoded by the service's types, whatever the connector's way out gives; another model is not asked."""
    found = ask(tmp_path, lambda request, after: given)
    assert isinstance(found.outcome, Faulted), found.outcome
    assert found.outcome.kind is FaultKind.MALFORMED
    assert len(found.requests) == 1


@pytest.mark.feature("A11.5", "K44")
def test_its_text_is_outside_data(tmp_path: Path) -> None:
    found = ask(tmp_path, turn("word"))
    [span] = [span for span in found.spans.spans if span.kind == "node"]
    assert "model:big" in span.taint
    [asked] = [span for span in found.spans.spans if span.kind == "turn"]
    assert "model:big" in asked.taint


def test_a_failure_of_its_way_out_that_nobody_declared(tmp_path: Path) -> None:
    found = ask(tmp_path, Failure("main.Nothing", {}))
    assert isinstance(found.outcome, Faulted)
