"""The lines of a deployment about serving."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from ael.project.serving import CallerBinding, Listen
from ael.types.spec import BudgetSpec
from tests.programs import brief, open_files
from tests.server.support import opened

MAIN = """\
permission a.read
permission a.write includes a.read

pub node answer(q: String) -> String {
  q
}

node other(q: Int) -> Int {
  q
}
"""


def test_callers_have_a_token_rights_a_tenant_and_a_budget(tmp_path: Path) -> None:
    deploy = (
        'secret T = env("T")\n'
        'caller alice = bearer(secret("T"), tenant: "acme", concurrent: 2) grants a.write budget cost $1 per day, tool_calls 9 per day\n'
        'caller bob = bearer(secret("T"))\n'
    )
    serving = opened(tmp_path, MAIN, deploy).deployment.serving
    assert serving.callers["alice"] == CallerBinding(
        "alice", "T", "acme", frozenset({"a.read", "a.write"}), BudgetSpec(cost=Decimal(1), tool_calls=9), "day", 2
    )
    assert serving.callers["bob"] == CallerBinding("bob", "T")


def test_limits_of_the_server(tmp_path: Path) -> None:
    deploy = (
        'listen = http(hosts: ["Agents.example.com"], origins: ["https://App.example.com", "http://[::1]:99"], '
        "concurrent: 3, timeout: 5s, body: 2MB)\n"
    )
    assert opened(tmp_path, MAIN, deploy).deployment.serving.listen == Listen(
        ("agents.example.com",), ("https://app.example.com", "http://[::1]:99"), body=2_000_000, concurrent=3, timeout=5_000
    )


@pytest.mark.parametrize(
    ("deploy", "told"),
    [
        ("serve = [nope]", "AEL0810 1:10 the program has no node `nope`"),
        ('serve answer as "a b"', "AEL0814 1:7 a name for clients has 1 to 128 letters, digits, `_`, `-` and `.`"),
        ('serve = [answer]\nserve answer as "z"', "AEL0813 2:7 `answer` is served already"),
        ('serve answer as "z"\nserve other as "z"', "AEL0813 2:7 `z` is served already"),
        ("serve answer concurrent 3", "AEL0814 1:1 this `serve` line is not whole"),
        ("serve = answer", "AEL0814 1:1 this `serve` line is not whole"),
        ("serve = [3]", "AEL0814 1:10 this list holds names of nodes"),
        ('caller a = bearer("t")', "AEL0815 1:12 a token is a named secret, never text in a file"),
        ("caller a = bearer()", "AEL0814 1:12 a caller is known by a token"),
        ('caller a = basic("t")', "AEL0814 1:12 a `caller` line cannot have `basic` as its value"),
        ('caller a = bearer(secret("T"))', "AEL0831 1:12 the deployment has no secret `T`"),
        ('caller a = bearer(secret("T"), nope: 1)', "AEL0814 1:32 `bearer` has no `nope`"),
        ('caller a = bearer(secret("T"), concurrent: 0)', "AEL0814 1:32 `concurrent` is a whole number from 1"),
        ('caller a = bearer(secret("T"), tenant: 3)', 'AEL0814 1:32 `tenant` is a name: `tenant: "acme"`'),
        ('caller a = bearer(secret("T")) grants a.nope', "AEL0810 1:39 there is no permission `a.nope`"),
        ('caller a = bearer(secret("T")) budget time 3s', "AEL0814 1:39 there is no `time` here"),
        ('caller a = bearer(secret("T")) budget steps 3 per week', "AEL0814 1:32 there is no period `week`"),
        (
            'caller a = bearer(secret("T")) budget steps 3, cost $1 per day',
            "AEL0814 1:32 the amounts of a caller's budget have the same period",
        ),
        ('caller a = bearer(secret("T")) timeout 3s', "AEL0814 1:32 a caller has `grants` and a `budget`"),
        ("listen = http(nope: 3)", "AEL0814 1:15 `http` has no `nope`"),
        ("listen = http(concurrent: 0)", "AEL0814 1:15 `concurrent` is a whole number from 1"),
        ("listen = http(timeout: 3)", "AEL0814 1:15 `timeout` is a time, such as `60s`"),
        ('listen = http(hosts: "a")', "AEL0814 1:15 `hosts` is a list of texts"),
        (
            'listen = http(hosts: ["https://a"])',
            'AEL0814 1:15 a host is a name, with a port where it has one: `"agents.example.com"`',
        ),
        *(
            (
                f'listen = http(origins: ["{origin}"])',
                'AEL0814 1:15 an origin is a scheme and a host: `"https://app.example.com"`',
            )
            for origin in (
                "a",
                "ftp://a",
                "https://",
                "https://a/",
                "https://a/b",
                "https://a?b",
                "https://u@a",
                "https://a:x",
                "//a",
            )
        ),
        ("listen = http()\nlisten = http()", "AEL0813 2:1 `listen` is said twice"),
    ],
)
def test_lines_that_mean_nothing_are_refused(tmp_path: Path, deploy: str, told: str) -> None:
    """Also of a caller whose secret is nowhere, which is told beside it."""
    found, bag = open_files(tmp_path, {"main.ael": MAIN, "deploy.ael": deploy + "\n"})
    assert found is None
    assert told in [brief(one, tmp_path).removeprefix("deploy.ael ") for one in bag.sorted()[:2]]
