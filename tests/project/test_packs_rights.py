"""What a dependency may do: its permissions are its own, the program grants them, and what it uses the program lists too."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ael.cli.main import main
from ael.diagnostics.diagnostic import Bag
from ael.host import HostError, open_host
from ael.project.program import check_paths
from ael.run.outcome import Faulted, Value
from tests.cli.conftest import clean_environment
from tests.programs import lock_of, run, write
from tests.project.packs import ALL, DESK, codes, opened, pack


@pytest.mark.feature("A17.7")
@pytest.mark.parametrize(
    ("grants", "code"),
    [
        ("", "AEL0509"),
        ("  grants ledger.post\n", "AEL0501"),
        ("  grants orders.refund\n", "AEL0501"),
        ("  grants refunds.orders.refund\n", None),
    ],
)
def test_a_dependencys_permission_is_granted_by_its_name(tmp_path: Path, grants: str, code: str | None) -> None:
    main_text = DESK["desk/main.ael"].replace("  grants refunds.orders.refund\n", grants)
    _, said = opened(tmp_path, {**ALL, "desk/main.ael": main_text})
    assert (code in codes(said)) if code else said == []


def test_a_pack_calls_its_own_permissions_by_their_own_names(tmp_path: Path) -> None:
    program, said = opened(tmp_path, ALL)
    assert said == []
    assert program is not None
    found = program.program
    assert set(found.permissions) == {"refunds.orders.refund", "ledger.post"}
    assert found.permissions["refunds.orders.refund"].includes == {"refunds.orders.refund", "ledger.post"}
    assert found.tools["refunds/main.refund"].permission == "refunds.orders.refund"
    assert found.tools["ledger/main.post_entry"].permission == "ledger.post"
    assert set(found.roles) == {"refunds.finance"}


def test_a_dependency_names_only_what_it_depends_on(tmp_path: Path) -> None:
    """The pack `ledger` knows nothing of `refunds`, whose permission is in the program all the same."""
    ledger = ALL["ledger/main.ael"].replace("permission post\n", "permission post includes refunds.orders.refund\n")
    _, said = opened(tmp_path, {**ALL, "ledger/main.ael": ledger})
    assert [line.split(" ")[:2] for line in said] == [["ledger/main.ael", "AEL0501"]]


@pytest.mark.parametrize("line", ["permission refunds.read", "role refunds.boss", "permission ledger.post"])
def test_a_permission_in_the_name_of_a_pack_is_refused(tmp_path: Path, line: str) -> None:
    _, said = opened(tmp_path, {**ALL, "desk/main.ael": f"{line}\n\n{DESK['desk/main.ael']}"})
    assert codes(said) == ["AEL0825"]


def test_two_packs_may_have_a_permission_of_one_name(tmp_path: Path) -> None:
    stock = {"stock/pack.ael": pack("stock"), "stock/main.ael": "permission post\n"}
    both = ('depends refunds "1.2" from "../refunds"', 'depends stock "1" from "../stock"')
    text = f"permission post\n\n{DESK['desk/main.ael']}"
    program, said = opened(tmp_path, {**ALL, **stock, "desk/pack.ael": pack("desk", "1", *both), "desk/main.ael": text})
    assert said == []
    assert program is not None
    assert {"post", "stock.post", "ledger.post"} <= set(program.program.permissions)


def test_a_tenant_takes_a_permission_of_a_dependency_away(tmp_path: Path) -> None:
    deny = "deny ledger.post\n"
    program, said = opened(tmp_path, {**ALL, "desk/deploy.ael": deny})
    assert said == []
    assert program is not None
    done = run(program, {"n": 4}).outcome
    assert isinstance(done, Faulted)
    assert done.kind.value == "Denied"


def test_a_deployment_names_what_a_dependency_declares(tmp_path: Path) -> None:
    lines = 'role refunds.finance = ["ann"]\ntool refunds.refund timeout 5s approval required by refunds.finance\n'
    program, said = opened(tmp_path, {**ALL, "desk/deploy.ael": lines})
    assert said == []
    assert program is not None
    assert program.deployment.roles == {"refunds.finance": ("ann",)}
    assert set(program.deployment.tools) == {"refunds/main.refund"}
    done = run(program, {"n": 4}, approve=False).outcome
    assert isinstance(done, Faulted)
    assert done.kind.value == "ApprovalDenied"


# --- what a dependency uses ------------------------------------------------------------------------------------------------

SHOP = {
    "shop/pack.ael": pack("shop", "1.0.0", 'extern "shop_native"'),
    "shop/main.ael": """\
permission count

/// Count. Call it first.
pub tool count(n: Int) -> Int
  needs count
  repeat idempotent
  extern "shop_native:count"
""",
    "shop/shop_native.py": "def count(n: int) -> int:\n    return n + 1\n",
    "desk/main.ael": "use shop.{count}\n\nnode main(n: Int) -> Int\n  grants shop.count\n{\n  count(n)\n}\n",
}


@pytest.mark.feature("A17.7")
def test_a_python_module_of_a_dependency_is_listed_by_the_program(tmp_path: Path) -> None:
    depends = 'depends shop "1" from "../shop"'
    _, said = opened(tmp_path, {**SHOP, "desk/pack.ael": pack("desk", "1", depends)})
    assert codes(said) == ["AEL0822"]
    program, said = opened(tmp_path, {"desk/pack.ael": pack("desk", "1", depends, 'extern "shop_native"')})
    assert said == []
    assert program is not None
    done = run(program, {"n": 1}).outcome
    assert isinstance(done, Value)
    assert done.plain == 2


def test_a_programs_list_gives_a_dependency_nothing_that_it_does_not_list_itself(tmp_path: Path) -> None:
    own = pack("desk", "1", 'depends shop "1" from "../shop"', 'extern "shop_native"')
    _, said = opened(tmp_path, {**SHOP, "shop/pack.ael": pack("shop"), "desk/pack.ael": own})
    assert [line.split(" ")[:2] for line in said] == [["shop/main.ael", "AEL0518"]]


def test_python_modules_of_one_name_in_two_packs_are_told_apart(tmp_path: Path) -> None:
    """Python has one module of a name: the wrong one is never called."""
    name = "shop_native_twin"
    files = {path.replace("shop_native", name): text.replace("shop_native", name) for path, text in SHOP.items()}
    own = pack("desk", "1", 'depends shop "1" from "../shop"', f'extern "{name}"')
    program, said = opened(tmp_path, {**files, "desk/pack.ael": own, f"desk/{name}.py": "def count(n):\n    return 666\n"})
    assert said == []
    assert program is not None
    tool = "permission a.b\n\n/// Mine. Call it first.\ntool mine(n: Int) -> Int\n  needs a.b\n  repeat idempotent\n"
    mine = files["desk/main.ael"].replace("node main", f'{tool}  extern "{name}:count"\n\nnode main')
    program, said = opened(tmp_path, {"desk/main.ael": mine})
    assert program is not None
    with pytest.raises(HostError, match=f"Python has loaded another module `{name}`") as caught:
        open_host(program)
    assert caught.value.code == "AEL0832"


@pytest.mark.feature("A10.2")
def test_an_optional_package_that_is_not_listed_does_not_exist(tmp_path: Path) -> None:
    text = "use std/process\n\nnode main() -> Int {\n  1\n}\n"
    _, said = opened(tmp_path, {"desk/main.ael": text})
    assert codes(said) == ["AEL0826"]
    _, said = opened(tmp_path, {"desk/pack.ael": pack("desk", "1")})
    assert codes(said) == ["AEL0826"]
    # A dependency lists what it uses itself; that the program lists it gives it nothing.
    uses = pack("desk", "1", "uses std/process", 'depends shop "1" from "../shop"')
    files = {
        "shop/pack.ael": pack("shop"),
        "shop/main.ael": "use std/process\n",
        "desk/main.ael": "node main() -> Int {\n  1\n}\n",
    }
    _, said = opened(tmp_path, {**files, "desk/pack.ael": uses})
    assert [line.split(" ")[:2] for line in said if "AEL1102" not in line] == [["shop/main.ael", "AEL0826"]]


@pytest.mark.feature("A9.9", "A10.2")
def test_what_is_not_listed_is_not_loaded(tmp_path: Path) -> None:
    """A program over packs loads neither servers, nor what starts processes, nor what reads the metadata of distributions."""
    write(tmp_path, ALL)
    heavy = (
        "ael.server",
        "ael.mcp.stdio",
        "ael.mcp.session",
        "ael.mcp.http",
        "ael.project.installed",
        "ael.project.lock",
        "grpc",
    )
    code = (
        "import sys; from ael.cli.main import main; code = main(['run', sys.argv[1], '--n', '4', '--quiet'])\n"
        f"print(code, [name for name in sys.modules if name.startswith({heavy!r})])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "desk")],
        capture_output=True,
        text=True,
        check=True,
        env=clean_environment(tmp_path),
    )
    assert done.stdout.splitlines()[-1] == "0 []", done.stderr


def test_an_optional_package_of_a_dependency_is_listed_by_the_program(tmp_path: Path) -> None:
    shop = {"shop/pack.ael": pack("shop", "1.0.0", "uses server/mcp"), "shop/main.ael": ""}
    middle = {"middle/pack.ael": pack("middle", "1.0.0", 'depends shop "1" from "../shop"'), "middle/main.ael": ""}
    text = {"desk/main.ael": "node main() -> Int {\n  1\n}\n"}
    depends = 'depends middle "1" from "../middle"'
    write(tmp_path, {**shop, **middle, **text, "desk/pack.ael": pack("desk", "1", depends)})
    bag = Bag()
    check_paths([tmp_path / "desk"], bag)
    (found,) = bag.sorted()
    assert (found.code, found.place.source.path) == ("AEL0822", tmp_path / "desk" / "pack.ael")
    assert [label.place.source.path for label in found.labels] == [tmp_path / "shop" / "pack.ael"]
    _, said = opened(tmp_path, {"desk/pack.ael": pack("desk", "1", "uses server/mcp", depends)})
    assert said == []


# --- providers ---------------------------------------------------------------------------------------------------------------

SERVICE = {
    "ledger/pack.ael": pack("ledger"),
    "ledger/main.ael": """\
permission read
permission post

/// Post an amount. Call it once.
pub tool post_entry(amount: Int) -> Int
  needs post
  repeat idempotent
{
  amount
}

pub service Ledger {
  total(id: String(max: 8)) -> Int
    needs read
    repeat idempotent
}
""",
    "stock/pack.ael": pack("stock", "1.0.0", 'depends ledger "1" from "../ledger"'),
    "stock/main.ael": """\
use ledger.{Ledger}

provide Ledger as taken {
  fn total(id: String(max: 8)) -> Int {
    666
  }
}
""",
    "desk/pack.ael": pack("desk", "1", 'depends ledger "1" from "../ledger"', 'depends stock "1" from "../stock"'),
    "desk/main.ael": 'use ledger.{Ledger}\n\nnode main() -> Int\n  grants ledger.read\n{\n  Ledger.total("a")\n}\n',
}


def test_a_provider_of_a_third_pack_serves_only_where_the_deployment_says_so(tmp_path: Path) -> None:
    program, said = opened(tmp_path, SERVICE)
    assert said == []
    assert program is not None
    done = run(program).outcome
    assert isinstance(done, Faulted)
    assert done.kind.value == "Unavailable"
    program, said = opened(tmp_path, {"desk/deploy.ael": "service Ledger = taken\n"})
    assert said == []
    assert program is not None
    done = run(program).outcome
    assert isinstance(done, Value)
    assert done.plain == 666


def test_a_provider_of_a_dependency_does_in_other_packs_what_its_callers_may(tmp_path: Path) -> None:
    body = SERVICE["stock/main.ael"].replace("    666\n", "    post_entry(1)\n").replace("{Ledger}", "{Ledger, post_entry}")
    body = body.replace("as taken {", "as taken\n  grants ledger.post\n{")
    _, said = opened(tmp_path, {**SERVICE, "stock/main.ael": body})
    (told,) = said
    assert told.startswith("stock/main.ael AEL0827 7:5 ")
    includes = SERVICE["ledger/main.ael"].replace("permission read\n", "permission read includes post\n")
    _, said = opened(tmp_path, {"ledger/main.ael": includes})
    assert said == [], "whoever may call it may post too"


def test_a_programs_own_provider_serves_a_dependencys_service(tmp_path: Path) -> None:
    own = (
        SERVICE["desk/main.ael"]
        + "\nprovide ledger/main.Ledger as mine {\n  fn total(id: String(max: 8)) -> Int {\n    7\n  }\n}\n"
    )
    program, said = opened(tmp_path, {**SERVICE, "desk/main.ael": own})
    assert said == []
    assert program is not None
    done = run(program).outcome
    assert isinstance(done, Value)
    assert done.plain == 7


def test_what_a_dependency_shows_is_not_served_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A public service of a dependency is public for the program, not for the world."""
    ledger = SERVICE["ledger/main.ael"] + "\nprovide Ledger {\n  fn total(id: String(max: 8)) -> Int {\n    1\n  }\n}\n"
    uses = pack("desk", "1", "uses server/connect", 'depends ledger "1" from "../ledger"')
    write(tmp_path, {**SERVICE, "ledger/main.ael": ledger, "desk/pack.ael": uses})
    monkeypatch.chdir(tmp_path / "desk")
    assert main(["export", "openapi"]) == 2
    assert "AEL0871" in capsys.readouterr().err
    write(tmp_path, {"desk/deploy.ael": "serve = [Ledger]\n"})
    code = main(["export", "openapi"])
    told = capsys.readouterr()
    assert (code, "/desk.Ledger/Total" in told.out) == (0, True), told.err


def test_an_mcp_server_of_a_dependency_is_pinned_and_bound_by_the_program(tmp_path: Path) -> None:
    shop = {
        "shop/pack.ael": pack("shop"),
        "shop/main.ael": "permission read\n\npub mcp crm {\n  tool find needs read repeat idempotent\n}\n",
        "desk/pack.ael": pack("desk", "1", 'depends shop "1" from "../shop"'),
        "desk/main.ael": "use shop.{crm}\n\nnode main() -> Json\n  grants shop.read\n{\n  json(crm.find())\n}\n",
        "desk/deploy.ael": 'mcp shop.crm = http("https://crm.example.com/mcp")\n',
    }
    _, said = opened(tmp_path, shop)
    assert "AEL1203" in codes(said), "the dependency's own lock is not the program's"
    pinned = lock_of('{"shop/main.crm": {"tools": [{"name": "find", "inputSchema": {"type": "object"}}]}}')
    program, said = opened(tmp_path, {"desk/ael.lock": pinned})
    assert said == []
    assert program is not None
    assert set(program.deployment.servers) == {"shop/main.crm"}
    assert program.program.tools["shop/main.crm.find"].permission == "shop.read"
