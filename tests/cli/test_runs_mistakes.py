"""Mistakes with runs: each has a code and a sentence that says what to do, changes nothing, and never ends in a traceback (B9, A4.12)."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.conftest import Ael
from tests.cli.runs_desk import FILES, parked


@pytest.fixture
def desk(ael: Ael) -> Ael:
    ael.write(FILES)
    return ael


def row(ael: Ael, run: str) -> dict[str, object]:
    found: list[dict[str, object]] = json.loads(ael("runs", "list", "--format", "json").out)
    return next(one for one in found if one["run"] == run)


@pytest.mark.feature("A4.12", "B9")
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ('{"order": "A-1", "amount": "much"}', "these are no arguments of `main.refund`: `amount`"),
        ('{"order": "A-1"}', "`amount`: is missing"),
        ('{"order": "A-1", "amount": 1.00, "to": "me"}', "`to`"),
        ("[1]", "`--arguments` holds an object"),
        ("{oops", "`--arguments`: not JSON"),
    ],
)
def test_arguments_that_do_not_fit_use_no_approval_up(desk: Ael, arguments: str, told: str) -> None:
    run = parked(desk)
    ended = desk("runs", "approve", run, "--arguments", arguments)
    assert ended.code == 2
    assert ended.err.startswith("error[AEL0905]")
    assert told in ended.err
    assert row(desk, run)["state"] == "parked"
    good = desk("runs", "approve", run, "--arguments", '{"order": "A-1", "amount": "12.50"}', "--resume")
    assert good.code == 0, good.err
    assert good.out.strip() == '"R-A-1 R-A-1b"'


@pytest.mark.feature("A12.3")
def test_what_belongs_to_detach_is_not_left_out_silently(desk: Ael) -> None:
    ended = desk("run", ".", "main", "--run-id", "F-1", "--order", "A-1")
    assert ended.code == 2
    assert "error[AEL0905]: `--run-id` belongs to `--detach`" in ended.err
    assert not Path(desk.folder, "book.db").exists(), "nothing ran"


def test_an_id_that_is_none_is_refused(desk: Ael) -> None:
    ended = desk("run", ".", "main", "--detach", "--run-id", "../x", "--order", "A-1")
    assert ended.code == 2
    assert "error[AEL0905]: `../x` is no id of a run" in ended.err


def test_a_folder_without_runs_says_so_and_lists_none(desk: Ael) -> None:
    for action in ("list", "approvals"):
        ended = desk("runs", action, "--format", "json")
        assert (ended.code, json.loads(ended.out)) == (0, [])
        assert "there are no runs here" in ended.err
    for words in (
        ("show", "r1"),
        ("approve", "r1"),
        ("wait", "r1"),
        ("resume", "r1"),
        ("cancel", "r1"),
        ("fork", "r1", "--at", "end"),
    ):
        ended = desk("runs", *words)
        assert ended.code == 2, words
        assert "error[AEL0905]: there is no run `r1`" in ended.err
    assert not Path(desk.folder, "runs.db").exists(), "looking makes no file"


@pytest.mark.parametrize("limit", ["0", "-1", "many"])
def test_a_limit_is_a_number_of_at_least_one(desk: Ael, limit: str) -> None:
    ended = desk("runs", "list", "--limit", limit)
    assert ended.code == 2
    assert f"a number of at least 1 belongs here, not `{limit}`" in ended.err or "--limit" in ended.err


def test_a_cancel_says_who_hears_of_it(desk: Ael) -> None:
    run = parked(desk)
    ended = desk("runs", "cancel", run)
    assert ended.code == 0
    assert f"whoever takes it next ends it: a worker, or `ael runs resume {run}`" in ended.err
    assert desk("runs", "resume", run).code == 130
    again = desk("runs", "cancel", run)
    assert again.code == 2
    assert "error[AEL0905]" in again.err


@pytest.mark.feature("B8")
def test_the_way_out_for_a_run_of_another_program_works_as_it_is_told(desk: Ael) -> None:
    run = parked(desk)
    main = Path(desk.folder, "main.ael")
    main.write_text(main.read_text(encoding="utf-8").replace("1.00)", "2.00)"), encoding="utf-8")
    refused = desk("runs", "resume", run)
    assert refused.code == 2
    [command] = re.findall(r"fork it: `ael ([^`]+)`", refused.err)
    forked = desk(*command.split())
    assert "forked from" in forked.err
    assert row(desk, run)["state"] == "parked", "the original waits as before"


def text(path: Path) -> None:
    path.write_text("this is no database, but long enough to be read as one " * 20, encoding="utf-8")


def folder(path: Path) -> None:
    path.mkdir()


def newer(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE ael_meta (name TEXT NOT NULL PRIMARY KEY, value INTEGER NOT NULL)")
        db.execute("INSERT INTO ael_meta VALUES ('version', 99)")
        db.commit()


def other(path: Path) -> None:
    """Somebody else's database with a table of the same name."""
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE ael_run (id INTEGER)")
        db.commit()


@pytest.mark.feature("A12.9")
@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (text, "file is not a database"),
        (folder, "unable to open database file"),
        (newer, "written by a newer release (format 99)"),
        (other, "already exists"),
    ],
)
def test_a_file_that_holds_no_runs_is_told_by_every_command(desk: Ael, spoil: Callable[[Path], None], told: str) -> None:
    spoil(Path(desk.folder, "runs.db"))
    for words in (
        ("runs",), ("runs", "show", "r1"), ("runs", "approvals"), ("runs", "prune"), ("runs", "wait", "r1"), ("run", ".", "books"),
        ("run", ".", "main", "--detach"), ("check", ".", "--against-runs"), ("worker", ".", "--once"), ("trace", "r1"),
    ):  # fmt: skip
        ended = desk(*words)
        assert ended.code != 0, words
        assert told in ended.err, words
        assert "AEL0904" in ended.err, words


def test_a_folder_that_nobody_can_write_is_told(desk: Ael) -> None:
    desk.write({"deploy.ael": FILES["deploy.ael"].replace('"runs.db"', '"/proc/runs/runs.db"')})
    for words in (("run", ".", "main", "--order", "A-1"), ("run", ".", "main", "--detach"), ("worker", ".", "--once")):
        ended = desk(*words)
        assert ended.code == 1, words
        assert "error[AEL0904]: the runs in /proc/runs/runs.db cannot be opened" in ended.err
        assert "the file and its folder have to be there, and writable" in ended.err
