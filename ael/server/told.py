"""What a server says on standard error, for whoever runs it: warnings, and errors of the libraries below it without secrets."""

from __future__ import annotations

import logging
import sys

from ael.host import Host
from ael.net.redact import Redactor
from ael.project.serving import Listen


def tell(host: Host, name: str | None, listen: Listen) -> None:
    """What is to be known before anything is served at `name`."""
    for warning in host.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    if name in ("0.0.0.0", "::") and not listen.hosts:
        print("warning: requests have to name a host: `listen = http(hosts: […])` in the deployment says which", file=sys.stderr)


class Masked(logging.Formatter):
    """A line without the values of secrets, and without tracebacks: those may quote arguments."""

    def __init__(self, mask: Redactor) -> None:
        super().__init__("ael serve: %(name)s: %(message)s")
        self._mask = mask

    def format(self, record: logging.LogRecord) -> str:
        record.exc_info = record.exc_text = record.stack_info = None
        return self._mask(super().format(record))


def log_to_stderr(mask: Redactor) -> None:
    """Errors of the SDK and of uvicorn, on standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Masked(mask))
    for name in ("mcp", "uvicorn", "sse_starlette", "asyncio"):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.setLevel(logging.ERROR)
        logger.propagate = False
