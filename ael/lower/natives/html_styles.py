"""What CSS hides from whoever looks at a page: the properties that do, and the rules of the page's own `<style>` elements.

This is no style engine. It knows selectors of tags, classes and ids, with ancestors (in any order), in rules that hold without a
condition; a style sheet in another file, and what scripts do, are not seen.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from ael.data import dataclass, field, replace
from ael.lower.natives.html_colors import Ink, color_of, ground_of
from ael.lower.natives.html_elements import words

Style = dict[str, str]
"""Property -> value, in lower case; what is `!important` is under its name with `!` in front."""

_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_ESCAPE = re.compile(r"\\(?:([0-9a-fA-F]{1,6})[ \t\n\f\r]?|([^\n]))")
_NUMBER = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d{1,3})?)\s*(px|pt|em|rem|ex|ch|vw|vh|%)?", re.ASCII)
_ALWAYS = re.compile(r"@(?:media\s+(?:only\s+)?(?:all|screen)\s*$|layer\b|supports\b)")
_SELECTOR = re.compile(r"(?:[a-z][a-z0-9-]*)?(?:[.#][\w-]+)*", re.ASCII | re.IGNORECASE)
_PART = re.compile(r"[.#]?[\w-]+", re.ASCII)

_SIZES = ("width", "height", "max-width", "max-height")
_SIDES = ("left", "right", "top", "bottom", "margin-left", "margin-top", "text-indent")
_RELEVANT = words(
    "display visibility content-visibility opacity font-size font color background background-color background-clip background-image "
    "-webkit-background-clip -webkit-text-fill-color transform scale zoom filter clip clip-path overflow overflow-x overflow-y position "
    "mso-hide"
) | frozenset((*_SIZES, *_SIDES))
_FAR = -400.0
"""Pixels beyond an edge: what stands there is not on the screen."""
_TINY = 2.0
"""Pixels: smaller letters are not read."""
_PER_NAME = 64
"""Selectors of one tag, class or id that are told apart. One more that hides counts for all, so that looking one up stays cheap."""
_PARTS = 8
"""Names in one selector that are looked at."""
_WORK = 2_000_000
"""Rules that are looked at for a page; beyond them a name for which one hides is hidden."""
_LONGEST = 200
"""Characters of a value that are looked at."""


def read_style(text: str) -> Style:
    """The declarations of a `style` attribute or of a block."""
    if "\\" in text:
        text = _ESCAPE.sub(_character, text)
    if "/*" in text:
        text = _COMMENT.sub(" ", text)
    found: Style = {}
    for declaration in text.split(";"):
        name, colon, value = declaration.partition(":")
        name = name.strip().lower()
        if colon and name in _RELEVANT:
            value, bang, word = value.lower().partition("!")
            value = value.strip()[:_LONGEST]
            if _possible(name, value):
                found[f"!{name}" if bang and word.strip() == "important" else name] = value
    return found


def settled(style: Style) -> Style:
    """What holds of all that was said: what is important goes before what is not."""
    said = {name[1:]: value for name, value in style.items() if name[0] == "!"}
    return {**style, **said} if said else style


def hides(style: Style) -> bool:
    """Whether what has these properties cannot be seen."""
    if not style:
        return False
    style = settled(style)
    get = style.get
    return (
        get("display") == "none"
        or get("visibility") in ("hidden", "collapse")
        or get("content-visibility") == "hidden"
        or get("mso-hide") == "all"
        or _at_most(get("opacity"), 0.05, percent=5)
        or _at_most(get("zoom"), 0.05, percent=5)
        or _tiny(get("font-size") or (get("font") or "").partition("/")[0])
        or _clipped(style)
        or re.search(r"scale[xy3d]*\(\s*0*\.?0*\s*[,)]", get("transform", "")) is not None
        or _at_most(get("scale"), 0.05, percent=5)
        or re.search(r"opacity\(\s*0*\.?0*%?\s*\)", get("filter", "")) is not None
        or any(_pixels(get(side)) <= _FAR for side in _SIDES if side in style)
    )


def ink(style: Mapping[str, str], around: Ink) -> Ink:
    """The colours of letters in an element, in one with those of `around`."""
    color, ground = around
    said = style.get("-webkit-text-fill-color") or style.get("color")
    if said is not None and said not in ("inherit", "unset", "revert"):
        color = color_of(said)
    for name in ("background", "background-color"):
        if name in style and style[name] != "inherit":
            ground = ground_of(style[name], ground)
    if style.get("background-image", "none") != "none":
        ground = None
    if "text" in (style.get("background-clip"), style.get("-webkit-background-clip")):
        color = ground = None  # letters that show the background
    return Ink(color, ground)


def _possible(name: str, value: str) -> bool:
    """Whether a browser takes this value, as far as it decides whether something is hidden: it passes over one that it does not know."""
    if name == "display":
        return value in _DISPLAYS
    if name == "visibility":
        return value in ("visible", "hidden", "collapse", *_GENERAL)
    if name in ("color", "-webkit-text-fill-color", "background-color"):
        return color_of(value) is not None or "(" in value or value in ("currentcolor", *_GENERAL)
    if name in ("opacity", "zoom", "font-size", *_SIZES, *_SIDES):
        return _number(value) is not None or "(" in value or value in _WORDS
    return True


_GENERAL = ("inherit", "initial", "unset", "revert", "revert-layer")
_WORDS = words(
    "auto none normal small medium large x-small xx-small x-large xx-large smaller larger max-content min-content fit-content stretch"
) | frozenset(_GENERAL)
_DISPLAYS = words(
    "none block inline inline-block flex inline-flex grid inline-grid flow-root contents table inline-table table-row table-cell "
    "table-column table-caption table-row-group table-header-group table-footer-group list-item -webkit-box -webkit-flex "
    "-ms-flexbox -webkit-inline-box ruby math"
) | frozenset(_GENERAL)


def _clipped(style: Mapping[str, str]) -> bool:
    """Whether nothing of it is left to see."""
    cut = any(style.get(name) in ("hidden", "clip") for name in ("overflow", "overflow-x", "overflow-y"))
    if cut and any(_at_most(style.get(size), 1.0, percent=0) for size in _SIZES):
        return True
    path, rect = style.get("clip-path", ""), style.get("clip", "")
    return (
        re.match(r"inset\(\s*(?:[5-9]\d|100)%", path) is not None
        or re.match(r"(?:circle|ellipse)\(\s*0(?![.\d])", path) is not None
        or re.match(r"rect\(\s*([01])(?:px)?[\s,]+\1(?:px)?[\s,]+\1(?:px)?[\s,]+\1(?:px)?\s*\)", rect) is not None
    )


def _number(text: str | None) -> tuple[float, str] | None:
    found = _NUMBER.match(text) if text and len(text) < 64 else None
    return (float(found[1]), found[2] or "") if found is not None else None


def _at_most(text: str | None, most: float, *, percent: float) -> bool:
    read = _number(text)
    return read is not None and read[0] <= (percent if read[1] == "%" else most)


def _tiny(text: str) -> bool:
    read = _number(text)
    if read is None:
        return False
    least = {"%": 10.0, "em": 0.1, "rem": 0.1, "ex": 0.2, "ch": 0.2, "vw": 0.1, "vh": 0.1}.get(read[1], _TINY)
    return read[0] <= least


def _pixels(text: str | None) -> float:
    read = _number(text)
    if read is None:
        return 0.0
    return read[0] * {"em": 16.0, "rem": 16.0, "ex": 8.0, "ch": 8.0, "pt": 1.33, "%": 5.0, "vw": 10.0, "vh": 8.0}.get(
        read[1], 1.0
    )


def _character(found: re.Match[str]) -> str:
    """What a CSS escape stands for."""
    if found[1] is None:
        return found[2]
    code = int(found[1], 16)
    return chr(code) if 0 < code < 0x110000 and not 0xD800 <= code < 0xE000 else "\N{REPLACEMENT CHARACTER}"


@dataclass(frozen=True, slots=True)
class _Rule:
    """`needs` are the names that the element has to have (`p`, `.note`, `#top`), `above` those of elements around it."""

    needs: frozenset[str]
    above: frozenset[str]
    weight: tuple[int, int, int]
    style: Style


@dataclass(slots=True)
class Sheet:
    """The rules of a page, by one of the names that their elements have."""

    rules: dict[str, dict[tuple[frozenset[str], frozenset[str]], _Rule]] = field(default_factory=dict)
    crowded: set[str] = field(default_factory=set)
    """Names with more rules than are told apart, one of which hides."""
    work: int = 0

    def add(self, text: str) -> None:
        """The rules of a `<style>` element."""
        around: list[tuple[str, bool]] = []  # what stands before each brace, and whether what is in it holds always
        since = ""
        nested = False
        for piece in re.split(r"([{}])", _COMMENT.sub(" ", text)):
            if piece == "{":
                head, always = since.rpartition(";")[2].strip(), not around or around[-1][1]
                around.append((head, always and _ALWAYS.match(head.lower()) is not None))
                since, nested = "", False
            elif piece == "}":
                self._block(around, since, nested)
                if around:
                    around.pop()
                since, nested = "", True
            else:
                since = piece
        self._block(around, since, nested)  # the end of the element ends a rule

    def _block(self, around: list[tuple[str, bool]], text: str, nested: bool) -> None:
        """The block that ends, unless others stand in it or it holds on a condition."""
        if around and not nested and not around[-1][0].startswith("@") and (len(around) < 2 or around[-2][1]):
            self._rule(around[-1][0], read_style(text))

    def _rule(self, head: str, style: Style) -> None:
        if not style:
            return
        for selector in head.split(","):
            compounds = re.sub(r"[>+~]", " ", selector).split()
            if not compounds or not all(_SELECTOR.fullmatch(one) for one in compounds):
                continue
            parts = [[_folded(part) for part in _PART.findall(one)] for one in compounds]
            everything = [part for one in parts for part in one]
            ids = sum(part.startswith("#") for part in everything)
            classes = sum(part.startswith(".") for part in everything)
            weight = (ids, classes, len(everything) - ids - classes)
            above = [part for one in parts[:-1] for part in one if part not in ("html", "body")]
            self._keep(_Rule(frozenset(parts[-1][:_PARTS]), frozenset(above[:_PARTS]), weight, style))

    def _keep(self, rule: _Rule) -> None:
        key = max(rule.needs, key=lambda name: (name.startswith("#"), name.startswith("."), name))
        known = self.rules.setdefault(key, {})
        same = known.get((rule.needs, rule.above))
        if same is not None:
            rule = replace(rule, style={**same.style, **rule.style})
        if same is not None or len(known) < _PER_NAME:
            known[rule.needs, rule.above] = rule
        elif hides(rule.style):
            self.crowded.add(key)

    def style_of(self, names: Iterable[str], above: Mapping[str, int]) -> Style:
        """What the rules say of an element with these names, in elements with those of `above` (name -> how many are open)."""
        matching: list[_Rule] = []
        own = frozenset(names)
        for name in own:
            known = self.rules.get(name, {})
            self.work += len(known)
            if self.work > _WORK and any(hides(rule.style) for rule in known.values()):
                self.crowded.add(name)
            if name in self.crowded:
                return {"display": "none"}
            if self.work > _WORK:
                continue
            matching += [rule for rule in known.values() if rule.needs <= own and all(above.get(one) for one in rule.above)]
        merged: Style = {}
        for rule in sorted(matching, key=lambda one: one.weight):
            merged.update(rule.style)
        return merged


def _folded(part: str) -> str:
    """A tag is told in lower case; classes and ids are as written."""
    return part if part[0] in ".#" else part.lower()
