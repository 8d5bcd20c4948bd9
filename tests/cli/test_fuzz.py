"""Whatever stands on the command line or in a deployment, the answer is an exit code and sentences, never a traceback."""

from __future__ import annotations

import io
import os
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from unittest.mock import patch

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ael.cli.main import COMMANDS, main
from ael.diagnostics.diagnostic import Bag
from ael.project.program import open_program
from tests.programs import write

FILES = {
    "main.ael": """
permission orders.write

role finance

model fast {
  provider anthropic
  name "claude-haiku-4-5"
}

store orders: Map<String, String> needs orders.write

/// Close an order. Call it when it is paid.
tool close_order(id: String(max: 40)) -> Unit
  needs orders.write
  repeat idempotent
  timeout 5s
{
  orders.put(id, "closed")
}

node main(id: String(max: 40) = "a", count: Int = 0) -> String
  grants orders.write
{
  close_order(id)
  "${count}"
}

test "it runs" {
  assert main() == "0"
}
""",
    "input.json": '{"id": "b"}',
}
_WORDS = st.sampled_from(
    [
        *COMMANDS, "main.ael", ".", "nowhere.ael", "input.json", "main", "--id", "--id=x", "--count", "3", "x", "--input", "-", "--",
        "--json", "--trace",
        "-q", "--help-entry", "--deploy", "a/b", "--format", "sarif", "json", "--check", "--diff", "--plan", "--filter", "(",
        "--emit", "python", "--module", "list", "get", "--approve", "--deny", "AEL0203", "bash", "", "\x00", "ä", "-h", "--version", "..",
    ]
)  # fmt: skip
_NAMES = st.sampled_from(
    ["fast", "orders", "finance", "close_order", "main.fast", "nobody", "K", "a.b", "orders.write", "in", "process", "node"]
)
_VALUES = st.sampled_from(
    [
        'scripted("s.json")', 'anthropic("x", key: secret("K"))', 'openai("x", temperature: 9)', 'sqlite("x.db")', "memory", 'env("X")',
        '["alice"]', '"eu"', "3", "$3", "3s", "32KiB", "true", "null", '["a": 1]', "[[[1]]]", 'recorded("f", inner: openai("x"))', "-1",
        'local("smollm2")', 'file("../x")', "1.5", "fast", "secret", "1 + 2", 'https("x")', '"${id}"', "in process",
    ]
)  # fmt: skip
_KINDS = st.sampled_from(
    [
        "model", "store", "service", "tool", "role", "setting", "secret", "host", "price", "runs", "default", "limit", "budget", "deny",
        "node", "edge", "mcp", "log", "tenant", "modle", "permission", "agent", "skill",
    ]
)  # fmt: skip
_OPTIONS = st.sampled_from(
    [
        "timeout 20s", "timeout none", "approval required", "approval required by finance", "input $1", "output $2", "steps 8", "retry 3",
        'since "2026-01-01"', "tokens 0", "cost $0.5,", "time 3", "{ grants orders.write }", "per day", "breaker(failures: 3)", "-> a.b",
    ]
)  # fmt: skip
_LINES = st.builds(
    lambda kind, name, value, options: " ".join([kind, *name, *value, *options]),
    _KINDS,
    st.lists(_NAMES, max_size=2),
    st.lists(st.builds(lambda value, equals: f"= {value}" if equals else value, _VALUES, st.booleans()), max_size=1),
    st.lists(_OPTIONS, max_size=2),
)


def _code(words: list[str]) -> int:
    try:
        return main(words)
    except SystemExit as left:
        return left.code if isinstance(left.code, int) else 1


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
@given(st.lists(_WORDS, max_size=6))
def test_any_words(words: list[str]) -> None:
    if "--watch" in words or {"model", "get"} <= set(words):
        return
    here = Path.cwd()
    out, err = io.StringIO(), io.StringIO()
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), FILES)
        os.chdir(folder)
        stdin = io.TextIOWrapper(io.BytesIO(b'{"id": "z"}'), encoding="utf-8")
        try:
            with (
                patch("sys.stdin", stdin),
                patch.dict(os.environ, {"AEL_CACHE": f"{folder}/cache"}),
                redirect_stdout(out),
                redirect_stderr(err),
            ):
                code = _code(words)
        finally:
            os.chdir(here)
    assert code in (0, 1, 2, 130)
    assert code == 0 or err.getvalue() or out.getvalue(), "what goes wrong is told"
    assert "Traceback" not in err.getvalue()


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
@given(st.lists(_LINES, min_size=1, max_size=4))
def test_any_deployment(lines: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), {**FILES, "deploy.ael": "\n".join(lines) + "\n"})
        bag = Bag()
        opened = open_program(Path(folder), bag)
        assert (opened is None) == (bag.errors > 0)
        for diagnostic in bag.sorted():
            assert diagnostic.place.source.name.endswith("deploy.ael")
            start, end = diagnostic.place.span
            assert 0 <= start <= end <= len(diagnostic.place.source.text)
