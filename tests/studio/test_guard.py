"""Who may talk to the studio: the address opens it once, a cookie of one path, this machine's names, the page's own origin."""

from __future__ import annotations

import json
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ael.studio.guard import HEADERS, Guard, Refused
from tests.studio.desk import Served, program, studio


@pytest.mark.feature("B6")
def test_the_address_opens_it_once_and_another_one_is_told(served: Served) -> None:
    guard = Guard((told := []).append)
    first = guard.token
    cookie = guard.enter(first)
    assert cookie is not None
    assert cookie.endswith(f"; Path={guard.base}; HttpOnly; SameSite=Strict")
    assert guard.enter(first) is None
    assert told == [guard.token]
    assert guard.enter(guard.token) is not None
    assert guard.known({"cookie": [f"other=1; {cookie.partition(';')[0]}"]})
    assert not guard.known({"cookie": ["ael_studio=guess"]})
    used = urlsplit(served.addresses[0])
    assert served.raw("GET", f"/?{used.query}").status == 403


@pytest.mark.feature("B6")
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Cookie": ""}, 401),
        ({"Cookie": "ael_studio=guess"}, 401),
        ({"Host": "evil.example"}, 403),
        ({"Host": "127.0.0.1.evil.example"}, 403),
        ({"Host": "evil.example@127.0.0.1"}, 403),
        ({"Host": ""}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://127.0.0.1:1"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
    ],
)
def test_nobody_else_reads(served: Served, headers: dict[str, str], status: int) -> None:
    asked = {"Cookie": served.cookie, **headers}
    assert served.raw("GET", f"{served.base}api/runs", headers=asked).status in (
        status,
        400 if headers.get("Host") == "" else status,
    )


@pytest.mark.feature("B6")
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": ""}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "https://HOST"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Cookie": ""}, 401),
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Type": "application/x-www-form-urlencoded"}, 415),
        ({"Host": "evil.example", "Origin": "http://evil.example"}, 403),
    ],
)
def test_nobody_else_does_anything(served: Served, headers: dict[str, str], status: int) -> None:
    before = len(served.get("runs").json["rows"])
    said = {name: value.replace("HOST", served.host) for name, value in headers.items()}
    given = {"Cookie": served.cookie, "Origin": f"http://{served.host}", "Content-Type": "application/json", **said}
    body = json.dumps({"entry": "main.books", "input": {}}).encode()
    assert served.raw("POST", f"{served.base}api/runs", body, given).status == status
    assert len(served.get("runs").json["rows"]) == before


@pytest.mark.feature("B6")
def test_every_answer_lets_nothing_in(served: Served) -> None:
    paths = ["/", "/nothing", served.base, f"{served.base}main.js", f"{served.base}api/runs", f"{served.base}api/none"]
    for path in paths:
        found = served.raw("GET", path, headers={"Cookie": served.cookie})
        for name, value in HEADERS:
            assert found.headers[name] == value, path
        assert "access-control-allow-origin" not in found.headers
    policy = dict(HEADERS)["content-security-policy"]
    assert "unsafe" not in policy
    assert "script-src 'self'" in policy
    assert served.raw("OPTIONS", f"{served.base}api/runs", headers={"Cookie": served.cookie}).status == 403
    assert served.raw("GET", served.base, headers={}).status == 401
    assert served.raw("GET", f"{served.base}../serve.py", headers={"Cookie": served.cookie}).status == 404


def test_what_is_read_only_does_nothing(tmp_path_factory: pytest.TempPathFactory) -> None:
    with studio(program(tmp_path_factory.mktemp("only")), read_only=True) as found:
        found.enter()
        refused = found.post("runs", {"entry": "main.books", "input": {}})
        assert (refused.status, found.get("runs").json["rows"]) == (403, [])
        assert "--read-only" in refused.error
        assert not (found.folder / "runs.db").exists()


@pytest.mark.parametrize(
    ("body", "status"), [(b"{", 400), (b"[]", 400), (b'{"a": 1, "a": 2}', 400), (b"\xff\xfe", 400), (b" " * 5_000_000, 413)]
)
def test_a_body_is_bounded_and_strict(served: Served, body: bytes, status: int) -> None:
    headers = {"Cookie": served.cookie, "Origin": f"http://{served.host}", "Content-Type": "application/json"}
    assert served.raw("POST", f"{served.base}api/runs", body, headers).status == status


@given(st.text(max_size=60))
def test_no_host_but_this_machines_is_let_in(host: str) -> None:
    guard = Guard(lambda token: None)
    try:
        found = guard.host({"host": [host]})
    except Refused:
        return
    assert found.partition(":")[0].strip("[") in ("127.0.0.1", "localhost", "")
    assert not set(found) & set("/@?# ")
