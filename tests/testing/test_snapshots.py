"""Snapshots: kept as they are read, compared, updated, and never made on a build machine."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ael.testing.snapshot import SnapshotError, SnapshotFile, Snapshots, rendered
from ael.types.fault import Fault, FaultKind
from tests.cli.conftest import Ael, ael  # noqa: F401  # a fixture

MAIN = """record Order {{
  id: String
  lines: List<String>
}}

test "an order" {{
  snapshot("order", Order(id: "A-1", lines: ["{line}", "cup"]))
  snapshot("label", "to\\nthe door\\n")
}}
"""
FILE = """=== "an order" "label" +1
    to
    the door

=== "an order" "order"
    {
      "id": "A-1",
      "lines": [
        "tea",
        "cup"
      ]
    }
"""


@pytest.fixture
def desk(ael: Ael, monkeypatch: pytest.MonkeyPatch) -> Ael:  # noqa: F811
    monkeypatch.delenv("CI", raising=False)
    ael.write({"main.ael": MAIN.format(line="tea")})
    return ael


def kept(desk: Ael) -> Path:
    return desk.folder / "__snapshots__" / "main.ael.snap"


@pytest.mark.feature("C7")
def test_a_snapshot_is_kept_compared_and_updated(desk: Ael) -> None:
    assert desk("test").code == 0
    assert kept(desk).read_text() == FILE
    assert desk("test").code == 0
    desk.write({"main.ael": MAIN.format(line="coffee")})
    ended = desk("test")
    assert ended.code == 1
    assert "the snapshot `order` differs; `ael test --update-snapshots` takes what is now" in ended.err
    lines = [line.strip() for line in ended.err.splitlines()]
    assert '-    "tea",' in lines
    assert '+    "coffee",' in lines
    assert kept(desk).read_text() == FILE, "a test that fails changes nothing"
    assert desk("test", "--update-snapshots").code == 0
    assert kept(desk).read_text() == FILE.replace("tea", "coffee")


@pytest.mark.feature("C7")
def test_on_a_build_machine_none_is_made(desk: Ael, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    ended = desk("test")
    assert ended.code == 1
    assert "there is no snapshot `order`, and on a build machine none is made" in ended.err
    assert not kept(desk).exists()


def test_what_no_test_asks_for_is_told_and_taken_away(desk: Ael) -> None:
    assert desk("test").code == 0
    desk.write({"main.ael": 'test "an order" {\n  snapshot("label", "to\\nthe door\\n")\n}\n'})
    ended = desk("test")
    assert ended.code == 0
    assert "unused: the snapshot `order` of the test `an order`" in ended.err
    assert "order" in kept(desk).read_text()
    assert desk("test", "--update-snapshots").code == 0
    assert kept(desk).read_text() == FILE.partition("\n\n===")[0] + "\n"
    desk.write({"main.ael": 'test "other" {\n  assert true\n}\n'})
    assert "unused: the snapshot `label` of the test `an order`" in desk("test").err
    assert desk("test", "--update-snapshots").code == 0
    assert not kept(desk).exists()


def test_a_filter_takes_no_snapshot_of_other_tests_for_unused(desk: Ael) -> None:
    desk.write({"main.ael": MAIN.format(line="tea") + '\ntest "other" {\n  snapshot("one", 1)\n}\n'})
    assert desk("test").code == 0
    ended = desk("test", "--filter", "other", "--update-snapshots")
    assert ended.code == 0
    assert "unused" not in ended.err
    assert kept(desk).read_text().count("===") == 3


def test_a_name_stands_once_and_is_a_line(desk: Ael) -> None:
    desk.write(
        {"main.ael": 'test "twice" {\n  snapshot("a", 1)\n  snapshot("a", 1)\n}\n\ntest "no" {\n  snapshot("a\\nb", 1)\n}\n'}
    )
    ended = desk("test")
    assert "two snapshots of this test have the name `a`" in ended.err
    assert "the name of a snapshot is one line of 1 to 200 characters" in ended.err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("no head\n", "line 1: a snapshot begins with"),
        ('=== "a" "b"\nnot indented\n', "line 2: the text of a snapshot is indented"),
        ('=== "\\q" "b"\n', "line 1: this is no head"),
        (b"\xff", "it is not UTF-8"),
    ],
)
def test_a_file_of_another_form_is_told(desk: Ael, text: str | bytes, said: str) -> None:
    desk("test")
    kept(desk).write_bytes(text.encode() if isinstance(text, str) else text)
    ended = desk("test")
    assert ended.code == 1
    assert said in ended.err


@given(
    st.dictionaries(st.tuples(st.text(min_size=1, max_size=8), st.text(min_size=1, max_size=8)), st.text(max_size=60), max_size=4)
)
def test_any_text_comes_back_as_it_was(texts: dict[tuple[str, str], str]) -> None:
    from tempfile import TemporaryDirectory

    texts = {key: text for key, text in texts.items() if _written(key[0] + key[1] + text)}
    with TemporaryDirectory() as folder:
        file = SnapshotFile(Path(folder, "main.ael"), ci=False)
        file.written.update(texts)
        file.save()
        assert SnapshotFile(Path(folder, "main.ael"), ci=False).kept == texts


def _written(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def test_secrets_are_masked_before_they_are_kept(tmp_path: Path) -> None:
    file = SnapshotFile(tmp_path / "main.ael", ci=False)
    Snapshots(file, "t").compare("said", "the key is abc-123", lambda text: text.replace("abc-123", "•••"))
    file.save()
    assert "abc-123" not in file.path.read_text()
    Snapshots(file, "t").compare("said", "the key is abc-123", lambda text: text.replace("abc-123", "•••"))


def test_processes_that_write_at_once_lose_nothing(tmp_path: Path) -> None:
    def work(number: int) -> None:
        file = SnapshotFile(tmp_path / "main.ael", ci=False)
        file.written[f"test {number}", "one"] = str(number)
        file.save()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(SnapshotFile(tmp_path / "main.ael").kept) == 8
    assert [path.name for path in (tmp_path / "__snapshots__").iterdir()] == ["main.ael.snap"]


def test_only_data_is_kept() -> None:
    with pytest.raises(Fault) as raised:
        rendered(lambda: None)
    assert raised.value.kind is FaultKind.MALFORMED
    assert isinstance(SnapshotError("x"), Exception)
