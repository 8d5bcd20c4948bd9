"""`ael deps`: the tree, why, what is outdated, and the lock."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Ael
from tests.project.packs import ALL, pack
from tests.project.test_packs_installed import DESK, REFUNDS, entry, install, wheel

TREE = """\
desk 0.1.0
└─ refunds 1.2.3 (asked for "1.2"), folder ../refunds, not locked
   └─ ledger 2.1.0 (asked for "2"), folder ../ledger, not locked
"""


@pytest.fixture
def desk(ael: Ael) -> Ael:
    """The command line over the packs of `tests.project.packs`; the program is `--in desk`."""
    ael.write(ALL)
    return ael


@pytest.mark.feature("C9")
def test_the_tree_of_packs(desk: Ael) -> None:
    ended = desk("deps", "--in", "desk")
    assert (ended.code, ended.out, ended.err) == (0, TREE, "")
    assert desk("deps", "tree", "--in", "desk").out == TREE
    assert desk("deps", "--in", "ledger").out == "ledger 2.1.0\n"


@pytest.mark.feature("C9")
def test_a_pack_that_stands_in_the_tree_twice_is_shown_once(desk: Ael) -> None:
    both = ('depends ledger "2" from "../ledger"', 'depends refunds "1.2" from "../refunds"')
    stock = {"stock/pack.ael": pack("stock", "1.0.0", 'depends refunds "1" from "../refunds"'), "stock/main.ael": ""}
    desk.write({**stock, "desk/pack.ael": pack("desk", "0.1.0", *both, 'depends stock "1" from "../stock"')})
    assert desk("deps", "--in", "desk").out == (
        "desk 0.1.0\n"
        '├─ ledger 2.1.0 (asked for "2"), folder ../ledger, not locked\n'
        '├─ refunds 1.2.3 (asked for "1.2"), folder ../refunds, not locked\n'
        '│  └─ ledger 2.1.0 (asked for "2")\n'
        '└─ stock 1.0.0 (asked for "1"), folder ../stock, not locked\n'
        '   └─ refunds 1.2.3 (asked for "1"), see above\n'
    )


def test_the_tree_as_json(desk: Ael) -> None:
    assert desk("deps", "lock", "--in", "desk").code == 0
    told = json.loads(desk("deps", "--in", "desk", "--json").out)
    assert (told["name"], told["version"]) == ("desk", "0.1.0")
    refunds, ledger = told["packs"]
    assert len(refunds.pop("sha256")) == 64
    assert refunds == {
        "name": "refunds",
        "version": "1.2.3",
        "source": "folder ../refunds",
        "root": str((desk.folder / "refunds").resolve()),
        "lock": "locked",
        "asked": [{"by": "desk", "requirement": "1.2"}],
        "depends": ["ledger"],
        "uses": [],
        "extern": [],
    }
    assert ledger["asked"] == [{"by": "refunds", "requirement": "2"}]


def test_a_tree_with_something_wrong_shows_what_there_is_and_says_what_is_not(desk: Ael) -> None:
    (desk.folder / "ledger" / "pack.ael").unlink()
    ended = desk("deps", "--in", "desk")
    assert ended.code == 2
    assert '   └─ ledger "2": not there\n' in ended.out
    assert "error[AEL0809]" in ended.err
    for words in (("lock",), ("update",), ("outdated",), ("why", "ledger")):
        ended = desk("deps", *words, "--in", "desk")
        assert (ended.code, ended.out) == (2, "")
    ended = desk("deps", "why", "refunds", "--in", "desk")
    assert (ended.code, ended.out) == (2, 'refunds 1.2.3, folder ../refunds\n  desk → refunds "1.2"\n')
    assert not (desk.folder / "desk" / "ael.lock").exists(), "what is wrong is not locked"


def test_why_a_pack_is_there(desk: Ael) -> None:
    both = ('depends refunds "1.2" from "../refunds"', 'depends ledger ">=2, <3" from "../ledger"')
    desk.write({"desk/pack.ael": pack("desk", "0.1.0", *both)})
    ended = desk("deps", "why", "ledger", "--in", "desk")
    assert ended.code == 0
    assert ended.out == ('ledger 2.1.0, folder ../ledger\n  desk → ledger ">=2, <3"\n  desk → refunds "1.2" → ledger "2"\n')
    told = json.loads(desk("deps", "why", "ledger", "--json", "--in", "desk").out)
    assert [[step["by"] for step in way] for way in told] == [["desk"], ["desk", "refunds"]]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("why",), "`why` takes the name of one pack"),
        (("why", "a", "b"), "`why` takes the name of one pack"),
        (("why", "ledgr"), "`desk` depends on no pack `ledgr`; did you mean `ledger`?"),
        (("why", "zzz"), "`desk` depends on no pack `zzz`; it depends on `refunds`, `ledger`"),
        (("update", "zzz"), "`desk` depends on no pack `zzz`"),
        (("tree", "x"), "`tree` takes no names"),
        (("tree", "--check"), "`--check` is for `lock`"),
        (("tree", "--offline"), "`--offline` is for `outdated`"),
        (("lock", "--json"), "prints no JSON"),
    ],
)
def test_mistakes_of_usage(desk: Ael, words: tuple[str, ...], said: str) -> None:
    ended = desk("deps", *words, "--in", "desk")
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err


def test_where_there_is_no_pack(ael: Ael) -> None:
    ended = ael("deps")
    assert ended.code == 2
    assert ended.err == "ael deps: there is no `pack.ael` in `.` or above it\n"


# --- the lock --------------------------------------------------------------------------------------------------------------


@pytest.mark.feature("C9")
def test_locking(desk: Ael) -> None:
    check = ("deps", "lock", "--check", "--in", "desk")
    lock = desk.folder / "desk" / "ael.lock"
    assert desk(*check).code == 1
    assert not lock.exists()
    ended = desk("deps", "lock", "--in", "desk")
    assert (ended.code, ended.out) == (0, "")
    assert ended.err.splitlines() == ["refunds 1.2.3: locked", "ledger 2.1.0: locked", "wrote desk/ael.lock"]
    before = lock.read_bytes()
    assert desk("deps", "lock", "--in", "desk").err == "desk/ael.lock is up to date\n"
    assert lock.read_bytes() == before
    assert desk(*check).code == 0
    # A new version is not taken by `lock`, and by `update` only where it is named.
    desk.write({"ledger/pack.ael": pack("ledger", "2.2.0"), "refunds/money.ael": "pub fn double(n: Int) -> Int {\n  2 * n\n}\n"})
    assert desk(*check).code == 1
    ended = desk("deps", "lock", "--in", "desk")
    assert ended.code == 1
    assert "`ledger` has the version 2.2.0, and 2.1.0 was locked" in ended.err
    assert lock.read_bytes() == before
    ended = desk("deps", "update", "ledger", "--in", "desk")
    assert ended.code == 1, "the other one is as it was, and told"
    assert "ledger 2.2.0: 2.1.0 was locked\n" in ended.err
    assert desk("deps", "update", "--in", "desk").code == 0
    assert desk(*check).code == 0


def test_a_pack_that_nothing_depends_on_any_more_leaves_the_lock(desk: Ael) -> None:
    desk("deps", "lock", "--in", "desk")
    desk.write({"desk/pack.ael": pack("desk", "0.1.0", 'depends ledger "2" from "../ledger"')})
    ended = desk("deps", "lock", "--in", "desk")
    assert ended.code == 0
    assert "refunds: nothing depends on it any more\n" in ended.err
    assert set(json.loads((desk.folder / "desk" / "ael.lock").read_bytes())["packs"]) == {"ledger"}


def test_a_lock_that_cannot_be_read_is_not_written_over(desk: Ael) -> None:
    lock = desk.folder / "desk" / "ael.lock"
    lock.write_text("{")
    ended = desk("deps", "lock", "--in", "desk")
    assert ended.code == 2
    assert "AEL1201" in ended.err
    assert lock.read_text() == "{"


def test_the_tree_says_what_changed_since_it_was_locked(desk: Ael) -> None:
    desk("deps", "lock", "--in", "desk")
    desk.write({"refunds/new.ael": "// more\n"})
    assert [line.rpartition(", ")[2] for line in desk("deps", "--in", "desk").out.splitlines()[1:]] == ["changed", "locked"]


# --- outdated --------------------------------------------------------------------------------------------------------------


def test_a_folder_is_outdated_where_the_lock_is(desk: Ael) -> None:
    assert desk("deps", "outdated", "--in", "desk").code == 0
    desk("deps", "lock", "--in", "desk")
    desk.write({"ledger/pack.ael": pack("ledger", "2.2.0")})
    ended = desk("deps", "outdated", "--in", "desk")
    assert (ended.code, ended.out) == (1, "ledger 2.2.0; 2.1.0 is locked: `ael deps update ledger`\n")
    told = json.loads(desk("deps", "outdated", "--json", "--in", "desk").out)
    assert [(row["name"], row["outdated"]) for row in told] == [("refunds", False), ("ledger", True)]


def test_an_installed_pack_is_outdated_where_pip_would_install_another(
    ael: Ael, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheels = tmp_path / "wheels"
    old = wheel(wheels, "acme-refunds", "3.0", REFUNDS, entry("refunds", "acme_refunds"))
    site = tmp_path / "site"
    install(site, old)
    monkeypatch.syspath_prepend(str(site))
    # What pip knows is what these folders hold: no index is asked.
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels))
    ael.write(DESK)
    ended = ael("deps", "outdated", "--in", "desk")
    assert (ended.code, ended.out, ended.err) == (0, "", "nothing is outdated\n")
    wheel(wheels, "acme-refunds", "3.1", REFUNDS, entry("refunds", "acme_refunds"))
    ended = ael("deps", "outdated", "--in", "desk")
    assert (ended.code, ended.out) == (1, "refunds 1.2.3; the distribution `acme-refunds` 3.0 is installed, and there is 3.1\n")
    assert ael("deps", "outdated", "--offline", "--in", "desk").code == 0
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "empty"))
    ended = ael("deps", "outdated", "--in", "desk")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("ael deps: which versions of `refunds` there are is not known: ")


def test_why_is_answered_where_a_version_does_not_fit_and_in_circles(desk: Ael) -> None:
    desk.write({"ledger/pack.ael": pack("ledger", "3.0.0", 'depends refunds "1" from "../refunds"')})
    ended = desk("deps", "why", "ledger", "--in", "desk")
    assert ended.code == 2
    assert ended.out == 'ledger 3.0.0, folder ../ledger\n  desk → refunds "1.2" → ledger "2"\n'
    assert "error[AEL0820]" in ended.err
    assert "error[AEL0807]" in ended.err
