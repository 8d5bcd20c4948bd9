"""A Pygments lexer for AEL, registered by entry point, so that Sphinx, MkDocs and renderers of that kind colour it.

Every expression is free of nested repetition, so that a line of any length takes linear time (K52).
"""

from __future__ import annotations

from typing import Any, ClassVar

from pygments.lexer import RegexLexer, words
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Text, Whitespace

from ael.editor.words import words as listed

_WORDS = listed()
_SCALE = r"(?:ms|min|s|h|d|B|KB|MB|GB|KiB|MiB|GiB)\b"

LAST_WORDS = ("never", "idempotent", "reconcile", "none", "required", "taints", "summarize", "otherwise", "process")
"""Words of clauses that may be the last of theirs, so that a body, its end or a comment can follow."""

Rules = list[Any]


def _classes() -> Rules:
    return [
        (words(_WORDS["declaration"], prefix=r"\b", suffix=r"\b"), Keyword.Declaration),
        (words(_WORDS["statement"], prefix=r"\b", suffix=r"\b"), Keyword),
        (words(_WORDS["operator"], prefix=r"\b", suffix=r"\b"), Operator.Word),
        (words(_WORDS["literal"], prefix=r"\b", suffix=r"\b"), Keyword.Constant),
        (words(_WORDS["type"], prefix=r"\b", suffix=r"\b"), Keyword.Type),
        # A soft word is a word only at the start of a line, or where only clause words follow each other.
        (words(_WORDS["soft"], prefix=r"(?<!\blimit )(?<!, )\b", suffix=r"\b(?=[ \t]+[\w\"\[.])"), Keyword),
        (words(_WORDS["clause"], prefix=r"\b", suffix=r"\b(?=[ \t]*(?:[\w\"$]|$)|[ \t]+\()"), Keyword.Pseudo),
        (r"\bretry(?=\()|\botherwise(?=[ \t]*=>)|\bwhen(?=[ \t]+[-<>\[])", Keyword.Pseudo),
        (words(LAST_WORDS, prefix=r"\b", suffix=r"\b(?=[ \t]*(?:[{}]|//))"), Keyword.Pseudo),
        (words(_WORDS["known"], prefix=r"\b", suffix=r"\b"), Name.Builtin.Pseudo),
    ]


def _code() -> Rules:
    return [
        (r"[ \t\r\n\ufeff]+", Whitespace),
        (r"//[/!].*", Comment.Special),
        (r"//.*", Comment.Single),
        (r'r"[^"\n]*(?:"|(?=\n)|\Z)', String.Other),
        (r'"""', String.Heredoc, "block"),
        (r'"', String.Double, "string"),
        (r"\$\d[\d_]*(?:\.\d+)?", Number.Float),
        (r"\d[\d_]*\.\d[\d_]*(?:[eE][+-]?\d+)?", Number.Float),
        (r"\d[\d_]*[eE][+-]?\d+", Number.Float),
        (rf"\d[\d_]*{_SCALE}", Number.Integer),
        (r"\d[\d_]*", Number.Integer),
        (r"(?<=[\w.]/)[a-z_]\w*", Name.Namespace),
        (r"(?<=\.)[a-z_]\w*(?=\()", Name.Function),
        (r"(?<=\.)[a-z_]\w*", Name.Attribute),
        (r"[a-z_]\w*(?=[ \t]*\??:)", Name.Variable),
        *_classes(),
        (r"[A-Z][A-Z0-9_]+\b", Name.Constant),
        (r"[A-Z]\w*", Name.Class),
        (r"[a-z_]\w*(?=\()", Name.Function),
        (r"[a-z_]\w*", Name),
        (r"->|=>|\?\?|\.\.|[=!<>]=|[-+*/%<>=|&?]", Operator),
        (r"[()\[\],.:]", Punctuation),
    ]


class AelLexer(RegexLexer):
    """Tokens of AEL source."""

    name = "AEL"
    aliases: ClassVar = ["ael"]
    filenames: ClassVar = ["*.ael"]
    mimetypes: ClassVar = ["text/x-ael"]
    version_added = "0.1"

    tokens: ClassVar = {
        "root": [*_code(), (r"[{}]", Punctuation), (r".", Text)],
        "interpolation": [
            (r"\}", String.Interpol, "#pop"),
            (r"\{", Punctuation, "braces"),
            *_code(),
            (r".", Text),
        ],
        "braces": [(r"\}", Punctuation, "#pop"), (r"\{", Punctuation, "#push"), *_code(), (r".", Text)],
        "string": [
            (r'"', String.Double, "#pop"),
            (r"\\u\{[0-9A-Fa-f]{1,6}\}|\\.", String.Escape),
            (r"\$\{", String.Interpol, "interpolation"),
            (r'[^"\\$\n]+', String.Double),
            (r"\$", String.Double),
            (r"\n", Whitespace, "#pop"),
        ],
        "block": [
            (r'"""', String.Heredoc, "#pop"),
            (r"\\u\{[0-9A-Fa-f]{1,6}\}|\\.", String.Escape),
            (r"\$\{", String.Interpol, "interpolation"),
            (r'[^"\\$]+', String.Heredoc),
            (r'["$\\]', String.Heredoc),
        ],
    }
