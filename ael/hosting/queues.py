"""Queues as a deployment names them: as placements of a sender, and as lines of a worker. Imported only where there are some."""

from __future__ import annotations

import hashlib
import re
import ssl
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from ael.hosting.failure import HostError
from ael.hosting.secrets import Secrets
from ael.project.program import Opened
from ael.project.queues import QueueBinding
from ael.run.ports import Clock
from ael.services.elsewhere import Policy
from ael.services.line import Line, Queued
from ael.services.queue import Sizes

_READABLE = 40
"""Characters of a queue's name that people read; the rest tells it from others."""


def bind_queue(
    opened: Opened, name: str, binding: QueueBinding, policy: Policy, secrets: Secrets, tls: ssl.SSLContext | None, clock: Clock
) -> Queued:
    """The placement whose calls wait in a queue. Nothing is connected yet. Raises `HostError`."""
    line = open_line(opened, name, binding, secrets.get, tls)
    return Queued(queue_name(opened, name), line, opened.program.digest, policy, clock=clock, protocol=binding.kind)


def open_line(opened: Opened, name: str, binding: QueueBinding, secret: Callable[[str], Any], tls: ssl.SSLContext | None) -> Line:
    """The queue of the placement `name`. Nothing is connected yet. Raises `HostError`."""
    queue, program = queue_name(opened, name), opened.program.digest
    sizes = Sizes(binding.room, binding.in_flight, binding.lease / 1000, binding.keep / 1000)
    # Loaded here: the packages of one are not needed for the other.
    if binding.kind == "nats":
        if find_spec("nats") is None:
            raise HostError(
                "AEL0852", "queues in NATS need packages that are not installed: nats-py", "pip install 'ael-lang[nats]'"
            )
        made, broker_module = import_module("ael.services.jetstream"), import_module("ael.services.broker")
        token = None if binding.token is None else secret(binding.token)
        broker = broker_module.Broker(binding.url, token, tls, binding.connect / 1000)
        line: Line = made.JetStreamLine(broker, queue, program, sizes)
        return line
    if find_spec("psycopg") is None:
        note = "pip install 'ael-lang[postgres]'"
        raise HostError("AEL0852", "queues in PostgreSQL need packages that are not installed: psycopg", note)
    assert binding.secret is not None
    made = import_module("ael.services.table")
    table: Line = made.TableLine(secret(binding.secret).reveal(), queue, program, sizes, binding.connect / 1000)
    return table


def queue_name(opened: Opened, name: str) -> str:
    """What the queue of a placement is called, in letters, digits and `-`: by the pack, and by the service, node or edge."""
    pack = opened.project.pack.name if opened.project.pack is not None else opened.program.main
    whole = f"{pack}/{name}"
    readable = re.sub(r"[^A-Za-z0-9]+", "-", whole)[:_READABLE].strip("-")
    return f"{readable}-{hashlib.sha256(whole.encode()).hexdigest()[:8]}"
