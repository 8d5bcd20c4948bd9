"""What `tenant` blocks, `allow` lines and the secrets of tenants and callers become."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from ael.project.deployment import SecretSource, ToolBinding
from ael.project.tenants import TenantBinding, at_once
from ael.types.spec import BudgetSpec
from tests.project.test_bind import SERVICE, _bound

DEPLOY = (
    SERVICE
    + """
secret T = env("T")
secret acme.T = keyring("desk", "acme")
secret ann.T = file("ann-token")
caller ann = bearer(secret("T"), tenant: "acme")
allow orders.write, close_order
tenant acme {
  grants orders.write
  limit concurrent 4
  budget cost $50 per day, tokens 1_000 per day
}
tenant beta {
  deny orders.write
  budget steps 5
}
"""
)


def test_tenants_are_read_whole(tmp_path: Path) -> None:
    made, bag = _bound(tmp_path, DEPLOY)
    assert made is not None, bag.sorted()
    write = frozenset({"orders.write"})
    assert made.tenants == {
        "acme": TenantBinding("acme", write, frozenset(), BudgetSpec(tokens=1_000, cost=Decimal(50)), "day", 4),
        "beta": TenantBinding("beta", None, write, BudgetSpec(steps=5)),
    }
    assert made.owned_secrets == {
        ("acme", "T"): SecretSource("keyring", "acme", "desk"),
        ("acme/ann", "T"): SecretSource("file", "ann-token"),
    }
    assert made.allowed == write
    assert made.tools == {"main.open_order": ToolBinding(denied=True)}


def test_a_limit_of_its_own_goes_before_that_of_everybody(tmp_path: Path) -> None:
    tenants = {"acme": TenantBinding("acme", concurrent=0), "beta": TenantBinding("beta")}
    assert at_once(tenants) == {"acme": 0}
    assert at_once(tenants, 3) == {"*": 3, "acme": 0}


@pytest.mark.parametrize(
    ("deploy", "said"),
    [
        (
            'secret T = env("T")\nsecret acme.T = env("A")\ncaller acme = bearer(secret("T"), tenant: "acme")\ntenant acme {\n}\n',
            "a tenant and a caller",
        ),
        ('secret a.b.c = env("T")\n', "a secret has a name, or a tenant and a name"),
        ('secret T = keyring("desk")\n', "`keyring` takes the service and the name"),
        ("tenant acme {\n  limit concurrent -1\n}\n", "`concurrent` is a whole number from 0"),
        ("tenant acme {\n  limit concurrent 4 per day\n}\n", "a tenant's limit is `concurrent`"),
        ("tenant acme {\n  budget time 5s\n}\n", "there is no `time` here"),
    ],
)
def test_what_means_nothing_is_refused(tmp_path: Path, deploy: str, said: str) -> None:
    made, bag = _bound(tmp_path, SERVICE + deploy)
    assert made is None
    assert any(said in one.message for one in bag.sorted()), bag.sorted()
