"""Generated Python clients: they pass a strict type check, and every value and every ending arrives typed."""

from __future__ import annotations

import asyncio
import importlib.util
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import ael
from ael.cli.main import main
from tests.clients.programs import AWKWARD
from tests.embed.serving import served_in_a_thread
from tests.transports.places import TOKEN, ledger, opened_in, serving
from tests.transports.programs import ECHO

pytestmark = pytest.mark.feature("B22")
ROOT = Path(__file__).resolve().parents[2]

USER = """\
from typing import assert_never

import ael
from made import Class, Ending, Full, ShopClient, ShopSyncClient, WordsSameOutcome


def told(outcome: WordsSameOutcome) -> str:
    match outcome:
        case ael.Value(value=value):
            return value["from"]
        case ael.Failed(error=Full(free=free)):
            return str(free)
        case ael.Failed(error=error):
            return "gone"
        case ael.Faulted(kind=kind):
            return kind.value
        case ael.Uncertain(key=key):
            return key
        case _:
            assert_never(outcome)


async def main() -> None:
    async with ShopClient.connect("http://localhost:1") as shop:
        given: Class = {"from": "a", "list": []}
        print(told(await shop.words.same(given, options_=Ending.Done, key="k-1", deadline=3.0)))
        number: int = (await shop.double(2)).unwrap()
        async for event in shop.ask("x"):
            print(event)
        print(number)


def without() -> None:
    with ShopSyncClient.connect("http://localhost:1") as shop:
        print(told(shop.words.same({"from": "a", "list": []})))
"""
WRONG = {
    "number: int = (await shop.double(2)).unwrap()": "number: str = (await shop.double(2)).unwrap()",
    "options_=Ending.Done": 'options_="Done"',
    "        case ael.Uncertain(key=key):\n            return key\n": "",
    "shop.double(2)": "shop.double()",
}


def generated(folder: Path, program: str, capsys: pytest.CaptureFixture[str]) -> ModuleType:
    """The client of a program, imported."""
    opened_in(folder, program, "runs = memory\n")
    assert main(["export", "python", str(folder)]) == 0
    (folder / "made.py").write_text(capsys.readouterr().out, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(f"made_{folder.name}", folder / "made.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@asynccontextmanager
async def client(made: ModuleType, folder: Path, program: str) -> AsyncIterator[Any]:
    """A client of the program, which is served until the block ends."""
    async with (
        serving(folder, program, "runs = memory\n") as (_, port, _),
        made.ShopClient.connect(f"http://127.0.0.1:{port}", token=TOKEN) as shop,
    ):
        yield shop


def test_a_strict_type_check_passes_and_finds_each_mistake_of_its_user(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    generated(tmp_path, AWKWARD, capsys)
    (tmp_path / "user.py").write_text(USER, encoding="utf-8")
    wrong = []
    for number, (good, bad) in enumerate(WRONG.items()):
        assert good in USER
        wrong.append(f"wrong{number}.py")
        (tmp_path / wrong[-1]).write_text(USER.replace(good, bad), encoding="utf-8")
    (tmp_path / "mypy.ini").write_text("[mypy]\nstrict = true\n", encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--config-file", "mypy.ini", "--no-error-summary", "made.py", "user.py", *wrong]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300)
    found = {line.partition(":")[0] for line in done.stdout.splitlines() if ": error:" in line}
    assert found == set(wrong), done.stdout + done.stderr


def test_every_kind_of_value_crosses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = generated(tmp_path, ECHO, capsys)

    async def scenario() -> None:
        async with client(made, tmp_path / "server", ECHO) as shop:
            value = {
                "text": "ä\n", "whole": 2**70, "number": 0.5, "money": Decimal("1.10"), "flag": False, "bytes": b"\0\1",
                "at": datetime(2026, 3, 1, 12, tzinfo=UTC), "day": date(2026, 3, 1), "length": timedelta(seconds=5),
                "any": {"a": [1, None]}, "list": [Decimal("0.10")], "map": {"k": made.Inner(deep=[{"n": 0}])},
                "inner": made.Inner(deep=[]), "topic": made.Topic.Refund, "shape": made.Shape.Circle(radius=2.0), "choice": 7,
                "nothing": None, "As-Is": True, "file": ael.File("image/png", b"\0\1"),
            }  # fmt: skip
            assert (await shop.echo.all(value, extra=1)).unwrap() == value
            shapes = [made.Shape.Circle(radius=1.0), "Dot"]
            assert (await shop.echo.list_(shapes)).unwrap() == shapes
            assert (await shop.echo.topic(made.Topic.Other)).unwrap() is made.Topic.Other
            assert (await shop.echo.wide({"known": 1, "more": [2]})).unwrap() == {"known": 1, "more": [2]}
            assert (await shop.echo.nothing(None)).unwrap() is None
            assert (await shop.echo.unit(1)).unwrap() is None

    asyncio.run(scenario())


def test_names_that_are_words_of_python_and_defaults(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = generated(tmp_path, AWKWARD, capsys)

    async def scenario() -> None:
        async with client(made, tmp_path / "server", AWKWARD) as shop:
            outcome = await shop.words.same({"from": "a", "list": [{"from": "b", "list": []}], "__proto__": True})
            assert outcome.unwrap() == {
                "from": "a", "object": made.Ending.Done, "many": [], "__proto__": True,
                "list": [{"from": "b", "list": [], "object": made.Ending.Done, "many": [], "__proto__": False}],
            }  # fmt: skip
            failed = await shop.words.same({"from": "gone", "list": []}, self_=9, options_=made.Ending.None_)
            assert isinstance(failed, ael.Failed)
            assert failed.error == made.Gone(id="9", ending=made.Ending.None_)
            with pytest.raises(ael.OutcomeError, match="failed with Gone"):
                failed.unwrap()
            full = await shop.words.same({"from": "full", "list": []})
            assert isinstance(full, ael.Failed)
            assert full.error == made.Full(free=7)
            at = datetime(2026, 3, 1, tzinfo=UTC)
            event = made.Event(at=at, promise=made.Promise())
            assert (await shop.words.constructor(event)).unwrap() == event
            assert (event.until, event.price) == (timedelta(minutes=5), Decimal("1.50"))
            assert (await shop.words.then(["a", ["b"]])).unwrap() == ["a", ["b"]]
            assert (await shop.chain(41)).unwrap() == 42

    asyncio.run(scenario())


def test_a_call_goes_out_once_and_what_is_lost_is_uncertain(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = generated(tmp_path, AWKWARD, capsys)

    async def scenario() -> None:
        async with client(made, tmp_path / "server", AWKWARD) as shop:
            shop.ask("never awaited")
            call = shop.ask("followed")
            seen = [type(event).__name__ async for event in call]
            assert seen[:2] == ["RunStarted", "NodeStarted"]
            assert (await call).unwrap() == (await call).unwrap() == "followed"
            plain = shop.ask("plain")
            assert (await plain).unwrap() == (await plain).unwrap() == "plain"
            with pytest.raises(ael.RequestError, match="awaited already"):
                plain.events()
            lost = await shop.words.strike("lose")
            assert isinstance(lost, ael.Uncertain)
            twice = [await shop.words.strike("once and no more", key="k-1") for _ in range(2)]
            assert [one.unwrap() for one in twice] == ["once and no more"] * 2

    asyncio.run(scenario())
    assert [one["what"] for one in ledger(tmp_path / "server")] == ["followed", "plain", "lose", "once and no more"]


def test_giving_up_reaches_the_server(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = generated(tmp_path, AWKWARD, capsys)

    async def scenario() -> None:
        async with client(made, tmp_path / "server", AWKWARD) as shop:
            call = shop.ask("wait:never")
            waiting = asyncio.ensure_future(call.outcome())
            while not ledger(tmp_path / "server"):
                await asyncio.sleep(0.01)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            while not (tmp_path / "server" / "cancelled").exists():
                await asyncio.sleep(0.01)

    asyncio.run(scenario())


def test_another_version_of_the_program_is_told_before_a_call(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = generated(tmp_path, AWKWARD, capsys)
    changed = AWKWARD.replace("error Full { free: Int }", "error Full { free: String }").replace(
        "Full(free: self)", 'Full(free: "")'
    )
    more = AWKWARD.replace("fails Gone, Full", "fails Gone, Full, Shut") + "\nerror Shut { why: String }\n"

    async def asked(program: str, name: str) -> None:
        async with client(made, tmp_path / name, program) as shop:
            with pytest.raises(ael.BindError, match="make it anew with `ael export python`"):
                await shop.words.same({"from": "a", "list": []})

    asyncio.run(asked(changed, "changed"))
    asyncio.run(asked(more, "more"))


def test_without_an_event_loop(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made: Any = generated(tmp_path, AWKWARD, capsys)
    with (
        served_in_a_thread(opened_in(tmp_path / "server", AWKWARD, "runs = memory\n")) as url,
        made.ShopSyncClient.connect(url) as shop,
    ):
        assert shop.double(21).unwrap() == 42
        assert (shop.connect_(3).unwrap(), shop._client_().unwrap()) == (3, 1)
        assert isinstance(shop.words.same({"from": "full", "list": []}), ael.Failed)


def test_bad_words_of_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    opened_in(tmp_path, AWKWARD, "runs = memory\n")
    assert main(["export", "python", str(tmp_path), "--integers", "bigint"]) == 2
    assert "is of a client in TypeScript" in capsys.readouterr().err
    assert main(["export", "python", str(tmp_path), "--only", "nobody"]) == 2
    with pytest.raises(SystemExit) as ended:
        main(["export", "cobol", str(tmp_path)])
    assert ended.value.code == 2
