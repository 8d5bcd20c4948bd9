"""`deploy.ael`: what each line becomes, and what is refused."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from ael.diagnostics.diagnostic import Bag
from ael.models.registry import PROVIDERS as ADAPTERS
from ael.project.bind import PROVIDERS
from ael.project.deployment import (
    Defaults,
    Deployment,
    ModelBinding,
    PriceEntry,
    SecretSource,
    SizeLimits,
    StoreBinding,
    ToolBinding,
)
from ael.project.literal import Construct
from ael.project.placements import PlacementBinding
from ael.project.runs import RunsBinding
from ael.types.spec import BudgetSpec
from tests.programs import open_files

PROGRAM = """
permission orders.write

role finance

model fast {
  provider anthropic
  name "claude-haiku-4-5"
}

store orders: Map<String, String> needs orders.write

/// Close an order. Call it when it is paid.
tool close_order(id: String(max: 40)) -> Unit
  needs orders.write
  repeat idempotent
{
  orders.put(id, "closed")
}

/// Open an order again. Call it when it was closed by mistake.
tool open_order(id: String(max: 40)) -> Unit
  needs orders.write
  repeat idempotent
  timeout 5s
{
  orders.put(id, "open")
}

service Clock {
  now_is() -> String
    needs orders.write
    repeat idempotent
    timeout 1s
}

provide Clock as one {
  fn now_is() -> String {
    "one"
  }
}

provide Clock as two {
  fn now_is() -> String {
    "two"
  }
}

node main(id: String(max: 40)) -> Unit
  grants orders.write
{
  close_order(id)
}
"""


def _bound(folder: Path, text: str) -> tuple[Deployment | None, Bag]:
    opened, bag = open_files(folder, {"main.ael": PROGRAM, "deploy.ael": text})
    return (None if opened is None else opened.deployment), bag


SERVICE = "service Clock = one\n"


@pytest.mark.parametrize(
    ("line", "field", "value"),
    [
        ('model fast = openai("gpt-5-mini")', "models", {"main.fast": ModelBinding("openai", "gpt-5-mini")}),
        ("model fast = ollama", "models", {"main.fast": ModelBinding("ollama", None)}),
        ('model main.fast = scripted("s.json")', "models", {"main.fast": ModelBinding("scripted", "s.json")}),
        (
            'model fast = anthropic("m", temperature: 0.2, key: secret("K"), idle_timeout: 30s)\nsecret K = env("E")',
            "models",
            None,
        ),
        (
            'model fast = recorded("f.jsonl", inner: openai("m"))',
            "models",
            {"main.fast": ModelBinding("recorded", "f.jsonl", None, {"inner": Construct("openai", ("m",))})},
        ),
        ("store orders = memory", "stores", {"main.orders": StoreBinding("memory")}),
        ('store orders = sqlite("o.db")', "stores", {"main.orders": StoreBinding("sqlite", "o.db")}),
        ('secret K = env("E")', "secrets", {"K": SecretSource("env", "E")}),
        ('secret K = file("k.txt")', "secrets", {"K": SecretSource("file", "k.txt")}),
        ('setting REGION = "eu"', "settings", {"REGION": "eu"}),
        ('setting N = ["a": [1, -2, 1.5, true, null]]', "settings", {"N": {"a": [1, -2, Decimal("1.5"), True, None]}}),
        ('role finance = ["alice", "bob"]', "roles", {"finance": ("alice", "bob")}),
        ("role finance = []", "roles", {"finance": ()}),
        ("tool close_order timeout 20s", "tools", {"main.close_order": ToolBinding(timeout=20_000)}),
        ("tool open_order timeout 5s", "tools", {"main.open_order": ToolBinding(timeout=5_000)}),
        (
            "tool close_order approval required by finance",
            "tools",
            {"main.close_order": ToolBinding(approval=True, role="finance")},
        ),
        ("tool close_order approval required", "tools", {"main.close_order": ToolBinding(approval=True)}),
        ("deny orders.write", "denied", frozenset({"orders.write"})),
        ("deny close_order", "tools", {"main.close_order": ToolBinding(denied=True)}),
        ("deny orders.write, close_order", "denied", frozenset({"orders.write"})),
        ("deny close_order\ntool close_order timeout 1s", "tools", {"main.close_order": ToolBinding(timeout=1_000, denied=True)}),
        ("tool close_order timeout 1s\ndeny close_order", "tools", {"main.close_order": ToolBinding(timeout=1_000, denied=True)}),
        ('price "m" input $1 output $5.50', "prices", (PriceEntry("m", Decimal(1), Decimal("5.50")),)),
        (
            'price "m" input $1 output $5 cache_read $0.1 cache_write $1.25 since "2026-01-31"',
            "prices",
            (PriceEntry("m", Decimal(1), Decimal(5), Decimal("0.1"), Decimal("1.25"), "2026-01-31"),),
        ),
        (
            "default steps 1, tool_calls 2, tokens 3, cost $4, time 5s, tool_timeout 6ms, attempts 7",
            "defaults",
            Defaults(1, 2, 3, Decimal(4), 5_000, 6, 7),
        ),
        ("default steps 0", "defaults", Defaults(steps=0)),
        ("default steps 3\ndefault tokens 9", "defaults", Defaults(steps=3, tokens=9)),
        ("limit input 1KiB, result 2KB, output 3B, depth 4", "limits", SizeLimits(1024, 2000, 3, 4)),
        ("budget cost $50, tokens 100_000", "run_budget", BudgetSpec(tokens=100_000, cost=Decimal(50))),
        ("budget time 3min, steps 9, tool_calls 0", "run_budget", BudgetSpec(time=180_000, steps=9, tool_calls=0)),
        ('host "Models.Example.com"', "hosts", frozenset({"models.example.com"})),
        ('host "10.0.0.1"\nhost "::1"', "hosts", frozenset({"10.0.0.1", "::1"})),
        ("runs = memory", "name", "default"),
        ("service Clock = two", "services", {"main.Clock": "main.two"}),
    ],
)
def test_lines(tmp_path: Path, line: str, field: str, value: Any) -> None:
    deployment, bag = _bound(tmp_path, f"{'' if line.startswith('service') else SERVICE}{line}\n")
    assert not bag.sorted(), [d.message for d in bag.sorted()]
    assert deployment is not None
    if value is None:
        bound = deployment.models["main.fast"]
        assert (bound.provider, bound.model, bound.key) == ("anthropic", "m", "K")
        assert set(bound.settings) == {"temperature", "idle_timeout"}
    else:
        assert getattr(deployment, field) == value


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ('model fats = openai("m")', "AEL0810", "the program has no model `fats`"),
        ("store order = memory", "AEL0810", "the program has no store `order`"),
        ("tool close timeout 3s", "AEL0810", "the program has no tool `close`"),
        ('role money = ["a"]', "AEL0810", "there is no role `money`"),
        ("deny order.write", "AEL0810", "the program has no permission and no tool `order.write`"),
        ("tool close_order approval required by money", "AEL0810", "there is no role `money`"),
        ('modle fast = openai("m")', "AEL0811", "a deployment has no `modle`"),
        ('setting A = openai("m")', "AEL0812", "`openai` is no constant"),
        ("setting A = [memory]", "AEL0812", "`memory` is no constant"),
        ("setting A = 1 + 2", "AEL0812", "a deployment holds constants"),
        ('setting A = "${b}"', "AEL0812", "a deployment holds constants"),
        ("setting A = 1\nsetting A = 2", "AEL0813", "`setting A` is bound twice"),
        ("default steps 1, steps 2", "AEL0813", "`steps` is said twice"),
        ("budget steps 1\nbudget steps 2", "AEL0813", "`budget steps` is said twice"),
        ("runs = memory\nruns = memory", "AEL0813", "`runs` is bound twice"),
        ("store orders = postgres", "AEL0814", "a `store` line cannot have `postgres` as its value"),
        ('store orders = sqlite("")', "AEL0814", "a SQLite store names its file"),
        ('store orders = "o.db"', "AEL0814", "a `store` line cannot have this as its value"),
        ("store orders = memory retry 3", "AEL0814", "a `store` line has no place for this"),
        ("model fast timeout 3s", "AEL0814", "a `model` line has no place for this"),
        ('model fast = openai("m", "n")', "AEL0814", "the one argument of `openai` without a name"),
        ("model fast = openai(5)", "AEL0814", "the one argument of `openai` without a name"),
        ('model fast = openai("m", temperature: 9)', "AEL0814", "`temperature` is a number from 0 to 2"),
        ('model fast = openai("m", temperature: "hot")', "AEL0814", "`temperature` is a number from 0 to 2"),
        ('model fast = scripted("s", key: secret("K"))', "AEL0814", "`scripted` takes no key"),
        ('model fast = recorded("f")', "AEL0814", "`recorded` takes a file and the model that it records"),
        ('model fast = openai("m", inner: openai("n"))', "AEL0814", "`recorded` takes a file and the model that it records"),
        ("secret K = 3", "AEL0814", "a `secret` line cannot have this as its value"),
        ('secret K = env("A", "B")', "AEL0814", "`env` takes one name, a string"),
        ('role finance = "alice"', "AEL0814", "a role is bound to its members"),
        ("role finance = [1]", "AEL0814", "a role is bound to its members"),
        ("tool close_order wibble 3", "AEL0814", "a `tool` line has no place for this"),
        ("tool close_order = memory", "AEL0814", "a `tool` line has no place for this"),
        ("default seconds 3", "AEL0814", "there is no `seconds` here"),
        ("default tokens $3", "AEL0814", "`tokens` takes a whole number"),
        ("default tokens -3", "AEL0814", "`tokens` takes a whole number"),
        ("default steps true", "AEL0814", "`steps` takes a whole number"),
        ("default attempts 0", "AEL0814", "`attempts` takes a whole number above 0"),
        ("default time 3", "AEL0814", "`time` takes a duration, such as `30s`"),
        ("budget cost 3s", "AEL0814", "`cost` takes money, such as `$0.50`"),
        ("limit depth 0", "AEL0814", "`depth` takes a whole number above 0"),
        ("limit steps 3", "AEL0814", "there is no `steps` here"),
        ('price "m" input $1', "AEL0814", "a price says its `output`, for a million tokens"),
        ('price "m" input 1 output $2', "AEL0814", "`input` takes money for a million tokens"),
        ('price "m" input $1 output $2 since "soon"', "AEL0814", "`since` takes a date"),
        ('price "" input $1 output $2', "AEL0814", "a price names its model"),
        ('host ""', "AEL0814", "a host is a name or an address"),
        ('host "https://a.example"', "AEL0814", "a host is a name or an address"),
        ('runs = mysql("r.db")', "AEL0814", "a `runs` line cannot have `mysql` as its value"),
        ("runs = sqlite()", "AEL0814", "`sqlite` takes the path of a file"),
        ('runs = memory("r.db")', "AEL0814", "`memory` takes no path"),
        ('runs = postgres("postgresql://u:p@h/d")', "AEL0815", "the address of a database is a named secret"),
        ('runs = postgres(secret("RUNS"))', "AEL0831", "the deployment has no secret `RUNS`"),
        ('runs = sqlite("r.db", slots: 0)', "AEL0814", "`slots` is a number of at least 1"),
        ('runs = sqlite("r.db", lease: 5)', "AEL0814", "`lease` is a length of time"),
        ('runs = sqlite("r.db", drain: soon)', "AEL0814", "`drain` is a length of time"),
        ('runs = sqlite("r.db", uncertain: maybe)', "AEL0814", "`uncertain` is `park` or `end`"),
        ('runs = sqlite("r.db", speed: 5)', "AEL0814", "`runs` has no `speed`"),
        ('model fast = openai("m", key: "sk")', "AEL0815", "a key is a named secret, never text in a file"),
        ('model fast = openai("m", key: env("K"))', "AEL0815", "a key is a named secret, never text in a file"),
        ("service Clock = three", "AEL0816", "`main.Clock` is bound to the name of a `provide`"),
        (
            "tool open_order timeout 6s",
            "AEL0817",
            "a deployment may only tighten: `main.open_order` has a time limit of 5000 ms already",
        ),
        ("tool close_order timeout none", "AEL0817", "a deployment may only tighten: it cannot lift a tool's time limit"),
        ("tool close_order approval required when true", "AEL0817", "a deployment's approval has no condition"),
        ("tool close_order repeat never", "AEL0817", "a deployment may give a tool a time limit and an approval"),
        ('model fast = openai("m", key: secret("K"))', "AEL0831", "the deployment has no secret `K`"),
        ('model fast = recorded("f", inner: openai("m", key: secret("K")))', "AEL0831", "the deployment has no secret `K`"),
        ('service Clock = nats("nats://a.example/x")', "AEL0850", "NATS is reached by a host and a port alone"),
        ('service Clock = grpc("https://a.example")', "AEL0850", "gRPC is reached by a host and a port alone"),
        ('service Clock = grpc("a.example")', "AEL0850", "gRPC is reached by a host and a port alone"),
        ('service Clock = grpc("a.example:0")', "AEL0850", "`a.example:0` is no host"),
        ('service Clock = grpc("10.0.0.1:443")', "AEL0850", "`10.0.0.1` is a private address"),
        ('service Clock = grpc("127.0.0.1:443")', "AEL0850", "`127.0.0.1` is a private address"),
        ("service Clock = grpc()", "AEL0814", "`grpc` takes one address"),
        ('service Clock = grpc("a.example:443", token: "x")', "AEL0815", "a token is a named secret"),
        ('service Clock = grpc("a.example:443", workers: 2)', "AEL0814", "`grpc` has no option `workers`"),
        ('service Clock = grpc("a.example:443", key: "k.pem")', "AEL0814", "a certificate is shown with its key"),
        ('service Clock = https("http://a.example")', "AEL0850", "`a.example` would be asked without encryption"),
        ('service Clock = https("https://a.example?x=1")', "AEL0850", "the address of a service has no `?`"),
        ('service Clock = https("https://u:p@a.example")', "AEL0815", "an address holds no user and no password"),
        ('service Clock = https("https://a.example", token: "x")', "AEL0815", "a token is a named secret"),
        ('service Clock = https("https://a.example", token: secret("NO"))', "AEL0831", "the deployment has no secret `NO`"),
        ('service Clock = https("https://a.example", name: "Clock")', "AEL0814", "`name` is the whole name of a service"),
        ('service Clock = https("https://a.example", workers: 2)', "AEL0814", "`https` has no option `workers`"),
        ('service Clock = https("https://a.example", key: "k.pem")', "AEL0814", "a certificate is shown with its key"),
        ('service Clock = https("https://a.example", authority: 1)', "AEL0814", "`authority` is the path of a file"),
        ('listen = http(certificate: "c.pem")', "AEL0814", "a server that speaks TLS has a `certificate` and its `key`"),
        ("listen = http(key: 1)", "AEL0814", "`key` is the path of a file"),
        ("service Clock = https()", "AEL0814", "`https` takes one address"),
        ("service Clock = process(workers: 0)", "AEL0814", "`workers` is a whole number from 1 to 256"),
        ("service Clock = process(connect: 2h)", "AEL0814", "`connect` is a duration of at most 10min"),
        ("service Clock = process(4)", "AEL0814", "`process` has named options alone"),
        ("service Clock = process(provider: nobody)", "AEL0816", "processes of this program run a `provide`"),
        ("node main = fast", "AEL0814", "a node is placed"),
        ("node nobody = process(workers: 4)", "AEL0810", "the program has no node `nobody`"),
        ("tenant acme { grants orders.nope }", "AEL0810", "there is no permission `orders.nope`"),
    ],
)
def test_refusals(tmp_path: Path, line: str, code: str, said: str) -> None:
    deployment, bag = _bound(tmp_path, f"{'' if line.startswith('service') else SERVICE}{line}\n")
    found = [d for d in bag.sorted() if d.code == code]
    assert deployment is None
    assert len(found) == 1, [(d.code, d.message) for d in bag.sorted()]
    assert said in found[0].message


def test_where_services_and_nodes_run(tmp_path: Path) -> None:
    lines = (
        'secret T = env("T")\nstore orders = sqlite("orders.db")\nnode main = process(workers: 3)\n'
        'service Clock = https("https://clocks.example.com/v1", token: secret("T"), name: "time.Clock", '
        "concurrent: 8, connect: 3s, failures: 2, cooldown: 10s)\n"
    )
    deployment, bag = _bound(tmp_path, lines)
    assert deployment is not None, bag.sorted()
    assert deployment.placements == {
        "main.Clock": PlacementBinding(
            "https",
            "https://clocks.example.com/v1",
            "T",
            name="time.Clock",
            concurrent=8,
            connect=3_000,
            failures=2,
            cooldown=10_000,
        ),
        "main.main": PlacementBinding("process", workers=3, connect=60_000),
    }
    deployment, bag = _bound(tmp_path, "service Clock = process(provider: two)\n")
    assert deployment is not None, bag.sorted()
    assert deployment.placements == {"main.Clock": PlacementBinding("process", provider="main.two", connect=60_000)}


def test_every_problem_is_told_and_points_into_its_line(tmp_path: Path) -> None:
    text = f'{SERVICE}model fats = openai("m")\nstore orders = postgres\ndefault steps $3\n'
    _, bag = _bound(tmp_path, text)
    found = bag.sorted()
    assert [d.code for d in found] == ["AEL0810", "AEL0814", "AEL0814"]
    assert [d.place.source.position(d.place.span.start).line for d in found] == [2, 3, 4]


def test_every_provider_that_can_be_bound_has_its_adapter() -> None:
    assert set(PROVIDERS) == set(ADAPTERS)


def test_no_deployment_is_the_default(tmp_path: Path) -> None:
    opened, bag = open_files(tmp_path, {"main.ael": "node main() -> Int {\n  1\n}\n"})
    assert opened is not None
    assert not bag.errors
    defaults = opened.deployment.defaults
    assert (defaults.steps, defaults.tool_calls, defaults.tokens, defaults.cost) == (8, 16, 50_000, None)
    assert (defaults.time, defaults.tool_timeout) == (300_000, 30_000)
    assert opened.deployment.run_budget == BudgetSpec()
    assert opened.deployment.folder == str(tmp_path)


ROLES = """permission p.p
role finance
role support
/// Pay. Call it last.
tool pay(n: Int) -> Int needs p.p repeat idempotent approval required by finance when n > 5 { n }
/// Send. Call it last.
tool send(n: Int) -> Int needs p.p repeat idempotent { n }
node main() -> Int { 1 }
"""


@pytest.mark.parametrize(
    ("line", "codes"),
    [
        ("tool pay approval required by support", ["AEL0817"]),
        ("tool pay approval required by finance", []),
        ("tool pay approval required", []),
        ("tool send approval required by support", []),
    ],
)
def test_who_approves_is_not_handed_to_others(tmp_path: Path, line: str, codes: list[str]) -> None:
    """Whoever may bind a deployment would else choose who approves what the program reserved for a role."""
    _, bag = open_files(tmp_path, {"main.ael": ROLES, "deploy.ael": f"{line}\n"})
    assert [d.code for d in bag.sorted()] == codes


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("", RunsBinding("sqlite", ".ael/runs.db")),
        ("runs = memory", RunsBinding("memory", "")),
        (
            'runs = sqlite("r.db", lease: 10s, slots: 2, per_tenant: 1, approval: 24h, keep: 30d, uncertain: park)',
            RunsBinding(
                "sqlite", "r.db", lease=10.0, slots=2, per_tenant=1, approval=86_400.0, keep=2_592_000.0, park_uncertain=True
            ),
        ),
        ('runs = sqlite("r.db", drain: 0s)', RunsBinding("sqlite", "r.db", drain=0.0)),
        ('runs = postgres(secret("RUNS"))\nsecret RUNS = env("RUNS")', RunsBinding("postgres", "", "RUNS")),
        (
            'runs = sqlite("r.db", evidence: redacted, redact: ["email", "iban"], evidence_keep: 7d)',
            RunsBinding("sqlite", "r.db", evidence="redacted", redact=("email", "iban"), evidence_keep=604_800.0),
        ),
    ],
)
def test_where_runs_are_kept(tmp_path: Path, line: str, expected: RunsBinding) -> None:
    deployment, bag = _bound(tmp_path, f"{SERVICE}{line}\n")
    assert deployment is not None, bag.sorted()
    assert deployment.runs == expected
