"""The network of a command: none but its own, unless the deployment opens it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from tests.sandbox.box import Box

pytestmark = pytest.mark.feature("A15.4")


@pytest.fixture
def port() -> Iterator[int]:
    """A server on this machine that says `hello`."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                connection.sendall(b"hello")
                connection.close()

        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)


ASK = """
    import socket, sys
    try:
        print(socket.create_connection(("127.0.0.1", int(sys.argv[1])), 5).recv(9))
    except OSError as error:
        print("refused", error.errno)
"""


def test_this_machine_is_not_reached(box: Box, port: int) -> None:
    assert box.says(ASK, str(port)).startswith("refused")


def test_it_is_where_the_deployment_opens_the_network(box: Box, port: int) -> None:
    assert box.says(ASK, str(port), network=True) == "b'hello'"


def test_nothing_else_is_reached(box: Box) -> None:
    """Addresses, names, datagrams, and the kinds of sockets that lead past the network."""
    told = box.says("""
        import socket
        for address in ("1.1.1.1", "169.254.169.254", "192.168.0.1", "2606:4700:4700::1111"):
            family = socket.AF_INET6 if ":" in address else socket.AF_INET
            for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
                try:
                    socket.socket(family, kind).connect((address, 53))
                    print("REACHED", address)
                except OSError:
                    print("refused")
        try:
            print("REACHED", socket.getaddrinfo("example.com", 80))
        except OSError:
            print("refused")
        # Netlink, packets, the kernel's ciphers, the host of a virtual machine, Bluetooth, raw.
        for family, kind in ((16, 3), (17, 3), (38, 5), (40, 1), (31, 1), (2, 3)):
            try:
                socket.socket(family, kind)
                print("MADE", family)
            except OSError:
                print("refused")
        print([name for _, name in socket.if_nameindex()] if False else "")
    """)
    assert set(told.split()) == {"refused"}


def test_sockets_without_a_file_are_its_own(box: Box) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("\0ael-test-abstract")
        server.listen()
        told = box.says("""
            import socket
            try:
                socket.socket(socket.AF_UNIX).connect("\\0ael-test-abstract")
                print("REACHED")
            except OSError:
                print("refused")
        """, network=False)  # fmt: skip
    assert told == "refused"


def test_a_server_and_its_client_in_one_command_find_each_other(box: Box) -> None:
    """Tests of servers run: there is a loopback of its own, with every port free."""
    told = box.says("""
        import socket, threading
        server = socket.create_server(("127.0.0.1", 80 + 8000))
        threading.Thread(target=lambda: server.accept()[0].sendall(b"own")).start()
        print(socket.create_connection(("localhost", 8080)).recv(9))
    """)
    assert told == "b'own'"
