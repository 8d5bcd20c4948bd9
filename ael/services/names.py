"""How services, nodes and operations are called on the wire: `desk.Orders/GetOrder`, as in the Connect protocol and in a `.proto`."""

from __future__ import annotations

import re

NODES = "Nodes"
"""The service that the served nodes of a pack are methods of."""
SERVICE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*")
"""A whole name of a service: packages and a name, with dots."""


def method(own: str) -> str:
    """The method of an operation or node by its own name: `get_order` is `GetOrder`."""
    return "".join(part[:1].upper() + part[1:] for part in own.replace(".", "_").split("_"))


def service(pack: str, name: str) -> str:
    """The service by which `orders.Orders` of a pack goes: `desk.Orders`. The module is the program's own matter."""
    return f"{pack}.{name.rpartition('.')[2]}"


def nodes(pack: str) -> str:
    """The service of a pack's nodes."""
    return f"{pack}.{NODES}"
