"""Packs that nobody writes by accident: each is one error at a place, and nothing outside of a pack is read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ael.diagnostics.diagnostic import Bag
from ael.project.content import MAX_FILES
from ael.project.packs import MAX_PACKS
from ael.project.program import check_paths
from ael.source import MAX_SOURCE_BYTES
from tests.programs import write
from tests.project.packs import ALL, codes, opened, pack

MAIN = "node main() -> Int {\n  1\n}\n"


def desk(*lines: str) -> dict[str, str]:
    """A program that uses nothing of what it depends on."""
    return {"desk/pack.ael": pack("desk", "1", *lines), "desk/main.ael": MAIN}


@pytest.mark.parametrize(
    "origin",
    [
        "",
        " ",
        "/etc",
        "~/refunds",
        "..\\\\refunds",
        "nowhere",
        "main.ael",
        "../desk/main.ael",
        "a" * 5_000,
        "./" * 3_000,
        "\\u{0}",
        "\\u{202e}x",
    ],
)
def test_a_folder_that_is_none(tmp_path: Path, origin: str) -> None:
    _, said = opened(tmp_path, desk(f'depends refunds "1" from "{origin}"'))
    assert set(codes(said)) <= {"AEL0809", "AEL0821", "AEL0006", "AEL0005", "AEL0004", "AEL0007", "AEL0008", "AEL0009"}
    assert said
    assert all(len(line) < 1_000 for line in said)
    assert all(line.startswith("desk/pack.ael ") for line in said)


def test_a_circle_of_links_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    _, said = opened(tmp_path, desk('depends refunds "1" from "../loop"'))
    assert codes(said) == ["AEL0809"]


def test_a_link_to_a_pack_is_that_pack(tmp_path: Path) -> None:
    write(tmp_path, ALL)
    (tmp_path / "link").symlink_to(tmp_path / "ledger")
    lines = ('depends refunds "1.2" from "../refunds"', 'depends ledger "2" from "../link"')
    program, said = opened(tmp_path, {"desk/pack.ael": pack("desk", "1", *lines)})
    assert said == []
    assert program is not None
    assert program.project.packs["ledger"].pack.root == tmp_path / "ledger"


def test_a_module_that_leads_out_of_its_pack_is_none(tmp_path: Path) -> None:
    secret = {"secret.ael": 'pub fn key() -> String {\n  "k"\n}\n', "shop/pack.ael": pack("shop"), "shop/main.ael": ""}
    write(tmp_path, {**secret, **desk('depends shop "1" from "../shop"')})
    (tmp_path / "shop" / "out.ael").symlink_to(tmp_path / "secret.ael")
    _, said = opened(tmp_path, {"desk/main.ael": f"use shop/out.{{key}}\n\n{MAIN}"})
    assert codes(said) == ["AEL0802"]


@pytest.mark.parametrize("data", [b"\xff\xfe\x00\x01", b"", b"\x00" * 100, b"pack {", b"x" * (MAX_SOURCE_BYTES + 1)])
@pytest.mark.parametrize("name", ["pack.ael", "main.ael"])
def test_a_file_that_is_no_text(tmp_path: Path, data: bytes, name: str) -> None:
    write(tmp_path, {"shop/pack.ael": pack("shop"), "shop/main.ael": "", **desk('depends shop "1" from "../shop"')})
    (tmp_path / "shop" / name).write_bytes(data)
    bag = Bag()
    check_paths([tmp_path / "desk"], bag)
    if name == "pack.ael" or data:
        assert bag.errors
    assert all(d.place.source.name.endswith(f"shop/{name}") for d in bag.sorted())


def test_a_pack_file_that_is_a_folder(tmp_path: Path) -> None:
    write(tmp_path, {"shop/pack.ael/x.ael": "", **desk('depends shop "1" from "../shop"')})
    _, said = opened(tmp_path, {})
    assert codes(said) == ["AEL0809"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the platform has no named pipes")
def test_a_pipe_is_no_module(tmp_path: Path) -> None:
    write(tmp_path, {"shop/pack.ael": pack("shop"), **desk('depends shop "1" from "../shop"')})
    os.mkfifo(tmp_path / "shop" / "pipe.ael")
    program, said = opened(tmp_path, {})
    assert said == [], "and nobody waits for it"
    assert program is not None


def test_a_pack_of_too_many_modules(tmp_path: Path) -> None:
    write(tmp_path, {"shop/pack.ael": pack("shop"), **desk('depends shop "1" from "../shop"')})
    for number in range(MAX_FILES + 10):
        (tmp_path / "shop" / f"m{number}.ael").touch()
    _, said = opened(tmp_path, {})
    assert codes(said) == ["AEL0805"]


def test_a_long_chain_of_packs(tmp_path: Path) -> None:
    length = MAX_PACKS - 1
    for at in range(length):
        lines = [f'depends p{at + 1} "1" from "../p{at + 1}"'] if at + 1 < length else []
        write(tmp_path, {f"p{at}/pack.ael": pack(f"p{at}", "1.0.0", *lines)})
    program, said = opened(tmp_path, desk('depends p0 "1" from "../p0"'))
    assert said == []
    assert program is not None
    assert len(program.project.packs) == length


def test_too_many_packs(tmp_path: Path) -> None:
    lines = [f'depends p{at} "1" from "../p{at}"' for at in range(MAX_PACKS + 20)]
    for at in range(MAX_PACKS + 20):
        write(tmp_path, {f"p{at}/pack.ael": pack(f"p{at}")})
    _, said = opened(tmp_path, desk(*lines))
    assert codes(said) == ["AEL0809"]
    assert f"more than {MAX_PACKS} packs" in said[0]


def test_many_ways_to_a_pack_are_not_all_walked(tmp_path: Path) -> None:
    """Layers of packs that each depend on all of the next have more ways than there are atoms: none of them costs anything."""
    width, layers = 6, 20
    for layer in range(layers):
        for at in range(width):
            following = range(width) if layer + 1 < layers else ()
            lines = [f'depends p{layer + 1}_{other} "1" from "../p{layer + 1}_{other}"' for other in following]
            uses = ["uses server/mcp"] if layer + 1 == layers and at == 0 else []
            write(tmp_path, {f"p{layer}_{at}/pack.ael": pack(f"p{layer}_{at}", "1.0.0", *uses, *lines)})
    _, said = opened(tmp_path, desk(*(f'depends p0_{at} "1" from "../p0_{at}"' for at in range(width))))
    assert codes(said) == ["AEL0822"]


@pytest.mark.parametrize("name", ["std", "server"])
def test_names_of_the_language_are_no_packs(tmp_path: Path, name: str) -> None:
    write(tmp_path, {f"{name}/pack.ael": pack(name), f"{name}/text.ael": ""})
    _, said = opened(tmp_path, desk(f'depends {name} "1" from "../{name}"'))
    assert codes(said) == ["AEL0809"]


def test_a_pack_named_as_a_module_of_the_program_or_a_local_of_its_own(tmp_path: Path) -> None:
    """A pack, a module `main.ael` and a name of one word do not meet."""
    shop = {"main/pack.ael": pack("main"), "main/main.ael": "pub fn main() -> Int {\n  7\n}\n"}
    text = "use main.{main as other}\n\nnode main() -> Int {\n  other()\n}\n"
    program, said = opened(
        tmp_path, {**shop, "desk/pack.ael": pack("desk", "1", 'depends main "1" from "../main"'), "desk/main.ael": text}
    )
    assert said == []
    assert program is not None
    assert {"main.main", "main/main.main"} <= set(program.program.declarations)
