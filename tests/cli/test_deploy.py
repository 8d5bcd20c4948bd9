"""`ael deploy check`, `ael explain-access`, and runs for tenants and callers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cli.conftest import Ael

PROGRAM = """
permission orders.read
permission orders.refund includes orders.read
role finance

model fast {
  provider anthropic
  name "claude-haiku-4-5"
}

store orders: Map<String, String> needs orders.read

/// Read an order. Call it first.
tool look(id: String(max: 40)) -> String
  needs orders.read
  repeat idempotent
  timeout 5s
{
  orders.get(id) ?? "none"
}

/// Refund an order. Call it when it was paid.
tool refund(id: String(max: 40)) -> String
  needs orders.refund
  repeat idempotent
  timeout 5s
  approval required by finance
{
  "refunded"
}

node answer(id: String(max: 40) = "A-1") -> String
  grants orders.read
{
  look(id)
}

node main(id: String(max: 40) = "A-1") -> String
  grants orders.refund
{
  answer(id)
  refund(id)
}
"""
DEPLOY = """
role finance = ["ann", "local"]
secret ANN = env("ANN_TOKEN")
secret acme.CRM = keyring("desk", "crm")
caller ann = bearer(secret("ANN"), tenant: "acme") grants orders.read
runs = memory
default steps 4
tenant acme {
  grants orders.refund
  limit concurrent 4
  budget cost $50 per day
}
tenant beta {
}
"""


@pytest.fixture
def desk(ael: Ael) -> Ael:
    ael.write({"main.ael": PROGRAM, "deploy.ael": DEPLOY})
    return ael


def test_a_deployment_is_told_whole(desk: Ael) -> None:
    ended = desk("deploy", "check")
    assert ended.code == 0, ended.err
    lines = [" ".join(line.split()) for line in ended.out.splitlines()]
    for line in (
        "model fast anthropic claude-haiku-4-5 (default)",
        "store orders memory (default)",
        "secret ANN the variable ANN_TOKEN, which is not set here",
        "secret acme.CRM crm of desk in the keyring",
        "role finance ann, local",
        "tenant acme grants orders.read, orders.refund; 4 runs at once; budget cost $50 per day",
        "tenant beta all permissions, no limits",
        "caller ann of acme; grants orders.read",
        "runs memory",
        "default steps 4",
        "default tokens 50,000 (default)",
        "default time 300s (default)",
        "budget none beside the defaults (default)",
    ):
        assert line in lines, line


def test_a_deployment_is_told_as_json_by_its_own_name(desk: Ael) -> None:
    desk.write({"deploy.real.ael": 'store orders = sqlite("o.db")\nallow look\nhost "localhost"\n'})
    ended = desk("deploy", "check", "deploy.real.ael", "--format", "json")
    rows: list[dict[str, Any]] = json.loads(ended.out)
    assert {"kind": "store", "name": "orders", "bound": "o.db", "default": False} in rows
    assert {"kind": "tool", "name": "refund", "bound": "denied", "default": False} in rows
    assert {"kind": "host", "name": "", "bound": "localhost", "default": False} in rows
    assert desk("deploy", "check", "--deploy", "real", "--format", "json").out == ended.out


def test_mistakes_of_a_deployment_are_told_as_json_too(desk: Ael) -> None:
    desk.write({"deploy.ael": "store orders = memory\nstore orders = memory\n"})
    ended = desk("deploy", "check", "--format", "json")
    assert (ended.code, ended.err) == (2, "")
    [told] = json.loads(ended.out)["diagnostics"]
    assert (told["code"], told["message"]) == ("AEL0813", "`store orders` is bound twice")


@pytest.mark.feature("A2.5")
def test_every_mistake_of_a_deployment_is_told_before_anything_runs(desk: Ael) -> None:
    desk.write(
        {
            "deploy.ael": 'store order = memory\nrole finance = [1, "ann", 2]\ntool refund timeout 5, approval required by nobody\n'
            'deny lok, refnd\nruns = sqlite("r.db", slots: 0, lease: 1, nope: 2)\ndefault steps 1.5, speed 2, tokens "x"\n'
        }
    )
    ended = desk("deploy", "check")
    assert (ended.code, ended.out) == (2, "")
    told = [line for line in ended.err.splitlines() if line.startswith("error[")]
    for part in (
        *("no store `order`", "`lok`", "`refnd`", "`slots` is", "`lease` is", "`runs` has no `nope`"),
        *("`steps` takes", "no `speed`", "`tokens` takes"),
    ):
        assert any(part in line for line in told), (part, told)


@pytest.mark.feature("A4.4", "A3.3", "D5")
def test_who_may_do_what_is_told_with_every_layer(desk: Ael) -> None:
    ended = desk("explain-access", "main", "--caller", "ann")
    assert ended.code == 0, ended.err
    assert ended.out.splitlines()[0] == "main, for the tenant `acme` and the caller `ann`"
    told = [line.strip() for line in ended.out.splitlines()]
    assert "tool look needs orders.read: may be called" in told
    at = next(index for index, line in enumerate(told) if line.startswith("tool refund"))
    assert told[at].startswith("tool refund needs orders.refund: denied: ")
    assert told[at + 1 : at + 3] == [
        "granted by the node `main`, the tenant `acme`, the operator's allow-list",
        "denied by the caller `ann`",
    ]
    allowed = desk("explain-access", "main", "--tenant", "beta").out
    assert "may be called after an approval by finance (ann, local)" in allowed


@pytest.mark.feature("D5")
def test_who_may_do_what_is_told_as_json(desk: Ael) -> None:
    whole: dict[str, Any] = json.loads(desk("explain-access", "main", "--caller", "ann", "--json").out)
    assert (whole["tenant"], whole["caller"]) == ("acme", "ann")
    [refund] = [one for one in whole["reaches"] if one["name"] == "main.refund"]
    assert (refund["allowed"], refund["denied_by"], refund["rule"]) == (False, "the caller `ann`", "permission")
    assert (refund["approval"], refund["role"], refund["members"]) == ("required", "finance", ["ann", "local"])
    assert {"who": "the caller `ann`", "grants": False} in refund["layers"]
    [store, *_] = [one for one in whole["reaches"] if one["kind"] == "store"]
    assert store["via"] == ["main.main", "main.answer", "main.look"]


def test_an_unknown_node_is_told(desk: Ael) -> None:
    ended = desk("explain-access", "mian", "--tenant", "acme")
    assert ended.code == 2
    assert "did you mean `main`?" in ended.err


REWRITES = """
permission files.write
permission bank.pay

/// Write a file. Call it first.
tool write(text: String(max: 400)) -> String(max: 400)
  needs files.write
  repeat idempotent
  extern "ael_rewrites_deployment:write"

/// Pay. Call it last.
tool pay(n: Int) -> Int
  needs bank.pay
  repeat idempotent
{
  n
}

node main(text: String(max: 400)) -> String
  grants files.write, bank.pay
{
  let written = write(text)
  let paid = pay(5) catch { Denied d => 0 }
  "${written}: ${paid}"
}
"""


@pytest.mark.feature("K44", "A4.2")
def test_a_tool_that_writes_the_deployment_changes_nothing_of_the_run_under_way(ael: Ael) -> None:
    """What may be done is read once, at the start; what was written holds for whoever starts next, as a person's edit would."""
    module = "from pathlib import Path\n\n\ndef write(text):\n    return str(Path('deploy.ael').write_text(text))\n"
    ael.write(
        {
            "pack.ael": 'pack desk { extern "ael_rewrites_deployment" }\n',
            "ael_rewrites_deployment.py": module,
            "main.ael": REWRITES,
            "deploy.ael": "deny bank.pay\n",
        }
    )
    assert json.loads(ael("run", ".", "--text", "allow bank.pay, files.write\n", "--quiet").out) == "28: 0"
    assert (ael.folder / "deploy.ael").read_text(encoding="utf-8") == "allow bank.pay, files.write\n"
    assert json.loads(ael("run", ".", "--text", "deny bank.pay\n", "--quiet").out) == "14: 5"


@pytest.mark.feature("A3.3")
@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("answer", "--tenant", "acme"), 0, '"none"'),
        (("answer", "--caller", "ann"), 0, '"none"'),
        (("main", "--caller", "ann"), 1, "which the caller `ann` does not grant"),
        (("main", "--tenant", "beta", "--approve"), 0, '"refunded"'),
        (("answer",), 2, "the deployment has tenants: say whose run it is"),
        (("answer", "--tenant", "acne"), 2, "the deployment has no tenant `acne`"),
        (("answer", "--tenant", "beta", "--caller", "ann"), 2, "the caller `ann` belongs to the tenant `acme`, not to `beta`"),
        (("answer", "--tenant", "acme", "--caller", "eve"), 2, "the deployment has no caller `eve`"),
        (("answer", "--tenant", "a:b"), 2, "the name of a tenant has up to 64"),
        (("answer", "--tenant", ""), 2, "the name of a tenant has up to 64"),
        (("answer", "--caller", ""), 2, "the name of a caller is empty"),
    ],
)
def test_a_run_is_for_a_tenant_and_a_caller(desk: Ael, words: tuple[str, ...], code: int, said: str) -> None:
    ended = desk("run", ".", *words)
    assert ended.code == code, ended.err
    assert said in ended.out + ended.err


def test_a_tenant_that_may_have_no_run_at_once_has_none(desk: Ael) -> None:
    """Zero means zero, and what it could do can still be looked at."""
    desk.write({"deploy.ael": "tenant acme {\n  limit concurrent 0\n}\ntenant beta {\n}\n"})
    for words in ((), ("--detach",)):
        ended = desk("run", ".", "answer", "--tenant", "acme", *words)
        assert (ended.code, ended.out) == (2, "")
        assert "error[AEL0855]: the tenant `acme` runs nothing: the deployment says `limit concurrent 0`" in ended.err
    assert desk("run", ".", "answer", "--tenant", "beta").code == 0
    assert desk("explain-access", "answer", "--tenant", "acme").code == 0


@pytest.mark.feature("K43")
def test_runs_and_accounts_of_tenants_are_kept_apart(ael: Ael) -> None:
    """Runs are listed by tenant, and the budget holds from one process to the next, in the store of the runs."""
    program = PROGRAM.replace('provider anthropic\n  name "claude-haiku-4-5"', 'provider openai\n  name "x"')
    asks = """
node ask() -> String
  model fast
  policy one_call
{
  instructions "Answer."
}
"""
    deploy = 'model fast = scripted("s.json")\nruns = sqlite("runs.db")\ntenant acme {\n  budget steps 1 per day\n}\ntenant beta {\n}\n'
    ael.write({"main.ael": program + asks, "deploy.ael": deploy, "s.json": '[{"final": "hello"}]'})
    assert ael("run", ".", "ask", "--tenant", "acme").out == '"hello"\n'
    again = ael("run", ".", "ask", "--tenant", "acme")
    assert again.code == 1
    assert "the tenant `acme` has used 1 of 1 model steps" in again.err
    assert ael("run", ".", "ask", "--tenant", "beta").out == '"hello"\n'
    listed: list[dict[str, Any]] = json.loads(ael("runs", "list", "--tenant", "beta", "--format", "json").out)
    assert [one["tenant"] for one in listed] == ["beta"]


def test_a_folder_that_is_not_there_is_told_before_anything_runs(ael: Ael) -> None:
    ael.write({"main.ael": "node main() -> Int {\n  1\n}\n", "deploy.ael": 'files = folder("./ws")\n'})
    assert "the folder ./ws, to read, which is not there" in ael("deploy", "check").out
    (ael.folder / "ws").mkdir()
    assert "the folder ./ws, to read\n" in ael("deploy", "check").out
