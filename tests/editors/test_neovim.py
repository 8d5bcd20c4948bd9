"""Neovim itself, with the files of `editors/vim`, at work with `ael lsp`."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.editors.tools import GRAMMAR, ROOT, environment, language, system

pytestmark = pytest.mark.xdist_group("neovim")

PLUGIN = ROOT / "editors" / "vim"
PART = "the language server in Neovim"
SECONDS = 110
PROGRAM = """\
/// Doubles a number.
fn double(value: Int) -> Int {
  value * 2
}

node main(count: Int) -> Int {
  "😀".length() + doubel(count)
}
"""


def neovim(folder: Path, *words: str, **more: str) -> None:
    """Run it without a screen and without the user's own settings."""
    homes = {name: str(folder / name) for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME")}
    command = [system("nvim", PART), "--headless", "--clean", "--cmd", f"set runtimepath^={PLUGIN}", *words]
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment(**homes, **more),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.mark.feature("B21", "C2")
def test_neovim_works_with_the_server_by_the_standard_alone(tmp_path: Path) -> None:
    (tmp_path / "main.ael").write_text(PROGRAM, encoding="utf-8")
    out = tmp_path / "out.json"
    neovim(tmp_path, "main.ael", "-c", f"luafile {ROOT / 'tests/editors/nvim.lua'}", AEL_TEST_OUT=str(out))
    found = json.loads(out.read_text("utf-8"))
    assert "problem" not in found, found
    assert found["filetype"] == "ael"
    assert found["syntax"] == "aelDoc"
    (row, start, end, code, message), *_ = found["diagnostics"]
    before = len('  "😀".length() + '.encode())
    assert (row, start, end, code) == (6, before, before + 6, "AEL0202")
    assert message == "there is no function `doubel`; did you mean `double`?"
    assert "fn double(value: Int) -> Int" in found["hover"]
    assert "Doubles a number." in found["hover"]
    assert found["definition"] == {"line": 1, "character": 3}
    assert "count" in found["completion"]
    assert found["renamed"][1] == "fn twice(value: Int) -> Int {"
    assert found["renamed"][6] == '  "😀".length() + twice(count)'
    assert found["symbols"] == ["twice", "main"]
    assert found["formatted"] == found["renamed"]
    assert found["clients"] == 1


LUA = """
vim.g.ael_path = nil
local ael = require('ael')
local config = dofile('{plugin}/lsp/ael.lua')
local started
vim.lsp.rpc.start = function(command) started = command end
config.cmd({{}}, {{ root_dir = '{folder}' }})
local enabled
vim.lsp.enable = function(name) enabled = name end
vim.lsp.config = {{}}
vim.g.ael_loaded = nil
dofile('{plugin}/plugin/ael.lua')
vim.g.ael_path = '~/ael'
local given = ael.command('{folder}')[1]
local result = {{ started, config.filetypes, config.root_markers, enabled, ael.root('{folder}/sub/a.ael'), given }}
vim.fn.writefile({{ vim.fn.json_encode(result) }}, '{folder}/out.json')
vim.cmd('qall!')
"""


@pytest.mark.feature("B21")
def test_what_newer_versions_of_neovim_are_told(tmp_path: Path) -> None:
    """`vim.lsp.enable` came with 0.11: the configuration it reads, and where the program and its root are found."""
    (tmp_path / ".venv/bin").mkdir(parents=True)
    (tmp_path / "sub").mkdir()
    (tmp_path / "pack.ael").touch()
    ael = tmp_path / ".venv/bin/ael"
    ael.write_text("#!/bin/sh\n", encoding="utf-8")
    ael.chmod(0o755)
    (tmp_path / "t.lua").write_text(LUA.format(plugin=PLUGIN, folder=tmp_path), encoding="utf-8")
    neovim(tmp_path, "-c", f"luafile {tmp_path / 't.lua'}")
    command, filetypes, markers, enabled, root, given = json.loads((tmp_path / "out.json").read_text("utf-8"))
    assert command == [str(ael), "lsp"]
    assert (filetypes, markers, enabled) == (["ael"], ["pack.ael", ".git"], "ael")
    assert root == str(tmp_path)
    assert given == str(Path.home() / "ael")


VIM_LSP = """
function! lsp#register_server(info)
  call add(g:told, [a:info.name, a:info.cmd({}), a:info.allowlist])
endfunction
"""
VIM = """
let g:ael_lsp = 0
let g:told = []
set runtimepath^={folder}
function! LspAddServer(servers)
  call add(g:told, [a:servers[0].name, [a:servers[0].path] + a:servers[0].args, a:servers[0].filetype])
endfunction
source {plugin}/plugin/ael.vim
doautocmd User lsp_setup
doautocmd User LspSetup
call writefile([json_encode(g:told)], '{folder}/out.json')
qall!
"""


@pytest.mark.feature("B21")
def test_the_plugins_of_vim_are_told_of_the_server(tmp_path: Path) -> None:
    """vim-lsp and yegappan/lsp, by the functions that they have for it (the same script language runs in Neovim)."""
    (tmp_path / "autoload").mkdir()
    (tmp_path / "autoload/lsp.vim").write_text(VIM_LSP, encoding="utf-8")
    (tmp_path / "t.vim").write_text(VIM.format(plugin=PLUGIN, folder=tmp_path), encoding="utf-8")
    neovim(tmp_path, "-S", str(tmp_path / "t.vim"))
    assert json.loads((tmp_path / "out.json").read_text("utf-8")) == [["ael", ["ael", "lsp"], ["ael"]]] * 2


TREE = """
vim.treesitter.require_language('ael', '{folder}/ael.so')
vim.treesitter.set_query('ael', 'highlights', table.concat(vim.fn.readfile('{queries}/highlights.scm'), '\\n'))
local parser = vim.treesitter.get_parser(0, 'ael')
local root = parser:parse()[1]:root()
local query = vim.treesitter.get_query('ael', 'highlights')
local found = {{}}
for id, node in query:iter_captures(root, 0, 0, -1) do
  local row, column = node:start()
  if row == 1 then found[#found + 1] = {{ query.captures[id], column }} end
end
vim.fn.writefile({{ vim.fn.json_encode({{ tostring(root:has_error()), found }}) }}, '{folder}/out.json')
vim.cmd('qall!')
"""


@pytest.mark.feature("C12")
def test_neovim_takes_the_tree_sitter_grammar(tmp_path: Path) -> None:
    language(tmp_path)
    (tmp_path / "main.ael").write_text("// One.\nfn double(value: Int) -> Int { value * 2 }\n", encoding="utf-8")
    (tmp_path / "t.lua").write_text(TREE.format(folder=tmp_path, queries=GRAMMAR / "queries"), encoding="utf-8")
    neovim(tmp_path, "--cmd", "let g:ael_lsp = 0", "main.ael", "-c", f"luafile {tmp_path / 't.lua'}")
    error, found = json.loads((tmp_path / "out.json").read_text("utf-8"))
    assert error == "false"
    assert ["keyword", 0] in found
    assert ["function", 3] in found
    assert ["variable.parameter", 10] in found
    assert ["type.builtin", 17] in found


@pytest.mark.feature("C12")
@pytest.mark.parametrize("folder", ["examples", "stdlib"])
def test_every_word_of_the_examples_has_a_group(folder: str, tmp_path: Path) -> None:
    """In one run over all files: what no rule of the syntax file matches."""
    sources = [path for path in sorted((ROOT / folder).rglob("*.ael")) if path.is_file()]
    out, script = tmp_path / "groups", tmp_path / "dump.vim"
    script.write_text(
        f"""
        syntax on
        let found = []
        for file in readfile('{tmp_path}/files')
          execute 'edit' fnameescape(file)
          for line in range(1, line('$'))
            for col in range(1, len(getline(line)))
              let char = getline(line)[col - 1]
              if char !~ '[[:space:].{{}}]' && synIDattr(synID(line, col, 1), 'name') == ''
                call add(found, file . ':' . line . ':' . col . ' ' . char)
              endif
            endfor
          endfor
        endfor
        call writefile(found, '{out}')
        qall!
        """.replace("\n        ", "\n"),
        encoding="utf-8",
    )
    (tmp_path / "files").write_text("".join(f"{path}\n" for path in sources), encoding="utf-8")
    neovim(tmp_path, "--cmd", "let g:ael_lsp = 0", "-S", str(script))
    assert out.read_text("utf-8").splitlines() == []


def test_the_parts_of_the_plugin_are_there() -> None:
    names = {str(path.relative_to(PLUGIN)) for path in PLUGIN.rglob("*") if path.is_file()}
    assert names == {
        "ftdetect/ael.vim",
        "ftplugin/ael.vim",
        "syntax/ael.vim",
        "plugin/ael.vim",
        "plugin/ael.lua",
        "lua/ael.lua",
        "lsp/ael.lua",
    }
