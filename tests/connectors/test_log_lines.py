"""Log entries on their way: what an entry is, lines in files that are rotated and shared, and sinks that are slow, fail or hang."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ael.observe.entry import CONTENT, TEXT, Entry, entry_of
from ael.observe.lines import FileLines, StderrLines, lines
from ael.observe.waiting import BATCH, QUEUE, Undelivered, WaitingSink
from ael.run.ports import Span

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine under load takes its time."""
    monkeypatch.setattr("ael.observe.waiting.FLUSH", 60.0)


def span(kind: str = "tool", name: str = "look", outcome: str = "value", *, tenant: str = "local", **more: Any) -> Span:
    return Span("r1", 1, None, kind, name, "main/look", 1.0, 2.5, outcome, tenant=tenant, **more)


def logged(text: str, tenant: str = "local") -> Span:
    return span("effect", "log", content={"text": text}, tenant=tenant)


def wait(done: Callable[[], bool]) -> None:
    """Until it is so; a machine under load takes its time."""
    end = time.monotonic() + 60
    while not done():
        assert time.monotonic() < end
        time.sleep(0.005)


class Taken:
    """A delivery that keeps what it gets, and can be held or made to fail."""

    name = "the test"

    def __init__(self) -> None:
        self.batches: list[list[Entry]] = []
        self.go = threading.Event()
        self.go.set()
        self.fails: Exception | None = None
        self.closed = False

    def deliver(self, entries: list[Entry]) -> None:
        self.go.wait()
        if self.fails is not None:
            raise self.fails
        self.batches.append(entries)

    def give_up(self) -> None:
        self.go.set()

    def close(self) -> None:
        self.closed = True

    @property
    def texts(self) -> list[object]:
        return [entry["text"] for batch in self.batches for entry in batch]


@pytest.mark.parametrize(
    ("one", "level", "text"),
    [
        (logged("hello"), "Info", "hello"),
        (logged("warning: little is left"), "Warning", "little is left"),
        (logged("ERROR:none is left"), "Error", "none is left"),
        (logged("debug: x"), "Debug", "x"),
        (logged("informal: x"), "Info", "informal: x"),
        (span(), "Info", ""),
        (span("store", "book.get"), "Debug", ""),
        (span(outcome="error"), "Warning", ""),
        (span(outcome="refused"), "Warning", ""),
        (span("store", outcome="fault"), "Error", ""),
        (span(outcome="uncertain"), "Error", ""),
        (span("retry"), "Warning", ""),
    ],
)
def test_how_urgent_an_entry_is(one: Span, level: str, text: str) -> None:
    entry = entry_of(one, content=False)
    assert (entry["level"], entry["text"]) == (level, text)
    assert entry["kind"] == ("log" if one.name == "log" else one.kind)


@pytest.mark.feature("K36")
def test_an_entry_is_bounded_whatever_the_span_holds() -> None:
    huge = {"text": "x" * 200_000, "other": ["y" * 100_000]}
    entry = entry_of(
        span(
            "tool", "n" * 9_000, content=huge, attributes={f"a{at}": "z" * 9_000 for at in range(200)}, taint=tuple("abc" * 100)
        ),
        content=True,
    )
    assert entry["content"] == {"cut": json.dumps(huge)[:CONTENT], "characters": len(json.dumps(huge))}
    assert len(json.dumps(entry)) < 300_000
    assert len(str(entry_of(logged("x" * 200_000), content=False)["text"])) == TEXT


def test_content_goes_where_it_was_asked_for_and_what_was_logged_everywhere() -> None:
    for content in (False, True):
        taken = Taken()
        sink = WaitingSink(taken, content=content)
        assert sink.content == (True if content else "log")
        sink.span(span(content={"arguments": {"id": 1}}))
        sink.span(logged("hello"))
        assert sink.close() is None
        first, second = [entry for batch in taken.batches for entry in batch]
        assert ("content" in first) is content
        assert (second["text"], "content" in second) == ("hello", False)


def test_a_sink_gets_what_is_urgent_enough_in_order_and_not_what_was_seen_again() -> None:
    taken = Taken()
    sink = WaitingSink(taken, level="Warning")
    for one in (
        logged("a"),
        logged("warning: b"),
        span(),
        span(outcome="fault", attributes={"replayed": True}),
        logged("error: c"),
    ):
        sink.span(one)
    assert sink.close() is None
    assert taken.texts == ["b", "c"]
    assert taken.closed
    sink.span(logged("error: late"))
    assert sink.close() is None


@pytest.mark.feature("K43")
def test_entries_of_two_tenants_are_delivered_apart() -> None:
    taken = Taken()
    taken.go.clear()
    sink = WaitingSink(taken)
    for tenant in ("a", "a", "b", "a"):
        sink.span(logged(tenant, tenant))
    taken.go.set()
    assert sink.close() is None
    assert all(len({entry["tenant"] for entry in batch}) == 1 for batch in taken.batches)
    assert taken.texts == ["a", "a", "b", "a"]


def test_a_sink_that_hangs_holds_nobody_up_and_what_is_lost_is_counted_and_told(capsys: pytest.CaptureFixture[str]) -> None:
    taken = Taken()
    taken.go.clear()
    sink = WaitingSink(taken, flush=0.05)
    for at in range(QUEUE + 500):
        sink.span(logged(f"{at}"))  # none of these waits
    assert sink.lost >= 500 - BATCH
    told = sink.close()
    assert told is not None
    assert f"of {QUEUE + 500:,} log entries did not reach the test" in told
    assert capsys.readouterr().err.count("ael: warning: log entries do not reach the test") == 1


def test_a_sink_that_fails_is_told_once_and_goes_on(capsys: pytest.CaptureFixture[str]) -> None:
    taken = Taken()
    sink = WaitingSink(taken)
    for fails in (OSError("the disk is full"), Undelivered("no"), ZeroDivisionError("a defect")):
        taken.fails = fails
        before = sink.lost
        sink.span(logged("x"))
        wait(lambda before=before: sink.lost > before)  # type: ignore[misc]
    taken.fails = None
    sink.span(logged("good"))
    told = sink.close()
    assert told == "3 of 4 log entries did not reach the test: ZeroDivisionError: a defect"
    assert taken.texts == ["good"]
    assert capsys.readouterr().err == "ael: warning: log entries do not reach the test: the disk is full\n"


def entries(count: int, text: str = "x") -> list[Entry]:
    return [entry_of(logged(f"{text}{at}"), content=False) for at in range(count)]


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="ascii").splitlines()]


def test_a_line_is_an_entry_and_nothing_in_it_moves_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    hostile = entry_of(logged("a\n\x1b[2J\u202e\u2028\ud800é"), content=False)
    data = lines([hostile, hostile])
    assert data.count(b"\n") == 2
    assert data.isascii()
    assert not set(data) & set(range(32)) - {10}
    assert json.loads(data.splitlines()[0])["text"] == hostile["text"]
    StderrLines().deliver([hostile])
    assert capsys.readouterr().err.encode() == lines([hostile])


def test_a_file_is_rotated_and_the_oldest_goes(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    file = FileLines(path, most=4_096, keep=2)
    for at in range(30):
        file.deliver(entries(3, f"b{at}-"))
    file.close()
    names = sorted(one.name for one in tmp_path.iterdir() if not one.name.startswith("."))
    assert names == ["run.jsonl", "run.jsonl.1", "run.jsonl.2"]
    assert all((tmp_path / name).stat().st_size <= 4_096 for name in names)
    kept = [one["text"] for name in reversed(names) for one in read(tmp_path / name)]
    assert kept == [f"b{at}-{n}" for at in range(30) for n in range(3)][-len(kept) :]
    assert len(kept) > 9
    assert path.stat().st_mode & 0o777 == 0o600
    none = FileLines(tmp_path / "none.jsonl", most=4_096, keep=0)
    for _ in range(10):
        none.deliver(entries(5))
    none.close()
    assert not (tmp_path / "none.jsonl.1").exists()


def test_what_a_killed_process_left_half_is_not_joined_to_what_follows(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(lines(entries(1)) + b'{"time":"20')
    file = FileLines(path, most=1 << 20, keep=1)
    file.deliver(entries(1, "after"))
    file.close()
    first, half, after = path.read_bytes().splitlines()
    assert json.loads(first)["text"] == "x0"
    assert half == b'{"time":"20'
    assert json.loads(after)["text"] == "after0"


def test_a_link_is_not_followed_and_a_folder_is_no_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "aim").write_text("kept")
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "aim")
    (tmp_path / "folder.jsonl").mkdir()
    for name in ("link.jsonl", "folder.jsonl", "none/run.jsonl"):
        sink = WaitingSink(FileLines(tmp_path / name, most=4_096, keep=1))
        sink.span(logged("x"))
        told = sink.close()
        assert told is not None
        assert told.startswith("1 of 1 log entries did not reach the file")
    assert (tmp_path / "aim").read_text() == "kept"
    assert len(capsys.readouterr().err.splitlines()) == 3


WRITER = """
import sys
from pathlib import Path
from ael.observe.lines import FileLines
from tests.connectors.test_log_lines import entries
file = FileLines(Path(sys.argv[1]), most=20_000, keep=100)
for at in range(40):
    file.deliver(entries(2, f"{sys.argv[2]}{at}-"))
file.close()
"""


def test_several_processes_write_and_rotate_one_file_and_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    started = [subprocess.Popen([sys.executable, "-c", WRITER, str(path), name], cwd=ROOT) for name in "ab"]
    assert [one.wait(100) for one in started] == [0, 0]
    files = [one for one in tmp_path.iterdir() if not one.name.startswith(".")]
    assert len(files) > 1
    found = sorted(one["text"] for file in files for one in read(file))
    assert found == sorted(f"{name}{at}-{n}" for name in "ab" for at in range(40) for n in range(2))


def test_a_disk_that_is_full_leaves_no_half_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.jsonl"
    file = FileLines(path, most=1 << 20, keep=1)
    file.deliver(entries(1))
    real, left = os.write, [100]

    def write(number: int, data: bytes) -> int:
        if not left[0]:
            raise OSError(28, "No space left on device")
        left[0] -= (some := min(len(data), left[0]))
        return real(number, data[:some])

    monkeypatch.setattr(os, "write", write)
    with pytest.raises(OSError, match="No space"):
        file.deliver(entries(3, "lost"))
    monkeypatch.undo()
    file.deliver(entries(1, "after"))
    file.close()
    assert [one["text"] for one in read(path)] == ["x0", "after0"]
