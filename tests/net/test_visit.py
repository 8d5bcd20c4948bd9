"""Addresses of pages, and redirects: what may be asked, hop by hop (K42)."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ael.net.address import rules
from ael.net.client import Client
from ael.net.failure import NetError, NetKind
from ael.net.reach import listed_hosts, reach, read_place
from ael.net.visit import Ask, Visited, Visitor
from tests.net.loopback import Answer, Asked, Loopback, whole

ALLOWED = reach(["good.example", "*.wide.example", "odd.example:8443"]) | listed_hosts(["localhost:8080"])
LISTED = rules(["localhost:8080"])


@pytest.mark.parametrize(
    ("url", "read"),
    [
        ("https://good.example", "https://good.example/"),
        ("HTTPS://Good.Example:443/A/b?c=d#e", "https://good.example/A/b?c=d"),
        ("https://good.example/ä?ö=€", "https://good.example/%C3%A4?%C3%B6=%E2%82%AC"),
        ("https://good.example/%41%zz?%", "https://good.example/%41%25zz?%25"),
        ("https://good.example/a|b[c]", "https://good.example/a%7Cb%5Bc%5D"),
        ("https://a.b.wide.example/", "https://a.b.wide.example/"),
        ("https://odd.example:8443/", "https://odd.example:8443/"),
        ("http://localhost:8080/", "http://localhost:8080/"),
    ],
)
def test_an_address_is_read_in_one_way(url: str, read: str) -> None:
    place = read_place(url, LISTED, ALLOWED)
    assert place.url == read
    assert read_place(place.url, LISTED, ALLOWED) == place
    assert "good" not in repr(place) or "?" not in repr(place)


@pytest.mark.feature("K42")
@given(
    st.one_of(
        st.text(max_size=80),
        st.builds(
            lambda scheme, host, rest: f"{scheme}://{host}{rest}",
            st.sampled_from(["https", "http", "HTTPS", "ftp", "javascript"]),
            st.one_of(
                st.sampled_from(["good.example", "x.wide.example", "wide.example", "good.example.", "good.example:8443", "10.0.0.1"]),
                st.text("goodexamplw.:@/\\#?%0[]-_ ", max_size=30),
            ),
            st.text(max_size=30),
        ),
    )
)  # fmt: skip
def test_whatever_is_read_is_of_a_listed_host(url: str) -> None:
    try:
        place = read_place(url, LISTED, ALLOWED)
    except NetError:
        return
    host = place.endpoint.host.rstrip(".")
    assert host == "good.example" or host.endswith(".wide.example") or host in ("odd.example", "localhost")
    assert place.url.isascii()
    assert not any(ord(character) <= 32 for character in place.url)
    assert read_place(place.url, LISTED, ALLOWED).url == place.url


def visiting(
    handler: Callable[[Asked, int], Answer], path: str, *, secure: bool = False, deadline: float = 30.0
) -> Visited | NetError:
    """Ask a server on `localhost`, over TLS where `secure`; beside it is one without. The handler gets the port of that."""
    certificate = Path(__file__).with_name("loopback.pem")

    async def main() -> Visited | NetError:
        own = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        own.load_cert_chain(certificate)
        trusting = ssl.create_default_context(cafile=str(certificate))
        async with Loopback(lambda asked: handler(asked, 0)) as plain:
            port = plain.port
            async with Loopback(lambda asked: handler(asked, port), own if secure else None) as server:
                hosts = [f"localhost:{server.port}", f"localhost:{port}"]
                client = Client(rules(hosts), tls=trusting)
                visitor = Visitor(client, rules(hosts))
                url = f"{'https' if secure else 'http'}://localhost:{server.port}{path}"
                try:
                    return await visitor.visit(Ask("GET", url), listed_hosts(hosts), deadline=deadline)
                except NetError as problem:
                    return problem
                finally:
                    await client.close()

    return asyncio.run(main())


@pytest.mark.feature("K42")
def test_a_redirect_from_tls_to_none_is_refused_though_its_host_is_listed() -> None:
    found = visiting(lambda asked, port: whole(b"", status=302, location=f"http://localhost:{port}/plain"), "/", secure=True)
    assert isinstance(found, NetError)
    assert (found.kind, "without TLS" in found.message) == (NetKind.ADDRESS, True)
    over = visiting(
        lambda asked, port: whole(b"ok") if asked.path == "/b" else whole(b"", status=302, location="/b"), "/", secure=True
    )
    assert isinstance(over, Visited)
    assert (over.body, over.hops) == (b"ok", 1)


def test_the_time_for_everything_may_be_over_before_it_begins() -> None:
    found = visiting(lambda asked, port: whole(b"ok"), "/", deadline=0.0)
    assert isinstance(found, NetError)
    assert (found.kind, found.sent) == (NetKind.TIMEOUT, False)


@pytest.mark.parametrize("location", ["http://[", "https://\ud800.example/", "http://x:y/", "\x00"])
def test_a_redirect_to_no_address_is_refused(location: str) -> None:
    answer = Answer(
        [b"HTTP/1.1 302 Found\r\ncontent-length: 0\r\nlocation: " + location.encode("utf-8", "surrogatepass") + b"\r\n\r\n"],
        raw=True,
    )
    found = visiting(lambda asked, port: answer, "/")
    assert isinstance(found, NetError)
    assert found.kind in (NetKind.ADDRESS, NetKind.MALFORMED)
