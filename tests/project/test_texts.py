"""Instructions that are read from a file are part of the program: of its digest, and of what is checked again when it changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from ael.diagnostics.diagnostic import Bag
from ael.project.program import Opened, open_program
from ael.project.texts import MAX_BYTES
from tests.programs import write
from tests.project.test_cache import Count

MAIN = """use ./desk/other.{other}

model fast {
  provider openai
  name "gpt-5-mini"
}

skill tone {
  version "1.0"
  instructions from "tone.md"
}

node main(question: String) -> String
  model fast
  policy one_call
  skills tone, other
{
  instructions from "desk/tone.md"
}
"""
OTHER = 'pub skill other {\n  version "1.0"\n  instructions from "tone.md"\n}\n'
FILES = {"main.ael": MAIN, "desk/other.ael": OTHER, "tone.md": "Be kind.\n", "desk/tone.md": "Be brief.\r\n"}


def opened(folder: Path, **files: str) -> Opened:
    write(folder, FILES | files)
    bag = Bag()
    found = open_program(folder / "main.ael", bag)
    assert found is not None, bag.sorted()
    return found


def refusals(folder: Path) -> list[str]:
    bag = Bag()
    assert open_program(folder / "main.ael", bag) is None
    return [f"{d.code} {d.message}" for d in bag.sorted()]


@pytest.mark.feature("A6.3")
def test_a_path_is_that_of_its_module_and_the_text_is_as_it_stands(tmp_path: Path) -> None:
    program = opened(tmp_path).program
    assert [skill.instructions for skill in program.nodes["main.main"].skills] == ["Be kind.", "Be brief."]
    assert program.nodes["main.main"].instructions == "Be brief."


@pytest.mark.feature("A6.3", "B8")
def test_another_text_is_another_program(tmp_path: Path) -> None:
    first = opened(tmp_path / "a").program.digest
    assert opened(tmp_path / "b").program.digest == first
    assert opened(tmp_path / "c", **{"desk/tone.md": "Be long.\n"}).program.digest != first


def test_a_change_of_the_file_checks_it_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work = tmp_path / "work"
    write(work, FILES | {"pack.ael": 'pack desk {\n  version "1"\n}\n'})
    monkeypatch.chdir(work)
    count = Count(monkeypatch)
    assert count.look(work) == (1, [])
    assert count.look(work) == (0, [])
    (work / "tone.md").write_text("Answer ${question}.")
    assert count.look(work) == (1, ["AEL1128 Position(line=10, column=21)"])
    (work / "tone.md").unlink()
    assert count.look(work) == (1, ["AEL0646 Position(line=10, column=21)"])
    (work / "tone.md").write_text("Be kind again.")
    assert count.look(work) == (1, [])


@pytest.mark.feature("A6.3")
def test_no_way_leads_out_of_the_pack(tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("Give everything away.")
    work = tmp_path / "work"
    write(work, FILES)
    (work / "tone.md").unlink()
    (work / "tone.md").symlink_to(tmp_path / "secret.md")
    assert refusals(work) == ["AEL0646 `tone.md` leads out of the pack"]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"caf\xe9", "AEL0646 `tone.md` cannot be read: not valid UTF-8"),
        (b"x" * (MAX_BYTES + 1), "AEL0646 `tone.md` is longer than 64 KiB, and it would be sent with every turn"),
        (b" \r\n", "AEL0615 the instructions of the skill `tone` are empty"),
    ],
)
def test_what_is_no_text_is_told(tmp_path: Path, data: bytes, why: str) -> None:
    write(tmp_path, FILES)
    (tmp_path / "tone.md").write_bytes(data)
    assert refusals(tmp_path) == [why]


def test_a_module_below_may_read_from_a_folder_above_it_within_the_pack(tmp_path: Path) -> None:
    files = FILES | {"desk/other.ael": OTHER.replace('"tone.md"', '"../tone.md"')}
    write(tmp_path / "a", files)
    assert refusals(tmp_path / "a") == ["AEL0646 `../tone.md` leads out of the pack"], "without a pack, its own folder is all"
    write(tmp_path / "b", files | {"pack.ael": 'pack desk {\n  version "1"\n}\n'})
    bag = Bag()
    found = open_program(tmp_path / "b" / "main.ael", bag)
    assert found is not None, bag.sorted()
    assert found.program.skills["desk/other.other"].instructions == "Be kind."


@pytest.mark.feature("A6.1", "A4.1", "A11.5")
def test_a_skill_of_another_pack_needs_grants_of_that_packs_permissions(tmp_path: Path) -> None:
    """What it brings may be private to its module, its file is one of its own pack, and both places of a mistake are shown."""
    main = """use refunds/main.{policy}

model fast {
  provider openai
  name "gpt-5-mini"
}

node main(q: String) -> String
  model fast
  policy loop(steps: 2, tool_calls: 1)
  skills policy
{
  instructions "Answer."
}
"""
    refunds = """permission orders.refund

/// Give the money back. Only after a person asked for it.
tool refund(id: String(max: 64)) -> String
  needs orders.refund
  repeat idempotent
{
  "refunded ${id}"
}

pub skill policy {
  version "1.2"
  instructions from "texts/policy.md"
  tools refund
}
"""
    app = tmp_path / "app"
    write(
        tmp_path,
        {
            "app/pack.ael": 'pack app {\n  version "0.1.0"\n  depends refunds "1.2" from "../refunds"\n}\n',
            "app/main.ael": main,
            "refunds/pack.ael": 'pack refunds {\n  version "1.2.0"\n}\n',
            "refunds/main.ael": refunds,
            "refunds/texts/policy.md": "Refund in full.\n",
        },
    )
    bag = Bag()
    assert open_program(app / "main.ael", bag) is None
    [refused] = bag.sorted()
    assert refused.code == "AEL0644"
    assert "which needs `refunds.orders.refund`, and the node `main` is not granted it" in refused.message
    assert [label.place.source.path for label in refused.labels] == [
        app / "main.ael",
        *[(tmp_path / "refunds" / "main.ael")] * 2,
    ]
    write(app, {"main.ael": main.replace("  skills", "  grants refunds.orders.refund\n  skills")})
    opened = open_program(app / "main.ael", bag := Bag())
    assert opened is not None, bag.sorted()
    [skill] = opened.program.nodes["main.main"].skills
    assert (skill.version, skill.instructions) == ("1.2", "Refund in full.")
