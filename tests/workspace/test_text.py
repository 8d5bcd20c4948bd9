"""What an edit makes of a text, and how it is shown: exact, with the file's own line ends, and never twice."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ael.natives.code_text import MOST_DIFFERENCE, Edited, difference, edited, form_of, lines_of, view
from ael.natives.workspace import version_of
from tests.workspace.support import refused

TEXTS = st.text("ab\n", max_size=30)


def change(data: bytes, old: str, new: str, *, every: bool = False, version: str | None = None) -> Edited:
    form = form_of(data.decode())
    return edited("a.txt", data, form, version_of(data) if version is None else version, old, new, every)


@pytest.mark.feature("A15.2")
@pytest.mark.parametrize(
    ("data", "old", "new", "after"),
    [
        (b"one\ntwo\n", "two", "three", b"one\nthree\n"),
        (b"one\r\ntwo\r\n", "one\ntwo", "1\n2", b"1\r\n2\r\n"),
        (b"one\r\ntwo", "two", "2", b"one\r\n2"),
        (b"one\r\ntwo\r\n", "one\r\n", "1\n", b"1\r\ntwo\r\n"),
        (b"one\r\ntwo\n", "two\n", "2\n", b"one\r\n2\n"),
        (b"\xef\xbb\xbfone", "one", "1", b"\xef\xbb\xbf1"),
        (b"no end", "end", "e", b"no e"),
        ("é\n".encode(), "é", "ß", "ß\n".encode()),
        (b"abc", "b", "", b"ac"),
        (b"a\rb\n", "b", "c", b"a\rc\n"),
    ],
)
def test_what_is_not_replaced_is_kept_to_the_byte(data: bytes, old: str, new: str, after: bytes) -> None:
    made = change(data, old, new)
    assert made.data == after
    assert not made.already


@pytest.mark.feature("A15.2")
def test_the_text_stands_exactly_once(tmp_path: object) -> None:
    assert refused(lambda: change(b"a a a", "a", "b"), "NotOnce")["count"] == 3
    assert refused(lambda: change(b"aaa", "aa", "b"), "NotOnce")["count"] == 2, "one that overlaps is another one"
    assert refused(lambda: change(b"a", "x", "b"), "NotOnce")["count"] == 0
    assert "blanks" in str(refused(lambda: change(b"a  b", "a b", "b"), "NotOnce")["reason"])
    refused(lambda: change(b"a", "", "b"), "NotOnce")
    refused(lambda: change(b"a", "a", "a"), "NotOnce")
    made = change(b"a a a", "a", "b", every=True)
    assert (made.data, made.count) == (b"b b b", 3)


@pytest.mark.feature("A15.1", "A15.2")
def test_what_was_not_read_or_has_changed_is_refused() -> None:
    for version in ("", "5-0", version_of(b"one thing"), f"8-{'0' * 32}", "x" * 64):
        refused(lambda version=version: change(b"one two", "one", "1", version=version), "Stale")  # type: ignore[misc]


@pytest.mark.feature("A15.2", "K26")
def test_the_same_edit_again_is_known_for_what_it_is() -> None:
    """The reply was lost after the file was written: the file is not what was read, and still the edit is done."""
    read = b"one two\r\n"
    first = change(read, "two", "three")
    again = change(first.data, "two", "three", version=version_of(read))
    assert (again.already, again.data, again.before) == (True, first.data, first.before)
    other = change(first.data, "three", "four").data
    refused(lambda: change(other, "two", "three", version=version_of(read)), "Stale")
    everywhere = change(b"a a", "a", "b", every=True)
    assert change(everywhere.data, "a", "b", every=True, version=version_of(b"a a")).already
    refused(lambda: change(b"a", "b", "", version=version_of(b"ab")), "Stale")


@given(TEXTS, TEXTS, TEXTS, TEXTS)
def test_an_edit_is_taken_back_only_to_what_was_read(lead: str, old: str, new: str, tail: str) -> None:
    data = f"{lead}{old}{tail}".encode()
    if not old or not new or old == new or data.decode().find(old, data.decode().find(old) + 1) >= 0:
        return
    made = change(data, old, new)
    again = change(made.data, old, new, version=version_of(data))
    assert again.already
    assert again.data == made.data


def test_lines_with_their_numbers() -> None:
    lines = lines_of("one\ntwo\nthree")
    assert lines == ["one\n", "two\n", "three"]
    seen = view(lines, 2, 5)
    assert (seen.text, seen.first, seen.last, seen.cut) == ("     2\ttwo\n     3\tthree", 2, 3, False)
    assert view(lines, 9, 1).first == 0
    assert view(lines_of(""), 1, 10).text == ""
    assert lines_of("a\n\n") == ["a\n", "\n"]
    assert lines_of("a\x0bb\x85c\u2028d\re") == ["a\x0bb\x85c\u2028d\re"], "only a line feed ends a line"


def test_long_lines_and_long_files_are_cut() -> None:
    assert view(lines_of("x" * 5_000), 1, 1).cut
    seen = view(lines_of("y" * 99 + "\n") * 2_000, 1, 2_000)
    assert seen.cut
    assert len(seen.text) <= 40_000
    assert seen.last < 2_000


@pytest.mark.feature("A15.2")
def test_a_difference_as_a_person_knows_it() -> None:
    before = "".join(f"line {number}\n" for number in range(1, 11))
    assert difference("a.py", before, before.replace("line 5\n", "five\n")) == (
        "--- a/a.py\n+++ b/a.py\n@@ -2,7 +2,7 @@\n line 2\n line 3\n line 4\n-line 5\n+five\n line 6\n line 7\n line 8"
    )
    assert difference("a", None, "x\n") == "--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+x"
    assert difference("a", "x", None) == "--- a/a\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n\\ No newline at end of file"
    assert difference("a", "x\n", "x") == "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n+x\n\\ No newline at end of file"


def applied(before: str, shown: str) -> str:
    """The text that a unified difference makes of another one."""
    lines, found, at = lines_of(before), [], 0
    rows = shown.split("\n")[2:]
    for number, row in enumerate(rows):
        if row.startswith("@@"):
            start = int(row.split()[1][1:].partition(",")[0])
            counted = row.split()[1].partition(",")[2]
            start -= 0 if counted == "0" else 1
            found += lines[at:start]
            at = start
        elif row[:1] in (" ", "-"):
            assert lines[at].removesuffix("\n") == row[1:]
            if row[0] == " ":
                found.append(lines[at])
            at += 1
        elif row[:1] == "+":
            bare = number + 1 < len(rows) and rows[number + 1].startswith("\\")
            found.append(row[1:] + ("" if bare else "\n"))
    return "".join([*found, *lines[at:]])


@given(st.lists(st.sampled_from("abc"), max_size=25), st.lists(st.sampled_from("abc"), max_size=25), st.booleans(), st.booleans())
def test_a_difference_says_exactly_what_changes(old: list[str], new: list[str], old_end: bool, new_end: bool) -> None:
    before, after = "\n".join(old) + ("\n" if old_end else ""), "\n".join(new) + ("\n" if new_end else "")
    if before != after:
        assert applied(before, difference("a", before, after)) == after


@pytest.mark.feature("K52")
def test_the_difference_of_large_files_is_bounded() -> None:
    before = "".join(f"{number}\n" for number in range(30_000))
    after = "".join(f"{number * 7919 % 30_000}\n" for number in range(30_000))
    assert len(difference("a", before, after)) < MOST_DIFFERENCE + 100
    # Lines that repeat, which a search for the longest equal part goes through again and again.
    repeated = ["ab"[number % 2] + "\n" for number in range(3_000)]
    turned = ["ba"[number % 3 > 0] + "\n" for number in range(2_999)]
    assert len(difference("a", "".join(repeated), "".join(turned))) < MOST_DIFFERENCE + 100
    everywhere = before.replace("9\n", "nine\n")
    assert difference("a", before, everywhere).startswith("--- a/a\n+++ b/a\n@@ -7,7 +7,7 @@\n 6\n 7\n 8\n-9\n+nine\n 10\n")
    assert applied(before, difference("a", before, before.replace("\n99", "\nx"))) == before.replace("\n99", "\nx")
    one = before.replace("\n15000\n", "\nx\n")
    assert "@@ -14998,7 +14998,7 @@" in difference("a", before, one)
