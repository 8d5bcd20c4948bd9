"""Makes what the editors' files take from the list of words: `python -m editors.generate`. A test shows that they are fresh."""

from __future__ import annotations

from pathlib import Path

from ael.editor.language import typescript
from editors.making.common import as_json
from editors.making.emacs import emacs
from editors.making.textmate import textmate
from editors.making.treesitter import highlights, listed
from editors.making.vim import vim
from editors.making.vscode import configuration, package, snippets

HERE = Path(__file__).resolve().parent


def generated() -> dict[Path, str]:
    """Every generated file with its text."""
    return {
        HERE / "vscode/syntaxes/ael.tmLanguage.json": as_json(textmate()),
        HERE / "vscode/language-configuration.json": as_json(configuration()),
        HERE / "vscode/snippets/ael.json": as_json(snippets()),
        HERE / "vscode/package.json": as_json(package()),
        HERE / "vscode/src/language.ts": typescript(),
        HERE / "vim/syntax/ael.vim": vim(),
        HERE / "emacs/ael-words.el": emacs(),
        HERE / "tree-sitter-ael/words.json": as_json(listed()),
        HERE / "tree-sitter-ael/queries/highlights.scm": highlights(),
    }


if __name__ == "__main__":
    for path, text in generated().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
