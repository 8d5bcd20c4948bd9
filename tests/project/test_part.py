"""After an edit only a part of a pack is checked, and what is said is what checking the whole pack says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ael.diagnostics.diagnostic import Bag
from ael.project import program
from ael.project.cache import CheckCache
from ael.project.program import check_paths

FILES = {
    "pack.ael": 'pack demo {\n  version "1.0"\n}\n',
    "rights.ael": "/// Read.\npermission a.read\npermission a.write includes a.read\n",
    "main.ael": "use ./left.{one}\n\nnode main() -> Int {\n  one()\n}\n",
    "left.ael": "pub fn one() -> Int {\n  let unused = 1\n  1\n}\n",
    "right.ael": ("use ./tools.{look}\nuse std/math.{gcd}\n\nnode right() -> Int\n  grants a.write\n{\n  look(gcd(4, 6))\n}\n"),
    "tools.ael": (
        "/// Look. Call it first.\npub tool look(n: Int) -> Int\n  needs a.read\n  repeat idempotent\n{\n  let odd = 2\n  n\n}\n"
    ),
}


class Pack:
    def __init__(self, folder: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.cache = cache
        self.looked: list[set[str]] = []
        original = program.check

        def noting(project: program.Project, bag: Bag) -> object:
            self.looked.append({name for name, tree in project.modules.items() if tree.source.path is not None})
            return original(project, bag)

        monkeypatch.setattr(program, "check", noting)
        for name, text in FILES.items():
            (folder / name).write_text(text)

    def edit(self, name: str, old: str, new: str) -> None:
        text = (self.folder / name).read_text()
        assert old in text
        (self.folder / name).write_text(text.replace(old, new))

    def said(self, cached: bool = True) -> list[str]:
        """What a check says; `looked` then has the modules of each check that was made."""
        self.looked.clear()
        bag = Bag()
        check_paths([self.folder], bag, CheckCache(self.cache) if cached else None)
        return [f"{d.place.source.name} {d.code} {d.place.source.position(d.place.span.start)} {d.message}" for d in bag.sorted()]

    def same_as_whole(self) -> list[str]:
        """The cached check, which has to say what a fresh one says; the modules that it looked at stay in `looked`."""
        found = self.said()
        looked = list(self.looked)
        assert found == self.said(cached=False)
        self.looked = looked
        return found


@pytest.fixture
def pack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pack:
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    made = Pack(work, tmp_path / "cache", monkeypatch)
    first = made.same_as_whole()
    assert len(first) == 2
    assert made.same_as_whole() == first
    assert made.looked == []
    return made


def test_only_what_belongs_together_is_checked(pack: Pack) -> None:
    pack.edit("left.ael", "unused", "never_read")
    assert any("never_read" in line for line in pack.same_as_whole())
    assert pack.looked == [{"left", "main"}]
    pack.edit("tools.ael", "  n\n", "  n + 1\n")
    assert len(pack.same_as_whole()) == 2
    assert pack.looked == [{"right", "tools", "std/math"}]
    assert len(pack.same_as_whole()) == 2
    assert pack.looked == []


def remove(pack: Pack) -> None:
    (pack.folder / "tools.ael").unlink()


def add(pack: Pack) -> None:
    (pack.folder / "new.ael").write_text("fn new() -> String {\n  1\n}\n")


EDITS: dict[str, Callable[[Pack], object]] = {
    "an error in the edited module": lambda pack: pack.edit("left.ael", "  1\n}", '  "1"\n}'),
    "an error in a module that uses it": lambda pack: pack.edit("left.ael", "pub fn one() -> Int", "pub fn one(n: Int) -> Int"),
    "a tool that needs more": lambda pack: pack.edit("rights.ael", "permission a.write includes a.read", "permission a.write"),
    "a permission that is gone": lambda pack: pack.edit("rights.ael", "/// Read.\npermission a.read\n", ""),
    "a permission that is declared twice": lambda pack: pack.edit("left.ael", "pub fn", "permission a.read\n\npub fn"),
    "a permission that is not known": lambda pack: pack.edit("tools.ael", "needs a.read", "needs a.raed"),
    "a syntax error": lambda pack: pack.edit("left.ael", "-> Int {", "-> {"),
    "a module that is gone": remove,
    "a module that is new": add,
    "the pack": lambda pack: pack.edit("pack.ael", '"1.0"', '"1.0"\n  uses std/nothing'),
    "two parts are joined": lambda pack: pack.edit("left.ael", "pub fn one", "use ./tools.{look}\n\npub fn one"),
    "a module that is not there": lambda pack: pack.edit("left.ael", "pub fn one", "use ./nowhere\n\npub fn one"),
}


@pytest.mark.parametrize("name", EDITS)
def test_any_edit_says_what_the_whole_check_says_and_so_does_taking_it_back(pack: Pack, name: str) -> None:
    before = pack.said(cached=False)
    EDITS[name](pack)
    after = pack.same_as_whole()
    assert after != before
    assert pack.same_as_whole() == after
    for file, text in FILES.items():
        (pack.folder / file).write_text(text)
    (pack.folder / "new.ael").unlink(missing_ok=True)
    assert pack.same_as_whole() == before


def test_a_deployment_is_checked_against_the_whole_pack(pack: Pack) -> None:
    (pack.folder / "deploy.ael").write_text("tool look timeout 2s\n")
    pack.same_as_whole()
    pack.edit("left.ael", "unused", "never_read")
    pack.same_as_whole()
    assert any({"main", "tools"} <= looked for looked in pack.looked)
    pack.edit("tools.ael", "tool look", "tool find")
    assert any("AEL0810" in line or "AEL0205" in line for line in pack.same_as_whole())
