"""Emacs itself: the modes are compiled without a warning, indent as `ael fmt` does, colour what is a word, and work with `ael lsp`."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from tree_sitter import Language, Query

from ael.editor.words import words
from tests.editors.tools import ROOT, environment, language, not_run, system

pytestmark = pytest.mark.xdist_group("emacs")

MODES = ROOT / "editors" / "emacs"
PART = "the mode of Emacs"
SECONDS = 110
SOURCES = [path for folder in ("examples", "stdlib") for path in sorted((ROOT / folder).rglob("*.ael")) if path.is_file()]


def emacs(*more: str, load: Path = MODES, **variables: str) -> str:
    """What it says, run without a screen."""
    command = [system("emacs", PART), "--batch", "-q", "-L", str(load), *more]
    env = environment(**variables)
    done = subprocess.run(
        command, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    return done.stdout + done.stderr


def seen(files: list[Path], folder: Path) -> dict[str, dict[str, list[str]]]:
    """What the mode makes of files: see `mode.el`."""
    out = folder / "out.json"
    emacs(
        "-l",
        str(ROOT / "tests/editors/mode.el"),
        "-f",
        "test-all",
        AEL_TEST_FILES="\n".join(map(str, files)),
        AEL_TEST_OUT=str(out),
    )
    found: dict[str, dict[str, list[str]]] = json.loads(out.read_text("utf-8"))
    return found


def test_the_modes_compile_without_a_warning(tmp_path: Path) -> None:
    names = [shutil.copy(path, tmp_path) for path in sorted(MODES.glob("*.el"))]
    assert {Path(name).name for name in names} == {"ael-mode.el", "ael-ts-mode.el", "ael-words.el"}
    said = emacs("--eval", "(setq byte-compile-error-on-warn t)", "-f", "batch-byte-compile", *names, load=tmp_path)
    assert "Warning" not in said
    assert len(list(tmp_path.glob("*.elc"))) == len(names)


def test_it_indents_every_formatted_file_as_it_is(tmp_path: Path) -> None:
    found = seen(SOURCES, tmp_path)
    assert len(found) == len(SOURCES)
    assert [line for one in found.values() for line in one["moved"]] == []


COLOURED = """\
//! Of the module.
/// Reads one.
tool read_order(type: String, r: Int) -> Order fails NotFound
  needs orders.read
  repeat idempotent
{
  // A comment with "quotes" and ${nothing}.
  let text = "a ${r} \\" // no comment" + r"\\" + \"\"\"
    "inside" // text
  \"\"\"
  text.error
}
"""


def test_it_colours_what_is_what(tmp_path: Path) -> None:
    file = tmp_path / "main.ael"
    file.write_text(COLOURED, encoding="utf-8")
    faces = [(text, face) for text, face in seen([file], tmp_path)[str(file)]["faces"]]
    plain = {text.strip(): face.removeprefix("font-lock-").removesuffix("-face") for text, face in faces}
    assert plain["//! Of the module.\n/// Reads one."] == "doc"
    assert [plain[word] for word in ("tool", "fails", "needs", "repeat", "idempotent", "let")] == ["keyword"] * 6
    assert plain["read_order"] == "function-name"
    assert plain["type"] == "variable-name"
    assert [plain[word] for word in ("String", "Int", "Order", "NotFound")] == ["type"] * 4
    assert plain['A comment with "quotes" and ${nothing}.'] == "comment"
    assert plain["${r}"] == "(font-lock-variable-name-face font-lock-string-face)"
    assert plain['\\" // no comment"'] == plain['"\\"'] == "string"
    assert plain['"""\n    "inside" // text\n  """'] == "string"
    assert plain["error"] == "default"


def test_every_word_is_listed_for_it() -> None:
    text = (MODES / "ael-words.el").read_text("utf-8")
    for name, listed in words().items():
        found = re.search(rf"\(defconst ael-words-{name}\n  '\(([^)]*)\)", text)
        assert found is not None
        assert re.findall(r'"([^"]+)"', found[1]) == list(listed)


def test_imenu_lists_the_declarations(tmp_path: Path) -> None:
    file = ROOT / "examples/support/main.ael"
    index = seen([file], tmp_path)[str(file)]["index"]
    assert {"Agents support", "Nodes classify", "Tools lookup_order", "Types Ticket", "Permissions orders.read"} <= set(index)


@pytest.mark.feature("C12")
def test_the_queries_of_the_tree_sitter_mode_are_right(tmp_path: Path) -> None:
    """Emacs before 29 knows no tree-sitter: its queries are compiled here, against the grammar itself."""
    grammar: Language = language(tmp_path)
    form = "(princ (json-encode (mapcar #'cdr ael-ts--queries)))"
    said = emacs("-l", "ael-ts-mode", "--eval", f"(progn (require 'json) {form})")
    queries, _ = json.JSONDecoder().raw_decode(said[said.index('["') :])
    assert len(queries) > 5
    for query in queries:
        assert Query(grammar, query).capture_count > 0


PROGRAM = """\
/// Doubles a number.
fn double(value: Int) -> Int {
  value * 2
}

node main(count: Int) -> Int {
  "😀".length() + doubel(count)
}
"""


@pytest.mark.feature("B21", "C2")
def test_emacs_works_with_the_server_by_the_standard_alone(tmp_path: Path) -> None:
    said = emacs(
        "--eval", "(progn (require 'package) (package-initialize) (princ (if (locate-library \"eglot\") 'there 'absent)))"
    )
    if "absent" in said:
        not_run("the language server in Emacs", "eglot, which comes with Emacs 29 and as a package (`elpa-eglot`) before")
    file, out = tmp_path / "main.ael", tmp_path / "out.json"
    file.write_text(PROGRAM, encoding="utf-8")
    emacs("-l", str(ROOT / "tests/editors/eglot.el"), "-f", "test-eglot", AEL_TEST_FILE=str(file), AEL_TEST_OUT=str(out))
    found = json.loads(out.read_text("utf-8"))
    assert found["mode"] == "ael-mode"
    ((line, text, message),) = found["diagnostics"]
    assert (line, text) == (7, "doubel")
    assert "there is no function `doubel`" in message
    assert "fn double(value: Int) -> Int" in found["hover"]
    assert "Doubles a number." in found["hover"]
    assert found["renamed"] == PROGRAM.replace("doubel", "twice").replace("double(", "twice(")
    assert found["formatted"] == found["renamed"]
