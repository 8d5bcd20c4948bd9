"""Where an MCP server is and how it is reached, as a deployment says it: data for the transports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from ael.types.value import Secret


class Authorizer(Protocol):
    """What gives requests to one server their credential. It sends it to that server's origin only."""

    async def headers(self, deadline: float, *, method: str = "POST") -> Mapping[str, str | Secret]:
        """The headers of the next request, which is a `method` to the server's URL; ask anew for each request.

        A token is fetched where there is none yet. Raises `McpError` (`Denied`, or what the wire says).
        """

    async def challenged(
        self,
        status: int,
        challenges: Sequence[str],
        deadline: float,
        *,
        sent: Mapping[str, str | Secret] | None = None,
        nonce: str = "",
    ) -> bool:
        """A request was answered 401 or 403 with these `WWW-Authenticate` values. True: `headers` has something new, ask once more.

        `sent` are the headers that this gave for the request (so that of many refused at once only the first has a new token
        fetched); `nonce` is the answer's `DPoP-Nonce`.
        """


@dataclass(frozen=True)
class HttpEndpoint:
    """A server over the network: `http` is streamable HTTP, `sse` the older pair of a stream and a POST address.

    `hosts` are the private hosts that the deployment lists; `headers` are static ones.
    """

    url: str
    kind: Literal["http", "sse"] = "http"
    headers: Mapping[str, str | Secret] = field(default_factory=dict)
    authorizer: Authorizer | None = None
    hosts: frozenset[str] = frozenset()


@dataclass(frozen=True)
class StdioEndpoint:
    """A server as a child process. `environment` is all that it gets beside a few harmless variables; `folder` is where it starts."""

    command: str
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str | Secret] = field(default_factory=dict)
    folder: Path | None = None


Endpoint = HttpEndpoint | StdioEndpoint
