"""The client of the payment service: what the tools of the program call."""

from __future__ import annotations

import json
import os
from decimal import Decimal
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen


def pay_back(order: str, amount: Decimal, *, call: Any) -> dict[str, object]:
    """Pay an amount back, under the key of the call."""
    answer = _post("/refunds", call.key, {"order": order, "amount": str(amount)})
    return {"order": order, "amount": amount, "number": answer["number"]}


def tell_customer(order: str, text: str, *, call: Any) -> None:
    """Send a message, under the key of the call."""
    _post("/messages", call.key, {"order": order, "text": text})


def _post(path: str, key: str, body: dict[str, str]) -> dict[str, Any]:
    headers = {"Idempotency-Key": key, "Content-Type": "application/json"}
    request = Request(os.environ["PAYMENTS"] + path, json.dumps(body).encode(), headers)
    try:
        with urlopen(request, timeout=8) as answer:
            found: dict[str, Any] = json.load(answer)
            return found
    except HTTPError as error:
        # The service says that it cannot now: a connection that broke is tried again, a refusal would not be.
        raise ConnectionError(f"the payment service answered {error.code}") from error
    except OSError as error:
        raise ConnectionError("the payment service did not answer") from error
