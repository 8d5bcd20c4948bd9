"""The words for the mode of Emacs."""

from __future__ import annotations

from ael.editor.pygments import LAST_WORDS
from ael.editor.words import words


def emacs() -> str:
    """`ael-words.el`: one constant for each class of words."""
    constants = "\n".join(
        f"(defconst ael-words-{name}\n  '({_quoted(listed)})\n  \"Words of the class `{name}'.\")\n"
        for name, listed in {**words(), "last": LAST_WORDS}.items()
    )
    return (
        ";;; ael-words.el --- The words of AEL by class  -*- lexical-binding: t; -*-\n\n"
        ";; Made by `python -m editors.generate'; do not edit.\n\n"
        ";;; Commentary:\n\n;; What `ael-mode' colours.\n\n;;; Code:\n\n"
        f"{constants}\n(provide 'ael-words)\n;;; ael-words.el ends here\n"
    )


def _quoted(listed: tuple[str, ...]) -> str:
    lines, line = [], ""
    for word in listed:
        added = f'{line} "{word}"' if line else f'"{word}"'
        if len(added) > 68:
            lines.append(line)
            added = f'"{word}"'
        line = added
    return "\n    ".join([*lines, line])
