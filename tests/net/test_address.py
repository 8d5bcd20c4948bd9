"""Which addresses may be reached (fault kind K42), and that no error shows a credential (K41)."""

from __future__ import annotations

from ipaddress import ip_address

import pytest

from ael.net.address import AddressRules, check_address, parse_endpoint, rules
from ael.net.failure import NetError, NetKind

NOTHING = AddressRules()


@pytest.mark.parametrize(
    "host",
    [
        *("127.0.0.1", "127.8.8.8", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "169.254.1.1", "100.64.0.1"),
        *("0.0.0.0", "224.0.0.1", "240.0.0.1", "255.255.255.255", "168.63.129.16", "100.100.100.200", "192.0.2.1", "198.18.0.1"),
        *("[::1]", "[::]", "[fe80::1]", "[fc00::1]", "[fd00:ec2::254]", "[ff02::1]", "[::ffff:127.0.0.1]", "[::ffff:10.0.0.1]"),
        *("[::ffff:a9fe:a9fe]", "[2002:7f00:0001::]", "[64:ff9b::7f00:1]", "[64:ff9b::169.254.169.254]", "[::127.0.0.1]"),
        *("192.0.0.192", "[fec0::1]", "[::ffff:0:127.0.0.1]", "[3fff::1]", "[5f00::1]", "[4000::1]"),
        "[2001:0:7f00:1::]",
    ],
)
def test_an_address_that_is_not_public_is_refused(host: str) -> None:
    """K42: loopback, private, link-local, metadata, multicast, and each of them inside an IPv6 address."""
    with pytest.raises(NetError) as caught:
        parse_endpoint(f"https://{host}/v1", NOTHING)
    assert caught.value.kind is NetKind.ADDRESS


@pytest.mark.parametrize(
    "host",
    [
        *(
            "2130706433",
            "0x7f000001",
            "0177.0.0.1",
            "127.1",
            "127.0.1",
            "0x7f.1",
            "017700000001",
            "0x7f.0.0.1",
            "1.2.3",
            "1.2.3.4.5",
        ),
        *("127.0.0.01", "0", "256.1.1.1", "example.123", "127.0.0.1.", "0x"),
    ],
)
def test_a_form_that_only_some_programs_read_as_an_address_is_refused(host: str) -> None:
    """K42: decimal, octal, hexadecimal and short forms, even where the host is listed in its plain form."""
    for allowed in (NOTHING, rules(["127.0.0.1"])):
        with pytest.raises(NetError) as caught:
            parse_endpoint(f"https://{host}/", allowed)
        assert caught.value.kind is NetKind.ADDRESS


@pytest.mark.parametrize(
    "url",
    [
        *(
            "ftp://example.com",
            "file:///etc/passwd",
            "example.com",
            "//example.com",
            "https://",
            "https:///v1",
            "https://a b.com",
        ),
        *(
            "https://exa\tmple.com",
            "https://example.com\\@evil.com",
            "https://ex%61mple.com",
            "https://例え.jp",
            "https://[::1",
            "https://[1.2.3.4]",
        ),
        *("https://example.com:0", "https://example.com:99999", "https://example.com/#x", "https://-bad.com", "https://bad-.com"),
        *(
            "https://example.com/../admin",
            "https://a..b.com",
            "https://example.com/a?b\r\nx: y",
            f"https://{'a' * 64}.com",
            "https://[fe80::1%25eth0]/",
        ),
    ],
)
def test_a_url_that_is_not_plain_is_refused(url: str) -> None:
    with pytest.raises(NetError) as caught:
        parse_endpoint(url, NOTHING)
    assert caught.value.kind is NetKind.ADDRESS


def test_user_and_password_in_a_url_are_refused_and_not_shown() -> None:
    """K41: an endpoint with `user:pass` and `?key=`."""
    with pytest.raises(NetError) as caught:
        parse_endpoint("https://alice:hunter2@example.com/v1?key=topsecret", NOTHING)
    assert "hunter2" not in str(caught.value)
    assert "alice" not in str(caught.value)
    assert "topsecret" not in str(caught.value)


def test_an_endpoint_shows_neither_path_nor_query() -> None:
    endpoint = parse_endpoint("https://example.com/tenant-token/v1?key=topsecret", NOTHING)
    assert endpoint.query == "key=topsecret"
    assert "topsecret" not in repr(endpoint) + endpoint.origin
    assert "tenant-token" not in repr(endpoint) + endpoint.origin


def test_plain_http_is_for_listed_hosts_and_loopback() -> None:
    with pytest.raises(NetError, match="TLS"):
        parse_endpoint("http://example.com", NOTHING)
    assert parse_endpoint("http://example.com", rules(["example.com"])).port == 80
    assert parse_endpoint("http://example.com:8080", rules(["example.com:8080"])).authority == "example.com:8080"
    with pytest.raises(NetError):
        parse_endpoint("http://example.com:8081", rules(["example.com:8080"]))
    assert parse_endpoint("http://127.0.0.1:11434/v1/", rules(["127.0.0.1"])).path == "/v1"
    assert parse_endpoint("http://[::1]:8080", rules(["::1"])).authority == "[::1]:8080"


@pytest.mark.parametrize(
    ("address", "refused"),
    [
        ("93.184.216.34", False),
        ("10.1.2.3", False),
        ("127.0.0.1", False),
        ("169.254.169.254", True),
        ("fe80::1", True),
        ("0.0.0.0", True),
    ],
)
def test_a_listed_name_may_be_private_but_never_metadata(address: str, refused: bool) -> None:
    """K42: what a name resolves to is checked; a listed name that suddenly stands for the metadata service is refused."""
    allowed = rules(["models.internal"])
    if refused:
        with pytest.raises(NetError):
            check_address(ip_address(address), "models.internal", 443, allowed)
    else:
        check_address(ip_address(address), "models.internal", 443, allowed)


def test_a_public_name_that_resolves_to_a_private_address_is_refused() -> None:
    """K42: rebinding."""
    check_address(ip_address("93.184.216.34"), "example.com", 443, NOTHING)
    with pytest.raises(NetError, match="private or loopback"):
        check_address(ip_address("192.168.0.7"), "example.com", 443, NOTHING)


def test_an_address_may_be_listed_itself() -> None:
    assert parse_endpoint("https://169.254.169.254", rules(["169.254.169.254"])).host == "169.254.169.254"
