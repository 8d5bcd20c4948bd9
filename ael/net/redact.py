"""Masks secret values in texts that leave the process: by value, in every form in which a value commonly turns up (fault kind
K41).
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterable
from urllib.parse import quote, quote_plus

from ael.types.value import Secret

_ESCAPE = re.compile("%[0-9A-F]{2}")
MASK = "[secret]"
SHORTEST = 4
"""A shorter value cannot be masked without destroying texts by accident; such a secret protects nothing."""


def forms(value: str) -> tuple[str, ...]:
    """The value as it is, in JSON and in JSON within JSON, percent-encoded, in hexadecimal, and the part of its base64 that any neighbours
    leave alone.
    """
    data = value.encode("utf-8", "surrogatepass")
    found = {value, data.hex(), data.hex().upper()}
    for whole in (True, False):
        # JSON text is often a string of JSON itself.
        once = json.dumps(value, ensure_ascii=whole)[1:-1]
        found |= {once, json.dumps(once, ensure_ascii=whole)[1:-1]}
    for encoded in (quote(data, safe=""), quote(data), quote_plus(data)):
        found |= {encoded, _ESCAPE.sub(lambda escape: escape[0].lower(), encoded)}
    for offset in range(3):
        # Base64 works in groups of three bytes: cut the characters that bytes before and after the value take part in.
        text = b64encode(bytes(offset) + data).decode().rstrip("=")
        core = text[(0, 2, 3)[offset] : len(text) if (offset + len(data)) % 3 == 0 else len(text) - 1]
        if len(core) >= 2 * SHORTEST:
            found |= {core, core.replace("+", "-").replace("/", "_")}
    return tuple(sorted((form for form in found if len(form) >= SHORTEST), key=len, reverse=True))


class Redactor:
    """Masks the values of the given secrets."""

    __slots__ = ("_forms",)

    def __init__(self, secrets: Iterable[Secret] = ()) -> None:
        found: set[str] = set()
        for secret in secrets:
            found.update(forms(secret.reveal()))
        self._forms = tuple(sorted(found, key=len, reverse=True))

    def __call__(self, text: str) -> str:
        for form in self._forms:
            if form in text:
                text = text.replace(form, MASK)
        return text


def bounded(text: str, limit: int = 500) -> str:
    """Outside text for a message: one line, printable, at most `limit` characters."""
    line = " ".join(text[: 4 * limit].split())
    clean = "".join(character if character.isprintable() else "�" for character in line)
    return clean if len(clean) <= limit else clean[: limit - 1] + "…"
