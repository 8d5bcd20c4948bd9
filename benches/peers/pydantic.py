"""Pydantic's strict JSON validation of the type that ``programs/order.ael`` declares (`decode`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, TypeAdapter

from benches.programs.order import order
from benches.worker import cpu_per_run


class Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")


class Customer(Strict):
    name: Annotated[str, StringConstraints(max_length=120)]
    email: Annotated[str, StringConstraints(max_length=254)] | None = None


class Item(Strict):
    sku: Annotated[str, StringConstraints(max_length=32, pattern="^SKU-[0-9]+$")]
    title: Annotated[str, StringConstraints(max_length=200)]
    quantity: Annotated[int, Field(ge=1, le=1000)]
    price: Annotated[float, Field(ge=0.0, le=1_000_000.0)]
    tags: Annotated[list[Annotated[str, StringConstraints(max_length=20)]], Field(max_length=10)]


class Order(Strict):
    id: Annotated[str, StringConstraints(max_length=64)]
    status: Literal["Open", "Paid", "Refunded"]
    customer: Customer
    items: Annotated[list[Item], Field(max_length=500)]
    total: float
    note: Annotated[str, StringConstraints(max_length=1000)] | None = None


ADAPTER = TypeAdapter(Order)


def decode(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """CPU microseconds a document."""
    document = order(request["size"])
    assert ADAPTER.validate_json(document, strict=True).customer.name == "Ada Example"
    return {"us": cpu_per_run(lambda: ADAPTER.validate_json(document, strict=True)) * 1e6}


OPS = {"decode": decode}
