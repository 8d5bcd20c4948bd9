"""`ael new`: every template checks, is formatted, passes its tests and runs at once, without a key or a network."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ael.cli.new import TEMPLATES
from ael.project import template
from tests.cli.conftest import Ael

GIVES: dict[str, object] = {
    "tool": "Yes, take one: it rains in Berlin today, at 12 degrees.",
    "mcp": "There are six words in it.",
    "agent": "Your parcel left our store this morning. It should be with you tomorrow.",
    "service": "There are 12 apples.",
    "packs": "Hello, Ada!",
    "supervisor": "Rivers carry salts out of rock into the sea. Water leaves it as vapour, the salt stays.",
    "swarm": {"text": "Tea is a plant, a drink and a time of day.", "next": "Done"},
    "map_reduce": "It carries its load to the ground.\nIt carries its load to the ground.",
    "reflection": "Clouds are made of tiny drops. When many of them meet they fall: that is rain.",
    "annealing": {"text": "A minute. A cup. A leaf.", "score": 0.85},
    "evolution": {"text": "The Quiet Leaf", "score": 0.9},
    "voting": {"answer": "Lisbon", "votes": 4},
    "verifier": {"text": "Jane Austen", "sources": ["https://en.wikipedia.org/wiki/Emma_(novel)"], "confidence": 0.97},
    "approval": "I sent Ann a mail that her order is ready, which stays in the house.",
    "subagent": "» La bibliothèque est ouverte de neuf heures à dix-sept heures.",
}
"""What the first run of each template prints."""


@pytest.mark.feature("A17.8", "C9")
@pytest.mark.parametrize("kind", TEMPLATES)
def test_a_template_checks_tests_and_runs_at_once(ael: Ael, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    made = ael("new", "my_desk", "--template", kind)
    assert (made.code, made.out) == (0, "")
    root = ael.folder / "my_desk"
    monkeypatch.chdir(root)
    checked = ael("check")
    assert checked.code == 0
    assert checked.err.endswith(" checked, no problems\n"), "not even advice"
    assert ael("fmt", "--check").code == 0
    tested = ael("test")
    assert tested.code == 0
    assert tested.err.endswith(" passed, 0 failed\n")
    assert not tested.err.endswith("\n0 passed, 0 failed\n")
    ran = ael("run", ".", "--quiet")
    assert (ran.code, ran.err) == (0, "")
    assert json.loads(ran.out) == GIVES[kind]
    for path in root.rglob("*"):
        assert "new_pack" not in path.name
        if path.is_file() and path.suffix in (".ael", ".md", ".json"):
            assert "new_pack" not in path.read_text(encoding="utf-8")
    assert "pack my_desk {" in (root / "pack.ael").read_text(encoding="utf-8")


def test_every_template_has_a_folder_and_every_folder_is_one() -> None:
    assert {folder.name for folder in template.FOLDER.iterdir() if folder.is_dir()} == set(template.TEMPLATES)
    assert set(GIVES) == set(TEMPLATES)
    with pytest.raises(KeyError):
        template.files("../template", "x")


@pytest.mark.feature("C9")
def test_a_new_program_over_a_pack_is_locked_at_once(ael: Ael, monkeypatch: pytest.MonkeyPatch) -> None:
    assert ael("new", "my_desk", "--template", "packs").code == 0
    monkeypatch.chdir(ael.folder / "my_desk")
    assert ael("deps", "lock").code == 0
    assert ael("deps").out == ('my_desk 0.1.0\n└─ greetings 1.0.0 (asked for "1.0"), folder packs/greetings, locked\n')
    assert ael("check").code == 0


@pytest.mark.parametrize("name", ["std", "server", "use"])
def test_names_of_the_language_are_no_packs(ael: Ael, name: str) -> None:
    assert ael("new", name).code == 2
    assert list(ael.folder.iterdir()) == []


def test_a_template_that_there_is_not(ael: Ael) -> None:
    ended = ael("new", "x", "--template", "nothing")
    assert ended.code == 2
    assert "map_reduce" in ended.err
    assert not Path(ael.folder / "x").exists()
