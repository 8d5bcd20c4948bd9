"""Where a deployment has calls wait for a worker: data."""

from __future__ import annotations

from ael.data import dataclass
from ael.project.placements import PlacementBinding


@dataclass(frozen=True)
class QueueBinding(PlacementBinding):
    """`node research = nats("nats://queue.example.com:4222", token: secret("T"), slots: 4)`, `edge a.b -> a.c = postgres(secret("URL"))`.

    `url` and `token` of `nats`; `secret` names the address of the database of `postgres`. `room`: items that wait at most; `in_flight`:
    items that all workers together have at most; `slots`: those of one `ael worker` of this deployment, 0 where it only sends;
    `deliveries`: workers that an item may end before it is given up. Times in milliseconds: `lease` for which a worker has an item
    without a sign of life, `keep` for which an answer stays.
    """

    secret: str | None = None
    room: int = 1_000
    in_flight: int = 64
    slots: int = 8
    deliveries: int = 5
    lease: int = 30_000
    keep: int = 86_400_000
