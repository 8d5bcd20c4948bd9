"""What holds for every database of documents: found by words, apart by tenant, written once, whole, and by many at once."""

from __future__ import annotations

import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ael.journal.durable import StoreError
from ael.journal.postgres import PostgresDatabase
from ael.natives.knowledge_base import Base, Document
from ael.natives.knowledge_postgres import PostgresBase
from ael.natives.knowledge_terms import LONGEST, QUERY, query_terms, terms
from ael.types.fault import Fault, FaultKind
from tests.connectors.bases import ROOT, Place, document, ids, put
from tests.postgres import PostgresServer

SYNTAX = [
    '"', '""', "'", "a AND b", "a OR", "NOT", "NEAR(a b, 2)", "title:refund", "refund*", "^refund", "{title text}: x", "-refund",
    "refund)", "(((", "a & !b", "a <-> b", ":*", "\\", "%", "_", "\x00", "ael_knowledge_document", "'; DROP TABLE x; --", "$1", "%s",
    "refund:A", "*", "+", "\ud800", "\U0001f600", "ﬁ", "İ",
]  # fmt: skip


def test_words_are_found_and_the_better_passage_comes_first(base: Base) -> None:
    put(base, "pay", "We accept cards and transfers. Nothing about it.", title="Payment")
    put(base, "refund", "Refunds take five days. A refund goes to the card that was charged.", title="Refunds")
    put(base, "ship", "Parcels are sent every day, and refused ones come back.")
    put(base, "long", f"Once there was a refund. {'Other things are said here at length. ' * 40}")
    assert ids(base, "How long does a refund take?")[:2] == ["refund", "long"]
    assert ids(base, "parcel") == ["ship"]
    assert ids(base, "nobody wrote this") == []
    assert ids(base, "refund", limit=1) == ["refund"]


def test_case_accents_and_plurals_do_not_matter_and_every_script_is_found(base: Base) -> None:
    put(base, "fr", "Le café de la Sœur est fermé.")
    put(base, "jp", "東京都の天気は晴れです。")
    put(base, "ru", "Возврат денег занимает пять дней.")
    put(base, "hi", "वापसी में पाँच दिन लगते हैं।")
    put(base, "en", "Policies for ORDERS_and-boxes, ﬁnal")
    assert ids(base, "CAFE FERME") == ["fr"]
    assert ids(base, "東京") == ["jp"]
    assert ids(base, "天気") == ["jp"]
    assert ids(base, "ВОЗВРАТ") == ["ru"]
    assert ids(base, "वापसी") == ["hi"]
    for question in ("policy", "order", "box", "boxes", "final"):
        assert ids(base, question) == ["en"]


@pytest.mark.feature("K41")
@pytest.mark.parametrize("address", ["postgresql://u:p%zzw0rd@h/db", "host=h password=a p%zzw0rd", "postgres//u:p%zzw0rd@h"])
def test_an_address_that_cannot_be_read_is_not_told(address: str) -> None:
    """The driver quotes the part that it cannot read, which may be the password."""
    for opened, problem in ((PostgresBase, Fault), (PostgresDatabase, StoreError)):
        with pytest.raises(problem) as caught:
            opened(address)
        assert "PostgreSQL" in str(caught.value)
        assert "w0rd" not in str(caught.value)


@pytest.mark.feature("K43")
def test_one_tenants_writes_make_nobody_elses_forgotten(base: Base, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("sqlite", "postgres"):
        monkeypatch.setattr(f"ael.natives.knowledge_{module}.TOKENS", 5)
        monkeypatch.setattr(f"ael.natives.knowledge_{module}.SWEEP", 1)
    put(base, "a", "A price.", tenant="acme", token="t0")
    assert base.remove("acme", "a", "t1") is True
    for number in range(10):
        put(base, "a", "A price.", tenant="umbrella", token=f"t{number}")
    assert base.remove("acme", "a", "t1") is True, "the same call gives what it gave"
    for number in range(10):
        base.remove("acme", "a", f"later {number}")
    assert base.remove("acme", "a", "t1") is False, "a tenant's own oldest go"


@pytest.mark.feature("K43")
def test_tenants_share_nothing(base: Base) -> None:
    put(base, "a", "The price is secret.", tenant="acme", token="t1")
    put(base, "a", "The price is public.", tenant="umbrella", token="t1")
    assert [one.text for one in base.search("acme", ["price"], 10)] == ["The price is secret."]
    assert [one.text for one in base.search("umbrella", ["price"], 10)] == ["The price is public."]
    assert base.search("local", ["price"], 10) == []
    assert base.get("local", "a") is None
    assert not base.remove("local", "a", "r1")
    assert base.remove("umbrella", "a", "r1")
    kept = base.get("acme", "a")
    assert kept is not None
    assert kept.text == "The price is secret."


@pytest.mark.feature("K43")
def test_a_score_tells_nothing_of_what_other_tenants_have(base: Base) -> None:
    put(base, "a", "Refunds and other things", tenant="acme")
    put(base, "b", "Something else altogether", tenant="acme")
    before = base.search("acme", ["refund"], 10)
    for at in range(20):
        put(base, f"x{at}", "refund refund refund", tenant="umbrella")
    assert base.search("acme", ["refund"], 10) == before


@pytest.mark.feature("K44")
@pytest.mark.parametrize("query", SYNTAX)
def test_nothing_in_a_question_is_an_operator(base: Base, query: str) -> None:
    put(base, "a", "A refund of the title.")
    put(base, "b", "x y z")
    assert set(ids(base, query)) <= {"a", "b"}
    assert "a" in ids(base, f"{query} refund")


@pytest.mark.feature("K44")
def test_operators_do_not_exclude_or_filter(base: Base) -> None:
    put(base, "a", "refund of the order", title="x")
    assert ids(base, "refund NOT order") == ["a"]
    assert ids(base, "text:refund -order") == ["a"]
    assert ids(base, "refun*") == []


@pytest.mark.feature("K44")
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=200), st.text(max_size=200).filter(lambda text: "\x00" not in text and text.isprintable()))
def test_any_text_is_kept_and_any_question_answered(base: Base, query: str, text: str) -> None:
    put(base, "any", text, title=text[:50])
    base.search("local", query_terms(query), 5)
    kept = base.get("local", "any")
    assert kept is not None
    assert kept.text == text
    assert not query_terms(text) or ids(base, text) == ["any"]


@given(st.text(max_size=300))
def test_words_hold_no_character_of_a_query_language(text: str) -> None:
    for word in (*terms(text), *query_terms(text)):
        assert 0 < len(word) <= LONGEST
        assert not set(word) & set(" \t\n\"'\\:*()&|!<>^{}-+%_,;$\x00")
    assert len(query_terms(text)) <= QUERY


def test_equal_passages_come_in_the_order_of_their_documents(place: Place) -> None:
    for names in ("bca", "cab"):
        base = place.open()
        for name in names:
            put(base, name, "The very same words.")
            base.put("local", document(f"{name}2", "x"), ["same words one", "same words one"], f"{names}{name}")
        assert ids(base, "very") == ["a", "b", "c"]
        assert [(one.id, one.place) for one in base.search("local", ["one"], 10)] == [(f"{n}2", p) for n in "abc" for p in (0, 1)]
        for name in names:
            base.remove("local", name, f"-{names}{name}")
            base.remove("local", f"{name}2", f"-2{names}{name}")
        base.close()


def test_a_newer_version_replaces_and_an_older_one_does_not(base: Base) -> None:
    assert put(base, "a", "second", version=2) == "written"
    assert put(base, "a", "first", version=1) == "older"
    assert put(base, "a", "second", version=2) == "same"
    assert put(base, "a", "else", version=2) == "conflict"
    assert ids(base, "first else") == []
    assert put(base, "a", "third", version=3) == "written"
    assert ids(base, "second") == []
    assert base.get("local", "a") == Document("a", 3, "", "", "third")
    assert put(base, "a", "any", version=0) == "written"
    assert base.get("local", "a") == Document("a", 0, "", "", "any")


@pytest.mark.feature("K26")
def test_a_call_that_comes_again_acts_once(base: Base) -> None:
    assert put(base, "a", "old", token="k1") == "written"
    assert put(base, "a", "new", token="k2") == "written"
    assert put(base, "a", "old", token="k1") == "written"
    assert ids(base, "old") == []
    assert ids(base, "new") == ["a"]
    assert base.remove("local", "a", "k3")
    assert put(base, "a", "again", token="k4") == "written"
    assert base.remove("local", "a", "k3")
    assert ids(base, "again") == ["a"]


def test_a_document_is_replaced_whole(base: Base) -> None:
    base.put("local", document("a", "x"), [f"part {at} of many" for at in range(500)], "1")
    assert len(base.search("local", ["part"], 1_000)) == 500
    base.put("local", document("a", "x"), ["one part"], "2")
    assert [one.text for one in base.search("local", ["part"], 1_000)] == ["one part"]
    assert base.remove("local", "a", "3")
    assert base.search("local", ["part"], 1_000) == []
    assert base.get("local", "a") is None
    assert not base.remove("local", "a", "4")


def test_a_write_that_fails_in_the_middle_changes_nothing(base: Base) -> None:
    put(base, "a", "before")
    with pytest.raises((Fault, TypeError, AttributeError, ValueError)):
        base.put("local", document("a", "after"), ["after", None], "1")  # type: ignore[list-item]
    assert ids(base, "before") == ["a"]
    assert ids(base, "after") == []
    assert put(base, "a", "later") == "written"


def test_several_connections_write_at_once(place: Place) -> None:
    def write(prefix: str) -> None:
        base = place.open()
        for at in range(12):
            put(base, f"{prefix}{at}", f"word {prefix} {at}")
            put(base, "shared", f"{prefix} {at}", version=at + 1)
        base.close()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, "abcd"))
    base = place.open()
    assert sorted(ids(base, "word")) == sorted(f"{prefix}{at}" for prefix in "abcd" for at in range(12))
    kept = base.get("local", "shared")
    assert kept is not None
    assert kept.version == 12
    assert ids(base, kept.text)[0] == "shared"
    base.close()


@pytest.mark.feature("K27")
def test_what_was_acknowledged_survives_kill_9_beside_another_writer(place: Place) -> None:
    def start(prefix: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "tests.connectors.bases", place.kind, place.where, prefix, "100000"]
        return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)

    one, other = start("one"), start("other")
    kept: dict[str, int] = {}
    for name, process, wanted in (("one", one, 3), ("other", other, 1)):
        assert process.stdout is not None
        for line in process.stdout:
            kept[name] = int(line.split()[1])
            if kept[name] >= wanted:
                break
    for name, process in (("one", one), ("other", other)):
        process.send_signal(signal.SIGKILL)
        assert process.stdout is not None
        for line in process.stdout:
            if line.endswith("\n"):
                kept[name] = int(line.split()[1])
        process.stdout.close()
        process.wait(60)
    base = place.open()
    found = ids(base, "common", limit=1_000_000)
    for name, last in kept.items():
        assert {f"{name}-{at}" for at in range(last + 1)} <= set(found)
    for id in found:
        assert base.get("local", id) is not None
    assert put(base, "after", "still writable") == "written"
    base.close()


@pytest.mark.feature("K41")
def test_a_database_that_restarts_is_connected_to_again() -> None:
    own = PostgresServer()
    try:
        own.start()
        base = PostgresBase(own.address)
        assert put(base, "a", "before") == "written"
        own.stop()
        with pytest.raises(Fault) as told:
            base.search("local", ["before"], 1)
        assert told.value.kind is FaultKind.UNAVAILABLE
        assert "postgres@" not in told.value.message
        own.start()
        assert ids(base, "before") == ["a"]
        base.close()
    finally:
        own.remove()
