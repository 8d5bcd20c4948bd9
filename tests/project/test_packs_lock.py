"""`ael.lock` and the cache of checks: a dependency that changes is noticed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ael.cli.main import main
from ael.diagnostics.diagnostic import Bag
from ael.project.cache import CheckCache
from ael.project.content import MAX_FILES, PackPin, digest, files
from ael.project.lock import lock_bytes, read_lock, write_lock
from ael.project.lock_packs import difference, read_packs, write_packs
from ael.project.program import check_paths
from ael.source import Source
from ael.types.pin import ServerPins, pin
from tests.programs import write
from tests.project.packs import ALL, opened, pack
from tests.project.test_cache import Count

PIN = PackPin("1.2.3", "folder ../refunds", "a" * 64)


def said(folder: Path) -> list[str]:
    """What checking the desk says, with a cache."""
    bag = Bag()
    check_paths([folder / "desk"], bag, CheckCache(folder / "cache"))
    return [d.code for d in bag.sorted()]


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write(tmp_path, ALL)
    monkeypatch.chdir(tmp_path / "desk")
    assert main(["deps", "lock"]) == 0
    return tmp_path


# --- the lock --------------------------------------------------------------------------------------------------------------


@pytest.mark.feature("C9")
def test_what_is_locked_is_every_pack_with_its_version_source_and_content(desk: Path) -> None:
    whole = json.loads((desk / "desk" / "ael.lock").read_bytes())
    assert set(whole) == {"version", "packs"}
    assert {name: (one["version"], one["source"]) for name, one in whole["packs"].items()} == {
        "refunds": ("1.2.3", "folder ../refunds"),
        "ledger": ("2.1.0", "folder ../ledger"),
    }
    assert said(desk) == []


@pytest.mark.feature("C9")
@pytest.mark.parametrize(
    "name", ["ledger/main.ael", "ledger/pack.ael", "refunds/_rates.ael", "refunds/new.ael", "refunds/inner/deep.ael"]
)
def test_a_dependency_whose_content_changed_is_told(desk: Path, name: str) -> None:
    path = desk / name
    path.parent.mkdir(exist_ok=True)
    path.write_text((path.read_text() if path.exists() else "") + "// more\n")
    assert said(desk) == ["AEL0824"]
    assert main(["deps", "lock", "--check"]) == 1
    assert main(["deps", "lock"]) == 1, "what changed is taken by `update` alone"
    assert said(desk) == ["AEL0824"]
    assert main(["deps", "update", name.partition("/")[0]]) == 0
    assert said(desk) == []


@pytest.mark.parametrize(
    "name", ["refunds/deploy.ael", "refunds/.hidden.ael", "refunds/node_modules/x.ael", "refunds/own/pack.ael"]
)
def test_what_is_no_part_of_a_pack_does_not_count(desk: Path, name: str) -> None:
    write(desk, {name: pack("own") if name.endswith("pack.ael") else "// a deployment belongs to whoever runs a program\n"})
    assert said(desk) == []


def test_how_lines_end_does_not_count(desk: Path) -> None:
    path = desk / "refunds" / "money.ael"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert said(desk) == []


def test_instructions_from_a_file_are_a_part_of_the_pack(tmp_path: Path) -> None:
    skill = 'pub skill rules {\n  version "1.0"\n  instructions from "rules.md"\n}\n'
    shop = {"shop/pack.ael": pack("shop"), "shop/main.ael": skill, "shop/rules.md": "Be kind."}
    text = {
        "desk/main.ael": "node main() -> Int {\n  1\n}\n",
        "desk/pack.ael": pack("desk", "1", 'depends shop "1" from "../shop"'),
    }
    first, told = opened(tmp_path, {**shop, **text})
    second, _ = opened(tmp_path, {"shop/rules.md": "Be rude."})
    assert told == []
    assert first is not None
    assert second is not None
    assert first.project.packs["shop"].now.sha256 != second.project.packs["shop"].now.sha256


@pytest.mark.parametrize(
    ("now", "problem"),
    [
        (PIN, None),
        (PackPin("1.2.4", PIN.source, "b" * 64), "has the version 1.2.4, and 1.2.3 was locked"),
        (
            PackPin(PIN.version, PIN.source, "b" * 64),
            "is not what was locked: its content changed, and its version is still 1.2.3",
        ),
        (
            PackPin(PIN.version, "folder x", PIN.sha256),
            "comes from another place than the one that was locked: folder x, not folder ../refunds",
        ),
    ],
)
def test_how_a_pack_differs(now: PackPin, problem: str | None) -> None:
    assert difference(now, PIN) == problem
    assert difference(now, None) == "is not locked"


def test_servers_and_packs_are_written_beside_each_other(tmp_path: Path) -> None:
    lock = tmp_path / "ael.lock"
    servers = {"main.crm": ServerPins("2025-06-18", tools={"find": pin({"name": "find", "inputSchema": {"type": "object"}})})}
    types = {("main.crm", "find"): "fn() -> String"}
    write_packs(lock, {"refunds": PIN})
    write_lock(lock, servers, types)
    bag = Bag()
    assert read_packs(lock, "ael.lock", bag) == {"refunds": PIN}
    assert read_lock(lock, "ael.lock", bag) == servers
    other = PackPin("2.0.0", "folder x", "b" * 64)
    write_packs(lock, {"other": other})
    assert read_packs(lock, "ael.lock", bag) == {"other": other}
    assert read_lock(lock, "ael.lock", bag) == servers
    assert json.loads(lock.read_bytes())["mcp"]["main.crm"]["tools"]["find"]["type"] == "fn() -> String"
    write_packs(lock, {})
    assert lock.read_bytes() == lock_bytes(servers, types), "a lock without packs is as it always was"
    assert bag.sorted() == []


@pytest.mark.parametrize(
    "text",
    [
        '{"version": 1, "packs": []}',
        '{"version": 1, "packs": {"a": 1}}',
        '{"version": 1, "packs": {"a": {"version": "1", "source": "x", "sha256": "zz"}}}',
        '{"version": 1, "packs": {"a": {"version": "1", "source": "x", "sha256": "' + "a" * 64 + '", "more": 1}}}',
        '{"version": 1, "packs": {"a": {"version": "one", "source": "x", "sha256": "' + "a" * 64 + '"}}}',
        '{"version": 1, "packs": {"a": {"version": 1, "source": "x", "sha256": "' + "a" * 64 + '"}}}',
        '{"version": 2, "packs": {}}',
        "{",
        "\udcff",
    ],
)
def test_a_lock_that_was_tampered_with_is_refused(desk: Path, text: str) -> None:
    (desk / "desk" / "ael.lock").write_bytes(text.encode("utf-8", "surrogateescape"))
    assert "AEL1201" in said(desk)


def test_a_program_without_a_lock_is_not_asked(desk: Path) -> None:
    (desk / "desk" / "ael.lock").unlink()
    assert said(desk) == []
    (desk / "desk" / "ael.lock").write_text('{"version": 1, "mcp": {}}')
    assert said(desk) == [], "a lock of servers alone locks no packs"


def test_a_pack_that_the_lock_does_not_have_is_told(desk: Path) -> None:
    lock = desk / "desk" / "ael.lock"
    whole = json.loads(lock.read_bytes())
    del whole["packs"]["ledger"]
    lock.write_text(json.dumps(whole))
    assert said(desk) == ["AEL0824"]
    assert main(["deps", "lock"]) == 0
    assert said(desk) == []


# --- the digest ------------------------------------------------------------------------------------------------------------


def test_the_digest_names_names_and_texts_apart(tmp_path: Path) -> None:
    def of(**texts: str) -> str:
        return digest(tmp_path, {tmp_path / f"{name}.ael": Source(name, text) for name, text in texts.items()})

    every = [of(), of(a=""), of(b=""), of(a="b"), of(ab=""), of(a="", b=""), of(a="ab"), of(a="a", b="b")]
    assert len(set(every)) == len(every)
    assert of(a="1", b="2") == of(b="2", a="1")


def test_a_pack_has_its_modules_and_no_more_than_are_allowed(tmp_path: Path) -> None:
    write(
        tmp_path,
        {"pack.ael": pack("p"), "b.ael": "", "a/c.ael": "", "a/pack/pack.ael": pack("q"), "a/pack/x.ael": "", "z.txt": ""},
    )
    (tmp_path / "out.ael").symlink_to("/etc/hostname")
    (tmp_path / "loop.ael").symlink_to(tmp_path / "loop.ael")
    (tmp_path / "again.ael").symlink_to(tmp_path / "b.ael")
    (tmp_path / "folder").symlink_to(tmp_path.parent)
    assert [path.relative_to(tmp_path).as_posix() for path in files(tmp_path)] == ["again.ael", "b.ael", "pack.ael", "a/c.ael"]
    for number in range(MAX_FILES + 5):
        (tmp_path / f"m{number}.ael").touch()
    assert len(files(tmp_path)) == MAX_FILES + 1


# --- the cache -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["ledger/main.ael", "ledger/pack.ael", "refunds/money.ael", "refunds/new.ael"])
def test_a_change_in_a_dependency_checks_what_depends_on_it_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    write(tmp_path, ALL)
    work = tmp_path / "desk"
    count = Count(monkeypatch)
    assert count.look(work)[0] == 1
    assert count.look(work)[0] == 0
    path = tmp_path / name
    path.write_text((path.read_text() if path.exists() else "") + "// more\n")
    assert count.look(work)[0] == 1
    assert count.look(work)[0] == 0
    path.write_text(path.read_text() + "???\n")
    assert count.look(work)[1], "what is broken in a dependency is told"


def test_a_dependencys_new_error_is_told_although_the_program_is_as_it_was(tmp_path: Path) -> None:
    write(tmp_path, ALL)
    assert said(tmp_path) == []
    money = tmp_path / "refunds" / "money.ael"
    money.write_text(money.read_text().replace("n + n", '"n"'))
    assert said(tmp_path) == ["AEL0301"]
    money.unlink()
    assert "AEL0802" in said(tmp_path)


def test_an_edit_of_one_module_checks_a_part_with_the_packs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = "permission own.read includes refunds.orders.refund\n\npub fn one() -> Int {\n  1\n}\n"
    write(tmp_path, {**ALL, "desk/other.ael": other})
    work = tmp_path / "desk"
    count = Count(monkeypatch)
    assert count.look(work) == (1, [])
    main_file = work / "main.ael"
    main_file.write_text(main_file.read_text() + "\nfn more() -> Int {\n  let unused = 1\n  1\n}\n")
    assert count.look(work)[1] == ["AEL1101 Position(line=11, column=7)"]
    assert count.look(work) == (0, ["AEL1101 Position(line=11, column=7)"])
    main_file.write_text(main_file.read_text().replace("refunds.orders.refund", "refunds.orders.refunds"))
    assert "AEL0501 Position(line=5, column=10)" in count.look(work)[1]


def test_what_was_cached_of_the_desk_does_not_hide_the_pack_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, ALL)
    count = Count(monkeypatch)
    assert said(tmp_path) == []
    for checked in (2, 0):
        bag = Bag()
        count.checked = 0
        check_paths([tmp_path], bag, CheckCache(tmp_path / "cache"))
        assert [d.code for d in bag.sorted()] == ["AEL1101"]
        assert count.checked == checked


def test_a_program_inside_of_the_folder_of_what_it_depends_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the program reads is no part of the pack around it."""
    inner = {
        "shop/pack.ael": pack("shop"),
        "shop/main.ael": "pub fn one() -> Int {\n  1\n}\n",
        "shop/desk/pack.ael": pack("desk", "1", 'depends shop "1" from ".."'),
        "shop/desk/main.ael": (
            'use shop.{one}\n\npub skill rules {\n  version "1.0"\n  instructions from "rules.md"\n}\n\nnode main() -> Int {\n  one()\n}\n'
        ),
        "shop/desk/rules.md": "Be kind.",
    }
    write(tmp_path, inner)
    monkeypatch.chdir(tmp_path / "shop" / "desk")
    monkeypatch.setenv("AEL_CACHE", str(tmp_path / "cache"))
    assert main(["deps", "lock"]) == 0
    bag = Bag()
    check_paths([Path()], bag)
    assert [d.code for d in bag.sorted() if d.code == "AEL0824"] == []
    assert main(["deps", "lock", "--check"]) == 0
