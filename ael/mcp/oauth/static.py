"""A token that the deployment gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ael.mcp.oauth.client import Credential, current
from ael.mcp.oauth.place import denied
from ael.mcp.oauth.token import sendable
from ael.types.value import Secret


@dataclass(frozen=True)
class BearerAuthorizer:
    """Sends a static token. Where it comes from a callable, each request asks anew: a rotated one is used at once."""

    token: Credential = field(repr=False)

    async def headers(self, deadline: float, *, method: str = "POST") -> Mapping[str, str | Secret]:
        secret = current(self.token)
        if not sendable(secret.reveal()):
            raise denied(f"the secret `{secret.name}` is no token that a header can carry")
        return {"authorization": Secret(secret.name, f"Bearer {secret.reveal()}")}

    async def challenged(
        self,
        status: int,
        challenges: Sequence[str],
        deadline: float,
        *,
        sent: Mapping[str, str | Secret] | None = None,
        nonce: str = "",
    ) -> bool:
        """True only when another token counts by now than the one that was refused."""
        if status != 401 or sent is None:
            return False
        value = sent.get("authorization")
        return isinstance(value, Secret) and value.reveal() != f"Bearer {current(self.token).reveal()}"
