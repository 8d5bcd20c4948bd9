"""The syntax file of Vim and Neovim."""

from __future__ import annotations

from ael.editor.pygments import LAST_WORDS
from ael.editor.words import words
from editors.making.common import SCALES


def vim() -> str:
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
        soft("aelClause", "clause", r'\ze([ \t]*([A-Za-z_0-9"$]|$)|[ \t]+\()'),
        r"syntax match aelClause /\v<retry\ze\(/",
        r"syntax match aelClause /\v<otherwise\ze[ \t]*\=\>/",
        r"syntax match aelClause /\v<when\ze[ \t]+[-<>\[]/",
        rf"syntax match aelClause /\v<({'|'.join(LAST_WORDS)})>\ze[ \t]*([{{}}]|\/\/)/",
        soft("aelKnown", "known", ""),
        r"syntax match aelField /\v<[a-z_]\w*\ze[ \t]*\??:/",
        r"syntax match aelMember /\v\.@<=[a-z_]\w*/",
        keywords("aelDeclaration", "declaration"),
        keywords("aelStatement", "statement"),
        keywords("aelOperatorWord", "operator"),
        keywords("aelLiteral", "literal"),
        keywords("aelBuiltinType", "type"),
        r"syntax match aelNumber /\v<\d[0-9_]*(\.\d[0-9_]*)?([eE][+-]?\d+)?>/",
        rf"syntax match aelQuantity /\v<\d[0-9_]*({SCALES})>/",
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
