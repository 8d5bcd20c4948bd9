"""The reader that is compiled for the type of ``programs/order.ael`` (`decode`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ael.types.decode import reader
from ael.types.type import Named
from benches.ael_side.program import opened
from benches.programs.order import order
from benches.worker import cpu_per_run

READ = reader(Named("order.Order"), opened("order").program.definitions)


def decode(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """CPU microseconds a document."""
    document = order(request["size"])
    value = READ(document)
    assert isinstance(value, dict)
    assert value["customer"]["name"] == "Ada Example"
    return {"us": cpu_per_run(lambda: READ(document)) * 1e6}


OPS = {"decode": decode}
