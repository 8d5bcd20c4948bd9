"""Packs in installed Python distributions: found by their entry point, nothing of them imported, and no broken one in the way."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from ael.cli.main import main
from ael.project import installed
from ael.project.installed import GROUP, NotInstalled
from ael.run.outcome import Value
from tests.programs import run, write
from tests.project.packs import codes, opened, pack

BOOM = "raise AssertionError('the package was imported')\n"
REFUNDS = {
    "acme_refunds/__init__.py": BOOM,
    "acme_refunds/pack.ael": pack("refunds", "1.2.3"),
    "acme_refunds/main.ael": "pub fn double(n: Int) -> Int {\n  n + n\n}\n",
}
DESK = {
    "desk/pack.ael": pack("desk", "1", 'depends refunds "1.2"'),
    "desk/main.ael": "use refunds.{double}\n\nnode main(n: Int) -> Int {\n  double(n)\n}\n",
}


def wheel(folder: Path, name: str, version: str, files: Mapping[str, str], entries: str) -> Path:
    """A small wheel, as any tool of Python's would build it."""
    folder.mkdir(parents=True, exist_ok=True)
    base = name.replace("-", "_")
    info = f"{base}-{version}.dist-info"
    whole = {
        **files,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": entries,
    }
    record = "".join(f"{path},,\n" for path in (*whole, f"{info}/RECORD"))
    made = folder / f"{base}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(made, "w") as archive:
        for path, text in {**whole, f"{info}/RECORD": record}.items():
            archive.writestr(path, text)
    return made


def install(target: Path, *wheels: Path) -> None:
    """Install wheels into a folder, by pip and from nowhere else."""
    words = ["install", "--quiet", "--no-deps", "--no-index", "--disable-pip-version-check", "--target", str(target)]
    subprocess.run([sys.executable, "-m", "pip", *words, *map(str, wheels)], check=True, capture_output=True)


def entry(name: str, package: str) -> str:
    """The text of `entry_points.txt`."""
    return f"[{GROUP}]\n{name} = {package}\n"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of the pack `refunds`."""
    return wheel(tmp_path_factory.mktemp("wheels"), "acme-refunds", "3.0", REFUNDS, entry("refunds", "acme_refunds"))


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on Python's path that distributions are installed into."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    return folder


def fake(site: Path, name: str, entries: str | bytes, version: str = "1.0") -> Path:
    """The metadata of a distribution, as a damaged or malicious one may have it."""
    info = site / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (info / "entry_points.txt").write_bytes(entries if isinstance(entries, bytes) else entries.encode())
    return info


# --- found -----------------------------------------------------------------------------------------------------------------


def test_a_pack_of_a_real_wheel_is_found_and_never_imported(built: Path, site: Path, tmp_path: Path) -> None:
    install(site, built)
    program, said = opened(tmp_path, DESK)
    assert said == []
    assert program is not None
    done = run(program, {"n": 4}).outcome
    assert isinstance(done, Value)
    assert done.plain == 8
    brought = program.project.packs["refunds"]
    assert (brought.pack.version, brought.resolved.origin) == ("1.2.3", "distribution acme-refunds 3.0")
    assert brought.pack.root == (site / "acme_refunds").resolve()
    assert "acme_refunds" not in sys.modules


def test_a_change_of_an_installed_pack_after_it_was_locked_is_refused(
    built: Path, site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(site, built)
    write(tmp_path, DESK)
    monkeypatch.chdir(tmp_path / "desk")
    monkeypatch.setenv("AEL_CACHE", str(tmp_path / "cache"))
    assert main(["deps", "lock"]) == 0
    assert main(["check"]) == 0
    path = site / "acme_refunds" / "main.ael"
    path.write_text(path.read_text().replace("n + n", "n * 3"))
    assert main(["check"]) == 2
    assert main(["run", ".", "--n", "4"]) == 2
    assert main(["deps", "update", "refunds"]) == 0
    assert main(["check"]) == 0


def test_an_installed_pack_that_goes_or_moves_is_noticed_by_the_cache(
    built: Path, site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(site, built)
    write(tmp_path, DESK)
    monkeypatch.chdir(tmp_path / "desk")
    monkeypatch.setenv("AEL_CACHE", str(tmp_path / "cache"))
    assert main(["check"]) == 0
    other = tmp_path / "other"
    broken = {**REFUNDS, "acme_refunds/main.ael": "pub fn triple(n: Int) -> Int {\n  n\n}\n"}
    install(other, wheel(tmp_path / "w", "acme-refunds", "3.1", broken, entry("refunds", "acme_refunds")))
    with monkeypatch.context() as patch:
        patch.syspath_prepend(str(other))
        assert main(["check"]) == 2, "another one comes first on the path now"
    assert main(["check"]) == 0
    (site / "acme_refunds-3.0.dist-info" / "entry_points.txt").unlink()
    assert main(["check"]) == 2


def test_packs_of_installed_packs_are_found_too(site: Path, tmp_path: Path) -> None:
    ledger = {"acme_ledger/pack.ael": pack("ledger", "2.0.0"), "acme_ledger/main.ael": "pub fn one() -> Int {\n  1\n}\n"}
    refunds = {
        "acme_refunds/pack.ael": pack("refunds", "1.2.3", 'depends ledger "2"'),
        "acme_refunds/main.ael": "use ledger.{one}\n\npub fn double(n: Int) -> Int {\n  n + n + one()\n}\n",
    }
    install(
        site,
        wheel(tmp_path / "w", "acme-ledger", "2.0", ledger, entry("ledger", "acme_ledger")),
        wheel(tmp_path / "w", "acme-refunds", "1.2", refunds, entry("refunds", "acme_refunds")),
    )
    program, said = opened(tmp_path, DESK)
    assert said == []
    assert program is not None
    assert set(program.project.packs) == {"refunds", "ledger"}


def test_two_packs_of_one_distribution_are_beside_each_other(site: Path, tmp_path: Path) -> None:
    both = {
        "acme/packs/refunds/pack.ael": pack("refunds", "1.2.3", 'depends ledger "2" from "../ledger"'),
        "acme/packs/refunds/main.ael": "pub fn double(n: Int) -> Int {\n  n + n\n}\n",
        "acme/packs/ledger/pack.ael": pack("ledger", "2.0.0"),
        "acme/packs/ledger/main.ael": "pub fn one() -> Int {\n  1\n}\n",
    }
    install(site, wheel(tmp_path / "w", "acme", "1.0", both, entry("refunds", "acme.packs.refunds")))
    program, said = opened(tmp_path, DESK)
    assert said == []
    assert program is not None
    assert program.project.packs["ledger"].resolved.installed, "what is beside it is installed too"


def test_the_programs_own_folder_goes_before_what_is_installed(built: Path, site: Path, tmp_path: Path) -> None:
    install(site, built)
    near = {"near/pack.ael": pack("refunds", "1.9.0"), "near/main.ael": REFUNDS["acme_refunds/main.ael"]}
    middle = {"middle/pack.ael": pack("middle", "1.0.0", 'depends refunds "1"'), "middle/main.ael": ""}
    depends = ('depends refunds "1.2" from "../near"', 'depends middle "1" from "../middle"')
    program, said = opened(tmp_path, {**DESK, **near, **middle, "desk/pack.ael": pack("desk", "1", *depends)})
    assert said == []
    assert program is not None
    assert program.project.packs["refunds"].pack.version == "1.9.0"


def test_a_distribution_that_is_worked_on_is_found_where_it_is(tmp_path: Path, site: Path) -> None:
    """An editable installation: the metadata is on the path, the package elsewhere on it."""
    fake(site, "acme-refunds", entry("refunds", "acme_refunds"))
    source = tmp_path / "source"
    write(source, {**REFUNDS, "acme_refunds/__init__.py": ""})
    assert "acme_refunds" not in sys.modules
    sys.path.append(str(source))
    try:
        found = installed.find("refunds")
    finally:
        sys.path.remove(str(source))
    assert found.root == (source / "acme_refunds").resolve()
    assert "acme_refunds" not in sys.modules


# --- not found -------------------------------------------------------------------------------------------------------------


def test_what_is_not_installed_says_what_to_do(site: Path, tmp_path: Path) -> None:
    _, said = opened(tmp_path, DESK)
    assert said == ["desk/pack.ael AEL0809 3:11 no installed distribution has a pack `refunds`"]


@pytest.mark.parametrize(
    "value",
    [
        *(
            "acme_refunds:main",
            "../acme_refunds",
            "/etc",
            "acme refunds",
            "",
            ".",
            "acme_refunds.",
            "acme_refunds[extra]",
            "os.path",
        ),
        *("ael_no_such_package", "a" * 5_000, "acme_refunds.missing", "acmé", "json"),
    ],
)
def test_an_entry_point_that_names_no_pack_is_refused(site: Path, tmp_path: Path, value: str) -> None:
    fake(site, "acme-refunds", entry("refunds", value))
    write(site, REFUNDS)
    _, said = opened(tmp_path, DESK)
    assert codes(said) == ["AEL0809"]
    assert "acme_refunds" not in sys.modules


@pytest.mark.parametrize(
    "entries",
    [
        b"\xff\xfe\x00",
        b"[ael.packs]\nrefunds\n",
        b"[ael.packs\nrefunds = x\n",
        b"no section = 1\n",
        b"[ael.packs]\nrefunds = \n" * 3,
    ],
)
def test_a_broken_distribution_is_in_nobodys_way(built: Path, site: Path, tmp_path: Path, entries: bytes) -> None:
    install(site, built)
    fake(site, "broken-thing", entries)
    (fake(site, "nameless", b"") / "METADATA").unlink()
    program, said = opened(tmp_path, DESK)
    if program is None:
        assert codes(said) == ["AEL0809"], "one that says that it has the pack too is told"
        assert "broken" in said[0]
    else:
        assert said == []


def test_two_distributions_with_one_pack_are_refused(built: Path, site: Path, tmp_path: Path) -> None:
    install(site, built)
    fake(site, "evil-refunds", entry("refunds", "evil"))
    _, said = opened(tmp_path, DESK)
    assert said == [
        "desk/pack.ael AEL0809 3:11 more than one installed distribution has a pack `refunds`: `acme-refunds` and `evil-refunds`"
    ]


@pytest.mark.parametrize("origin", ["../../outside", "..", "../../../..", "/etc"])
def test_an_installed_pack_does_not_lead_out_of_its_distribution(site: Path, tmp_path: Path, origin: str) -> None:
    write(
        tmp_path,
        {
            "outside/pack.ael": pack("ledger", "2.0.0"),
            "pack.ael": pack("ledger", "2.0.0"),
            "site/pack.ael": pack("ledger", "2.0.0"),
        },
    )
    refunds = {**REFUNDS, "acme_refunds/pack.ael": pack("refunds", "1.2.3", f'depends ledger "2" from "{origin}"')}
    install(site, wheel(tmp_path / "w", "acme-refunds", "1.2", refunds, entry("refunds", "acme_refunds")))
    _, said = opened(tmp_path, DESK)
    assert codes(said) == ["AEL0809"]


def test_a_link_out_of_a_distribution_is_no_pack_of_it(site: Path, tmp_path: Path) -> None:
    write(tmp_path, {"outside/pack.ael": pack("refunds", "1.2.3"), "outside/main.ael": ""})
    fake(site, "acme-refunds", entry("refunds", "acme.refunds"))
    (site / "acme").mkdir()
    (site / "acme" / "refunds").symlink_to(tmp_path / "outside")
    _, said = opened(tmp_path, DESK)
    assert codes(said) == ["AEL0809"]


def test_another_name_in_the_pack_than_in_the_entry_point(site: Path, tmp_path: Path) -> None:
    wrong = {**REFUNDS, "acme_refunds/pack.ael": pack("returns", "1.2.3")}
    install(site, wheel(tmp_path / "w", "acme-refunds", "1.2", wrong, entry("refunds", "acme_refunds")))
    _, said = opened(tmp_path, DESK)
    assert codes(said) == ["AEL0821"]


def test_what_is_not_installed_is_an_error_of_its_own() -> None:
    with pytest.raises(NotInstalled, match="no installed distribution has a pack `no_such_pack`") as caught:
        installed.find("no_such_pack")
    assert "from" in caught.value.note
