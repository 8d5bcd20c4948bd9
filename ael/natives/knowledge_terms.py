"""The words of a text, as both kinds of database index and look for them. A query is words and nothing else: no syntax is ever read in it.

Text is folded (compatibility forms, case, accents) and cut into words; a plural of English finds its singular; of scripts without spaces
between words, every two neighbouring characters are a word. So one text has the same words in SQLite and in PostgreSQL, and no character
of a query means anything to either.
"""

from __future__ import annotations

import re

from ael.types.normal_form import normal_form

LONGEST = 64
"""Characters of a word; what follows is not looked at."""
QUERY = 48
"""Different words of a query; those that follow are not looked for."""

_ACCENTS = re.compile("[\u0300-\u036f]+")
# Marks that belong to the letter before them, in scripts whose words would fall apart without.
_MARKS = "\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed\u0711\u0730-\u074a\u0900-\u0903\u093a-\u0963\u0970-\u0df3"
_MARKS += "\u0eb1-\u0ecd\u0f18-\u0fbc\u102b-\u109d\u17b4-\u17d3"
_WORD = re.compile(rf"[^\W_](?:[^\W_]|[{_MARKS}])*")
# Han, kana, Thai: no spaces between words.
_DENSE = re.compile("[\u0e00-\u0e7f\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+")
_COMMON = frozenset(
    {
        "a",
        "an",
        "and",
        "are",
        "as",
        "at",
        "be",
        "but",
        "by",
        "can",
        "do",
        "does",
        "for",
        "from",
        "has",
        "have",
        "how",
        "i",
        "if",
        "in",
        "into",
        "is",
        "it",
        "its",
        "me",
        "my",
        "no",
        "not",
        "of",
        "on",
        "or",
        "our",
        "so",
        "that",
        "the",
        "their",
        "then",
        "there",
        "these",
        "they",
        "this",
        "to",
        "was",
        "we",
        "were",
        "what",
        "when",
        "where",
        "which",
        "who",
        "why",
        "will",
        "with",
        "you",
        "your",
    }
)
"""English words that say nothing of what is looked for."""


def terms(text: str) -> list[str]:
    """All words of a text, in order."""
    folded = _ACCENTS.sub("", normal_form(text.casefold(), "NFKD"))
    found: list[str] = []
    for match in _WORD.finditer(normal_form(folded, "NFC")):
        word = match.group()
        if word.isascii():
            found.append(_singular(word)[:LONGEST])
            continue
        at = 0
        for dense in _DENSE.finditer(word):
            found += _plain(word[at : dense.start()])
            run = dense.group()
            found += [run] if len(run) == 1 else [run[i : i + 2] for i in range(len(run) - 1)]
            at = dense.end()
        found += _plain(word[at:])
    return found


def query_terms(text: str) -> list[str]:
    """The different words that a query looks for: those that say something, unless it has no other."""
    every = list(dict.fromkeys(terms(text)))
    telling = [word for word in every if word not in _COMMON]
    return (telling or every)[:QUERY]


def _plain(word: str) -> list[str]:
    return [word[:LONGEST]] if word else []


def _singular(word: str) -> str:
    """Harman's "S" stemmer (How Effective Is Suffixing?, 1991), and the plurals of words that end in a hiss."""
    if len(word) < 4 or word[-1] != "s":
        return word
    if word.endswith("ies") and word[-4] not in "ae":
        return f"{word[:-3]}y"
    if word.endswith(("xes", "zes", "sses", "ches", "shes")):
        return word[:-2]
    if word.endswith("es") and word[-3] not in "aeo":
        return word[:-1]
    return word if word[-2] in "us" else word[:-1]
