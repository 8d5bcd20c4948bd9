"""TLS between the two sides: the server proves who it is, and where it asks for that, the client too."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from ael.run.outcome import Faulted, Value
from ael.types.fault import FaultKind
from tests.ports import free_port
from tests.transports.authority import Authority
from tests.transports.places import Setting, placed, serving
from tests.transports.programs import SHOP


@pytest.mark.feature("A11.1", "A11.4", "K42")
def test_both_sides_prove_who_they_are(tmp_path: Path) -> None:
    """A server of another authority is not spoken to; a client without a certificate is not let in: nothing is done in either case."""
    ours, others = Authority(tmp_path / "ours", "ours"), Authority(tmp_path / "others", "others")
    server, client, stranger = ours.sign("server"), ours.sign("client"), others.sign("stranger")
    port = free_port()
    listen = f'listen = http(certificate: "{server[0]}", key: "{server[1]}", clients: "{ours.file}")\nruns = memory\n'

    def lines(authority: Authority, own: tuple[Path, Path] | None) -> str:
        shown = "" if own is None else f', certificate: "{own[0]}", key: "{own[1]}"'
        where = f'"https://127.0.0.1:{port}", token: secret("T"), authority: "{authority.file}"{shown}, failures: 1_000'
        return f'host "127.0.0.1"\nsecret T = env("ORDERS_TOKEN")\nservice Orders = https({where})\n'

    async def scenario() -> None:
        async with serving(tmp_path / "server", SHOP, listen, port=port):
            for name, setting, good in (
                ("good", lines(ours, client), True),
                ("no certificate", lines(ours, None), False),
                ("another's certificate", lines(ours, stranger), False),
                ("another authority", lines(others, client), False),
            ):
                folder = tmp_path / name.replace(" ", "-").replace("'", "")
                async with placed("in process", folder, SHOP, Setting(client=setting)) as program:
                    outcome = await program.run("get", {"id": "A"})
                    assert isinstance(outcome, Value if good else Faulted), (name, outcome)
                    if isinstance(outcome, Faulted):
                        assert outcome.kind in (FaultKind.UNAVAILABLE, FaultKind.DISCONNECTED), (name, outcome)
            ledger = tmp_path / "server" / "ledger"
            assert len(ledger.read_text().splitlines()) == 1

    asyncio.run(scenario())
