"""URI templates of resources (RFC 6570): the simple, reserved, path, query and fragment expansions of single values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import quote

_EXPRESSION = re.compile(r"\{([+#./;?&]?)([A-Za-z0-9_%.,*]+)\}")
_RESERVED = ":/?#[]@!$&'()*+,;=%"
_FORMS: Mapping[str, tuple[str, str, bool, bool]] = {
    # operator: what goes first, what between, whether names are given, whether reserved characters stay
    "": ("", ",", False, False),
    "+": ("", ",", False, True),
    "#": ("#", ",", False, True),
    ".": (".", ".", False, False),
    "/": ("/", "/", False, False),
    ";": (";", ";", True, False),
    "?": ("?", "&", True, False),
    "&": ("&", "&", True, False),
}


def expanded(template: str, values: Mapping[str, object]) -> str:
    """The URI of a template; an expression without any value is left out."""

    def one(found: re.Match[str]) -> str:
        first, between, named, reserved = _FORMS[found[1]]
        parts = []
        for name in found[2].split(","):
            name = name.rstrip("*")
            value = values.get(name)
            if value is None:
                continue
            text = quote(plain(value), safe=_RESERVED if reserved else "-._~")
            parts.append(f"{name}={text}" if named and (text or found[1] != ";") else name if named else text)
        return first + between.join(parts) if parts else ""

    return _EXPRESSION.sub(one, template)


def plain(value: object) -> str:
    """An argument as the text that a template or a prompt takes."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
