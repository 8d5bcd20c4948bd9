"""The lines of a deployment that say whom `std/http` and `std/web` may ask: each part is checked where it stands."""

from __future__ import annotations

from pathlib import Path

import pytest

from ael.hosting.summary import summary
from ael.project.bind_http import HttpBinding, host_form
from ael.project.bind_web import SearchBinding, WebBinding
from tests.programs import brief, open_files

MAIN = "node main() -> Int { 1 }\n"


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('http = client(hosts: "a.example")', "AEL0814 1:15 `hosts` is a list of hosts"),
        ('http = client(hosts: ["https://a.example"])', "AEL0814 1:15 `https://a.example` is no host"),
        ('http = client(hosts: ["*.com"])', "AEL0814 1:15 `*.com` is no host"),
        ('http = client(hosts: ["*"])', "AEL0814 1:15 `*` is no host"),
        ('http = client(hosts: ["a.*.example"])', "AEL0814 1:15 `a.*.example` is no host"),
        ("http = client(hosts: [1])", "AEL0814 1:15 a host is a text"),
        ('http = client("a.example")', "AEL0814 1:8 `client` takes named options alone"),
        ("http = client(proxy: 1)", "AEL0814 1:15 `client` has no `proxy`"),
        ("http = curl()", "AEL0814 1:8 a `http` line cannot have `curl` as its value"),
        ("http = client(max: 2MB)", "AEL0814 1:15 `max` is a size of 1 to 1,048,576 bytes, such as `256KiB`"),
        ("http = client(max: 0)", "AEL0814 1:15 `max` is a size of 1 to 1,048,576 bytes, such as `256KiB`"),
        ('http = client(agent: "a\\nb")', "AEL0814 1:15 `agent` is one line of ASCII, up to 200 characters"),
        ('http = client(bearer: ["a.example": "abc"])', "AEL0815 1:15 a token is a named secret, never text in a file"),
        (
            'http = client(bearer: ["*.a.example": secret("T")])',
            "AEL0814 1:15 `*.a.example` is no host that a credential can be for",
        ),
        ('http = client(bearer: ["a.example": secret("T")])', "AEL0831 1:15 the deployment has no secret `T`"),
        ('http = client(headers: ["a.example": ["x y": secret("T")]])', "AEL0814 1:15 `x y` is no header that can be set"),
        ('http = client(headers: ["a.example": ["host": secret("T")]])', "AEL0814 1:15 `host` is no header that can be set"),
        ('http = client(headers: ["a.example": []])', "AEL0814 1:15 the headers of `a.example` are a map from names to secrets"),
        (
            'http = client(headers: ["a.example": ["x-a": "v"]])',
            "AEL0815 1:15 a header's value is a named secret, never text in a file",
        ),
        ("http = client()\nhttp = client()", "AEL0813 2:1 `http` is bound twice"),
        ("web = search()", "AEL0814 1:7 `search` takes the address that is asked"),
        ('web = search("http://s.example/")', "AEL0814 1:7 `s.example` would be asked without encryption"),
        ('web = search("https://u:p@s.example/")', "AEL0815 1:7 an address holds no user and no password"),
        ('web = search("https://s.example/?key=abc")', "AEL0815 1:7 `key` in an address is a credential written in a file"),
        (
            'web = search("https://s.example/?a=b")',
            "AEL0814 1:7 the address of a search has no `?`: what is asked is added to it",
        ),
        ('web = search("https://10.0.0.1/")', "AEL0814 1:7 `10.0.0.1` is a private address"),
        ('web = search("https://s.example/", key: "abc")', "AEL0815 1:36 a key is a named secret, never text in a file"),
        ("web = brave()", "AEL0814 1:7 `brave` needs a key"),
        ('web = pages(key: secret("K"))', "AEL0814 1:13 `pages` has no `key`"),
        (
            "web = pages(anywhere: 1)",
            "AEL0814 1:13 `anywhere` is `true` or `false`: whether `web_fetch` may ask every public host",
        ),
        ("web = pages()\nweb = pages()", "AEL0813 2:1 `web` is bound twice"),
        ("web pages = pages()", "AEL0814 1:5 a `web` line has no place for this"),
    ],
)
def test_what_is_wrong_is_told_where_it_stands(tmp_path: Path, line: str, told: str) -> None:
    _, bag = open_files(tmp_path, {"main.ael": MAIN, "deploy.ael": line + "\n"})
    [found] = bag.sorted()
    assert brief(found, tmp_path, "deploy.ael") == told


def test_what_is_right_is_read(tmp_path: Path) -> None:
    deploy = """
web = search("http://search.internal:8080/find", key: secret("K"), hosts: ["Docs.Example.com", "*.wikipedia.org"], max: 1MB)
http = client(
  hosts: ["API.example.com:8443"],
  headers: ["api.example.com": ["X-Key": secret("K")]],
  bearer: ["api.example.com": secret("K"), "other.example.com": secret("K")],
)
host "search.internal:8080"
secret K = env("K")
"""
    found, bag = open_files(tmp_path, {"main.ael": MAIN, "deploy.ael": deploy})
    assert not bag.errors
    assert found is not None
    web, http = found.deployment.natives["web"], found.deployment.natives["http"]
    assert isinstance(web, WebBinding)
    assert isinstance(http, HttpBinding)
    assert web.search == SearchBinding("search", "http://search.internal:8080/find", "K")
    assert (web.hosts, web.anywhere, web.max_bytes) == (("docs.example.com", "*.wikipedia.org"), False, 1_000_000)
    assert http.hosts == ("api.example.com:8443",)
    rows = {row.kind: row.bound for row in summary(found)}
    assert rows["http"] == "api.example.com:8443; authorization, x-key for api.example.com; authorization for other.example.com"
    assert rows["web"] == "search http://search.internal:8080/find; fetches docs.example.com, *.wikipedia.org"
    assert http.headers == {
        "api.example.com": {"x-key": ("", "K"), "authorization": ("Bearer ", "K")},
        "other.example.com": {"authorization": ("Bearer ", "K")},
    }


@pytest.mark.parametrize(
    "text", ["", ".", "a..b", "-a.example", "a b", "a/b", "a:", "a:123456", "[::1]", "a@b", "*.", "*.*.example.com", "ä.example"]
)
def test_forms_of_hosts(text: str) -> None:
    assert not host_form(text)
