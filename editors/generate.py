"""Makes the editors' grammars from the list of words: `python -m editors.generate`. A test shows that they are fresh."""

from __future__ import annotations

import json
from pathlib import Path

from ael import __version__
from ael.editor.words import words

HERE = Path(__file__).resolve().parent
_SCALES = "ms|min|s|h|d|B|KB|MB|GB|KiB|MiB|GiB"


def generated() -> dict[Path, str]:
    """Every generated file with its text."""
    return {
        HERE / "vscode/syntaxes/ael.tmLanguage.json": _json(_textmate()),
        HERE / "vscode/language-configuration.json": _json(_configuration()),
        HERE / "vscode/snippets/ael.json": _json(_snippets()),
        HERE / "vscode/package.json": _json(_package()),
        HERE / "vim/syntax/ael.vim": _vim(),
    }


def _json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _any(name: str) -> str:
    return "|".join(words()[name])


def _textmate() -> dict[str, object]:
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
        "$schema": "https://raw.githubusercontent.com/martinring/tmlanguage/master/tmlanguage.json",
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
                    {"name": "constant.numeric.quantity.ael", "match": rf"\b\d[\d_]*({_SCALES})\b"},
                    {"name": "constant.numeric.ael", "match": r"\b\d[\d_]*(\.\d[\d_]*)?([eE][+-]?\d+)?"},
                ]
            },
            "members": {
                "patterns": [
                    {"name": "entity.name.function.ael", "match": r"(?<=\.)[a-z_]\w*(?=\()"},
                    {"name": "variable.other.member.ael", "match": r"(?<=\.)[a-z_]\w*"},
                    {"name": "variable.parameter.ael", "match": r"\b[a-z_]\w*(?=[ \t]*\??:)"},
                ]
            },
            "words": {
                "patterns": [
                    {"name": "storage.type.ael", "match": rf"\b({_any('declaration')})\b"},
                    {"name": "keyword.control.ael", "match": rf"\b({_any('statement')})\b"},
                    {"name": "keyword.operator.word.ael", "match": rf"\b({_any('operator')})\b"},
                    {"name": "constant.language.ael", "match": rf"\b({_any('literal')})\b"},
                    {"name": "support.type.ael", "match": rf"\b({_any('type')})\b"},
                    {"name": "storage.modifier.ael", "match": rf'\b({_any("soft")})\b(?=[ \t]+[\w"\[.])'},
                    {"name": "keyword.other.clause.ael", "match": rf'\b({_any("clause")})\b(?=[ \t]*([\w"$(,]|$))'},
                    {"name": "variable.language.ael", "match": rf"\b({_any('known')})\b"},
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


def _configuration() -> dict[str, object]:
    pairs = [["{", "}"], ["[", "]"], ["(", ")"]]
    closing = [{"open": a, "close": b} for a, b in pairs]
    return {
        "comments": {"lineComment": "//"},
        "brackets": pairs,
        "autoClosingPairs": [*closing, {"open": '"', "close": '"', "notIn": ["string", "comment"]}],
        "surroundingPairs": [*pairs, ['"', '"']],
        "wordPattern": r"[A-Za-z_]\w*",
        "indentationRules": {"increaseIndentPattern": r"[{\[(]\s*(//.*)?$", "decreaseIndentPattern": r"^\s*[}\])]"},
        "onEnterRules": [
            {"beforeText": "^\\s*///", "action": {"indent": "none", "appendText": "/// "}},
            {"beforeText": "^\\s*//!", "action": {"indent": "none", "appendText": "//! "}},
        ],
    }


def _snippets() -> dict[str, object]:
    return {
        "tool": {
            "prefix": "tool",
            "description": "A tool: one permission, one repeat safety",
            "body": [
                "/// ${1:What it does, and when to call it.}",
                "tool ${2:name}(${3:id: String(max: 64)}) -> ${4:String}",
                "  needs ${5:permission}",
                "  repeat ${6|never,idempotent,reconcile|}",
                "{",
                "  $0",
                "}",
            ],
        },
        "model-driven node": {
            "prefix": "node",
            "description": "A node that a model drives within a budget",
            "body": [
                "node ${1:name}(${2:input: String}) -> ${3:String}",
                "  model ${4:fast}",
                "  policy ${5|one_call,loop(steps: 8\\, tool_calls: 12)|}",
                "  budget tokens ${6:4_000}, time ${7:30s}",
                "{",
                '  instructions """',
                "    $0",
                '  """',
                "}",
            ],
        },
        "test": {
            "prefix": "test",
            "description": "A test with a scripted model",
            "body": ['test "${1:what holds}" {', "  script ${2:fast} [${3:final($4)}]", "  $0", "}"],
        },
    }


def _package() -> dict[str, object]:
    return {
        "name": "ael",
        "displayName": "AEL",
        "description": "The Agent Engineering Language: highlighting, brackets and snippets.",
        "version": __version__,
        "publisher": "ael-lang",
        "license": "Apache-2.0",
        "engines": {"vscode": "^1.80.0"},
        "categories": ["Programming Languages", "Snippets"],
        "contributes": {
            "languages": [
                {
                    "id": "ael",
                    "aliases": ["AEL"],
                    "extensions": [".ael"],
                    "configuration": "./language-configuration.json",
                }
            ],
            "grammars": [{"language": "ael", "scopeName": "source.ael", "path": "./syntaxes/ael.tmLanguage.json"}],
            "snippets": [{"language": "ael", "path": "./snippets/ael.json"}],
        },
    }


def _vim() -> str:
    def keywords(group: str, name: str) -> str:
        return f"syntax keyword {group} {' '.join(words()[name])}"

    def soft(group: str, name: str, follow: str) -> str:
        return rf"syntax match {group} /\v<({'|'.join(words()[name])})>{follow}/"

    lines = [
        '" Vim syntax of AEL. Made by `python -m editors.generate`; do not edit.',
        "if exists('b:current_syntax')",
        "  finish",
        "endif",
        "",
        r"syntax match aelName /\v<[a-z_]\w*>/",
        r"syntax match aelFunction /\v<[a-z_]\w*\ze\(/",
        r"syntax match aelType /\v<[A-Z]\w*>/",
        r"syntax match aelConstant /\v<[A-Z][A-Z0-9_]+>/",
        soft("aelSoft", "soft", r'\ze[ \t]+[A-Za-z_0-9"\[.]'),
        soft("aelClause", "clause", r'\ze[ \t]*([A-Za-z_0-9"$(,]|$)'),
        soft("aelKnown", "known", ""),
        r"syntax match aelField /\v<[a-z_]\w*\ze[ \t]*\??:/",
        r"syntax match aelMember /\v\.@<=[a-z_]\w*/",
        keywords("aelDeclaration", "declaration"),
        keywords("aelStatement", "statement"),
        keywords("aelOperatorWord", "operator"),
        keywords("aelLiteral", "literal"),
        keywords("aelBuiltinType", "type"),
        r"syntax match aelNumber /\v<\d[0-9_]*(\.\d[0-9_]*)?([eE][+-]?\d+)?>/",
        rf"syntax match aelQuantity /\v<\d[0-9_]*({_SCALES})>/",
        r"syntax match aelMoney /\v\$\d[0-9_]*(\.\d+)?/",
        r"syntax match aelOperator /\v-\>|\=\>|\?\?|\.\.|[-+*\/%<>=|&?!]/",
        r"syntax match aelDelimiter /[(){}\[\],:]/",
        r"syntax match aelEscape contained /\v\\(u\{[0-9A-Fa-f]{1,6}\}|.)/",
        r"syntax region aelInterpolation contained matchgroup=aelInterpolationMark start=/\${/ end=/}/ contains=TOP",
        r'syntax region aelString start=/"/ end=/"\|$/ contains=aelEscape,aelInterpolation',
        r'syntax region aelBlock start=/"""/ end=/"""/ contains=aelEscape,aelInterpolation',
        r'syntax match aelRaw /\vr"[^"]*("|$)/',
        r"syntax match aelComment /\/\/.*$/",
        r"syntax match aelDoc /\/\/[\/!].*$/",
        "",
        *(f"highlight default link {group} {target}" for group, target in _VIM_LINKS.items()),
        "",
        "syntax sync fromstart",
        "let b:current_syntax = 'ael'",
    ]
    return "\n".join(lines) + "\n"


_VIM_LINKS = {
    "aelDeclaration": "Structure",
    "aelStatement": "Statement",
    "aelOperatorWord": "Operator",
    "aelLiteral": "Boolean",
    "aelBuiltinType": "Type",
    "aelSoft": "Keyword",
    "aelClause": "Keyword",
    "aelKnown": "Special",
    "aelName": "Normal",
    "aelFunction": "Function",
    "aelType": "Type",
    "aelConstant": "Constant",
    "aelField": "Identifier",
    "aelMember": "Identifier",
    "aelNumber": "Number",
    "aelQuantity": "Number",
    "aelMoney": "Number",
    "aelOperator": "Operator",
    "aelDelimiter": "Delimiter",
    "aelEscape": "SpecialChar",
    "aelInterpolationMark": "PreProc",
    "aelString": "String",
    "aelBlock": "String",
    "aelRaw": "String",
    "aelComment": "Comment",
    "aelDoc": "SpecialComment",
}


if __name__ == "__main__":
    for path, text in generated().items():
        path.write_text(text, encoding="utf-8")
