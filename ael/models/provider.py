"""What every provider over the wire has: credentials and an endpoint bound by the deployment, and one client for its event loop."""

from __future__ import annotations

from ael.models.settings import Common
from ael.net.client import Client, Target


class WireProvider:
    """A provider of models behind an HTTP endpoint. Its connections belong to the event loop that uses them."""

    def __init__(self, name: str, read: Common, client: Client, where: Target) -> None:
        self._name = name
        self.common = read
        self.client = client
        self.where = where
        self.identity = f"{name} {read.endpoint.origin}"

    @property
    def name(self) -> str:
        return self._name

    @property
    def window(self) -> int | None:
        return self.common.window

    @property
    def max_output(self) -> int:
        return self.common.max_output

    async def close(self) -> None:
        await self.client.close()
