"""The documents of `decode`: an order as JSON text, small as a tool's arguments or large as a service's reply."""

from __future__ import annotations

import json

SIZES = {"small": 2, "large": 200}


def order(size: str) -> bytes:
    """An order with as many items as the size says (some 0.4 and 30 KB)."""
    items = [
        {
            "sku": f"SKU-{number:05}",
            "title": f"Kettle, stainless steel, 1.7 l, number {number}",
            "quantity": number % 9 + 1,
            "price": 19.5 + number,
            "tags": ["kitchen", "steel", f"shelf-{number % 7}"],
        }
        for number in range(SIZES[size])
    ]
    customer = {"name": "Ada Example", "email": "ada@example.org"}
    return json.dumps({"id": "A-42", "status": "Paid", "customer": customer, "items": items, "total": 1234.5}).encode()
