"""The outline of a trace: what is the same for every run of the same work, wherever its services are."""

from __future__ import annotations

import sys

import pytest

from tests.cli.conftest import Ael

FILES = {
    "pack.ael": 'pack shop {\n  version "1.0"\n  extern "shelf"\n}\n',
    "shelf.py": """
from pathlib import Path

def look(id, *, call):
    tried = Path(call.key)
    if not tried.exists():
        tried.touch()
        raise ConnectionError
    return 3
""",
    "main.ael": """
permission shelf.read

pub service Shelf {
  count(id: String) -> Int
    needs shelf.read
    repeat idempotent
}

/// Look at the shelf.
tool look(id: String) -> Int
  needs shelf.read
  repeat idempotent
  retry(attempts: 2, base: 1ms)
  extern "shelf:look"

provide Shelf as here
  grants shelf.read
{
  fn count(id: String) -> Int { look(id) }
}

node main(id: String) -> Int
  grants shelf.read
{
  look(id) + Shelf.count(id)
}
""",
}
OUTLINE = """\
run main
└─ node main · from tool:look
   ├─ tool look · from tool:look
   └─ operation Shelf.count · from tool:look
"""


@pytest.fixture(autouse=True)
def shelf() -> None:
    """A module of Python is loaded once in a process: this one is another in each folder."""
    sys.modules.pop("shelf", None)


@pytest.mark.feature("A11.2", "B25")
def test_an_outline_has_neither_times_nor_keys_nor_attempts_nor_what_is_inside_of_services(ael: Ael) -> None:
    ael.write(FILES)
    outlines = {ael("run", ".", "--outline", "--id", id, "-q").err for id in ("A", "B")}
    whole = ael("run", ".", "--trace", "--id", "A", "-q").err
    assert all(word in whole for word in (" ms", " · key ", "retry look", "│  └─", "cost 0")), whole
    assert {text[text.index("run main") :] for text in outlines} == {OUTLINE}


@pytest.mark.feature("A11.2", "B25")
def test_the_outline_of_a_kept_run(ael: Ael) -> None:
    ael.write(FILES)
    ael("run", ".", "--detach", "--run-id", "first", "--id", "A")
    ael("worker", ".", "--once", "-q")
    assert ael("trace", "first", "--format", "outline").out == OUTLINE
