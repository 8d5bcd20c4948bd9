"""`ael bundle`: a program as one file, the same each time, that is installed only as it was made and within what it says it requires."""

from __future__ import annotations

import io
import json
import random
import sys
import zipfile
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ael.cli.main import main
from ael.project.bundle import MANIFEST, BundleError, unpacked

pytestmark = pytest.mark.feature("A17.11", "A17.7")
FILES = {
    "desk/main.ael": (
        "use orders.{refund}\n\nnode main(id: String) -> String\n  grants orders.shop.refund\n{\n  refund(id)\n}\n\n"
        'pub node told(letter: String) -> String\n  model fast\n  policy one_call\n{\n  instructions from "how.md"\n  input letter\n}\n\n'
        "model fast {\n  provider anthropic\n  name \"claude-haiku-4-5\"\n}\n"
    ),
    "desk/how.md": "Answer in one sentence.\n",
    "desk/pack.ael": (
        'pack desk {\n  version "1.2.0"\n  uses server/connect\n  extern "no_such_bank"\n  depends orders "1" from "../orders"\n}\n'
    ),
    "desk/deploy.ael": 'secret KEY = env("NO_SUCH_KEY")\nmodel fast = scripted("script.json")\n',
    "desk/script.json": '[{"text": "Yes."}]\n',
    "desk/tools.py": "def secret(): ...\n",
    "orders/pack.ael": 'pack orders {\n  version "1.0.0"\n  extern "no_such_bank"\n}\n',
    "orders/main.ael": (
        "permission shop.refund\npermission shop.read\n\n/// Give money back. Call it once.\npub tool refund(id: String) -> String\n"
        '  needs shop.refund\n  repeat idempotent\n  extern "no_such_bank:refund"\n'
    ),
}  # fmt: skip


@pytest.fixture
def desk(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    for name, text in FILES.items():
        file = tmp_path / "made" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    assert main(["deps", "lock", "--in", str(tmp_path / "made" / "desk")]) == 0
    capsys.readouterr()
    return tmp_path / "made" / "desk"


def made(desk: Path, *words: str) -> Path:
    out = desk.parent.parent / f"{len(words)}.aelb"
    assert main(["bundle", "make", str(desk), "-o", str(out), *words]) == 0
    return out


def repacked(data: bytes, change: Callable[[dict[str, bytes]], None], *, honest: bool = True) -> bytes:
    """The bundle with other contents; `honest`: with digests that fit."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    change(contents)
    if honest:
        manifest = json.loads(contents[MANIFEST])
        manifest["files"] = {name: sha256(text).hexdigest() for name, text in contents.items() if name != MANIFEST}
        contents[MANIFEST] = json.dumps(manifest).encode()
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, text in contents.items():
            archive.writestr(name, text)
    return out.getvalue()


def test_a_bundle_is_the_same_each_time_and_holds_no_python_and_no_secret(desk: Path) -> None:
    first = made(desk, "--deploy", "default", "--include", str(desk / "script.json")).read_bytes()
    (desk / "main.ael").touch()
    assert made(desk, "--deploy", "default", "--include", str(desk / "script.json")).read_bytes() == first
    found = unpacked(first)
    assert sorted(found.contents) == [
        "desk/ael.lock", "desk/deploy.ael", "desk/how.md", "desk/main.ael", "desk/pack.ael", "desk/script.json", "orders/main.ael",
        "orders/pack.ael",
    ]  # fmt: skip
    needs = found.requires
    assert (needs.permissions, needs.packages, needs.externs) == (("orders.shop.refund",), ("server/connect",), ("no_such_bank",))
    assert (needs.models, needs.secrets, found.main, found.deployments) == (
        ("main.fast",),
        ("KEY",),
        "desk/main.ael",
        ("default",),
    )


def test_it_says_what_is_missing_before_anything_is_installed(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = made(desk)
    capsys.readouterr()
    assert main(["bundle", "check", str(out)]) == 1
    told = capsys.readouterr().out
    assert told.startswith("desk 1.2.0, made by AEL ")
    assert "  permissions: orders.shop.refund\n" in told
    assert "  missing here: the Python module `no_such_bank`\n" in told
    assert main(["bundle", "check", str(out), "--format", "json"]) == 1
    assert json.loads(capsys.readouterr().out)["missing"] == ["the Python module `no_such_bank`"]


def test_it_is_installed_whole_into_a_new_folder_and_checks_there(
    desk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = made(desk, "--deploy", "default", "--include", str(desk / "script.json"))
    target = tmp_path / "there" / "desk"
    assert main(["bundle", "install", str(out), str(target), "--allow", "orders.shop.refund, other"]) == 0
    installed = Path(capsys.readouterr().out.strip().splitlines()[-1])
    assert installed == target / "desk" / "main.ael"
    for name, text in FILES.items():
        if not name.endswith(".py"):
            assert (target / name).read_text(encoding="utf-8") == text
    assert main(["check", str(installed)]) == 0
    assert main(["bundle", "install", str(out), str(target)]) == 2
    assert "is there already" in capsys.readouterr().err
    assert [file.name for file in target.parent.iterdir()] == ["desk"]


def test_what_it_requires_is_a_ceiling(desk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = made(desk)
    assert main(["bundle", "install", str(out), str(tmp_path / "a"), "--allow", "orders.shop.read"]) == 1
    assert "is not installed: it requires orders.shop.refund" in capsys.readouterr().err

    def hide(contents: dict[str, bytes]) -> None:
        manifest = json.loads(contents[MANIFEST])
        manifest["requires"]["permissions"] = []
        contents[MANIFEST] = json.dumps(manifest).encode()

    out.write_bytes(repacked(out.read_bytes(), hide))
    assert main(["bundle", "install", str(out), str(tmp_path / "a"), "--allow", ""]) == 1
    assert "it needs the permission orders.shop.refund, which its manifest does not say" in capsys.readouterr().err

    def spoil(contents: dict[str, bytes]) -> None:
        contents["desk/main.ael"] = b"node main() -> Int { nothing }\n"

    out.write_bytes(repacked(out.read_bytes(), spoil))
    assert main(["bundle", "install", str(out), str(tmp_path / "a")]) == 2
    assert "AEL0202" in capsys.readouterr().err
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda c: c.update({"desk/main.ael": b"changed"}), "it was changed after it was made"),
        (lambda c: c.update({"desk/more.ael": b""}), "it was changed after it was made"),
        (lambda c: c.pop("desk/how.md"), "it was changed after it was made"),
        (lambda c: c.pop(MANIFEST), "it has no `ael-bundle.json`"),
        (lambda c: c.update({MANIFEST: b"{"}), "its manifest is no JSON"),
        (lambda c: c.update({MANIFEST: b"{}"}), "its manifest is not whole"),
        (lambda c: c.update({MANIFEST: c[MANIFEST].replace(b'"form": 1', b'"form": 2')}), "install a newer AEL"),
        (lambda c: c.update({MANIFEST: c[MANIFEST].replace(b'"permissions": [', b'"permissions": [3, ')}), "its manifest is not whole"),
        (lambda c: c.update({"../out.ael": b""}), "no plain file below its folder"),
        (lambda c: c.update({"/etc/out.ael": b""}), "no plain file below its folder"),
        (lambda c: c.update({"desk\\out.ael": b""}), "no plain file below its folder"),
        (lambda c: c.update({"c:/out.ael": b""}), "no plain file below its folder"),
        (lambda c: c.update({"desk/MAIN.ael": b""}), "twice"),
        (lambda c: c.update({"desk/folder/": b""}), "no plain file below its folder"),
        (lambda c: c.update({f"desk/{'n' * 201}": b""}), "no plain file below its folder"),
        (lambda c: c.update({"desk/\u00e9.md": b"", "desk/e\u0301.md": b""}), "twice"),
        (lambda c: c.update({"desk/tools.py": b"print()"}), "is code in Python, which does not travel"),
        (lambda c: c.update({"desk/tools.ABI3.so": b""}), "is code in Python, which does not travel"),
        (lambda c: c.update({"desk/.git/config": b""}), "is hidden"),
        (lambda c: c.update({"desk/how.md/x.md": b""}), "a file in it is a folder as well"),
    ],
)  # fmt: skip
def test_what_is_not_as_it_was_made_is_refused_and_nothing_is_written(
    desk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], change: Callable[[dict[str, bytes]], None], told: str
) -> None:
    out = made(desk)
    out.write_bytes(repacked(out.read_bytes(), change, honest=False))
    assert main(["bundle", "install", str(out), str(tmp_path / "a")]) == 2
    assert told in capsys.readouterr().err
    assert not (tmp_path / "a").exists()


def test_a_deployment_that_nobody_is_told_of_is_refused(desk: Path) -> None:
    with pytest.raises(BundleError, match="its deployments are not those that its manifest lists"):
        unpacked(repacked(made(desk).read_bytes(), lambda c: c.update({"desk/deploy.ael": b"runs = memory"})))


def test_the_words_of_a_bundle_steer_nothing_and_import_nothing(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def hostile(contents: dict[str, bytes]) -> None:
        manifest = json.loads(contents[MANIFEST])
        manifest["name"] = "desk\x1b[31m\n  missing here: nothing"
        manifest["requires"]["externs"] += ["antigravity.x", "json.tool", "json.none"]
        contents[MANIFEST] = json.dumps(manifest).encode()

    out = made(desk)
    out.write_bytes(repacked(out.read_bytes(), hostile))
    capsys.readouterr()
    sys.modules.pop("antigravity", None)
    assert main(["bundle", "check", str(out)]) == 1
    assert "antigravity" not in sys.modules
    told = capsys.readouterr().out
    assert "\x1b" not in told
    assert "\n  missing here: nothing" not in told
    assert "`json.none`" in told
    assert "`json.tool`" not in told


def test_an_archive_that_is_packed_in_another_way_is_refused() -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr(MANIFEST, "{}" * 50)
    with pytest.raises(BundleError, match="packed in a way"):
        unpacked(out.getvalue())


def test_it_is_installed_into_the_empty_folder_that_one_is_in(
    desk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = made(desk)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert main(["bundle", "install", str(out), "."]) == 0
    assert Path("desk/main.ael").is_file()


def test_a_link_and_an_archive_that_grows_are_refused(desk: Path) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        link = zipfile.ZipInfo("desk/link")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc/passwd")
    with pytest.raises(BundleError, match="no plain file"):
        unpacked(out.getvalue())
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("desk/zeros", bytes(130 * 1024 * 1024))
    with pytest.raises(BundleError, match="more than a bundle may"):
        unpacked(out.getvalue())


@given(st.binary(max_size=200))
def test_any_bytes_are_a_bundle_or_are_refused(data: bytes) -> None:
    with pytest.raises(BundleError):
        unpacked(data)


def test_a_bundle_with_broken_bytes_is_refused(desk: Path) -> None:
    good = made(desk).read_bytes()
    chance = random.Random(7)
    for _ in range(300):
        bad = bytearray(good)
        for _ in range(chance.randint(1, 4)):
            bad[chance.randrange(len(bad))] = chance.randrange(256)
        try:
            found = unpacked(bytes(bad[: chance.randrange(len(bad)) or None] if chance.random() < 0.2 else bad))
        except BundleError:
            continue
        assert found.contents == unpacked(good).contents


def test_what_cannot_be_bundled(desk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(tmp_path / "x.aelb")
    alone = tmp_path / "alone.ael"
    alone.write_text("node main() -> Int { 1 }\n")
    for words, code, told in (
        ([str(alone)], 2, "a program that is bundled is a pack"),
        ([str(desk), "--include", str(desk / "tools.py")], 2, "is code in Python, which does not travel"),
        ([str(desk), "--include", str(alone)], 2, "is no file in the folder of the program"),
        ([str(desk), "--deploy", "none"], 2, "there is no deployment `none`"),
        ([str(tmp_path / "nowhere")], 2, "nowhere"),
    ):
        assert main(["bundle", "make", *words, "-o", out]) == code
        assert told in capsys.readouterr().err
        assert not Path(out).exists()
    assert main(["bundle", "check", str(tmp_path / "none.aelb")]) == 2
    assert "no such file" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["bundle"])
