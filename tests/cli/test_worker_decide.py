"""`ael worker --decide`: a person's word over HTTP, by callers who say who they are (A4.8, A4.11, B9)."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from typing import Any

import pytest

from tests.cli.conftest import Ael
from tests.cli.runs_desk import FILES, booked, parked
from tests.cli.terminal import Terminal
from tests.server.test_metrics import of, samples

TOKENS = {"ANN_TOKEN": "ann-0123456789abcdef", "BOB_TOKEN": "bob-0123456789abcdef", "EVE_TOKEN": "eve-0123456789abcdef"}
CALLERS = """
secret ANN = env("ANN_TOKEN")
secret BOB = env("BOB_TOKEN")
secret EVE = env("EVE_TOKEN")
caller ann = bearer(secret("ANN"))
caller bob = bearer(secret("BOB"))
caller eve = bearer(secret("EVE"), tenant: "other")
"""


class Desk:
    def __init__(self, port: int) -> None:
        self.port = port

    def __call__(
        self, method: str, path: str, body: object = None, token: str | None = "ann-0123456789abcdef"
    ) -> tuple[int, Any]:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=30)
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        try:
            connection.request(method, path, body if isinstance(body, bytes) else json.dumps(body), headers)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        finally:
            connection.close()


@contextmanager
def deciding(ael: Ael, **more: str) -> Iterator[tuple[Desk, Terminal]]:
    with Terminal(["worker", "--decide", "0"], ael.folder, {**TOKENS, **more}) as terminal:
        seen = terminal.until("/approvals")
        port = int(seen.partition("http://127.0.0.1:")[2].partition("/")[0])
        terminal.until("working on main")
        yield Desk(port), terminal
        terminal.signal(signal.SIGTERM)
        assert terminal.end()[0] == 0


@pytest.mark.feature("A4.8", "A4.11", "B9")
def test_a_member_decides_over_http_and_the_worker_goes_on(ael: Ael) -> None:
    ael.write({**FILES, "deploy.ael": FILES["deploy.ael"] + CALLERS})
    for name, token in TOKENS.items():
        ael._patch.setenv(name, token)
    first, second = parked(ael, "A-1"), parked(ael, "B-1")
    with deciding(ael) as (ask, terminal):
        status, asked = ask("GET", "/approvals")
        assert (status, [one["run"] for one in asked]) == (200, [first, second])
        assert asked[0]["arguments"] == {"order": "A-1", "amount": "50.0"}
        yes = {"approved": True}
        where = f"/runs/{first}/decision"
        assert ask("POST", where, yes, None)[0] == 401
        assert ask("POST", where, yes, "ann-0123456789abcdeX")[0] == 401
        status, told = ask("POST", where, yes, TOKENS["BOB_TOKEN"])
        assert (status, told["error"]) == (409, "`finance` decides about this, and bob is no member of it")
        assert ask("POST", where, yes, TOKENS["EVE_TOKEN"])[0] == 404, "another tenant's run is not there"
        assert ask("GET", "/approvals", token=TOKENS["EVE_TOKEN"]) == (200, [])
        for wrong, code in (
            (b"{", 400), ([], 400), ({}, 400), ({"approved": 1}, 400), ({"approved": True, "by": "ann"}, 400),
            ({"approved": True, "arguments": []}, 400), (b" " * 300_000, 413), ({"approved": False}, 409),
        ):  # fmt: skip
            assert ask("POST", where, wrong)[0] == code, wrong
        assert ask("GET", where)[0] == 405
        assert ask("GET", "/")[0] == 404
        assert ask("POST", where, yes) == (200, {"run": first, "step": "main/refund@0", "approved": True, "by": "ann"})
        no = {"approved": False, "reason": "the goods never came"}
        assert ask("POST", f"/runs/{second}/decision", no)[0] == 200
        terminal.until(f"{first} ended: value")
        terminal.until(f"{second} ended: value")
        assert ask("POST", where, yes)[0] == 409, "it counts once"
    assert json.loads(ael("runs", "wait", first).out) == "R-A-1 R-A-1b"
    assert "the goods never came" in ael("runs", "wait", second).out
    assert booked(ael) == 2


@pytest.mark.feature("A4.8", "A16.8", "K41")
def test_a_secret_is_masked_where_a_caller_decides_and_not_in_what_is_called(ael: Ael) -> None:
    ael.write({**FILES, "deploy.ael": FILES["deploy.ael"] + CALLERS})
    for name, token in TOKENS.items():
        ael._patch.setenv(name, token)
    run = parked(ael, TOKENS["EVE_TOKEN"])
    with deciding(ael) as (ask, terminal):
        assert [one["arguments"] for one in ask("GET", "/approvals")[1]] == [{"order": "***", "amount": "50.0"}]
        assert ask("GET", "/approvals")[0] == 200
        assert ask("POST", f"/runs/{run}/decision", {"approved": True})[0] == 200
        terminal.until(f"{run} ended: value")
    assert booked(ael) == 2
    read = ael("trace", run, "--readers").out.splitlines()[1:]
    assert [line.split()[2:] for line in read] == [["ann", "GET", "/approvals"]], "once, however often somebody looks"


@pytest.mark.feature("A11.4", "A16.5", "K43")
def test_a_worker_says_what_it_did_to_whoever_has_the_token_for_it(ael: Ael) -> None:
    scraper = "scraper-0123456789abcdef"
    metrics = 'secret S = env("SCRAPER_TOKEN")\nlisten = http(metrics: secret("S"))\n'
    ael.write({**FILES, "deploy.ael": FILES["deploy.ael"] + CALLERS + metrics})
    for name, token in {**TOKENS, "SCRAPER_TOKEN": scraper}.items():
        ael._patch.setenv(name, token)
    run = parked(ael, "A-1")
    with deciding(ael, SCRAPER_TOKEN=scraper) as (ask, terminal):
        assert ask("GET", "/metrics")[0] == 401, "the token of a caller"
        assert ask("POST", "/metrics", token=scraper)[0] == 401
        assert ask("POST", f"/runs/{run}/decision", {"approved": True})[0] == 200
        terminal.until(f"{run} ended: value")
        connection = HTTPConnection("127.0.0.1", ask.port, timeout=30)
        connection.request("GET", "/metrics", headers={"Authorization": f"Bearer {scraper}"})
        found = samples(connection.getresponse().read().decode())
        connection.close()
        assert of(found, "ael_runs_total", outcome="value") == 1
        assert of(found, "ael_runs_active") == 0
        assert of(found, "ael_store_seconds") < 60
        assert ("ael_calls_limit", ()) not in found


def test_without_callers_nobody_decides_over_http(ael: Ael) -> None:
    ael.write(FILES)
    ended = ael("worker", "--decide", "0")
    assert (ended.code, ended.out) == (2, "")
    assert "error[AEL0872]: deciding over HTTP needs callers" in ended.err
    assert ael("worker", "--decide", "99999").code == 2
    assert ael("worker", "--decide", "0", "--once").code == 2
