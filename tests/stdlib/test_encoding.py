"""Forms of bytes and texts, and digests, against Python's own."""

from __future__ import annotations

import base64
import binascii
import contextlib
import hashlib
import hmac
import html
from urllib.parse import parse_qsl, quote, unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ael.lower.natives import encoding as natives
from ael.types.value import Secret
from tests.stdlib.functions import module

ENCODING = module("encoding")
HASH = module("hash")
TEXTS = st.text(alphabet=st.characters(exclude_categories=["Cs"]))


@given(st.binary())
def test_bytes_there_and_back(data: bytes) -> None:
    assert ENCODING.to_hex(data) == data.hex()
    assert ENCODING.from_hex(data.hex().upper()) == data
    assert ENCODING.from_base64(base64.b64encode(data).decode()) == data
    url = ENCODING.to_base64url(data)
    assert url == base64.urlsafe_b64encode(data).decode().rstrip("=")
    assert ENCODING.from_base64url(url) == data
    assert ENCODING.from_base64url(base64.urlsafe_b64encode(data).decode()) == data


@pytest.mark.feature("K13")
@given(st.text(alphabet="ABQRZaz019+/-_=\n \xa0é٣", max_size=12))
def test_there_is_one_text_for_each_value(text: str) -> None:
    plain, url, digits = ENCODING.from_base64(text), ENCODING.from_base64url(text), ENCODING.from_hex(text)
    assert plain is None or base64.b64encode(plain).decode() == text
    assert url is None or base64.urlsafe_b64encode(url).decode().rstrip("=") == text.rstrip("=")
    assert digits is None or digits.hex() == text.lower()
    if plain is None:
        strict = None
        with contextlib.suppress(binascii.Error, ValueError):
            strict = base64.b64decode(text, validate=True)
        assert strict is None or base64.b64encode(strict).decode() != text


@given(TEXTS)
def test_percent_encoding_is_that_of_urls(text: str) -> None:
    written = ENCODING.percent_encode(text)
    assert written == quote(text, safe="")
    assert ENCODING.percent_decode(written) == text


@pytest.mark.feature("K13")
@given(st.text(alphabet="%0aAfFgG+& =é\ud800", max_size=12))
def test_decoding_never_guesses(text: str) -> None:
    found = ENCODING.percent_decode(text)
    if found is not None and "\ud800" not in text:
        assert found == unquote(text, errors="strict")
    ENCODING.parse_query(text)
    ENCODING.percent_encode(text)


@given(st.lists(st.tuples(TEXTS, TEXTS), max_size=6))
def test_query_strings_are_what_python_reads(pairs: list[tuple[str, str]]) -> None:
    fields = [{"name": name, "value": value} for name, value in pairs]
    written = ENCODING.query_string(fields)
    assert parse_qsl(written, keep_blank_values=True, strict_parsing=bool(pairs)) == pairs
    assert ENCODING.parse_query(f"?{written}") == fields


@given(TEXTS)
def test_html_there_and_back(text: str) -> None:
    written = ENCODING.html_escape(text)
    assert written == html.escape(text).replace("&#x27;", "&#39;")
    assert not set(written) & set("<>\"'")
    assert ENCODING.html_unescape(written) == text


@pytest.mark.feature("K12", "K13")
@given(st.text(alphabet="&#xX0123456789abcdef;ltgmpquo ", max_size=30))
def test_references_are_those_of_html(text: str) -> None:
    assert natives.html_unescape(text) == html.unescape(text)


@pytest.mark.feature("K12", "K13")
@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("&#" + "9" * 5_000 + ";", "\ufffd"),
        ("&#x" + "F" * 5_000 + ";", "\ufffd"),
        ("&#" + "0" * 5_000 + "65;", "A"),
        ("&#1114112;", "\ufffd"),
        ("&#xD800;", "\ufffd"),
        ("&#0;", "\ufffd"),
    ],
)
def test_references_to_no_character(text: str, read: str) -> None:
    assert natives.html_unescape(text) == read


@given(st.binary(), st.binary())
def test_digests_and_signatures(key: bytes, data: bytes) -> None:
    assert HASH.sha256(data) == hashlib.sha256(data).hexdigest()
    assert HASH.sha512(data) == hashlib.sha512(data).hexdigest()
    assert HASH.insecure_sha1(data) == hashlib.sha1(data).hexdigest()
    assert HASH.insecure_md5(data) == hashlib.md5(data).hexdigest()
    signature = hmac.new(key, data, "sha256").hexdigest()
    assert HASH.hmac_sha256(key, data) == signature
    assert HASH.is_signed(key, data, signature.upper())
    assert not HASH.is_signed(key, data + b"x", signature)
    assert HASH.same(key, data) == (key == data)


def test_a_secret_signs_and_is_never_told() -> None:
    key = Secret("KEY", "hush-hush")
    signature = HASH.hmac_sha256_secret(key, b"body")
    assert signature == hmac.new(b"hush-hush", b"body", "sha256").hexdigest()
    assert HASH.is_signed_secret(key, b"body", signature)
    assert not HASH.is_signed_secret(key, b"other", signature)
    assert not HASH.is_signed_secret(key, b"body", "é")
