"""A mutation: the guard of one kind of fault, taken away, and the tests that must fail without it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]


class Mutation(NamedTuple):
    """In `file`, `old` (which stands there once) becomes `new`: `guard` is gone. One of `tests` fails.

    `tests` are pytest's node ids with blanks between them, or `folder::name`, which holds wherever in the folder the test stands.
    """

    kind: str
    guard: str
    file: str
    old: str
    new: str
    tests: str

    @property
    def module(self) -> str:
        """The name under which `file` is imported."""
        return self.file.removesuffix(".py").replace("/", ".")

    @property
    def nodes(self) -> list[str]:
        """The tests as pytest takes them. Raises `ValueError` for a name that no file, or more than one, of its folder defines."""
        return [node if ".py" in node else _found(*node.split("::")) for node in self.tests.split()]

    @property
    def label(self) -> str:
        """How the mutation is shown."""
        return f"{self.kind}: without {self.guard} ({self.file})"

    def mutated(self) -> str:
        """The text of the file without the guard. Raises `ValueError` when the guard is not there exactly once."""
        text = (ROOT / self.file).read_text(encoding="utf-8")
        found = text.count(self.old)
        if found != 1:
            raise ValueError(f"{self.label}: its text stands in the file {found} times, not once; say anew what the guard is")
        return text.replace(self.old, self.new)


def _found(folder: str, name: str) -> str:
    definition = re.compile(rf"^def {name}\(", re.MULTILINE)
    files = [file for file in sorted((ROOT / folder).glob("test_*.py")) if definition.search(file.read_text(encoding="utf-8"))]
    if len(files) != 1:
        raise ValueError(f"{len(files)} files of {folder} define {name}")
    return f"{files[0].relative_to(ROOT)}::{name}"
