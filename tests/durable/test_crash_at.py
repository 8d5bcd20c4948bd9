"""`ael run --crash-at`: real processes, really killed; what it reports, and that it reports what is wrong."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import clean_environment
from tests.programs import write

ROOT = Path(__file__).parents[2]
TICKET = '{"customer": "c-1", "message": "Please refund my order A-42.", "order_id": "A-42"}'

PAYS = """\
permission bank.pay

/// Pays. Call it once.
tool pay(n: Int) -> Int
  needs bank.pay
  repeat never
  timeout 20s
  extern "bank:pay"

/// Sends. Call it once.
tool send(n: Int) -> Int
  needs bank.pay
  repeat idempotent
  timeout 20s
  extern "bank:send"

node main() -> Int
  grants bank.pay
{
  let sent = send(1)
  let paid = try pay(2) catch {
    Uncertain u => 1_000
  }
  sent + paid
}
"""
BANK = """\
def pay(n: int) -> int:
    return n


async def send(n: int) -> int:
    return n
"""
FORGETS = """\
permission notes.write
store notes: Map<String, Int> needs notes.write

node main() -> Int
  grants notes.write
{
  notes.put("a", 1)
  notes.put("b", 2)
  (notes.get("a") ?? 0) + (notes.get("b") ?? 0)
}
"""


def crash(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ael", "run", str(folder), "--crash-at", *words]
    environment = {**clean_environment(folder.parent), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=folder.parent, env=environment, capture_output=True, text=True, timeout=300)
    assert "Traceback" not in done.stderr + done.stdout
    return done


def report(folder: Path, *words: str) -> dict[str, Any]:
    done = crash(folder, *words, "--json")
    told: dict[str, Any] = json.loads(done.stdout)
    assert done.returncode == (1 if told["problems"] else 0), done.stderr
    return told


@pytest.mark.timeout(400)
@pytest.mark.feature("D1")
def test_the_support_desk_survives_a_crash_anywhere(tmp_path: Path) -> None:
    folder = tmp_path / "support"
    shutil.copytree(ROOT / "examples" / "support", folder, ignore=shutil.ignore_patterns("*.db*", ".ael"))
    told = report(folder, "every", "--approve", "--ticket", TICKET)
    assert told["problems"] == []
    assert told["runs"] > 40
    assert told["endings"] == {"value": told["runs"]}
    booked = next(one for one in told["effects"] if one["target"].endswith("refund_book.put"))
    assert set(booked["sent"]) == {"1", "2"}, "after each crash it is there, and once it was sent again with its key"
    turns = [one for one in told["effects"] if "/turn" in one["path"] and one["repeat"] == ""]
    assert len(turns) == 5
    assert all(one["sent"] == {"1": told["runs"] - 1, "2": 1} for one in turns), "only the turn that was open is asked again"
    left = sorted(path.name for path in folder.iterdir())
    assert not [name for name in left if name == ".ael" or ".db" in name], "nothing is written to the deployment's stores"


@pytest.mark.timeout(300)
@pytest.mark.feature("D1", "A8.9", "A8.10")
def test_what_has_no_key_is_never_sent_again_and_its_doubt_is_told(tmp_path: Path) -> None:
    folder = tmp_path / "pays"
    write(folder, {"main.ael": PAYS, "bank.py": BANK, "pack.ael": 'pack pays {\n  version "0.1.0"\n  extern "bank"\n}\n'})
    told = report(folder, "every")
    assert told["problems"] == []
    send, pay = sorted(told["effects"], key=lambda one: one["target"], reverse=True)
    assert (send["repeat"], pay["repeat"]) == ("idempotent", "never")
    assert "2" in send["sent"]
    assert set(pay["sent"]) <= {"0", "1"}
    assert pay["sent"]["0"] == 1, "killed before it was sent: nobody knows, so it is not sent"
    assert list(told["uncertain"]) == [pay["path"]]
    assert told["uncertain"][pay["path"]] == 2
    text = crash(folder, "every").stdout
    assert "nothing was done twice, asked twice, or lost" in text
    assert "uncertain in 2: main/pay@1; it was not sent again" in text


@pytest.mark.timeout(300)
@pytest.mark.feature("D1")
def test_what_dies_with_the_process_is_found(tmp_path: Path) -> None:
    folder = tmp_path / "forgets"
    write(folder, {"main.ael": FORGETS})
    told = report(folder, "every")
    assert told["problems"]
    assert "notes" in told["notes"][0]
    assert report(folder, "1")["problems"] == []
    write(folder, {"deploy.ael": 'store notes = sqlite("notes.db")\n'})
    assert report(folder, "every")["problems"] == []
    assert not (folder / "notes.db").exists()


@pytest.mark.parametrize("at", ["0", "-1", "first", ""])
def test_a_place_is_a_number_or_every(tmp_path: Path, at: str) -> None:
    folder = tmp_path / "forgets"
    write(folder, {"main.ael": FORGETS})
    done = crash(folder, at) if not at.startswith("-") else crash(folder, f"x{at}")
    assert done.returncode == 2
    assert "AEL0841" in done.stderr
