"""Generated TypeScript clients: the strictest type check passes, and a real Node calls a real server with them."""

from __future__ import annotations

import asyncio
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from ael.cli.main import main
from tests.clients.programs import AWKWARD
from tests.external.node_tools import node, npm_packages
from tests.ports import free_port
from tests.transports.places import TOKEN, ledger, opened_in, serving
from tests.transports.programs import ECHO
from tests.transports.test_export import ALL

pytestmark = pytest.mark.feature("B22")
PART = "generated TypeScript clients"
USER = Path(__file__).with_name("user.ts")
RULES = Path(__file__).with_name("rules.ts")
TYPES = """\
import type { All, EchoAllOutcome, Shape } from "./made.ts";
import { ShopClient } from "./made.ts";

const shop = new ShopClient("http://localhost:1");
const shape: Shape = { kind: "Circle", radius: 1 };
export async function all(value: All): Promise<EchoAllOutcome> {
  await shop.echo.list({ value: [shape, "Dot"] });
  return shop.echo.all({ value, extra: 1 });
}
"""
WRONG = {
    'kind: "Circle", radius: 1': 'kind: "Circle"',
    '[shape, "Dot"]': '[shape, "Square"]',
    "extra: 1": 'extra: "1"',
    "Promise<EchoAllOutcome>": "Promise<string>",
}
OPTIONS = {
    "strict": True, "noUncheckedIndexedAccess": True, "exactOptionalPropertyTypes": True, "noImplicitReturns": True,
    "noImplicitOverride": True,
    "noPropertyAccessFromIndexSignature": True, "noUnusedLocals": True, "erasableSyntaxOnly": True, "verbatimModuleSyntax": True,
    "isolatedModules": True, "allowImportingTsExtensions": True, "rewriteRelativeImportExtensions": True, "target": "ES2022",
    "module": "nodenext", "lib": ["ES2022", "DOM", "DOM.AsyncIterable"], "outDir": "out", "types": ["node"],
}  # fmt: skip


def generated(folder: Path, program: str, capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """The client of a program, in `made.ts`."""
    opened_in(folder, program, "runs = memory\n")
    assert main(["export", "typescript", str(folder), *words]) == 0
    made = capsys.readouterr().out
    (folder / "made.ts").write_text(made, encoding="utf-8")
    return made


def compiled(folder: Path, *files: str) -> list[str]:
    """What the compiler finds, and JavaScript in `out`."""
    packages = npm_packages(PART, "typescript@5.9", "@types/node@22")
    if not (folder / "node_modules").exists():
        (folder / "node_modules").symlink_to(packages / "node_modules")
    options = {**OPTIONS, "noUnusedLocals": "made.ts" not in files}
    (folder / "package.json").write_text('{"type": "module"}')
    (folder / "tsconfig.json").write_text(json.dumps({"compilerOptions": options, "files": list(files)}))
    command = [node(PART), str(packages / "node_modules/typescript/bin/tsc"), "--project", "."]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=300)
    return [line for line in done.stdout.splitlines() if "error TS" in line]


async def driven(folder: Path, *words: str, program: str = "user.js") -> list[tuple[str, Any]]:
    """What the compiled program of the user prints."""
    command = [node(PART), str(folder / "out" / program), *words]
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE)
    out, err = await asyncio.wait_for(process.communicate(), 100)
    assert process.returncode == 0, err.decode()
    return [(name, value) for name, value in map(json.loads, out.decode().strip().split("\n"))]


def test_a_user_in_node_sees_every_ending_typed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    generated(tmp_path, AWKWARD, capsys)
    (tmp_path / "user.ts").write_text(USER.read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "rules.ts").write_text(RULES.read_text(encoding="utf-8"), encoding="utf-8")
    assert compiled(tmp_path, "made.ts", "user.ts", "rules.ts") == []
    _rules(asyncio.run(driven(tmp_path, program="rules.js")))

    async def scenario() -> list[tuple[str, Any]]:
        async with serving(tmp_path / "server", AWKWARD, "runs = memory\n") as (_, port, _):
            return await driven(tmp_path, f"http://127.0.0.1:{port}", TOKEN, f"http://127.0.0.1:{free_port()}")

    said = asyncio.run(scenario())
    found = {name: value for name, value in said if name != "refused"}
    assert "taken" not in found
    assert [value for name, value in said if name == "refused"] == [True] * 4
    inner = {"from": "ä\u2028", "list": [], "object": "Done", "many": [], "__proto__": True}
    assert found["same"]["value"] == {"from": "a", "list": [inner], "object": "Done", "many": [], "__proto__": False}
    assert found["own"] is True
    assert (found["gone"], found["full"]) == ("gone 9 None", "full 7")
    whole = {"at": "2026-03-01T00:00:00Z", "until": "PT5M", "price": "1.50", "promise": {"then": 3}}
    assert found["constructor"]["value"] == whole
    assert found["then"]["value"] == ["a", ["b"]]
    assert found["chain"]["value"] == 42
    assert found["twins"] == [1, 2]
    # 2^53 is beyond what JavaScript tells apart from its neighbour: refused, and never rounded.
    assert (found["large"]["outcome"], found["large"]["kind"]) == ("fault", "Malformed")
    assert "--integers bigint" in found["large"]["message"]
    assert (found["bad"]["kind"], "number" in found["bad"]["message"]) == ("BadArguments", True)
    assert found["followed"]["value"] == "followed"
    assert found["events"][:2] == ["run_started", "node_started"]
    assert found["thrown"]["value"] == "thrown"
    assert (found["lost"]["outcome"], found["lost"]["operation"]) == ("uncertain", "Words.strike")
    assert found["keyed"] == ["value", "value"]
    assert (found["given up"]["outcome"], found["given up"]["kind"]) == ("fault", "Cancelled")
    assert found["late"]["kind"] in ("Timeout", "DeadlineExceeded")
    assert found["struck late"] == "uncertain"
    assert (found["stranger"]["outcome"], found["stranger"]["kind"]) == ("fault", "Denied")
    assert (found["nobody"]["outcome"], found["nobody"]["kind"]) == ("fault", "Unavailable")
    done = [one["what"] for one in ledger(tmp_path / "server")]
    assert (done.count("lose"), done.count("once"), done.count("nobody")) == (1, 1, 0)


def _rules(said: list[tuple[str, Any]]) -> None:
    """What a client sends again, and what it makes of failures and answers that are hard to read."""
    found = {name: value for name, value in said if name != "refused"}
    # How a call of what must not be done twice ended, how often it was sent, and how often one that may be repeated.
    assert found["connect"] == ["fault", "Unavailable", 3, 3]
    assert found["read"] == ["uncertain", "", 1, 3]
    assert found["refused late"] == ["uncertain", "", 1, 3]
    assert found["full"] == ["fault", "Unavailable", 3, 3]
    assert found["full, begun"] == ["fault", "Unavailable", 1, 3]
    assert found["not there"] == ["fault", "Unavailable", 1, 1]
    assert found["proxy"] == ["uncertain", "", 1, 3]
    assert found["odd code"] == ["uncertain", "", 1, 3]
    assert found["given up between"] == ["fault", 1]
    assert found["no end"] == "fault"
    assert found["long"] == 15_000_019
    assert found["infinite"] == "fault"
    assert found["thrown later"] == "value"
    assert found["forever"] == "value"
    assert "taken" not in found, found["taken"]
    assert [value for name, value in said if name == "refused"] == [True] * 4


def test_the_compiler_finds_each_mistake_of_a_user(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    generated(tmp_path, ECHO, capsys)
    (tmp_path / "user.ts").write_text(TYPES, encoding="utf-8")
    wrong = []
    for number, (good, bad) in enumerate(WRONG.items()):
        assert good in TYPES
        wrong.append(f"wrong{number}.ts")
        (tmp_path / wrong[-1]).write_text(TYPES.replace(good, bad), encoding="utf-8")
    found = compiled(tmp_path, "made.ts", "user.ts", *wrong)
    assert {line.partition("(")[0] for line in found} == set(wrong), found


BIG = """\
import { ShopClient } from "./made.ts";

const [url, token, text] = process.argv.slice(2) as [string, string, string];
const shop = new ShopClient(url, { token });
const given = JSON.parse(text, (name, one) => (name === "whole" || name === "n" ? BigInt(one) : one));
const all = await shop.echo.all({ value: given, extra: 1n });
console.log(JSON.stringify(["all", all], (_, one) => (typeof one === "bigint" ? `${one}n` : one)));
const whole = await shop.echo.whole({ value: 2n ** 70n });
console.log(JSON.stringify(["whole", whole.outcome === "value" && whole.value === 2n ** 70n]));
console.log(JSON.stringify(["list", await shop.echo.list({ value: ["Dot", { kind: "Circle", radius: 0.5 }] })]));
const wide = await shop.echo.wide({ value: { known: 1n, more: [2] } });
console.log(JSON.stringify(["wide", wide], (_, one) => (typeof one === "bigint" ? Number(one) : one)));
console.log(JSON.stringify(["unit", await shop.echo.unit({ value: 1n })]));
const nested = (await shop.echo.any({ value: { deep: [12345678901234567890n, "12345678901234567890"] } }));
console.log(JSON.stringify(["nested", nested], (_, one) => (typeof one === "bigint" ? `${one}n` : one)));
"""


def test_every_kind_of_value_crosses_with_exact_integers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    generated(tmp_path, ECHO, capsys, "--integers", "bigint")
    (tmp_path / "user.ts").write_text(BIG, encoding="utf-8")
    assert compiled(tmp_path, "made.ts", "user.ts") == []

    async def scenario() -> list[tuple[str, Any]]:
        async with serving(tmp_path / "server", ECHO, "runs = memory\n") as (_, port, _):
            return await driven(tmp_path, f"http://127.0.0.1:{port}", TOKEN, json.dumps(ALL))

    found = dict(asyncio.run(scenario()))
    back = json.loads(json.dumps(found["all"]["value"]).replace('"3n"', "3").replace('"0n"', "0").replace('"7n"', "7"))
    assert back == ALL
    assert found["whole"] is True
    assert found["list"]["value"] == ["Dot", {"kind": "Circle", "radius": 0.5}]
    assert found["wide"]["value"] == {"known": 1, "more": [2]}
    assert found["unit"]["value"] is None
    assert found["nested"]["value"] == {"deep": ["12345678901234567890n", "12345678901234567890"]}
