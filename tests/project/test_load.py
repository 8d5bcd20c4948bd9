"""Finding a program's modules, packs and deployments."""

from __future__ import annotations

from pathlib import Path

import pytest

from ael.check.packs import resolve
from ael.diagnostics.diagnostic import Bag
from ael.project.entry import EntryError, choose
from ael.project.load import load_project
from ael.project.pack import find_root, load_pack
from ael.project.program import check_paths, open_program, programs, source_files
from ael.project.shipped import shipped
from tests.programs import write


def _codes(bag: Bag) -> list[str]:
    return [d.code for d in bag.sorted()]


@pytest.mark.parametrize(
    ("path", "user", "name"),
    [
        ("./orders", "main", "orders"),
        ("./b", "tools/a", "tools/b"),
        ("../b", "tools/a", "b"),
        ("../../b", "tools/a", None),
        ("../b", "main", None),
        ("./..", "main", None),
        (".", "main", None),
        ("./a/../b", "main", "b"),
        ("std/text", "tools/a", "std/text"),
        ("other/pack", "main", None),
    ],
)
def test_paths_of_modules(path: str, user: str, name: str | None) -> None:
    assert resolve(path, user) == name


def test_a_module_is_loaded_once_and_cycles_end(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "main.ael": "use ./a.{one}\nuse ./b.{two}\n\nnode main() -> Int {\n  one() + two()\n}\n",
            "a.ael": "use ./b.{two}\n\npub fn one() -> Int {\n  two()\n}\n",
            "b.ael": "use ./a.{one}\n\npub fn two() -> Int {\n  2\n}\n\npub fn more() -> Int {\n  one()\n}\n",
        },
    )
    bag = Bag()
    project = load_project(tmp_path, bag)
    assert project is not None
    assert sorted(project.modules) == ["a", "b", "main"]
    assert not bag.errors


def test_a_path_never_leaves_its_pack(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "secret.ael": "pub const S = 1\n",
            "pack/pack.ael": 'pack p {\n  version "1"\n}\n',
            "pack/main.ael": "use ../secret.{S}\n\nnode main() -> Int {\n  S\n}\n",
        },
    )
    (tmp_path / "pack" / "link.ael").symlink_to(tmp_path / "secret.ael")
    bag = Bag()
    open_program(tmp_path / "pack", bag)
    assert "AEL0802" in _codes(bag)
    write(tmp_path, {"pack/main.ael": "use ./link.{S}\n\nnode main() -> Int {\n  S\n}\n"})
    linked = Bag()
    open_program(tmp_path / "pack", linked)
    assert _codes(linked) == ["AEL0802"], "a link out of the pack is no module of it"


def test_one_missing_module_is_one_message(tmp_path: Path) -> None:
    write(tmp_path, {"main.ael": "use ./nowhere.{one, two}\n\nnode main() -> Int {\n  one() + two()\n}\n"})
    bag = Bag()
    open_program(tmp_path, bag)
    assert _codes(bag) == ["AEL0802"]


def test_a_module_that_is_no_text_is_told_where_it_is_used(tmp_path: Path) -> None:
    write(tmp_path, {"main.ael": "use ./odd.{one}\n\nnode main() -> Int {\n  one()\n}\n"})
    (tmp_path / "odd.ael").write_bytes(b"\xff\xfe\x00")
    bag = Bag()
    open_program(tmp_path, bag)
    (found,) = bag.sorted()
    assert (found.code, found.place.source.path) == ("AEL0801", tmp_path / "main.ael")


def test_the_standard_library_is_found(tmp_path: Path) -> None:
    assert (shipped("stdlib") / "std").is_dir()
    write(tmp_path, {"main.ael": "use std/nowhere\n\nnode main() -> Int {\n  1\n}\n"})
    bag = Bag()
    open_program(tmp_path, bag)
    (found,) = [d for d in bag.sorted() if d.code == "AEL0802"]
    assert "`std/text`" in found.notes[0]
    with pytest.raises(KeyError):
        shipped("nothing")


# --- packs ---------------------------------------------------------------------------------------------------------------


def test_the_nearest_pack_is_the_root(tmp_path: Path) -> None:
    write(
        tmp_path,
        {"pack.ael": 'pack outer {\n  version "1"\n}\n', "a/pack.ael": 'pack inner {\n  version "2"\n}\n', "a/b/x.ael": ""},
    )
    assert find_root(tmp_path / "a" / "b") == tmp_path / "a"
    assert find_root(tmp_path) == tmp_path
    bag = Bag()
    pack = load_pack(tmp_path / "a", "pack.ael", bag)
    assert pack is not None
    assert (pack.name, pack.version, pack.uses, pack.externs) == ("inner", "2", frozenset(), frozenset())


def test_what_a_pack_says(tmp_path: Path) -> None:
    write(
        tmp_path,
        {"pack.ael": 'pack p {\n  version "0.1.0"\n  uses std/process, server/mcp\n  extern "orders_native", "b.c"\n}\n'},
    )
    bag = Bag()
    pack = load_pack(tmp_path, "pack.ael", bag)
    assert not bag.errors
    assert pack is not None
    assert pack.uses == {"std/process", "server/mcp"}
    assert pack.externs == {"orders_native", "b.c"}


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "AEL0803"),
        ('pack a {\n  version "1"\n}\n\npack b {\n  version "1"\n}\n', "AEL0803"),
        ("pack a {\n  uses std/nowhere\n}\n", "AEL0804"),
        ("pack a {\n  uses std/store\n}\n", "AEL0804"),
        ('pack a {\n  depends b "1.2" from "../b"\n}\n', "AEL0809"),
        ("pack {\n", "AEL0"),
    ],
)
def test_packs_that_are_none(tmp_path: Path, text: str, code: str) -> None:
    write(tmp_path, {"pack.ael": text, "main.ael": "node main() -> Int {\n  1\n}\n"})
    bag = Bag()
    assert open_program(tmp_path, bag) is None
    assert all(found.startswith(code) for found in _codes(bag))
    assert _codes(bag)


# --- folders ---------------------------------------------------------------------------------------------------------------

_TEST = 'node main() -> Int {\n  1\n}\n\ntest "a" {\n  assert main() == 1\n}\n'


def test_every_file_of_a_folder_is_looked_at_once(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "one.ael": "use ./shared.{x}\n\nnode main() -> Int {\n  x()\n}\n",
            "two.ael": "use ./shared.{x}\n\nnode main() -> Int {\n  x()\n}\n",
            "shared.ael": "pub fn x() -> Int {\n  1\n}\n",
            "pack/pack.ael": 'pack p {\n  version "1"\n}\n',
            "pack/main.ael": _TEST,
            "pack/unused.ael": "pub fn y() -> Int {\n  wrong\n}\n",
            ".hidden/bad.ael": "???",
            "node_modules/bad.ael": "???",
        },
    )
    bag = Bag()
    assert check_paths([tmp_path], bag) == 5
    assert [(d.code, d.place.source.path) for d in bag.sorted()] == [("AEL0202", tmp_path / "pack" / "unused.ael")]
    assert check_paths([tmp_path / "one.ael", tmp_path / "one.ael"], Bag()) == 2
    assert {file.name for file in source_files(tmp_path)} == {
        "one.ael",
        "two.ael",
        "shared.ael",
        "pack.ael",
        "main.ael",
        "unused.ael",
    }


def test_programs_are_opened_for_their_tests(tmp_path: Path) -> None:
    write(tmp_path, {"a.ael": _TEST, "b.ael": _TEST, "c.ael": "node main( {"})
    bag = Bag()
    opened = list(programs([tmp_path], bag))
    assert len(opened) == 2
    assert bag.errors == 1


def test_deployments_of_a_program_are_checked(tmp_path: Path) -> None:
    write(tmp_path, {"main.ael": _TEST, "deploy.ael": "default steps 3\n", "deploy.eu.ael": "nonsense = 3\n"})
    bag = Bag()
    check_paths([tmp_path], bag)
    assert [(d.code, d.place.source.path) for d in bag.sorted()] == [("AEL0811", tmp_path / "deploy.eu.ael")]
    assert open_program(tmp_path, Bag()) is not None
    missing = Bag()
    assert open_program(tmp_path, missing, deploy="us") is None
    assert "there is no deployment `us`" in missing.sorted()[0].message


# --- entries -----------------------------------------------------------------------------------------------------------------


def test_the_entry_that_is_meant(tmp_path: Path) -> None:
    write(tmp_path, {"main.ael": "node answer() -> Int {\n  1\n}\n\nnode other() -> Int {\n  answer()\n}\n"})
    opened = open_program(tmp_path, Bag())
    assert opened is not None
    assert choose(opened.program, "answer") == "main.answer"
    with pytest.raises(EntryError, match="say which to run: `answer`, `other`"):
        choose(opened.program, None)
    with pytest.raises(EntryError, match="there is no node or agent `anser` in `main`; did you mean `answer`"):
        choose(opened.program, "anser")
    with pytest.raises(EntryError, match="there is `answer`, `other`"):
        choose(opened.program, "zzz")


def test_a_module_of_the_standard_library_has_its_name_when_it_is_checked_itself() -> None:
    bag = Bag()
    project = load_project(shipped("stdlib") / "std" / "hash.ael", bag)
    assert project is not None
    assert project.main == "std/hash"
