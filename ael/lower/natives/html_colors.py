"""Colours of CSS, and whether letters can be told from their ground."""

from __future__ import annotations

import re
from colorsys import hls_to_rgb
from typing import NamedTuple

_CLOSE = 20
"""Letters whose red, green and blue are all within this of their ground's cannot be read."""
_FUNCTION = re.compile(r"(rgb|hsl)a?\(([^()]*)\)", re.ASCII)
_NUMBER = re.compile(r"[+-]?(?:\d{1,6}(?:\.\d{0,9})?|\.\d{1,9})", re.ASCII)
_PIECES = re.compile(r"[a-z]+\([^()]*\)|[^\s(),]+")

_NAMES = (
    "aliceblue f0f8ff antiquewhite faebd7 aqua 00ffff aquamarine 7fffd4 azure f0ffff beige f5f5dc bisque ffe4c4 black 000000 "
    "blanchedalmond ffebcd blue 0000ff blueviolet 8a2be2 brown a52a2a burlywood deb887 cadetblue 5f9ea0 chartreuse 7fff00 "
    "chocolate d2691e coral ff7f50 cornflowerblue 6495ed cornsilk fff8dc crimson dc143c cyan 00ffff darkblue 00008b darkcyan "
    "008b8b darkgoldenrod b8860b darkgray a9a9a9 darkgreen 006400 darkgrey a9a9a9 darkkhaki bdb76b darkmagenta 8b008b "
    "darkolivegreen 556b2f darkorange ff8c00 darkorchid 9932cc darkred 8b0000 darksalmon e9967a darkseagreen 8fbc8f "
    "darkslateblue 483d8b darkslategray 2f4f4f darkslategrey 2f4f4f darkturquoise 00ced1 darkviolet 9400d3 deeppink ff1493 "
    "deepskyblue 00bfff dimgray 696969 dimgrey 696969 dodgerblue 1e90ff firebrick b22222 floralwhite fffaf0 forestgreen 228b22 "
    "fuchsia ff00ff gainsboro dcdcdc ghostwhite f8f8ff gold ffd700 goldenrod daa520 gray 808080 green 008000 greenyellow adff2f "
    "grey 808080 honeydew f0fff0 hotpink ff69b4 indianred cd5c5c indigo 4b0082 ivory fffff0 khaki f0e68c lavender e6e6fa "
    "lavenderblush fff0f5 lawngreen 7cfc00 lemonchiffon fffacd lightblue add8e6 lightcoral f08080 lightcyan e0ffff "
    "lightgoldenrodyellow fafad2 lightgray d3d3d3 lightgreen 90ee90 lightgrey d3d3d3 lightpink ffb6c1 lightsalmon ffa07a "
    "lightseagreen 20b2aa lightskyblue 87cefa lightslategray 778899 lightslategrey 778899 lightsteelblue b0c4de lightyellow "
    "ffffe0 lime 00ff00 limegreen 32cd32 linen faf0e6 magenta ff00ff maroon 800000 mediumaquamarine 66cdaa mediumblue 0000cd "
    "mediumorchid ba55d3 mediumpurple 9370db mediumseagreen 3cb371 mediumslateblue 7b68ee mediumspringgreen 00fa9a "
    "mediumturquoise 48d1cc mediumvioletred c71585 midnightblue 191970 mintcream f5fffa mistyrose ffe4e1 moccasin ffe4b5 "
    "navajowhite ffdead navy 000080 oldlace fdf5e6 olive 808000 olivedrab 6b8e23 orange ffa500 orangered ff4500 orchid da70d6 "
    "palegoldenrod eee8aa palegreen 98fb98 paleturquoise afeeee palevioletred db7093 papayawhip ffefd5 peachpuff ffdab9 peru "
    "cd853f pink ffc0cb plum dda0dd powderblue b0e0e6 purple 800080 rebeccapurple 663399 red ff0000 rosybrown bc8f8f royalblue "
    "4169e1 saddlebrown 8b4513 salmon fa8072 sandybrown f4a460 seagreen 2e8b57 seashell fff5ee sienna a0522d silver c0c0c0 "
    "skyblue 87ceeb slateblue 6a5acd slategray 708090 slategrey 708090 snow fffafa springgreen 00ff7f steelblue 4682b4 tan "
    "d2b48c teal 008080 thistle d8bfd8 tomato ff6347 turquoise 40e0d0 violet ee82ee wheat f5deb3 white ffffff whitesmoke f5f5f5 "
    "yellow ffff00 yellowgreen 9acd32"
)


def _table(text: str) -> dict[str, str]:
    words = text.split()
    return dict(zip(words[::2], words[1::2], strict=True))


_HEX = _table(_NAMES)
"""The named colours of CSS."""


class Color(NamedTuple):
    """Red, green and blue from 0 to 255; `alpha` 0 shows nothing."""

    red: float
    green: float
    blue: float
    alpha: float = 1.0


BLACK, WHITE = Color(0, 0, 0), Color(255, 255, 255)


class Ink(NamedTuple):
    """The colour of letters and of what is behind them; None where it is not known."""

    color: Color | None
    ground: Color | None

    @property
    def legible(self) -> bool:
        """Whether letters of it can be told from their ground, as far as one knows."""
        if self.color is None:
            return True
        if self.color.alpha <= 0.05:
            return False
        return self.ground is None or any(abs(a - b) > _CLOSE for a, b in zip(self.color[:3], self.ground[:3], strict=True))


def color_of(text: str) -> Color | None:
    """The colour that CSS (in lower case) or an attribute names; None for what is none, or depends on more."""
    text = text.strip()
    if text == "transparent":
        return Color(0, 0, 0, 0.0)
    digits = _HEX.get(text) or (text[1:] if text.startswith("#") else "")
    if len(digits) in (3, 4):
        digits = "".join(digit * 2 for digit in digits)
    if len(digits) in (6, 8) and re.fullmatch(r"[0-9a-f]+", digits):
        parts = [int(digits[at : at + 2], 16) for at in range(0, len(digits), 2)]
        return Color(parts[0], parts[1], parts[2], parts[3] / 255 if len(parts) == 4 else 1.0)
    found = _FUNCTION.fullmatch(text)
    return _function(found[1], found[2]) if found is not None else None


def _function(kind: str, inside: str) -> Color | None:
    words = re.split(r"[\s,/]+", inside.strip())
    read = [(_NUMBER.match(word), word.endswith("%")) for word in words]
    if len(read) not in (3, 4) or any(number is None for number, _ in read):
        return None
    values = [float(number[0]) for number, _ in read if number is not None]
    alpha = 1.0 if len(values) == 3 else values[3] / 100 if read[3][1] else values[3]
    if kind == "hsl":
        rgb = hls_to_rgb(values[0] % 360 / 360, min(max(values[2], 0), 100) / 100, min(max(values[1], 0), 100) / 100)
        return Color(rgb[0] * 255, rgb[1] * 255, rgb[2] * 255, alpha)
    channels = [
        min(max(value * 2.55 if share else value, 0), 255) for value, (_, share) in zip(values[:3], read[:3], strict=True)
    ]
    return Color(channels[0], channels[1], channels[2], alpha)


def ground_of(value: str, behind: Color | None) -> Color | None:
    """What is behind letters where `background` is this, over what was `behind` before; None where it is a picture or not known."""
    colors = [color_of(piece) for piece in _PIECES.findall(value)] if "url(" not in value and "gradient" not in value else []
    known = [color for color in colors if color is not None]
    if value in ("none", "transparent", "initial", "unset", "revert"):
        return behind
    if len(known) != 1:
        return None
    return behind if known[0].alpha <= 0.05 else known[0] if known[0].alpha >= 0.95 else None
