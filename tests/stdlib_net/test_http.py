"""`std/http` against real servers over loopback: who may be asked, what goes out, what comes back (K42, K26)."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from ael.natives.http import retry_after
from ael.types.fault import FaultKind
from tests.net.loopback import CLOSE, Answer, whole
from tests.stdlib_net.support import World, declared, fault, uncertain, value

GET = """
use std/http.{http_get, HttpStatus, NotAllowed}

node main(url: String) -> Json fails HttpStatus, NotAllowed
  grants std.http.get
{
  let found = try http_get(url, ["x-mine": "a"])
  json([json(found.status), json(found.media), json(found.body), json(found.headers.get("x-theirs"))])
}
"""
SEND = """
use std/http.{http_delete, http_patch, http_post, http_put, HttpStatus, NotAllowed}

node put(url: String) -> Int fails HttpStatus, NotAllowed grants std.http.send { (try http_put(url, "{}")).status }
node delete(url: String) -> Int fails HttpStatus, NotAllowed grants std.http.send { (try http_delete(url)).status }
node post(url: String) -> Int fails HttpStatus, NotAllowed, Uncertain grants std.http.send { (try http_post(url, "{}")).status }
node patch(url: String) -> Int fails HttpStatus, NotAllowed, Uncertain grants std.http.send { (try http_patch(url, "{}")).status }
"""


def said(body: bytes = b"hello", kind: str = "text/plain", **more: str) -> Answer:
    return whole(body, kind, 200, **more)


@pytest.mark.feature("A15.9")
def test_a_listed_host_is_asked_and_its_answer_is_a_record(tmp_path: Path) -> None:
    world = World(tmp_path, api=lambda _: said(x_theirs="b", set_cookie="id=1"))
    found = value(world.run(GET, "{ports}", {"url": "{api}/a%20b?c=d#part"}))
    assert found == [200, "text/plain", "hello", "b"]
    (asked,) = world.asked["api"]
    assert (asked.method, asked.path) == ("GET", "/a%20b?c=d")
    assert asked.headers["x-mine"] == "a"
    assert asked.headers["user-agent"].startswith("ael/")
    assert "content-length" not in asked.headers
    assert asked.headers["traceparent"].startswith("00-")


@pytest.mark.feature("A15.9", "K42")
@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("https://api.example.com/", "not among the hosts"),
        ("http://127.0.0.1:1/", "not among the hosts"),
        ("http://localhost/", "not among the hosts"),
        ("https://listed.example.com.evil.example/", "not among the hosts"),
        ("https://evil.example/listed.example.com", "not among the hosts"),
        ("https://listed.example.com:8443/", "`listed.example.com:8443` is not among the hosts"),
        ("https://example.org/", "not among the hosts"),
        ("https://evilexample.org/", "not among the hosts"),
        ("http://listed.example.com/", "without TLS"),
        ("https://user:pass@listed.example.com/", "user or a password"),
        ("https://listed.example.com\\@evil.example/", "backslash"),
        ("https://listed.example.com/\r\nx: y", "control character"),
        ("https://listed.example.com/a b", "blank"),
        ("https://lïsted.example.com/", "ASCII"),
        ("file:///etc/passwd", "neither with https"),
        ("gopher://listed.example.com/", "neither with https"),
        ("//listed.example.com/", "neither with https"),
        ("https:///x", "not among the hosts"),
        ("https://[::ffff:169.254.169.254]/", "not among the hosts"),
        ("https://listed.example.com:0/", "1 to 65535"),
        ("https://listed.example.com:99999/", "cannot be read"),
        ("https://listed.example.com/" + "x" * 5_000, "more than 4,096"),
    ],
)
def test_what_is_not_listed_is_not_asked(tmp_path: Path, url: str, why: str) -> None:
    """The allow-list comes first: before a name is looked up."""
    world = World(tmp_path)
    deploy = 'http = client(hosts: ["listed.example.com", "*.example.org"])\n'
    error, detail = declared(world.run(GET, deploy, {"url": url}))
    assert error == "NotAllowed"
    assert why in detail["reason"]


@pytest.mark.feature("K42")
@pytest.mark.parametrize(
    "host", ["127.0.0.1", "169.254.169.254", "10.0.0.1", "[::1]", "[fd00:ec2::254]", "[::ffff:10.0.0.1]", "100.100.100.200"]
)
def test_a_private_address_needs_a_host_line_of_its_own(tmp_path: Path, host: str) -> None:
    """To be listed for `http` makes an address no public one."""
    if host.startswith("["):
        deploy = "web = pages(anywhere: true)\n"
        main = """
use std/http.{HttpStatus, NotAllowed}
use std/web.{web_fetch, NotText}
node main(url: String) -> String fails HttpStatus, NotAllowed, NotText grants std.web.fetch { (try web_fetch(url)).text }
"""
    else:
        deploy, main = f'http = client(hosts: ["{host}"])\n', GET
    error, detail = declared(World(tmp_path).run(main, deploy, {"url": f"https://{host}/"}))
    assert error == "NotAllowed"
    assert "metadata" in detail["reason"] or "private or loopback address: a `host` line" in detail["reason"]


@pytest.mark.feature("K42")
@pytest.mark.parametrize("form", ["2130706433", "0177.0.0.1", "127.1", "0x7f.1", "0x7f000001"])
def test_forms_that_only_some_programs_read_as_an_address_are_none(tmp_path: Path, form: str) -> None:
    deploy = f'http = client(hosts: ["{form}"])\n'
    _, detail = declared(World(tmp_path).run(GET, deploy, {"url": f"https://{form}/"}))
    assert "read as an address" in detail["reason"]


@pytest.mark.feature("K42")
def test_a_name_that_stands_for_a_private_address_is_refused_where_it_is_connected_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rebinding: what was checked is what is connected to, so a second answer of the name server changes nothing."""
    looked_up: list[str] = []

    async def rebinding(self: object, host: str, port: int, **_: object) -> list[object]:
        looked_up.append(host)
        return [(2, 1, 6, "", ("127.0.0.1" if len(looked_up) > 1 else "10.0.0.7", port))]

    monkeypatch.setattr("asyncio.base_events.BaseEventLoop.getaddrinfo", rebinding)
    _, detail = declared(
        World(tmp_path).run(GET, 'http = client(hosts: ["rebind.example.com"])', {"url": "https://rebind.example.com/"})
    )
    assert "private or loopback" in detail["reason"]
    assert looked_up == ["rebind.example.com"]


# --- redirects ---------------------------------------------------------------------------------------------------------


def to(where: str, status: int = 302) -> Answer:
    return whole(b"moved", status=status, location=where)


@pytest.mark.feature("K42")
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_followed_within_its_host(tmp_path: Path, status: int) -> None:
    world = World(tmp_path, api=lambda asked: to("/b?x=1", status) if asked.path == "/a" else said(asked.path.encode()))
    assert value(world.run(GET, "{ports}", {"url": "{api}/a"}))[2] == "/b?x=1"
    assert [asked.headers.get("x-mine") for asked in world.asked["api"]] == ["a", "a"]


@pytest.mark.feature("K42")
@pytest.mark.parametrize(
    "location",
    [
        "http://127.0.0.1:1/",
        "http://169.254.169.254/latest/meta-data/",
        "https://evil.example/?note=1",
        "//evil.example/",
        "file:///etc/passwd",
    ],
)
def test_each_hop_is_checked_as_the_first_address_was(tmp_path: Path, location: str) -> None:
    world = World(tmp_path, api=lambda _: to(location))
    error, _ = declared(world.run(GET, "{ports}", {"url": "{api}/"}))
    assert error == "NotAllowed"
    assert len(world.asked["api"]) == 1


@pytest.mark.feature("K42", "K41")
def test_nothing_meant_for_one_origin_goes_to_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Real sockets, a credential and a header of one's own; nor does it come back when the other origin leads back."""
    monkeypatch.setenv("TOKEN", "hush-hush-hush")
    world = World(
        tmp_path,
        api=lambda asked: to(world.places["other"] + "/x") if asked.path == "/a" else said(),
        other=lambda _: to(world.places["api"] + "/back"),
    )
    deploy = '{ports}\nsecret TOKEN = env("TOKEN")\nhttp = client(bearer: ["127.0.0.1": secret("TOKEN")])\n'
    assert value(world.run(GET, deploy, {"url": "{api}/a"}))[2] == "hello"
    first, back = world.asked["api"]
    (crossed,) = world.asked["other"]
    assert first.headers["authorization"] == "Bearer hush-hush-hush"
    for asked in (crossed, back):
        assert "authorization" not in asked.headers
        assert "x-mine" not in asked.headers
        assert asked.headers["user-agent"].startswith("ael/")


@pytest.mark.feature("K42")
def test_redirects_end(tmp_path: Path) -> None:
    world = World(tmp_path, api=lambda asked: to(asked.path + "x"))
    assert fault(world.run(GET, "{ports}", {"url": "{api}/"})).kind is FaultKind.MALFORMED
    assert len(world.asked["api"]) == 6


# --- headers and credentials -----------------------------------------------------------------------------------------------

HEADER = """
use std/http.{http_get, HttpStatus, NotAllowed}
node main(url: String, name: String, text: String) -> Int fails HttpStatus, NotAllowed
  grants std.http.get
{
  let headers: Map<String, String> = [:]
  (try http_get(url, headers.set(name, text))).status
}
"""


@pytest.mark.feature("K42", "K41")
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x-a", "b\r\nx-evil: 1"), ("x-a\r\nx-evil", "1"), ("x a", "1"), ("", "1"), ("x-a", "b\0"), ("x-a", "☺"),
        ("host", "evil.example"), ("Content-Length", "0"), ("transfer-encoding", "chunked"), ("Connection", "x-mine"),
        ("authorization", "Bearer x"), ("Cookie", "a=b"), ("X-Api-Key", "x"),
        ("proxy-authorization", "x"), ("x-auth-token", "x"), ("Idempotency-Key", "x"),
        ("X-Forwarded-For", "1.2.3.4"), ("proxy-connection", "x"), ("origin", "https://x"),
        ("X-HTTP-Method-Override", "DELETE"), ("x-original-url", "/admin"), ("X-Real-IP", "10.0.0.1"),
    ],
)  # fmt: skip
def test_a_header_that_is_not_the_programs_is_not_sent(tmp_path: Path, name: str, text: str) -> None:
    world = World(tmp_path, api=lambda _: said())
    error, detail = declared(world.run(HEADER, "{ports}", {"url": "{api}/", "name": name, "text": text}))
    assert error == "NotAllowed"
    assert text.strip("1x") == "" or text not in detail["reason"]
    assert world.asked["api"] == []


@pytest.mark.feature("K41")
def test_the_deployments_credential_goes_to_its_host_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY", "key-key-key-key")
    world = World(tmp_path, api=lambda asked: said(json.dumps(dict(asked.headers)).encode()), other=lambda _: said())
    deploy = """{ports}
secret KEY = env("KEY")
http = client(headers: ["127.0.0.1": ["x-api-key": secret("KEY")], "elsewhere.example": ["x-other": secret("KEY")]], agent: "acme/1 (+https://acme.example)")
"""
    found = value(world.run(GET, deploy, {"url": "{api}/"}))
    (asked,) = world.asked["api"]
    assert asked.headers["x-api-key"] == "key-key-key-key"
    assert "x-other" not in asked.headers
    assert asked.headers["user-agent"] == "acme/1 (+https://acme.example)"
    assert "key-key-key-key" not in str(found), "what a server echoes is masked"


@pytest.mark.feature("K41")
def test_a_credential_that_this_machine_does_not_have_is_told_and_nothing_is_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KEY", raising=False)
    world = World(tmp_path, api=lambda _: said())
    deploy = '{ports}\nsecret KEY = env("KEY")\nhttp = client(bearer: ["127.0.0.1": secret("KEY")])\n'
    found = fault(world.run(GET, deploy, {"url": "{api}/"}))
    assert (found.kind, "environment variable KEY" in found.message) == (FaultKind.UNAVAILABLE, True)
    assert world.asked["api"] == []


# --- answers ------------------------------------------------------------------------------------------------------------


@pytest.mark.feature("K42")
def test_a_bomb_stops_at_the_cap(tmp_path: Path) -> None:
    packed = gzip.compress(bytes(64 << 20), 9, mtime=0)
    world = World(tmp_path, api=lambda _: said(packed, content_encoding="gzip"))
    assert fault(world.run(GET, "{ports}", {"url": "{api}/"})).kind is FaultKind.TOO_LARGE


def test_what_is_longer_than_the_deployment_allows_is_too_large(tmp_path: Path) -> None:
    world = World(tmp_path, api=lambda _: said(b"x" * 2_000))
    assert fault(world.run(GET, "{ports}\nhttp = client(max: 1KiB)", {"url": "{api}/"})).kind is FaultKind.TOO_LARGE


@pytest.mark.parametrize(
    ("body", "kind", "text"),
    [
        ("grün".encode(), "text/plain", "grün"),
        ("grün".encode("latin-1"), "text/plain; charset=ISO-8859-1", "grün"),
        ("€".encode("cp1252"), 'text/plain; charset="latin1"', "€"),
        ("\ufeffgrün".encode(), "text/plain; charset=latin1", "grün"),
        ("зелёный".encode("koi8-r"), "text/plain;charset=KOI8-R", "зелёный"),
        ("grün".encode("utf-16"), "text/plain", "grün"),
        (b"", "application/json", ""),
    ],
)
def test_text_is_in_the_charset_that_is_named_else_in_utf_8(tmp_path: Path, body: bytes, kind: str, text: str) -> None:
    world = World(tmp_path, api=lambda _: said(body, kind))
    assert value(world.run(GET, "{ports}", {"url": "{api}/"}))[2] == text


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"gr\xfcn", "text/plain"),
        (b"aGk=", "text/plain; charset=base64"),
        (b"hi", "text/plain; charset=unicode_escape"),
        (b"hi", "text/plain; charset=utf-7"),
    ],
)
def test_what_is_no_text_is_not_guessed_at(tmp_path: Path, body: bytes, kind: str) -> None:
    world = World(tmp_path, api=lambda _: said(body, kind))
    assert fault(world.run(GET, "{ports}", {"url": "{api}/"})).kind is FaultKind.MALFORMED


def test_a_status_that_is_no_success_is_typed(tmp_path: Path) -> None:
    world = World(tmp_path, api=lambda _: whole(b"no such order", "text/plain", 404))
    error, detail = declared(world.run(GET, "{ports}", {"url": "{api}/orders/1"}))
    assert (error, detail["status"], detail["body"]) == ("HttpStatus", 404, "no such order")


def test_json_is_read_strictly(tmp_path: Path) -> None:
    main = """
use std/http.{http_get_json, HttpStatus, NotAllowed}
node main(url: String) -> Json fails HttpStatus, NotAllowed grants std.http.get { try http_get_json(url) }
"""
    world = World(tmp_path, api=lambda asked: whole(b'{"a": 1}' if asked.path == "/good" else b'{"a": 1, "a": 2}'))
    assert value(world.run(main, "{ports}", {"url": "{api}/good"})) == {"a": 1}
    assert world.asked["api"][0].headers["accept"] == "application/json"
    assert fault(world.run(main, "{ports}", {"url": "{api}/bad"})).kind is FaultKind.MALFORMED


# --- repeat safety ------------------------------------------------------------------------------------------------------


@pytest.mark.feature("K26")
@pytest.mark.parametrize("entry", ["put", "delete"])
def test_what_may_be_repeated_is_with_the_same_key(tmp_path: Path, entry: str) -> None:
    answers = iter([Answer([CLOSE], raw=True), whole(b"", status=503, retry_after="0"), whole(b"done")])
    world = World(tmp_path, api=lambda _: next(answers))
    assert value(world.run(SEND, "{ports}", {"url": "{api}/x"}, entry=entry)) == 200
    keys = [asked.headers["idempotency-key"] for asked in world.asked["api"]]
    assert len(keys) == 3
    assert len(set(keys)) == 1


@pytest.mark.feature("K26")
@pytest.mark.parametrize("entry", ["post", "patch"])
@pytest.mark.parametrize(
    "answer",
    [
        Answer([CLOSE], raw=True), Answer([b"SSH-2.0\r\n"], raw=True), whole(b"", status=500), whole(b"", status=502),
        whole(b"", status=504), whole(b"", status=408), whole(b"x" * (2 << 20), "text/plain"), whole(b"\xff", "text/plain"),
        whole(b"x", "text/plain", content_encoding="br"),
    ],
)  # fmt: skip
def test_a_lost_answer_to_what_must_not_be_repeated_is_uncertain(tmp_path: Path, entry: str, answer: Answer) -> None:
    world = World(tmp_path, api=lambda _: answer)
    open_call = uncertain(world.run(SEND, "{ports}", {"url": "{api}/x"}, entry=entry))
    (asked,) = world.asked["api"]
    assert asked.headers["idempotency-key"] == open_call.key
    assert (asked.method, asked.body) == (entry.upper(), b"{}")


@pytest.mark.feature("K26")
def test_the_other_sides_no_is_no_doubt_and_what_was_not_sent_neither(tmp_path: Path) -> None:
    world = World(tmp_path, api=lambda _: whole(b"no", "text/plain", 422))
    assert declared(world.run(SEND, "{ports}", {"url": "{api}/x"}, entry="post"))[1]["status"] == 422
    unreachable = world.run(SEND, 'host "127.0.0.1:1"', {"url": "http://127.0.0.1:1/x"}, entry="post")
    assert fault(unreachable).kind is FaultKind.UNAVAILABLE


def test_a_redirect_of_what_changes_something_is_an_answer(tmp_path: Path) -> None:
    world = World(tmp_path, api=lambda _: to("/elsewhere"))
    assert value(world.run(SEND, "{ports}", {"url": "{api}/x"}, entry="post")) == 302
    assert len(world.asked["api"]) == 1


def test_head_asks_for_no_body(tmp_path: Path) -> None:
    main = """
use std/http.{http_head, HttpStatus, NotAllowed}
node main(url: String) -> String fails HttpStatus, NotAllowed grants std.http.get {
  let found = try http_head(url)
  "${found.status} ${found.headers.get("content-length") ?? ""} ${found.body.length()}"
}
"""
    world = World(tmp_path, api=lambda _: Answer((), 200, {"content-length": "5000"}))
    assert value(world.run(main, "{ports}", {"url": "{api}/x"})) == "200 5000 0"
    assert world.asked["api"][0].method == "HEAD"


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0.0), ("7", 7.0), ("99999999999999999999", 86_400.0), ("Thu, 01 Jan 1970 00:01:00 GMT", 60.0),
        ("Wed, 31 Dec 1969 23:00:00 GMT", 0.0), ("Fri, 01 Jan 2100 00:00:00 GMT", 86_400.0), ("", None), ("soon", None),
        ("-1", None), ("1.5", None), ("Thu, 99 Foo 1970", None), ("٣", None), ("x" * 10_000, None),
    ],
)  # fmt: skip
def test_how_long_the_other_side_asks_to_wait(text: str, seconds: float | None) -> None:
    assert retry_after(text, 0.0) == seconds
