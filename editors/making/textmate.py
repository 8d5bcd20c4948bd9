"""The TextMate grammar: VS Code, Sublime Text and other editors that take one."""

from __future__ import annotations

from ael.editor.pygments import LAST_WORDS
from editors.making.common import SCALES, any_of


def textmate() -> dict[str, object]:
    code = [{"include": f"#{name}"} for name in ("comments", "strings", "numbers", "members", "words", "names", "operators")]
    interpolation = {
        "begin": r"\$\{",
        "end": r"\}",
        "beginCaptures": {"0": {"name": "punctuation.section.interpolation.begin.ael"}},
        "endCaptures": {"0": {"name": "punctuation.section.interpolation.end.ael"}},
        "contentName": "meta.interpolation.ael",
        "patterns": [{"include": "#braces"}, *code],
    }
    escape = {"name": "constant.character.escape.ael", "match": r"\\(u\{[0-9A-Fa-f]{1,6}\}|.)"}
    return {
        "name": "AEL",
        "scopeName": "source.ael",
        "fileTypes": ["ael"],
        "patterns": code,
        "repository": {
            "braces": {"begin": r"\{", "end": r"\}", "patterns": [{"include": "#braces"}, *code]},
            "comments": {
                "patterns": [
                    {"name": "comment.line.documentation.ael", "match": "//[/!].*$"},
                    {"name": "comment.line.double-slash.ael", "match": "//.*$"},
                ]
            },
            "strings": {
                "patterns": [
                    {"name": "string.quoted.raw.ael", "match": 'r"[^"\\n]*("|$)'},
                    {
                        "name": "string.quoted.triple.ael",
                        "begin": '"""',
                        "end": '"""',
                        "patterns": [escape, interpolation],
                    },
                    {
                        "name": "string.quoted.double.ael",
                        "begin": '"',
                        "end": '"|$',
                        "patterns": [escape, interpolation],
                    },
                ]
            },
            "numbers": {
                "patterns": [
                    {"name": "constant.numeric.money.ael", "match": r"\$\d[\d_]*(\.\d+)?"},
                    {"name": "constant.numeric.quantity.ael", "match": rf"\b\d[\d_]*({SCALES})\b"},
                    {"name": "constant.numeric.ael", "match": r"\b\d[\d_]*(\.\d[\d_]*)?([eE][+-]?\d+)?"},
                ]
            },
            "members": {
                "patterns": [
                    {"name": "entity.name.namespace.ael", "match": r"(?<=[\w.]/)[a-z_]\w*"},
                    {"name": "entity.name.function.ael", "match": r"(?<=\.)[a-z_]\w*(?=\()"},
                    {"name": "variable.other.member.ael", "match": r"(?<=\.)[a-z_]\w*"},
                    {"name": "variable.parameter.ael", "match": r"\b[a-z_]\w*(?=[ \t]*\??:)"},
                ]
            },
            "words": {
                "patterns": [
                    {"name": "storage.type.ael", "match": rf"\b({any_of('declaration')})\b"},
                    {"name": "keyword.control.ael", "match": rf"\b({any_of('statement')})\b"},
                    {"name": "keyword.operator.word.ael", "match": rf"\b({any_of('operator')})\b"},
                    {"name": "constant.language.ael", "match": rf"\b({any_of('literal')})\b"},
                    {"name": "support.type.ael", "match": rf"\b({any_of('type')})\b"},
                    {"name": "storage.modifier.ael", "match": rf'(?<!\blimit )(?<!, )\b({any_of("soft")})\b(?=[ \t]+[\w"\[.])'},
                    {
                        "name": "keyword.other.clause.ael",
                        "match": rf'\b({any_of("clause")})\b(?=[ \t]*([\w"$]|$)|[ \t]+\()',
                    },
                    {
                        "name": "keyword.other.clause.ael",
                        "match": r"\b(retry(?=\()|otherwise(?=[ \t]*=>)|when(?=[ \t]+[-<>\[]))",
                    },
                    {"name": "keyword.other.clause.ael", "match": rf"\b({'|'.join(LAST_WORDS)})\b(?=[ \t]*([{{}}]|//))"},
                    {"name": "variable.language.ael", "match": rf"\b({any_of('known')})\b"},
                ]
            },
            "names": {
                "patterns": [
                    {"name": "variable.other.constant.ael", "match": r"\b[A-Z][A-Z0-9_]+\b"},
                    {"name": "entity.name.type.ael", "match": r"\b[A-Z]\w*"},
                    {"name": "entity.name.function.ael", "match": r"\b[a-z_]\w*(?=\()"},
                    {"name": "variable.other.ael", "match": r"\b[a-z_]\w*"},
                ]
            },
            "operators": {
                "patterns": [
                    {"name": "keyword.operator.ael", "match": r"->|=>|\?\?|\.\.|[=!<>]=|[-+*/%<>=|&?]"},
                    {"name": "punctuation.separator.ael", "match": r"[,.:]"},
                    {"name": "punctuation.section.ael", "match": r"[(){}\[\]]"},
                ]
            },
        },
    }
