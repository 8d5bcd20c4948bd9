"""Flags that come from an entry's parameters, and JSON input."""

from __future__ import annotations

import json

import pytest

from tests.cli.conftest import Ael

PLAIN = """
enum Colour { Red, Green }

record Point {
  x: Int
  label?: String(max: 40)
}

node main(
  name: String(max: 80) = "none",
  count: Int = 0,
  urgent: Bool = false,
  colour: Colour = Colour.Red,
  tags: List<String>(max: 5) = [],
  point: Point = Point(x: 0),
  note?: String(max: 80),
) -> String {
  "${name} ${count} ${urgent} ${colour} ${tags.join("+")} ${point.x} ${point.label ?? "-"} ${note ?? "-"}"
}
"""


def _run(ael: Ael, *words: str, stdin: str = "") -> str:
    ended = ael("run", "main.ael", "-q", *words, stdin=stdin)
    assert ended.code == 0, ended.err
    value = json.loads(ended.out)
    assert isinstance(value, str)
    return value


@pytest.mark.parametrize(
    ("words", "value"),
    [
        ((), "none 0 false Red  0 - -"),
        (("--name", "Ada"), "Ada 0 false Red  0 - -"),
        (("--name=Ada",), "Ada 0 false Red  0 - -"),
        (("--name", "5"), "5 0 false Red  0 - -"),
        (("--name", '"quoted"'), '"quoted" 0 false Red  0 - -'),
        (("--name", "--count"), "--count 0 false Red  0 - -"),
        (("--name", ""), " 0 false Red  0 - -"),
        (("--count", "-3", "--urgent", "true"), "none -3 true Red  0 - -"),
        (("--colour", "Green"), "none 0 false Green  0 - -"),
        (("--tags", '["a", "b"]'), "none 0 false Red a+b 0 - -"),
        (("--point", '{"x": 4, "label": "here"}'), "none 0 false Red  4 here -"),
        (("--point.x", "4", "--point.label", "there"), "none 0 false Red  4 there -"),
        (("--note", "n"), "none 0 false Red  0 - n"),
        (("--name", "a", "--name", "b"), "b 0 false Red  0 - -"),
        (("--", "--name", "Ada"), "Ada 0 false Red  0 - -"),
    ],
)
@pytest.mark.feature("A17.10")
def test_flags(ael: Ael, words: tuple[str, ...], value: str) -> None:
    ael.write({"main.ael": PLAIN})
    assert _run(ael, *words) == value


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--naem", "x"), "the entry has no parameter `naem`; did you mean `--name`?"),
        (("--zzzz", "x"), "the entry has no parameter `zzzz`; the flags are:\n  --name String(max: 80) (may be left out)"),
        (("--count", "three"), "`--count` takes Int, as JSON; got `three`"),
        (("--count", "NaN"), "`--count` takes Int, as JSON; got `NaN`"),
        (("--point.z", "3"), "`point` has no field `z`; it has x, label"),
        (("--name.z", "3"), "`name` has no field `z`"),
        (("--point", "[]", "--point.x", "3"), "`--point.x` sets a field, but `--point` is given whole already"),
        (("--name",), "`--name` needs a value"),
        (("entry?", "extra"), "there is no node or agent `entry?`"),
        (("main", "extra"), "`extra` is no flag; flags are written `--name value`"),
        (("-x",), "`-x` is no flag"),
        (("--input", "nowhere.json"), "`nowhere.json` cannot be read: no such file or directory"),
        (("--input", "."), "`.` cannot be read: is a directory"),
    ],
)
def test_wrong_flags_are_sentences(ael: Ael, words: tuple[str, ...], said: str) -> None:
    ael.write({"main.ael": PLAIN})
    ended = ael("run", "main.ael", *words)
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err


@pytest.mark.parametrize(
    "words",
    [
        ("--count", "1.5"),
        ("--colour", "Blue"),
        ("--tags", '["1", "2", "3", "4", "5", "6"]'),
        ("--point", '{"x": 1, "y": 2}'),
        ("--point.x", "1e999"),
        ("--name", "x" * 81),
    ],
)
def test_a_value_of_the_wrong_type_is_told_by_the_run(ael: Ael, words: tuple[str, ...]) -> None:
    ael.write({"main.ael": PLAIN})
    ended = ael("run", "main.ael", "-q", *words)
    assert ended.code == 1
    assert "error[AEL0902]: BadArguments: the input does not fit: " in ended.err
    assert words[0].lstrip("-").split(".")[0] in ended.err


@pytest.mark.feature("A17.10")
def test_input_from_a_file_and_from_standard_input(ael: Ael) -> None:
    ael.write({"main.ael": PLAIN, "in.json": '{"name": "Ada", "count": 2}'})
    assert _run(ael, "--input", "in.json").startswith("Ada 2 ")
    assert _run(ael, "--input", "-", stdin='{"name": "Bob"}').startswith("Bob 0 ")
    assert _run(ael, "--input", "in.json", "--count", "9").startswith("Ada 9 "), "a flag wins"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"{", "the input is no JSON: "),
        (b"", "the input is no JSON: "),
        (b"[1]", "the input is an object with a key for each parameter"),
        (b'{"name": "a", "name": "b"}', "the input is no JSON: "),
        (b'{"count": 1e400}', "the input is no JSON: "),
        (b'{"name": "\xff"}', "the input is no JSON: "),
        (b"[" * 100_000, "the input is no JSON: "),
        (b" " * (16 * 1024 * 1024 + 1), "the input is larger than 16777216 bytes"),
    ],
)
def test_input_that_is_no_object(ael: Ael, data: bytes, said: str) -> None:
    ael.write({"main.ael": PLAIN})
    ended = ael("run", "main.ael", "--input", "-", stdin=data)
    assert ended.code == 2
    assert f"error[AEL0841]: {said}" in ended.err


def test_the_flags_of_an_entry_are_listed(ael: Ael) -> None:
    ael.write({"main.ael": PLAIN})
    ended = ael("run", "main.ael", "--help-entry")
    assert ended.code == 0
    assert "--count Int (may be left out)" in ended.out
    assert "      --point.x Int" in ended.out
    ael.write({"main.ael": "node main() -> Int { 1 }\n"})
    assert "it takes no input" in ael("run", "main.ael", "--help-entry").out


def test_a_parameter_that_is_called_like_an_option(ael: Ael) -> None:
    ael.write({"main.ael": 'node main(input: String(max: 9), json: Int) -> String {\n  "${input} ${json}"\n}\n'})
    assert _run(ael, "--", "--input", "a", "--json", "3") == "a 3"


@pytest.mark.parametrize(
    "words",
    [
        ("main.ael", "other", "--deploy", "eu", "--count", "3"),
        ("main.ael", "--deploy", "eu", "other", "--count", "3"),
        ("--deploy", "eu", "main.ael", "--count", "3", "other"),
    ],
)
def test_options_stand_anywhere(ael: Ael, words: tuple[str, ...]) -> None:
    ael.write(
        {"main.ael": "node main() -> Int { 1 }\nnode other(count: Int) -> Int { count }\n", "deploy.eu.ael": "runs = memory\n"}
    )
    ended = ael("run", *words)
    assert (ended.code, ended.out) == (0, "3\n"), ended.err


def test_options_of_an_action_stand_anywhere(ael: Ael) -> None:
    ael.write({"main.ael": "node main() -> Int { now().year() }\n", "deploy.eu.ael": 'runs = sqlite("eu.db")\n'})
    run = ael("run", "main.ael", "--detach", "--deploy", "eu").out.strip()
    for words in (("wait", run, "--deploy", "eu", "main.ael"), ("wait", "--deploy", "eu", run, "main.ael")):
        assert ael("runs", *words, "--timeout", "0s").code == 3
