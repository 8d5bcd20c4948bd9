"""Patterns of paths, and going through a workspace: in order, bounded, without what is ignored."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ael.natives.globs import BadPattern, glob, name_matches
from ael.natives.workspace_walk import Walk, rules_of
from tests.workspace.support import space


@pytest.mark.feature("A15.3")
@pytest.mark.parametrize(
    ("pattern", "fits", "fails"),
    [
        ("*.py", ["a.py", ".py"], ["a.pyc", "a/b.py", "py"]),
        ("**/*.py", ["a.py", "a/b.py", "a/b/c.py"], ["a.txt", "a.py/b"]),
        ("src/**", ["src/a", "src/a/b"], ["src2/a", "a/src/b"]),
        ("src/**/test_*.py", ["src/test_a.py", "src/x/y/test_.py"], ["test_a.py", "src/x/a.py"]),
        ("{a,b}*.{py,md}", ["a.py", "bx.md"], ["c.py", "a.txt"]),
        ("{a,{b,c}}", ["a", "b", "c"], ["d"]),
        ("?[a-c][!x]", ["zay"], ["zax", "zdy", "za"]),
        ("**", ["a", "a/b/c"], []),
        ("a/**/**/b", ["a/b", "a/x/b"], ["b"]),
        ("[x", ["[x"], ["x"]),
        ("./a//b", ["a/b"], ["a"]),
    ],
)
def test_a_pattern_of_paths(pattern: str, fits: list[str], fails: list[str]) -> None:
    made = glob(pattern)
    assert [path for path in fits if not made.matches(tuple(path.split("/")))] == []
    assert [path for path in fails if made.matches(tuple(path.split("/")))] == []


@pytest.mark.parametrize("pattern", ["", "/", "/etc/*", "../*", "a/../b", "a\\b", "a\0", "x" * 1_025, "{a,b}" * 7, "."])
def test_a_pattern_that_is_refused(pattern: str) -> None:
    with pytest.raises(BadPattern):
        glob(pattern)


@given(st.text("ab*?", max_size=8), st.text("ab", max_size=8))
def test_a_name_fits_as_a_regular_expression_says(pattern: str, name: str) -> None:
    expected = re.fullmatch(pattern.replace("?", "[ab]").replace("*", "[ab]*"), name) is not None
    assert name_matches(pattern, name) is expected


@pytest.mark.feature("A15.3", "K52")
def test_a_pattern_takes_linear_time() -> None:
    """Whoever goes back for every `*` would not end."""
    assert not name_matches("*a" * 120 + "b", "a" * 255)
    assert not glob("**/a/" * 60 + "b").matches(("a",) * 64)


@given(
    st.lists(st.sampled_from(["a", "b", "*", "**", "a*"]), min_size=1, max_size=5),
    st.lists(st.sampled_from("ab"), min_size=1, max_size=5),
)
def test_a_folder_that_is_not_opened_holds_nothing_that_fits(pattern: list[str], path: list[str]) -> None:
    made = glob("/".join(pattern))
    if made.matches(tuple(path)):
        for depth in range(len(path)):
            assert made.may_hold(tuple(path[:depth]))


def test_rules_of_a_gitignore() -> None:
    text = "# comment\n\n*.log\r\n!keep.log\nbuild/\n/top\na/b\n{x}\n[\n"
    rules = list(rules_of(text, 1))
    assert [(rule.keeps, rule.folders) for rule in rules] == [
        (False, False), (True, False), (False, True), (False, False), (False, False), (False, False), (False, False),
    ]  # fmt: skip
    assert rules[0].pattern.matches(("x", "y.log"))
    assert rules[3].pattern.matches(("top",))
    assert not rules[3].pattern.matches(("x", "top"))
    assert rules[5].pattern.matches(("{x}",))


def paths(folder: Path, **files: str) -> list[str]:
    made = space(folder)
    for name, text in files.items():
        target = made.root / name.replace("__", "/").replace("_dot_", ".")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    return [found.path for found in Walk(made).files((), "")]


@pytest.mark.feature("A15.3")
def test_files_in_order_without_what_is_ignored(tmp_path: Path) -> None:
    found = paths(
        tmp_path, b="", a__z="", a__y="", x_dot_log="", a__keep_dot_log="", build__out="", node_modules__x="", _dot_git__config="",
        _dot_env="", a___dot_gitignore="!keep.log\ny\n", _dot_gitignore="*.log\nbuild/\n",
    )  # fmt: skip
    assert found == [".gitignore", "a/.gitignore", "a/keep.log", "a/z", "b"]


def test_links_and_pipes_are_passed_by(tmp_path: Path) -> None:
    made = space(tmp_path)
    (made.root / "l").symlink_to("..")
    (made.root / "f").symlink_to("../outside.txt")
    os.mkfifo(made.root / "p")
    assert list(Walk(made).files((), "")) == []


def test_deep_and_huge_trees_are_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = space(tmp_path)
    at = os.open(made.root, os.O_RDONLY)
    for _ in range(100):
        os.mkdir("d", dir_fd=at)
        below = os.open("d", os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = below
    os.close(at)
    walk = Walk(made)
    assert list(walk.files((), "")) == []
    assert walk.cut
    monkeypatch.setattr("ael.natives.workspace_walk.MAX_SEEN", 20)
    for number in range(30):
        (made.root / f"f{number}").touch()
    walk = Walk(made)
    assert len(list(walk.files((), ""))) <= 20
    assert walk.cut


def test_a_search_that_is_given_up_ends(tmp_path: Path) -> None:
    made = space(tmp_path)
    (made.root / "a").touch()
    walk = Walk(made, stopped=lambda: True)
    assert list(walk.files((), "")) == []
    assert walk.cut
