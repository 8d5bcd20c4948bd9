"""Whatever parses is checked without a crash, and what is told points into the source."""

from __future__ import annotations

import random
import re
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from ael.check.check import check_program
from ael.diagnostics.diagnostic import Bag
from ael.source import Source
from ael.syntax.parse import parse_module

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAMS = {
    path: path.read_text(encoding="utf-8")
    for folder in ("examples", "stdlib")
    for path in sorted((ROOT / folder).rglob("*.ael"))
    if path.is_file() and path.name not in ("deploy.ael", "pack.ael", "deploy.local.ael")
}
PAGES = [
    block
    for folder in ("docs/errors", "tests/spec")
    for page in sorted((ROOT / folder).glob("*.md"))
    for block in re.findall(r"```ael\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    if "// file: deploy" not in block and "// file: pack" not in block
]
TEXTS = [*PROGRAMS.values(), *PAGES]
INNER = re.compile(r"[`<( ]unknown[>`),?]|[`<(, ]\?[A-Z]\b")
"""Types that only the check itself knows: a message that names one was caused by another mistake."""
TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|[A-Za-z_]\w*|\d[\w.]*|\.\.|[-=<>!?]+|[^\s\w]')


def check_text(text: str) -> None:
    """Check a program; it crashes or points outside of its source only by a bug."""
    bag = Bag()
    tree = parse_module(Source("main.ael", text), bag)
    check_program({"main": tree}, "main", bag)
    for one in bag.sorted():
        for place in (one.place, *(label.place for label in one.labels), *(e.place for e in (one.fix.edits if one.fix else ()))):
            assert 0 <= place.span.start <= place.span.end <= len(place.source.text)
        assert one.code[3:5] != "03" or not INNER.search(one.message), one.message


def mutated(text: str, source: random.Random) -> str:
    """A program with a few tokens taken out, doubled, swapped or replaced by others of the same corpus."""
    spans = [m.span() for m in TOKEN.finditer(text)]
    if len(spans) < 4:
        return text
    for _ in range(source.randint(1, 3)):
        start, end = source.choice(spans)
        other = source.choice(TEXTS)
        words = [m.group() for m in TOKEN.finditer(other)] or ["x"]
        kind = source.randrange(4)
        token = text[start:end]
        if kind == 0:
            new = ""
        elif kind == 1:
            new = f"{token} {token}"
        elif kind == 2:
            new = source.choice(words)
        else:
            a, b = source.choice(spans)
            new = text[a:b]
        text = text[:start] + new + text[end:]
        spans = [m.span() for m in TOKEN.finditer(text)]
        if len(spans) < 4:
            break
    return text


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.integers(0, 2**32))
def test_mutated_programs_never_crash_the_check(seed: int) -> None:
    source = random.Random(seed)
    check_text(mutated(source.choice(TEXTS), source))


NAMES = [
    "a",
    "b",
    "A",
    "B",
    "E",
    "f",
    "g",
    "x",
    "Int",
    "String",
    "List",
    "Uncertain",
    "Timeout",
    "null",
    "1",
    "0.5",
    '"s"',
    "true",
    "[]",
    "[:]",
]
expressions = st.recursive(
    st.sampled_from(NAMES),
    lambda inner: st.one_of(
        st.builds(
            "({} {} {})".format,
            inner,
            st.sampled_from(["+", "-", "*", "/", "div", "%", "==", "<", "in", "and", "or", "??"]),
            inner,
        ),
        st.builds("{}({})".format, inner, inner),
        st.builds("{}.{}".format, inner, st.sampled_from(["x", "map", "id", "check", "first", "length", "key"])),
        st.builds("{}.map(fn(x) => {})".format, inner, inner),
        st.builds("{}[{}]".format, inner, inner),
        st.builds("(try {})".format, inner),
        st.builds("({} catch {{ E e => {}\n _ => {} }})".format, inner, inner, inner),
        st.builds("(if {} {{ {} }} else {{ {} }})".format, inner, inner, inner),
        st.builds("match {} {{ A => {}\n B(x) => {}\n null | 1 => 2\n [x, ..] => x\n _ => 3 }}".format, inner, inner, inner),
        st.builds("(fn(x) => {})".format, inner),
        st.builds("({} with {{ x: {} }})".format, inner, inner),
        st.builds("[{}, {}]".format, inner, inner),
        st.builds('"${{{}}}"'.format, inner),
        st.builds("parallel {{ a: {}, b: {} }}".format, inner, inner),
        st.builds("parallel x in {} {{ {} }}".format, inner, inner),
        st.builds("{{ let x = {}\n var y = x\n y = {}\n y }}".format, inner, inner),
        st.builds("{{ for x in {} {{ {} }}\n while {} up to 3 {{ break }}\n return {} }}".format, inner, inner, inner, inner),
    ),
    max_leaves=12,
)
types = st.recursive(
    st.sampled_from(["Int", "String", "A", "B", "E", "T", "null", '"s"', "Missing", "Fault", "Uncertain", "Json", "Secret"]),
    lambda inner: st.one_of(
        st.builds("List<{}>".format, inner),
        st.builds("Map<String, {}>".format, inner),
        st.builds("({} | {})".format, inner, inner),
        st.builds("({})?".format, inner),
        st.builds("(fn({}) -> {})".format, inner, inner),
    ),
    max_leaves=4,
)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(expressions, expressions, types, types, types)
def test_made_up_programs_never_crash_the_check(one: str, two: str, a: str, b: str, c: str) -> None:
    check_text(
        f"""type T = {a}
record A {{ x: {b}, id?: String, key: {c} = {two} }}
enum B {{ A, C(x: {a}) }}
error E {{ x: Int }}
const G = {two}
fn f(x: {b}, a: {a}) -> {c} fails E {{ {one} }}
fn g<T>(x: T, b: fn(T) -> {b}) -> T {{ {two} }}
test "t" {{ {one} }}
"""
    )
