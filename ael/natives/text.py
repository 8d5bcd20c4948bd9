"""What bytes from outside say: their media type and charset. Nothing is guessed: what is named decides, else it is UTF-8."""

from __future__ import annotations

import codecs
import re

_MEDIA = re.compile(r"[a-z0-9!#$&^_.+-]{1,64}/[a-z0-9!#$&^_.+-]{1,64}")
_CHARSET = re.compile(r';\s*charset\s*=\s*"?([A-Za-z0-9_.:+-]{1,40})"?', re.IGNORECASE)
_META = re.compile(rb"""<meta\s[^>]{0,512}?charset\s*=\s*["']?\s*([A-Za-z0-9_.:+-]{1,40})""", re.IGNORECASE)
_PRESCAN = 1_024
"""Bytes in which a page has to name its charset (https://html.spec.whatwg.org/#charset)."""
_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_AS_ON_THE_WEB = {"iso-8859-1": "windows-1252", "latin1": "windows-1252", "us-ascii": "windows-1252", "ascii": "windows-1252"}
"""What these labels mean on the web (https://encoding.spec.whatwg.org/#names-and-labels)."""
_KNOWN = frozenset(
    {
        "utf-8", "utf8", "utf-16le", "utf-16be", "utf-16-le", "utf-16-be", "windows-1250", "windows-1251", "windows-1252",
        "windows-1253", "windows-1254", "windows-1255", "windows-1256", "windows-1257", "windows-1258", "windows-874",
        "iso-8859-2", "iso-8859-3", "iso-8859-4", "iso-8859-5", "iso-8859-6", "iso-8859-7", "iso-8859-8", "iso-8859-10",
        "iso-8859-13", "iso-8859-14", "iso-8859-15", "iso-8859-16", "koi8-r", "koi8-u", "macintosh", "gbk", "gb2312",
        "gb18030", "big5", "euc-jp", "iso-2022-jp", "shift_jis", "shift-jis", "euc-kr", "ibm866",
    }
)  # fmt: skip
"""The charsets of the web. None of Python's others: some of them are no charsets at all (`base64`, `unicode_escape`)."""
_PYTHON = {
    "macintosh": "mac-roman",
    "ibm866": "cp866",
    "windows-874": "cp874",
    "gb2312": "gbk",
    "utf-16le": "utf-16-le",
    "utf-16be": "utf-16-be",
}


class NotText(Exception):
    """Bytes that are no text in the charset that they are said to be in; the sentence says so."""


def media_type(content_type: str) -> str:
    """`text/html` of `Text/HTML; charset=…`; empty where it is none."""
    media = content_type.partition(";")[0].strip().lower()
    return media if _MEDIA.fullmatch(media) else ""


def text_in(body: bytes, content_type: str, *, lenient: bool = False) -> str:
    """The text that `body` is. `lenient`: a page, which may name its charset itself, and in which wrong bytes become `�`.

    Raises `NotText`.
    """
    for mark, name in _MARKS:
        if body.startswith(mark):
            return _decoded(body[len(mark) :], name, lenient)
    said = _CHARSET.search(content_type)
    label = said[1] if said is not None else ""
    if not label and lenient and (own := _META.search(body[:_PRESCAN])) is not None:
        label = own[1].decode("ascii")
        if label.lower().startswith("utf-16"):
            label = "utf-8"  # it was read as ASCII so far, so that is what it cannot be
    label = label.lower() or "utf-8"
    label = _AS_ON_THE_WEB.get(label, label)
    if label not in _KNOWN:
        raise NotText(f"it is said to be in the charset `{label}`, which is none of the web's")
    return _decoded(body, _PYTHON.get(label, label), lenient)


def _decoded(body: bytes, charset: str, lenient: bool) -> str:
    try:
        return body.decode(charset, "replace" if lenient else "strict")
    except UnicodeDecodeError as error:
        raise NotText(f"it is no text in {charset}: byte {error.start:,} fits nowhere") from None
