"""What is done to a text before it is kept: hidden characters, markup that speaks to a model, credentials. Texts cut, and compared.

Each takes time linear in its text, whatever that is: no pattern has two ways to read the same characters, and what may be long is looked
for once.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from ael.lower.abi.size import sized, sized_text
from ael.types.normal_form import normal_form

MASK = "***"

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_HIDDEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0e\ufeff\uffa0"
    "\ufff0-\ufffb\ufdd0-\ufdef\ufffe\uffff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""Characters that nobody sees and a model reads: format characters, bidirectional marks, tags, variation selectors (but for that of emoji),
fillers. Unicode 15, general categories Cf and Default_Ignorable_Code_Point, and noncharacters. ZWJ and ZWNJ go too: what they change is
how a text looks, not what it says."""
_NEWLINES = re.compile("\r\n?|[\u0085\u2028\u2029]")

_ROLES = "system|assistant|user|human|developer|tool|tool_call|tool_calls|tool_result|tool_response|function|function_call|function_calls"
_ROLES += "|function_results|invoke|instructions?|system_prompt|prompt|admin|important|sys|inst|thinking"
_BLOCKS = re.compile(r"<!--|<(script|style|template|noscript|iframe|object)\b[^<>]{0,2000}>", re.IGNORECASE)
"""Where something begins that a reader is not shown: a comment of HTML or XML, or an element."""
_MARKUP = (
    # The special tokens of models' templates.
    re.compile(r"<\|[^<>|\n]{1,64}\|>|\[/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\]|<</?SYS>>|</?s>"),
    re.compile("<\uff5c[^<>\n]{1,64}\uff5c>|<(?:start|end)_of_turn>|<(?:bos|eos|unk|pad)>"),
    # Tags that are named after the parts of a conversation.
    re.compile(rf"<\s{{0,20}}/?\s{{0,20}}(?:[a-z]{{1,20}}:)?(?:{_ROLES})\b[^<>]{{0,2000}}>", re.IGNORECASE),
)

_KEY = r"(?<![A-Za-z0-9])"
_CREDENTIALS: tuple[tuple[tuple[str, ...], re.Pattern[str]], ...] = (
    (("AKIA", "ASIA", "AGPA", "AIDA", "AROA"), re.compile(rf"{_KEY}(?:AKIA|ASIA|AGPA|AIDA|AROA)[A-Z0-9]{{16}}(?![A-Za-z0-9])")),
    (("ghp_", "gho_", "ghu_", "ghr_", "ghs_"), re.compile(rf"{_KEY}gh[pousr]_[A-Za-z0-9]{{36,255}}")),
    (("github_pat_",), re.compile(rf"{_KEY}github_pat_[A-Za-z0-9_]{{22,255}}")),
    (("glpat-",), re.compile(rf"{_KEY}glpat-[A-Za-z0-9_-]{{20,255}}")),
    (("sk-",), re.compile(rf"{_KEY}sk-(?:ant-|proj-|or-|live-)?[A-Za-z0-9_-]{{20,255}}")),
    (("k_live_", "k_test_"), re.compile(rf"{_KEY}[spr]k_(?:live|test)_[A-Za-z0-9]{{16,255}}")),
    (("xox",), re.compile(rf"{_KEY}xox[abeoprs]-[A-Za-z0-9-]{{10,255}}")),
    (("AIza",), re.compile(rf"{_KEY}AIza[A-Za-z0-9_-]{{35}}")),
    (("ya29.",), re.compile(rf"{_KEY}ya29\.[A-Za-z0-9_-]{{20,255}}")),
    (
        tuple(f"{name}{mark}" for name in ("hf", "npm", "pypi", "dop_v1", "shpat", "SG") for mark in "_.-"),
        re.compile(rf"{_KEY}(?:hf|npm|pypi|dop_v1|shpat|SG)[_.-][A-Za-z0-9_.-]{{32,255}}"),
    ),
)
"""Forms of keys, each with what is in a text that may hold one: looking for that takes a hundredth of the time."""
_PRIVATE = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_PRIVATE_END = re.compile(r"-----END [A-Z0-9 ]{0,40}-----")
_DOTTED = re.compile(r"(?<![A-Za-z0-9_-])[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")
_URL = re.compile(r"\b([a-z][a-z0-9+.-]{1,20}://)[^\s/@:?#]{0,256}:[^\s/@]{1,256}@", re.IGNORECASE)
_HEADER = re.compile(r"(?i)\b(authorization\s{0,5}[:=]\s{0,5}(?:bearer|basic|token)\s{1,5})[A-Za-z0-9._~+/=-]{8,4000}")
_NAMED = re.compile(
    r"(?i)((?:password|passwd|passphrase|secret|api[_ -]?key|access[_ -]?key|private[_ -]?key|auth[_ -]?token|access[_ -]?token)"
    r"[\"']?\s{0,5}[:=]\s{0,5}[\"']?)(?=[^\s\"',;<>]{0,128}[0-9])(?!\*{3})[^\s\"',;<>]{8,512}"
)

_HINTS = ("password", "passwd", "passphrase", "secret", "api", "access", "private", "auth")

_WORD = re.compile(r"\w+")
_SHINGLE = 3
_SHINGLES = 4_096


def visible(text: str) -> str:
    """`text` without control characters (but line feed and tab) and without what nobody sees, its line ends `\\n`."""
    return _HIDDEN.sub("", _CONTROL.sub("", _NEWLINES.sub("\n", text)))


def unmarked(text: str) -> str:
    """`text` without markup that speaks to a model, or that a reader does not see. Compatibility forms are seen as what they stand for."""
    text = _unmarked(text)
    if text.isascii():
        return text
    folded = normal_form(text, "NFKC")
    plain = _unmarked(folded)
    # Written in full-width or other forms of the same characters: then what they stand for is kept.
    return text if plain == folded else sized_text(plain)


def _unmarked(text: str) -> str:
    text = _cut_out(text, _BLOCKS, _end_of_block, " ")
    for pattern in _MARKUP:
        text = pattern.sub(" ", text)
    return text


def _end_of_block(begin: re.Match[str]) -> re.Pattern[str]:
    return _COMMENT_END if begin[1] is None else _element_end(begin[1].lower())


@lru_cache(maxsize=16)
def _element_end(name: str) -> re.Pattern[str]:
    return re.compile(rf"</{name}\b[^<>]{{0,200}}>", re.IGNORECASE)


_COMMENT_END = re.compile("-->")


def _cut_out(text: str, begin: re.Pattern[str], end: Callable[[re.Match[str]], re.Pattern[str]], instead: str) -> str:
    """`text` with `instead` of each part from a `begin` to its end; one without an end goes to the end of the text."""
    kept: list[str] = []
    at = 0
    while (found := begin.search(text, at)) is not None:
        kept += (text[at : found.start()], instead)
        last = end(found).search(text, found.end())
        at = len(text) if last is None else last.end()
    return "".join([*kept, text[at:]]) if kept else text


def masked(text: str) -> str:
    """`text` with `***` for each credential of a known form."""
    text = _cut_out(text, _PRIVATE, lambda begin: _PRIVATE_END, MASK)
    for hints, pattern in _CREDENTIALS:
        if any(hint in text for hint in hints):
            text = pattern.sub(MASK, text)
    if "eyJ" in text:
        text = _DOTTED.sub(_without_token, text)
    if "://" in text and "@" in text:
        text = _URL.sub(rf"\1{MASK}@", text)
    folded = text.lower()
    if "authorization" in folded:
        text = _HEADER.sub(rf"\1{MASK}", text)
    return _NAMED.sub(rf"\1{MASK}", text) if any(hint in folded for hint in _HINTS) else text


def _without_token(dotted: re.Match[str]) -> str:
    """A JSON Web Token is masked; what stands in front of it stays."""
    head, payload, signature = dotted[0].split(".")
    at = head.find("eyJ")
    return f"{head[:at]}{MASK}" if at >= 0 and payload.startswith("eyJ") and len(signature) >= 8 else dotted[0]


def chunks(text: str, size: int, overlap: int | None = None) -> list[str]:
    """`text` in pieces of at most `size` characters, each beginning with up to `overlap` of the one before (a sixth of `size`, and never
    more than a quarter), cut where a paragraph ends, else a sentence, else a word. None is empty."""
    size = max(size, 1)
    overlap = max(min(size // 6 if overlap is None else overlap, size // 4), 0)
    found: list[str] = []
    at, end = 0, len(text.rstrip())
    while at < end:
        stop = end if end - at <= size else _cut(text, at, at + size)
        piece = text[at:stop].strip()
        if piece:
            found.append(piece)
        if stop >= end:
            break
        at = max(_start(text, stop, overlap), at + 1)
    return sized(found)


def _cut(text: str, at: int, most: int) -> int:
    """Where a piece that begins at `at` ends: in its second half, at the best place there is."""
    least = at + (most - at) // 2
    for mark in ("\n\n", "\n", ". ", "! ", "? ", "。", " "):
        found = text.rfind(mark, least, most)
        if found >= 0:
            return found + len(mark)
    return most


def _start(text: str, stop: int, overlap: int) -> int:
    """Where the next piece begins: up to `overlap` characters before, at the beginning of a line or of a word."""
    least = stop - overlap
    for mark in ("\n", " "):
        found = text.find(mark, least, stop)
        if 0 <= found < stop - 1:
            return found + 1
    # What holds the end of one word has nothing to repeat; what holds no blank is of a script without any.
    return stop if any(mark in text[least:stop] for mark in "\n ") else least


def alike(a: str, b: str) -> float:
    """How alike two texts are, from 0 to 1: what they share of the sequences of three words that are in either (Broder 1997)."""
    left, right = _shingles(a), _shingles(b)
    if not left and not right:
        return 1.0 if a.strip() == b.strip() else 0.0
    return len(left & right) / len(left | right)


@lru_cache(maxsize=256)
def _shingles(text: str) -> frozenset[str]:
    words = _WORD.findall(text.casefold())[: _SHINGLES + _SHINGLE]
    return frozenset(" ".join(words[at : at + _SHINGLE]) for at in range(max(len(words) - _SHINGLE + 1, 1 if words else 0)))


def tokens(text: str) -> int:
    """About how many tokens a model counts in `text`: as the run time estimates them, one for each four bytes of UTF-8."""
    return -(-len(text.encode("utf-8", "surrogatepass")) // 4)
