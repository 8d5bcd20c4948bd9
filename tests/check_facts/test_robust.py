"""The check says something about every text, and never crashes; nothing in it grows faster than the program."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.check_facts.support import check
from tests.check_facts.test_permission import BOOK
from tests.check_facts.test_taint import CLEAN, MORE, STORES, TAINTED, main

EXAMPLE = (Path(__file__).resolve().parents[2] / "examples" / "support" / "main.ael").read_text(encoding="utf-8")
ORDERS = (Path(__file__).resolve().parents[2] / "examples" / "support" / "orders.ael").read_text(encoding="utf-8")
SOURCES = [EXAMPLE, BOOK, main("\n  ".join(TAINTED[:6]), MORE), main(CLEAN[-1], MORE + STORES)]
WORDS = sorted({word for text in SOURCES for word in text.replace("(", " ( ").replace(")", " ) ").split()})


@settings(max_examples=120, deadline=None, derandomize=True)
@given(st.data())
def test_a_mutated_program_never_crashes_the_check(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(SOURCES))
    lines = text.split("\n")
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(lines) - 1))
        kind = data.draw(st.sampled_from(["drop", "double", "swap", "word"]))
        if kind == "drop":
            del lines[at]
        elif kind == "double":
            lines.insert(at, lines[at])
        elif kind == "swap":
            other = data.draw(st.integers(0, len(lines) - 1))
            lines[at], lines[other] = lines[other], lines[at]
        else:
            words = lines[at].split(" ")
            words[data.draw(st.integers(0, len(words) - 1))] = data.draw(st.sampled_from(WORDS))
            lines[at] = " ".join(words)
        lines = lines or [""]
    checked = check("\n".join(lines), {"orders": ORDERS})
    assert checked.program is None or checked.errors == []
    assert all(d.message for d in checked.found)


@pytest.mark.parametrize("count", [400])
def test_long_chains_of_calls_are_no_depth(count: int) -> None:
    functions = "\n".join(f"fn f{i}(x: String) -> String {{\n  f{i + 1}(x)\n}}\n" for i in range(count))
    source = BOOK + functions + f'fn f{count}(x: String) -> String {{\n  Book.put("a", x)\n  x\n}}\n'
    program = check(source).good
    assert program.effects["main.f0"].permissions == {"book.write"}


def test_a_ring_of_calls_comes_to_an_end() -> None:
    count = 60
    functions = "\n".join(
        f"fn f{i}(n: Int, x: String) -> String {{\n  if n == 0 {{ x }} else {{ f{(i + 1) % count}(n - 1, x) }}\n}}\n"
        for i in range(count)
    )
    assert check(functions).found == []


def test_nested_function_values_are_not_followed_twice_at_each_level() -> None:
    body = "x"
    for level in range(18):
        body = f'["a"].fold({body}, fn(all{level}: String, y{level}: String) => "${{all{level}}}${{y{level}}}")'
    for level in range(18):
        body = f'["b"].map(fn(z{level}: String) => {body}).join("")'
    source = main('send("a", deep(used))', f"fn deep(x: String) -> String {{\n  {body}\n}}\n")
    checked = check(source)
    assert "AEL0701" not in checked.codes


def test_a_program_nested_too_deep_is_told_and_survives() -> None:
    source = main("send(to, used)", "fn deep(x: String) -> String {\n  " + "same(" * 400 + "x" + ")" * 400 + "\n}\n")
    assert check(source).errors
