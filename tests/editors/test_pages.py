"""What the pages about editors say to write is right: the editors themselves read it where they are there, else a reader of its form."""

from __future__ import annotations

import json
import plistlib
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from tree_sitter import Query

from ael.project.shipped import shipped
from editors import zed
from tests.editors.tools import GRAMMAR, ROOT, environment, language, system
from tests.programs import blocks

PAGES = ROOT / "docs" / "editors"
EDITORS = ROOT / "editors"
PLACE = "/path/to/ael"

pytestmark = pytest.mark.feature("B21")


def code(page: str, kind: str) -> list[str]:
    """The blocks of a page in one language."""
    found = [block.text for block in blocks((PAGES / page).read_text("utf-8")) if block.language == kind]
    assert found
    return found


def test_every_editor_has_its_page_and_says_how_it_starts_the_server() -> None:
    index = (PAGES / "README.md").read_text("utf-8")
    for page in sorted(PAGES.glob("*.md")):
        if page.name == "README.md":
            continue
        assert f"({page.name})" in index
        text = page.read_text("utf-8")
        assert page.name == "grammars.md" or "ael lsp" in text or '["lsp"]' in text, page.name


def test_every_file_that_a_page_names_is_there() -> None:
    for page in (*PAGES.glob("*.md"), EDITORS / "README.md"):
        for name in re.findall(r"(?<![./\w])(?:editors|grammar)/[\w./-]+\w", page.read_text("utf-8")):
            assert (ROOT / name).exists(), f"{page.name}: {name}"


def test_helix_reads_what_the_page_says() -> None:
    (text,) = code("helix.md", "toml")
    assert text == (EDITORS / "helix/languages.toml").read_text("utf-8")
    found = tomllib.loads(text)
    (made,) = found["language"]
    assert [found["language-server"][name] for name in made["language-servers"]] == [{"command": "ael", "args": ["lsp"]}]
    (grammar,) = found["grammar"]
    assert Path(grammar["source"]["path"].replace(PLACE, str(ROOT))) == GRAMMAR


@pytest.mark.parametrize(
    ("page", "path"),
    [
        ("vim.md", ["languageserver", "ael", "command"]),
        ("zed.md", ["lsp", "ael", "binary", "path"]),
        ("other.md", ["clients", "ael", "command"]),
        ("other.md", ["servers", "ael", "command"]),
    ],
)
def test_settings_in_json_start_the_server(page: str, path: list[str]) -> None:
    for text in code(page, "json"):
        found = json.loads(text)
        for name in path:
            found = found.get(name, {}) if isinstance(found, dict) else found
        if found:
            assert Path(found[0] if isinstance(found, list) else found).name == "ael"
            return
    pytest.fail("no block has it")


def test_neovim_takes_the_blocks_of_its_page(tmp_path: Path) -> None:
    """Each is run; what came with a later version is there as a stand-in."""
    later = """
    vim.lsp.config = vim.lsp.config or function() end
    local create = vim.api.nvim_create_autocmd
    vim.api.nvim_create_autocmd = function(event, options)
      if event ~= 'LspAttach' then return create(event, options) end
      options.callback({ buf = 0, data = { client_id = 1 } })
    end
    vim.lsp.completion = vim.lsp.completion or { enable = function() end }
    """
    for number, text in enumerate(code("neovim.md", "lua")):
        (tmp_path / f"{number}.lua").write_text(
            later + text + "vim.api.nvim_exec_autocmds('FileType', { pattern = 'ael' })\n", encoding="utf-8"
        )
        command = [system("nvim", "the page about Neovim"), "--headless", "--clean", "-c", f"luafile {number}.lua", "-c", "qall!"]
        done = subprocess.run(
            command, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False
        )
        assert "rror" not in done.stderr, done.stderr


def test_vim_takes_the_block_of_its_page(tmp_path: Path) -> None:
    (text,) = code("vim.md", "vim")
    (tmp_path / "a.vim").write_text(text, encoding="utf-8")
    command = [system("nvim", "the page about Vim"), "--headless", "--clean", "-S", "a.vim", "-c", "qall!"]
    done = subprocess.run(
        command, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stderr == ""


def test_emacs_takes_the_blocks_of_its_page(tmp_path: Path) -> None:
    text = "\n".join(code("emacs.md", "elisp")).replace(PLACE, str(ROOT))
    (tmp_path / "init.el").write_text(text, encoding="utf-8")
    (tmp_path / "a.ael").touch()
    form = '(progn (setq ael-mode-hook nil) (find-file "a.ael") (princ major-mode))'
    command = [system("emacs", "the page about Emacs"), "--batch", "-Q", "-l", "init.el", "--eval", form]
    done = subprocess.run(
        command, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (0, "ael-mode"), done.stderr


def test_the_textmate_grammar_becomes_what_sublime_text_reads(tmp_path: Path) -> None:
    (line,) = [text for text in code("other.md", "sh") if "plistlib" in text]
    done = subprocess.run(
        ["sh", "-c", line.replace("> AEL.tmLanguage", f"> {tmp_path}/AEL.tmLanguage")],
        cwd=ROOT, env=environment(), capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert plistlib.loads((tmp_path / "AEL.tmLanguage").read_bytes())["scopeName"] == "source.ael"


def test_the_extension_for_zed_is_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Written for this clone: its manifest, the configuration and queries of the language. (Zed builds it with the Rust toolchain.)"""
    folder = tmp_path / "zed"
    assert zed.main([str(folder)]) == 0
    manifest = tomllib.loads((folder / "extension.toml").read_text("utf-8"))
    grammar = manifest["grammars"]["ael"]
    assert grammar["repository"] == ROOT.as_uri()
    assert re.fullmatch(r"[0-9a-f]{40}", grammar["rev"])
    assert (ROOT / grammar["path"] / "grammar.js").is_file()
    config = tomllib.loads((folder / "languages/ael/config.toml").read_text("utf-8"))
    assert (config["name"], config["grammar"]) == (manifest["language_servers"]["ael"]["languages"][0], "ael")
    assert tomllib.loads((folder / "Cargo.toml").read_text("utf-8"))["lib"]["crate-type"] == ["cdylib"]
    known = language(tmp_path)
    queries = sorted((folder / "languages/ael").glob("*.scm"))
    assert [path.stem for path in queries] == ["brackets", "highlights", "injections", "outline"]
    for path in queries:
        assert Query(known, re.sub(r"\(#[a-z]+! [^()]*\)", "", path.read_text("utf-8"))).capture_count > 0
    assert zed.main([str(folder)]) == 2
    assert "holds something" in capsys.readouterr().err
    assert zed.main([]) == 2


@pytest.mark.feature("C12")
def test_an_installation_has_the_grammars_that_the_page_says() -> None:
    assert (shipped("grammar") / "ael.lark").is_file()
    assert (shipped("grammar") / "words.toml").is_file()
    done = subprocess.run(
        [sys.executable, "-m", "pygments", "-l", "ael", "-f", "html", str(ROOT / "examples/support/main.ael")],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert '<span class="kd">agent</span>' in done.stdout
