"""What the user most likely meant: forms of other languages, and forms of AEL in the wrong place."""

from __future__ import annotations

from ael.syntax.tables import SYMBOLS
from ael.syntax.words import CLAUSES, DOC, NEWLINE, WORDS

_FOREIGN = {
    "def": "`fn`", "func": "`fn`", "function": "`fn`", "fun": "`fn`", "proc": "`fn`", "class": "`record`", "struct": "`record`",
    "data": "`record`", "interface": "`service`", "trait": "`service`", "import": "`use`", "include": "`use`", "from": "`use`",
    "elif": "`else if`", "elsif": "`else if`", "switch": "`match`", "case": "`match`", "throw": "`fail`", "raise": "`fail`",
    "None": "`null`", "nil": "`null`", "undefined": "`null`", "True": "`true`", "False": "`false`", "export": "`pub`", "public": "`pub`",
    "val": "`let`", "mut": "`var`", "async": "nothing: calls wait by themselves", "await": "nothing: calls wait by themselves",
    "except": "`catch`", "finally": "nothing: there is no `finally`",
}  # fmt: skip

_FN, _CONST, _AS, _EDGE, _WHEN, _OR, _USE = (WORDS[word] for word in ("fn", "const", "as", "edge", "when", "or", "use"))
_COLON, _COMMA, _ARROW, _EQUALS, _BRACE, _PARENTHESIS, _CLOSED, _QUESTION = (
    SYMBOLS[text] for text in (":", ",", "->", "==", "{", "(", ")", "?")
)


def hint(text: str, before: str, after: str, possible: set[int]) -> str:
    """A note on a token that does not fit: its text, those of its neighbours, and what could stand in its place. Empty for none."""
    if text in _FOREIGN and (text != "from" or _USE in possible):
        # `from` is a word of AEL too: foreign only where a declaration begins.
        return f"`{text}` is written {_FOREIGN[text]} in AEL"
    if before in _FOREIGN and before != "from":
        return f"`{before}` is written {_FOREIGN[before]} in AEL"
    if not text.strip() and after == "{" and _BRACE in possible:
        return "the `{` of a block stands on the line of what it belongs to"
    return _symbol(text, before, after, possible) or _word(text, before, possible)


def _symbol(text: str, before: str, after: str, possible: set[int]) -> str:
    match text:
        case "=" if before in ("+", "-", "*", "/"):
            return f"write `x = x {before} …`"
        case "=" if _EQUALS in possible and _COLON in possible and _CLOSED in possible:
            return "an argument is named with `:`, as in `f(steps: 8)`; `==` compares"
        case "=" if _EQUALS in possible:
            return "`==` compares; `=` gives a name a value, as a statement of its own"
        case "&" if "&" in (before, after):
            return "`&&` is written `and`"
        case "|" if after == "|":
            return "`||` is written `or`"
        case "?" if _OR in possible:
            return "a choice between values is `if x { 1 } else { 2 }`; `a ?? b` takes `b` where `a` is null"
        case ":" if _ARROW in possible:
            return "the type of a result follows `->`"
        case ":" if _FN in possible and before.isidentifier():
            return f"no `:` stands between `{before}` and its value"
        case "[" if _QUESTION in possible:
            return "a list is `List<String>`"
        case ")" | "," if {_COLON, _QUESTION} <= possible:
            return "a parameter has a type, as in `id: String`"
        case "{" if _AS not in possible and {_PARENTHESIS, _COMMA} <= possible and _OR not in possible:
            return "the fields of a variant stand in parentheses: `Circle(radius: Float)`"
        case "{" if NEWLINE in possible and before[:1].isupper():
            return f"a record is made with parentheses, as in `{before}(id: 1)`"
        case "=>" if _ARROW in possible:
            return "`->` joins the ends of an edge, and comes before the type of a result"
        case "->" if SYMBOLS["=>"] in possible:
            return "an arm has `=>` between its pattern and what it gives"
    return ""


def _word(text: str, before: str, possible: set[int]) -> str:
    if text in ("let", "var") and _CONST in possible:
        return f"`{text}` stands in a body; a value of the whole module is a `const`"
    if not text.isidentifier():
        return ""
    if text == "if" and _WHEN in possible:
        return "the condition of an edge begins with `when`"
    if possible - {SYMBOLS["}"], DOC} == {_EDGE}:
        return "an agent has edges only: `edge a -> b(a)`"
    if _BRACE in possible and _OR in possible and NEWLINE not in possible:
        return "what is done under a condition stands in braces"
    if NEWLINE in possible and WORDS.get(before) in CLAUSES:
        return f"the clause `{before}` stands between a signature and its `{{`"
    if NEWLINE in possible and _COMMA in possible:
        return "what stands in braces stands on lines of its own, or with `,` between"
    if NEWLINE in possible and text not in WORDS:
        return "a statement ends with its line"
    return ""
