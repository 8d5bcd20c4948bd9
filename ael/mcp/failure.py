"""What can go wrong between this side and an MCP server."""

from __future__ import annotations

from ael.types.fault import FaultKind


class McpError(Exception):
    """A request that got no answer of use.

    `kind` is the fault that a call ends with; `sent` whether the server may have seen the request (bytes of it were written);
    `status` the HTTP status, `code` the JSON-RPC error code, `retry_after` seconds. `message` quotes at most a bounded excerpt of what came
    from outside, marked as such.
    """

    def __init__(
        self,
        kind: FaultKind,
        message: str,
        *,
        sent: bool = False,
        status: int | None = None,
        code: int | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.sent = sent
        self.status = status
        self.code = code
        self.retry_after = retry_after
