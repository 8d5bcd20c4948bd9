"""A token that the deployment gives."""

from __future__ import annotations

import pytest

from ael.mcp import oauth
from ael.types.value import Secret
from tests.mcp_auth.authority import Site
from tests.mcp_auth.support import Refused, ask, fault, run


def test_a_static_token_is_sent_and_nothing_else_is_tried() -> None:
    async def test(site: Site) -> None:
        with pytest.raises(Refused):
            await ask(site, oauth.bearer(Secret("T", "unknown-token")), times=5)
        assert [asked.headers["authorization"] for asked in site.protected.asked] == ["Bearer unknown-token"]

    run(test)


@pytest.mark.feature("A9.15")
def test_a_rotated_token_is_used_by_the_next_request_and_after_a_refusal() -> None:
    values = ["old-token", "new-token", "new-token", "new-token"]

    async def test(site: Site) -> None:
        with pytest.raises(Refused):
            await ask(site, oauth.bearer(lambda: Secret("T", values.pop(0))), times=5)
        assert [asked.headers["authorization"] for asked in site.protected.asked] == ["Bearer old-token", "Bearer new-token"]

    run(test)


@pytest.mark.parametrize("value", ["", "two words", "line\nbreak", "line\r\nx-injected: 1", "tök"])
def test_a_token_that_would_break_out_of_its_header_is_not_sent(value: str) -> None:
    async def test(site: Site) -> None:
        problem = await fault(oauth.bearer(Secret("T", value)).headers(5.0))
        assert "`T`" in problem.message
        assert value == "" or value not in problem.message

    run(test)
