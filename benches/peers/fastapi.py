"""The server of `serve` on FastAPI and uvicorn with its usual extras: the same order, checked by pydantic as strictly, the same receipt."""

from __future__ import annotations

import json
import socket

import uvicorn
from fastapi import FastAPI

from benches.peers.pydantic import Order, Strict

app = FastAPI()


class Receipt(Strict):
    """What the handler gives."""

    id: str
    lines: int
    total: float


@app.post("/receipt")
async def receipt(order: Order) -> Receipt:
    """The handler."""
    return Receipt(id=order.id, lines=len(order.items), total=order.total)


def main() -> None:
    """Serve on a free port, which is printed."""
    # The protocol is named, so that the loop turns off the delay of small packets on what it accepts.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listening:
        listening.bind(("127.0.0.1", 0))
        print(json.dumps({"port": listening.getsockname()[1]}), flush=True)
        uvicorn.Server(uvicorn.Config(app, log_level="error", access_log=False)).run(sockets=[listening])


if __name__ == "__main__":
    main()
