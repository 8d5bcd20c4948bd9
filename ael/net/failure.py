"""What can go wrong between here and a server, each with one meaning. Texts never hold a secret, a query or a user part of a
URL.
"""

from __future__ import annotations

from enum import Enum


class NetKind(Enum):
    """`ADDRESS` nothing was sent because the address is not allowed; the others speak for themselves."""

    ADDRESS = "address refused"
    UNREACHABLE = "unreachable"
    TLS = "no trusted connection"
    TIMEOUT = "timed out"
    DISCONNECTED = "disconnected"
    TOO_LARGE = "too large"
    MALFORMED = "malformed"


class NetError(Exception):
    """An exchange that gave no whole answer.

    `sent`: a byte of the request may have reached the server, so an effect may have happened. `received`: a byte of the answer
    came.
    """

    def __init__(self, kind: NetKind, message: str, *, sent: bool = False, received: bool = False) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.sent = sent
        self.received = received
