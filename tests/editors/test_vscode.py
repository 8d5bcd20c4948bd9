"""The VS Code extension: built and packaged by the registry's own tools in an empty copy, loaded, and at work with `ael lsp`."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ael import __version__
from ael.diagnostics.codes import TITLES
from tests.editors.tools import ROOT, SCRIPTS, environment, own
from tests.external.node_tools import _locked as locked
from tests.external.node_tools import cache

pytestmark = [pytest.mark.feature("B21", "C2"), pytest.mark.xdist_group("vscode"), pytest.mark.timeout(600)]

SOURCE = ROOT / "editors" / "vscode"
PART = "the VS Code extension"
SECONDS = 300
WRONG = "node main() -> String {\n  missing\n}\n"
RIGHT = 'node main() -> String {\n  "a"\n}\n'


def run(words: list[str], folder: Path) -> str:
    """What a command prints; it has to succeed."""
    done = subprocess.run(words, cwd=folder, env=environment(), capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == 0, f"{' '.join(words)}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout


def packages() -> Path:
    """The `node_modules` that the committed lock says, installed once for each lock."""
    npm = own("npm", PART)
    files = ("package.json", "package-lock.json", ".npmrc")
    key = hashlib.sha256((SOURCE / "package-lock.json").read_bytes()).hexdigest()[:12]
    folder = cache() / f"vscode-{key}"
    with locked(folder):
        if not folder.is_dir():
            _install(npm, files, folder)
    return folder / "node_modules"


def _install(npm: str, files: tuple[str, ...], folder: Path) -> None:
    """Into a folder beside it first: a folder that is there is whole."""
    with tempfile.TemporaryDirectory(prefix="vscode.", dir=folder.parent, ignore_cleanup_errors=True) as made:
        for name in files:
            shutil.copy(SOURCE / name, made)
        run([npm, "ci", "--loglevel=error"], Path(made))
        Path(made).rename(folder)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what is committed, with the packages, checked, built and packaged as `ael.vsix`."""
    folder = tmp_path_factory.mktemp("vscode") / "extension"
    shutil.copytree(SOURCE, folder, ignore=shutil.ignore_patterns("node_modules", "dist", "*.vsix"))
    (folder / "node_modules").symlink_to(packages())
    run([own("npm", PART), "run", "--silent", "package"], folder)
    return folder


class Editor:
    """The stand-in for the editor: takes one line at a time."""

    def __init__(self, bundle: Path, folder: Path, settings: dict[str, Any], path: str | None = None) -> None:
        words = [own("node", PART), str(ROOT / "tests/editors/vscode.cjs"), str(bundle), str(folder), json.dumps(settings)]
        env = environment()
        env.pop("VIRTUAL_ENV", None)
        if path is not None:
            env["PATH"] = path
        self.process = subprocess.Popen(words, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def do(self, what: str, **more: Any) -> Any:
        """What the stand-in answers."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps({"do": what, **more}) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        assert "failed" not in answer, answer["failed"]
        return answer["ok"]

    def close(self) -> None:
        """End it."""
        self.process.kill()
        self.process.communicate()


Start = Callable[..., Editor]


@pytest.fixture
def start(built: Path, tmp_path: Path) -> Iterator[Start]:
    """Starts an editor on a folder."""
    editors: list[Editor] = []

    def begin(settings: dict[str, Any] | None = None, path: str | None = None) -> Editor:
        editors.append(Editor(built / "dist" / "extension.js", tmp_path, settings or {}, path))
        return editors[-1]

    yield begin
    for editor in editors:
        editor.close()


def test_the_lock_names_no_host() -> None:
    lock = json.loads((SOURCE / "package-lock.json").read_text("utf-8"))
    assert lock["packages"][""]["devDependencies"] == json.loads((SOURCE / "package.json").read_text("utf-8"))["devDependencies"]
    assert not [name for name, package in lock["packages"].items() if "resolved" in package]
    assert all(package.get("integrity") for name, package in lock["packages"].items() if name)


def test_the_package_holds_what_the_manifest_names(built: Path) -> None:
    with zipfile.ZipFile(built / "ael.vsix") as archive:
        names = {name.removeprefix("extension/") for name in archive.namelist()}
        manifest = json.loads(archive.read("extension/package.json"))
        bundle = archive.read("extension/dist/extension.js").decode()
    contributes = manifest["contributes"]
    named = [
        contributes["languages"][0]["configuration"],
        contributes["grammars"][0]["path"],
        contributes["snippets"][0]["path"],
        manifest["main"],
    ]
    assert {name.removeprefix("./") for name in named} <= names
    assert {"readme.md", "LICENSE.txt"} <= names
    assert not [name for name in names if name.endswith((".ts", ".lock", ".map")) or "node_modules" in name]
    assert manifest["version"] == __version__
    assert {command["command"] for command in contributes["commands"]} == set(
        re.findall(r'"(ael\.(?:run|test|graph|explain|studio|restart|output))"', bundle)
    )


def test_it_starts_the_server_of_the_workspace_and_shows_its_diagnostics(start: Start, tmp_path: Path) -> None:
    folder = tmp_path / ".venv" / "bin"
    folder.mkdir(parents=True)
    (folder / "ael").symlink_to(SCRIPTS / "ael")
    file = tmp_path / "main.ael"
    file.write_text(WRONG, encoding="utf-8")
    editor = start(path=str(tmp_path))
    editor.do("activate")
    assert editor.do("ready") == f"AEL: ready ({folder / 'ael'})"
    editor.do("open", file=str(file), text=WRONG)
    (found,) = editor.do("diagnostics", count=1)
    assert found == {"message": "there is no name `missing`", "line": 1, "from": 2, "to": 9, "code": "AEL0202"}
    editor.do("edit", text=RIGHT)
    assert editor.do("diagnostics", count=0) == []
    editor.do("command", name="ael.restart")
    editor.do("edit", text=WRONG)
    assert editor.do("diagnostics", count=1) == [found]
    assert editor.do("deactivate")


def test_nothing_of_a_workspace_that_is_not_trusted_is_started(start: Start, tmp_path: Path) -> None:
    folder = tmp_path / ".venv" / "bin"
    folder.mkdir(parents=True)
    (folder / "ael").write_text(f"#!/bin/sh\ntouch {shlex.quote(str(tmp_path / 'started'))}\n", encoding="utf-8")
    (folder / "ael").chmod(0o755)
    file = tmp_path / "main.ael"
    file.write_text(RIGHT, encoding="utf-8")
    editor = start({"trusted": False})
    editor.do("activate")
    editor.do("open", file=str(file), text=RIGHT)
    for name, args in (("ael.run", []), ("ael.studio", []), ("ael.explain", ["AEL0203"])):
        done = editor.do("command", name=name, args=args, typed="")
        assert done["shown"] == [["error", "AEL: this workspace is not trusted, so nothing of it is started."]]
        assert done["executed"] == []
    editor.do("command", name="ael.restart")
    assert editor.do("ready") == "AEL: this workspace is not trusted, so nothing of it is started."
    assert editor.do("tasks") == []
    assert not (tmp_path / "started").exists()


def test_without_a_server_it_says_what_to_do(start: Start, tmp_path: Path) -> None:
    editor = start(path=str(tmp_path))
    editor.do("activate")
    told = editor.do("told")
    assert told["status"] == "AEL: there is no `ael` in the workspace's .venv and none on the PATH."
    assert told["shown"][-1][1:] == [
        "AEL: there is no `ael` in the workspace's .venv and none on the PATH.", "How to Install", "Set the Path", "Try Again",
    ]  # fmt: skip
    # A path that is set is taken or refused; a right one starts the server at once.
    editor.do("setting", name="ael.path", value="/nowhere/ael")
    assert editor.do("ready") == "AEL: the setting ael.path says “/nowhere/ael”, where there is no program."
    editor.do("setting", name="ael.path", value=str(SCRIPTS / "ael"))
    while "ready" not in editor.do("ready"):
        pass


def test_a_server_that_does_not_start_is_told(start: Start, tmp_path: Path) -> None:
    broken = tmp_path / "ael"
    broken.write_text("#!/bin/sh\necho 'no such thing' >&2\nexit 2\n", encoding="utf-8")
    broken.chmod(0o755)
    editor = start({"ael.path": str(broken)})
    editor.do("activate")
    assert "not start" in editor.do("ready")
    assert "no such thing" in "".join(editor.do("told")["log"])


def test_the_commands_run_what_is_at_the_cursor(start: Start, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples/support", tmp_path / "support")
    file = tmp_path / "support" / "main.ael"
    text = file.read_text("utf-8")
    lines = text.splitlines()
    ael = str(SCRIPTS / "ael")
    editor = start({"ael.path": ael})
    editor.do("activate")
    editor.do("open", file=str(file), text=text)
    agent = next(number for number, line in enumerate(lines) if line.startswith("agent "))
    name = lines[agent].split()[1].partition("(")[0]
    editor.do("cursor", line=agent + 1)
    done = editor.do("command", name="ael.run", typed="--ticket.customer c-1 --ticket.message 'refund  A-42'")
    flags = ["--ticket.customer", "c-1", "--ticket.message", "refund  A-42"]
    assert done["executed"] == [["task", ael, "run", str(file), name, *flags, "$ael"]]
    shown = editor.do("command", name="ael.graph")["shown"]
    assert shown[0][:2] == ["panel", name]
    assert "<svg" in shown[0][2]
    test = next(number for number, line in enumerate(lines) if line.startswith("test "))
    editor.do("cursor", line=test)
    assert editor.do("command", name="ael.graph")["shown"] == [["information", "AEL: Put the cursor into an agent."]]
    title = lines[test].split('"')[1]
    assert editor.do("command", name="ael.test")["executed"] == [
        ["task", ael, "test", str(file), "--filter", f"^{title}$", "$ael"]
    ]
    assert [agent, "$(play) run", "ael.run", name] in editor.do("lenses")
    assert [test, "$(beaker) run test", "ael.test", title] in editor.do("lenses")
    assert [ael, "check"] in editor.do("tasks")
    assert editor.do("command", name="ael.studio")["executed"] == [["task", ael, "studio", "$ael"]]
    assert editor.do("command", name="ael.explain", args=["AEL0101"])["executed"][0][0] == "markdown.showPreview"
    picked = editor.do("command", name="ael.explain", typed="AEL0203")
    assert (picked["shown"][0], picked["executed"][0][0]) == (["pick", len(TITLES)], "markdown.showPreview")


def test_the_problem_matcher_reads_what_the_check_prints(tmp_path: Path) -> None:
    (tmp_path / "main.ael").write_text(WRONG, encoding="utf-8")
    done = subprocess.run(
        [own("ael", PART), "check", "main.ael"], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60
    )
    manifest = json.loads((SOURCE / "package.json").read_text("utf-8"))
    first, second = manifest["contributes"]["problemMatchers"][0]["pattern"]
    lines = (done.stdout + done.stderr).splitlines()
    at = next(number for number, line in enumerate(lines) if re.search(first["regexp"], line))
    head, place = re.search(first["regexp"], lines[at]), re.search(second["regexp"], lines[at + 1])
    assert head is not None
    assert place is not None
    assert (head[first["severity"]], head[first["code"]], head[first["message"]]) == (
        "error",
        "AEL0202",
        "there is no name `missing`",
    )
    assert (place[second["file"]], place[second["line"]], place[second["column"]]) == ("main.ael", "2", "3")


def test_the_licence_is_the_project_s() -> None:
    assert (SOURCE / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
    assert os.stat(SOURCE / "README.md").st_size > 500
