"""`import ael`: what it loads, what it offers, and what type checkers make of it."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import get_args

import pytest

import ael

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.feature("B22")


def loaded_by(code: str) -> set[str]:
    """The modules that some code loads, in a new process."""
    told = "import sys; before = set(sys.modules)\n" + code + "\nprint(*sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-I", "-c", told], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_ael_loads_nothing_else() -> None:
    assert {name for name in loaded_by("import ael\nael.__version__") if name.startswith("ael")} == {"ael"}
    assert not {"asyncio", "typing", "dataclasses", "json"} & loaded_by("import ael\nael.__version__\ndir(ael)")


def test_a_module_of_tools_loads_no_run_time() -> None:
    found = loaded_by("import ael\nael.Failure")
    assert {name for name in found if name.startswith("ael")} == {
        "ael", "ael.embed", "ael.embed.failure", "ael.types", "ael.types.fault",
    }  # fmt: skip
    assert "asyncio" not in found


def test_loading_a_program_loads_no_client_and_no_server() -> None:
    heavy = {
        "pydantic",
        "mcp",
        "uvicorn",
        "httptools",
        "psycopg",
        "opentelemetry",
        "pygments",
        "lark",
        "genai_prices",
        "aiohttp",
    }
    assert not heavy & loaded_by("import ael\nael.load('examples/hello').nodes.main")


def test_every_name_is_there_and_typed() -> None:
    stub = ast.parse((ROOT / "ael" / "__init__.pyi").read_text(encoding="utf-8"))
    typed = {
        alias.name: node.module
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname == alias.name
    }
    assert typed == {**ael._PLACES, "events": "ael.run"}  # type: ignore[attr-defined]  # no part of what is typed
    assert sorted(typed) == ael.__all__
    for name in ael.__all__:
        assert getattr(ael, name) is not None
    assert set(ael.__all__) <= set(dir(ael))
    with pytest.raises(AttributeError, match="module 'ael' has no attribute 'lod'"):
        ael.lod  # type: ignore[attr-defined]  # noqa: B018


def test_what_is_public_says_what_it_is() -> None:
    silent = []
    for name in ael.__all__:
        found = getattr(ael, name)
        if not isinstance(found, type) or not found.__module__.startswith("ael.embed"):
            continue
        silent += [name] if not found.__doc__ else []
        silent += [
            f"{name}.{key}"
            for key, one in vars(found).items()
            if not key.startswith("_") and (callable(one) or isinstance(one, property)) and not one.__doc__
        ]
    assert not silent


USER = """\
from collections.abc import AsyncIterator
from dataclasses import dataclass
from decimal import Decimal
from typing import assert_never

import ael


@dataclass
class Ticket:
    id: str


program = ael.load("main.ael", deploy="live")


@program.bind("refund_order")
def refund(id: str, amount: Decimal, *, ctx: ael.CallContext) -> str:
    if ctx.cancelled():
        raise ael.Failure("NotFound", id=id)
    return ctx.key + ctx.headers["traceparent"]


class Orders:
    async def get(self, id: str) -> Ticket:
        return Ticket(id)


program.provide("Orders", Orders())
reveal_type(refund)


async def approve(request: ael.ApprovalRequest) -> ael.Decision | None:
    return None if request.role else ael.Decision(True, "ann")


async def main() -> str:
    async with program.open(approve=approve) as session:
        outcome = await session.run("answer", {"id": "A"}, result_type=Ticket, caller="ann", budget=ael.Budget(cost="0.50"))
        reveal_type(outcome.unwrap())
        run = session.start("answer", {"id": "A"}, deadline=30)
        reveal_type(run.events())
        async for event in run.events():
            match event:
                case ael.events.Text(text=text):
                    print(text)
        await session.nodes.answer.using(tenant="acme")(id="A")
        many = await session.resume(run.id, result_type=list[Ticket])
        reveal_type(many.unwrap())
        match outcome:
            case ael.Value(value=ticket):
                return ticket.id
            case ael.DeclaredError(error=error):
                return error
            case ael.Faulted(kind=ael.FaultKind.TIMEOUT):
                return "late"
            case ael.Faulted(message=message):
                return message
            case ael.Uncertain(key=key):
                return key
            case ael.Suspended():
                return outcome.run
            case _:
                assert_never(outcome)


def plain() -> None:
    with program.open_sync() as session:
        reveal_type(session.start("answer", {}, result_type=Ticket).outcome().unwrap())
"""
WRONG = """
async def forgets() -> str:
    outcome = await program.run("answer", result_type=Ticket)
    match outcome:
        case ael.Value(value=ticket):
            return ticket.number
        case ael.DeclaredError() | ael.Faulted() | ael.Suspended():
            return ""
        case _:
            assert_never(outcome)


async def misspells() -> None:
    await program.run("answer", budgets=ael.Budget())
    await program.run("answer", tenant=7)
"""


@pytest.mark.timeout(400)
def test_a_users_file_is_typed_strictly(tmp_path: Path) -> None:
    assert (ROOT / "ael" / "py.typed").is_file()
    assert find_spec("mypy") is not None
    file = tmp_path / "user.py"
    file.write_text(USER + WRONG, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-incremental", "--config-file", "", "--follow-imports", "silent", str(file)],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=380,
    )  # fmt: skip
    events = " | ".join(f"ael.run.events.{one.__name__}" for one in get_args(ael.events.Event))
    told = [line.partition(": ")[2] for line in done.stdout.splitlines() if "user.py" in line]
    assert [line for line in told if line.startswith("note: Revealed")] == [
        'note: Revealed type is "def (id: str, amount: decimal.Decimal, *, ctx: ael.run.ports.CallContext) -> str"',
        'note: Revealed type is "user.Ticket"',
        f'note: Revealed type is "typing.AsyncIterator[{events}]"',
        'note: Revealed type is "list[user.Ticket]"',
        'note: Revealed type is "user.Ticket"',
    ], done.stdout
    wrong = [line for line in told if line.startswith("error") and "no-any-return" not in line]
    assert [line.rpartition("[")[2] for line in wrong] == ["attr-defined]", "arg-type]", *["call-overload]"] * 3], done.stdout
    assert '"Ticket" has no attribute "number"' in wrong[0]
    assert "Uncertain" in wrong[1]
