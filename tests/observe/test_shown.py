"""What of a value is shown: whole, its form, or all but marked fields; never a secret (features A16.6, A16.8)."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from ael.hosting.masking import masker_of
from ael.journal.durable import RunRow, RunState
from ael.journal.entry import Ending, Entry, Header, Kind, State
from ael.observe.shown import Evidence, Shown, as_shown, shown
from ael.project.deployment import Deployment, SecretSource
from ael.run.masker import Masker
from ael.types.value import File, Secret

SECRET = "k-0123456789"
MASKER = Masker([Secret("K", SECRET)])
ROW = RunRow(
    Header("r1", "p", "main.main", "", "t", "ann", 0.0, None),
    RunState.ENDED,
    ending="value",
    outcome={"outcome": "value", "value": SECRET, "spent": {}},
)
VALUE = {
    "email": "ada@example.com",
    "note": "write to ada@example.com, or %61da%40example.com",
    "lines": [{"sku": "A-1", "count": 2, "email": {"work": "bob@example.com", "checked": True}}],
    "total": Decimal("1.50"),
    "day": datetime(2026, 3, 1, tzinfo=UTC),
    "file": File("image/png", b"x", None),
    "key": SECRET,
}


def _of(evidence: Evidence, *fields: str) -> Shown:
    made = shown(evidence, MASKER, fields, [VALUE])
    assert made is not None
    return made


def _entry(kind: Kind, value: object, state: State = State.ANSWERED, path: str = "a") -> Entry:
    return Entry(path, state, kind, "main.t", "", "", value, Ending.VALUE if state is State.ANSWERED else None, 0.0, 0.0)


@pytest.mark.feature("A16.6", "A16.8", "K41")
def test_everything_but_secrets() -> None:
    told = _of("full")(VALUE)
    assert isinstance(told, dict)
    assert (told["email"], told["key"], told["file"]) == ("ada@example.com", "***", "[a file of image/png]")
    assert _of("full").said(f"the key is {SECRET}") == "the key is ***"


@pytest.mark.feature("A16.6")
def test_the_form_alone() -> None:
    told = _of("redacted")(VALUE)
    assert isinstance(told, dict)
    assert told["lines"] == [
        {"sku": "[text of 3 characters]", "count": 2, "email": {"work": "[text of 15 characters]", "checked": True}}
    ]
    assert _of("redacted").said('{"email": "ada@example.com"}') == "[text of 28 characters]"


@pytest.mark.feature("A16.6", "A16.8")
def test_all_but_marked_fields_and_what_they_hold_nowhere_else_either() -> None:
    show = _of("redacted", "email")
    told = show(VALUE)
    assert isinstance(told, dict)
    assert told["email"] == "[text of 15 characters]"
    assert told["lines"] == [{"sku": "A-1", "count": 2, "email": {"work": "[text of 15 characters]", "checked": True}}]
    assert (told["total"], told["key"]) == ("1.50", "***")
    assert told["note"] == "write to ***, or %61da%40example.com", "the value, in the forms in which it commonly travels"
    assert show({"reply": "to bob@example.com"}) == {"reply": "to ***"}
    assert show.said("I wrote to Ada") == "[text of 14 characters]", "a model may say it in other words"
    arguments = json.dumps({"email": "ada@example.com", "text": "hello"})
    assert show.said(arguments) == {"email": "[text of 15 characters]", "text": "hello"}


@pytest.mark.feature("A16.6")
def test_what_a_field_holds_is_found_in_the_arguments_of_calls_that_a_model_wrote() -> None:
    turn = {"calls": [["c", "mail", json.dumps({"email": "eve@example.com"})]]}
    show = shown("redacted", MASKER, ["email"], [turn])
    assert show is not None
    assert show({"sent": "eve@example.com"}) == {"sent": "***"}


@pytest.mark.feature("A16.6", "A4.5")
@pytest.mark.parametrize("evidence", ["full", "redacted", "none"])
def test_what_waits_for_a_person_is_shown_to_them_and_what_was_decided_is_not(evidence: Evidence) -> None:
    asked = {"role": "boss", "arguments": {"text": "hello", "key": SECRET}, "reason": "why"}
    decided = {"approved": True, "by": "bo", "reason": f"ok {SECRET}", "arguments": {"text": "other"}}
    show = shown(evidence, MASKER)
    _, [open_yet] = as_shown(ROW, [_entry(Kind.APPROVAL, asked, State.PROPOSED)], show, MASKER)
    assert open_yet.value == {**asked, "arguments": {"text": "hello", "key": "***"}}
    _, closed = as_shown(ROW, [_entry(Kind.APPROVAL, asked, State.PROPOSED), _entry(Kind.APPROVAL, decided)], show, MASKER)
    told = json.dumps([one.value for one in closed])
    assert SECRET not in told
    assert '"by": "bo"' in told
    assert ("hello" in told, "other" in told) == (evidence == "full", evidence == "full")


@pytest.mark.feature("A16.6")
@pytest.mark.parametrize("evidence", ["full", "redacted", "none"])
def test_counts_of_a_turn_are_no_content(evidence: Evidence) -> None:
    record = {
        "text": "hello", "calls": [["c1", "pay", '{"n": 1}']], "stop": "calls", "usage": [1, 2, 3, 4, 5, False], "final": None,
        "opaque": ["p", [{"s": "x"}]], "model": "m", "detail": "", "cut": False, "failed": [], "attempts": [], "paid": "0.1",
    }  # fmt: skip
    row, [turn] = as_shown(ROW, [_entry(Kind.MODEL, record)], shown(evidence, MASKER), MASKER)
    assert isinstance(turn.value, dict)
    assert [turn.value[word] for word in ("usage", "stop", "model", "paid")] == [[1, 2, 3, 4, 5, False], "calls", "m", "0.1"]
    assert [call[1] for call in turn.value["calls"]] == ["pay"]
    assert (turn.value["text"] == "hello") is (evidence == "full")
    assert isinstance(row.outcome, dict)
    assert SECRET not in str(row.outcome)
    assert ("value" in row.outcome) is (evidence != "none")


@pytest.mark.feature("A16.8", "K41")
def test_secrets_of_the_deployment_of_its_tenants_and_of_providers_are_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("CRM", "crm-0123456789"), ("ACME_CRM", "acme-0123456789"), ("OPENAI_API_KEY", "sk-0123456789")):
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("GONE", raising=False)
    known = {"CRM": SecretSource("env", "CRM"), "GONE": SecretSource("env", "GONE")}
    masker = masker_of(Deployment(secrets=known, owned_secrets={("acme", "CRM"): SecretSource("env", "ACME_CRM")}))
    assert masker.text("crm-0123456789 acme-0123456789 sk-0123456789 other") == "*** *** *** other"
