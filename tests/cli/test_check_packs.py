"""`ael check` over packs that depend on packs: what it fixes, and what it watches."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.cli.conftest import Ael, clean_environment
from tests.cli.watched import watch_steps
from tests.project.packs import ALL, LEDGER, REFUNDS, pack


def test_a_fix_never_changes_another_pack(ael: Ael, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error in a dependency, with a safe fix: the program's check tells it, and that of the pack itself fixes it."""
    money = REFUNDS["refunds/money.ael"].replace("pub fn", "fn")
    ael.write({**ALL, "refunds/money.ael": money})
    monkeypatch.chdir(ael.folder / "desk")
    ended = ael("check", "--fix")
    assert ended.code == 2
    assert "AEL0206" in ended.err
    assert "fix: " not in ended.err
    assert (ael.folder / "refunds" / "money.ael").read_text() == money
    monkeypatch.chdir(ael.folder / "refunds")
    assert ael("check", "--fix").code == 0
    assert (ael.folder / "refunds" / "money.ael").read_text() == REFUNDS["refunds/money.ael"]


def test_a_fix_of_both_at_once_is_that_of_the_pack_itself(ael: Ael) -> None:
    money = REFUNDS["refunds/money.ael"].replace("pub fn", "fn")
    ael.write({**ALL, "refunds/money.ael": money})
    assert ael("check", "--fix").code == 0
    assert (ael.folder / "refunds" / "money.ael").read_text() == REFUNDS["refunds/money.ael"]


def test_watching_a_program_watches_the_packs_that_it_depends_on(ael: Ael, monkeypatch: pytest.MonkeyPatch) -> None:
    ael.write(ALL)
    monkeypatch.chdir(ael.folder / "desk")
    broken = LEDGER["ledger/main.ael"].replace("amount + 1", '"one"')
    watch_steps(
        monkeypatch,
        [
            lambda: None,
            lambda: ael.write({"ledger/main.ael": broken}),
            lambda: ael.write({"ledger/pack.ael": pack("ledger", "9")}),
        ],
    )
    ended = ael("check", "--watch")
    first, second, third = ended.err.split("changed, checking again ---")
    assert "1 module checked, no problems" in first
    assert "AEL0301" in second
    assert "AEL0820" in third


def test_what_follows_dependencies_is_loaded_for_packs_that_have_some(ael: Ael) -> None:
    ael.write({**ALL, "alone.ael": "node main() -> Int {\n  1\n}\n"})
    code = (
        "import json, sys; from ael.cli.main import main; code = main(['check', '--no-cache', sys.argv[1]])\n"
        "watched = {'ael.project.bring', 'ael.project.packs', 'ael.project.installed'}\n"
        "print(json.dumps([code, sorted(watched & set(sys.modules))]))"
    )
    for path, loaded in (("alone.ael", []), ("desk", ["ael.project.bring", "ael.project.packs"])):
        done = subprocess.run(
            [sys.executable, "-c", code, str(ael.folder / path)], capture_output=True, text=True, check=True,
            env=clean_environment(ael.folder),
        )  # fmt: skip
        assert json.loads(done.stdout) == [0, loaded]
