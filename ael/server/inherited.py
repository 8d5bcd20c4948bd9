"""What a server is given by the process that watches its program (`ael serve --watch`): the socket that listens already, so that no caller
is turned away while one process takes over from another, and where to say that it takes calls."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from ipaddress import ip_address

from ael.host import HostError


@dataclass(frozen=True)
class Inherited:
    """`listening`: the descriptor of the socket, None where there is only gRPC, which binds its port beside the process before.
    `ready`: the descriptor to write to."""

    listening: int | None
    ready: int

    def socket(self, *, known: bool) -> socket.socket | None:
        """The socket. Raises `HostError` (AEL0872): open to others, and the program as it is now names no callers."""
        if self.listening is None:
            return None
        bound = socket.socket(fileno=self.listening)
        name = str(bound.getsockname()[0])
        if not known and not ip_address(name).is_loopback:
            note = 'name who may call: `caller alice = bearer(secret("ALICE_TOKEN"))` in the deployment'
            raise HostError("AEL0872", f"a server on {name} is open to others, and no caller is named", note)
        bound.setblocking(False)
        return bound

    def told(self) -> None:
        """Calls are taken now."""
        os.write(self.ready, b"1")
        os.close(self.ready)
