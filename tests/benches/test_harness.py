"""The harness's arithmetic, its line format, and the model server that it measures against."""

from __future__ import annotations

import json
import sys
from contextlib import closing
from pathlib import Path

import pytest

from benches import worker
from benches.harness import Side, SideFailed, clean_environment, interleave, medians, row
from benches.server import answer_to

FIELDS = ["name", "value", "unit", "against", "against_value", "ratio", "target", "ok"]


def test_ratio_is_ours_over_theirs_and_decides_the_goal() -> None:
    met = row("turns/10", "µs", 50.0, "peer 1.0", 1000.0, ("<=", 0.1))
    assert (met.value, met.against_value, met.ratio, met.target, met.ok) == (50.0, 1000.0, 0.05, "<= 0.1", True)
    assert row("turns/10", "µs", 101.0, "peer 1.0", 1000.0, ("<=", 0.1)).ok is False
    assert row("check/cold", "lines/s", 6000.0, "goal", 5000.0, (">=", 1)).ok is True
    assert row("check/cold", "lines/s", 4000.0, "goal", 5000.0, (">=", 1)).ok is False


def test_a_figure_that_is_missing_is_neither_met_nor_missed() -> None:
    for missing in (row("x", "µs", None, "peer", 1.0, ("<=", 1)), row("x", "µs", 1.0, "peer", None, ("<=", 1))):
        assert missing.ratio is None
        assert missing.ok is None
        assert missing.target == "<= 1"


def test_the_goal_is_decided_before_rounding() -> None:
    close = row("x", "µs", 1.00001, "peer", 1.0, ("<=", 1))
    assert close.ratio == 1.0
    assert close.ok is False


def test_a_row_is_one_json_object_on_one_line() -> None:
    line = row("decode/small", "µs CPU a document", 18.123456, "pydantic", 7.4, ("<=", 2.5)).line()
    assert "\n" not in line
    assert list(json.loads(line)) == FIELDS
    assert json.loads(line)["value"] == 18.12


def test_medians_leave_out_a_side_without_figures() -> None:
    assert medians({"a": [3.0, 1.0, 2.0], "b": [1.0, 2.0], "c": []}) == {"a": 2.0, "b": 1.5}


def test_a_measured_process_has_no_proxy_and_finds_the_benches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("all_proxy", "http://127.0.0.1:1")
    environment = clean_environment({"BENCH_MODEL_URL": "http://127.0.0.1:2/v1"})
    assert [name for name in environment if "proxy" in name.lower()] == ["NO_PROXY"]
    assert environment["BENCH_MODEL_URL"] == "http://127.0.0.1:2/v1"
    assert (Path(environment["PYTHONPATH"]) / "benches").is_dir()


def test_a_run_is_repeated_until_enough_is_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    runs = 0

    def run() -> None:
        nonlocal runs
        runs += 1
        clock[0] += 0.01

    monkeypatch.setattr("benches.worker.time.process_time", lambda: clock[0])
    assert worker.cpu_per_run(run, least=0.2) == pytest.approx(0.01)
    assert runs >= 20


def test_sides_answer_in_processes_of_their_own_and_a_failing_one_is_left_out(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with closing(Side("hand", Path(sys.executable), "benches.peers.hand")) as hand:
        found = interleave([hand], 1, "turns", "us", steps=2)
        assert found["hand"] > 0
        assert interleave([hand], 2, "no such operation", "us") == {}
    assert "hand: " in capsys.readouterr().err


def test_a_side_that_cannot_start_says_why() -> None:
    with pytest.raises(SideFailed, match=r"No module named 'benches\.peers\.missing'"):
        Side("missing", Path(sys.executable), "benches.peers.missing")


def body_of(answer: bytes) -> bytes:
    head, _, body = answer.partition(b"\r\n\r\n")
    assert f"content-length: {len(body)}".encode() in head
    return body


def test_the_server_answers_a_loop_until_its_results_are_in() -> None:
    first = json.loads(body_of(answer_to(b'{"model": "loop-1", "messages": []}')))
    [call] = first["choices"][0]["message"]["tool_calls"]
    assert (call["function"]["name"], first["choices"][0]["finish_reason"]) == ("look_up", "tool_calls")
    last = json.loads(body_of(answer_to(b'{"model":"loop-1","messages":[{"role":"tool","content":"x"}]}')))
    assert json.loads(last["choices"][0]["message"]["content"]) == {"topic": "Refund", "confidence": 0.9}


def test_the_server_streams_events_that_end_with_done() -> None:
    events = body_of(answer_to(b'{"model": "json", "stream": true}')).decode().split("\n\n")
    assert events[-2:] == ["data: [DONE]", ""]
    assert json.loads(events[2].removeprefix("data: "))["usage"]["total_tokens"] == 110
