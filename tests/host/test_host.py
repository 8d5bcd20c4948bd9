"""The composition root: what a program needs is bound, told when it is missing, and closed again."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from ael.diagnostics.diagnostic import Bag
from ael.host import HostError, open_host, open_preview
from ael.models.script import parse_script
from ael.models.scripted import ScriptedProvider
from ael.project.program import Opened, open_program
from ael.project.reach import models_of, reachable
from ael.run.bindings import BoundModel, Options
from ael.run.outcome import Faulted, Outcome, Value
from tests.cli.conftest import KEYS
from tests.programs import write

NODE = """
node {name}(question: String(max: 200) = "q") -> String(max: 80)
  model {model}
  policy one_call
  budget tokens 2_000, time 20s
{{
  instructions "Answer."
}}
"""
MODELS = """
model fast {
  provider anthropic
  name "claude-haiku-4-5"
  fallback cheap
}

model cheap {
  provider openai
  name "gpt-5-mini"
}
"""
ASKS = MODELS + NODE.format(name="main", model="fast") + NODE.format(name="other", model="cheap")
EXTERN = """
permission mail.send

tool send(text: String(max: 200) = "x") -> String(max: 80)
  needs mail.send
  repeat idempotent
  timeout 5s
  extern "{target}"

node main() -> String
  grants mail.send
{{
  send("hello")
}}

node without() -> Int {{
  1
}}
"""


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for key in KEYS:
        monkeypatch.delenv(key, raising=False)


def _opened(folder: Path, files: Mapping[str, str]) -> Opened:
    write(folder, files)
    bag = Bag()
    opened = open_program(folder, bag)
    assert opened is not None, [(d.code, d.message) for d in bag.sorted()]
    return opened


def _run(opened: Opened, entry: str = "main.main", **given: object) -> Outcome:
    async def go() -> Outcome:
        async with open_host(opened, entry) as host:
            return await host.engine.start(entry, given, Options(caller="tester")).outcome()

    return asyncio.run(go())


# --- models --------------------------------------------------------------------------------------------------------------


def test_only_what_the_entry_reaches_has_to_be_there(tmp_path: Path) -> None:
    opened = _opened(
        tmp_path, {"main.ael": ASKS, "deploy.ael": 'model cheap = scripted("s.json")\n', "s.json": '[{"final": "b"}]'}
    )
    assert models_of(opened.program, reachable(opened.program, "main.main")) == ("main.fast", "main.cheap")
    assert models_of(opened.program, reachable(opened.program, "main.other")) == ("main.cheap",)
    assert isinstance(_run(opened, "main.other"), Value)
    with pytest.raises(HostError) as raised:
        open_host(opened, "main.main")
    assert raised.value.code == "AEL0830"
    assert "ANTHROPIC_API_KEY" in raised.value.message
    with pytest.raises(HostError):
        open_host(opened)


def test_a_second_choice_may_be_missing(tmp_path: Path) -> None:
    opened = _opened(
        tmp_path, {"main.ael": ASKS, "deploy.ael": 'model fast = scripted("s.json")\n', "s.json": '[{"final": "a"}]'}
    )
    host = open_host(opened, "main.main")
    assert host.warnings == (
        "the fallback model `cheap` is not there: the model `cheap` cannot be used: the provider `openai` needs a key: set "
        "OPENAI_API_KEY, or give `key: secret(…)` in the deployment's binding",
    )
    assert host.bindings.models["main.fast"].fallback is None
    assert isinstance(_run(opened), Value)


def test_a_usual_variable_is_the_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k1")
    monkeypatch.setenv("OPENAI_API_KEY", "k2")
    host = open_host(_opened(tmp_path, {"main.ael": ASKS}), "main.main")
    assert set(host.bindings.secrets) == {"ANTHROPIC_API_KEY", "OPENAI_API_KEY"}
    assert "k1" not in repr(host.bindings.secrets)
    asyncio.run(host.close())


def test_a_model_without_a_provider_says_so(tmp_path: Path) -> None:
    program = 'model fast {\n  name "x"\n}\n' + NODE.format(name="main", model="fast")
    with pytest.raises(HostError, match="nothing says which provider it has"):
        open_host(_opened(tmp_path, {"main.ael": program}), "main.main")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('scripted("nowhere.json")', "nowhere.json"),
        ('replay("nowhere.jsonl")', "nowhere.jsonl"),
        ("scripted", "script"),
        ('local("gpt-9")', "gpt-9"),
        ('openai("m", key: secret("K"), endpoint: "ftp://a.example")', "begins with https://"),
        ('openai("m", key: secret("K"), idle_timeout: "soon")', "idle_timeout"),
    ],
)
def test_a_binding_that_cannot_be_made_is_told_with_the_ways_out(
    tmp_path: Path, line: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AEL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("E", "k")
    secret = 'secret K = env("E")\n' if "secret" in line else ""
    program = {"main.ael": ASKS, "deploy.ael": f"model cheap = {line}\n{secret}"}
    with pytest.raises(HostError) as raised:
        open_host(_opened(tmp_path, program), "main.other")
    assert raised.value.code == "AEL0830"
    assert said in raised.value.message
    assert any('scripted("script.json")' in note for note in raised.value.notes)


def test_a_session_is_recorded_and_played_back(tmp_path: Path) -> None:
    recorded = 'model cheap = recorded("s.jsonl", inner: scripted("s.json"))\n'
    opened = _opened(tmp_path, {"main.ael": ASKS, "deploy.ael": recorded, "s.json": '[{"final": "from the script"}]'})
    host = open_host(opened, "main.other")
    assert host.bindings.models["main.cheap"].model == "s.json", "what is recorded, not where"
    first = _run(opened, "main.other")
    assert isinstance(first, Value)
    again = _opened(tmp_path, {"main.ael": ASKS, "deploy.ael": 'model cheap = replay("s.jsonl")\n'})
    second = _run(again, "main.other")
    assert isinstance(second, Value)
    assert first.plain == second.plain == "from the script"
    other = _run(again, "main.other", question="something else")
    assert isinstance(other, Faulted)


def test_models_can_be_given(tmp_path: Path) -> None:
    opened = _opened(tmp_path, {"main.ael": ASKS})
    provider = ScriptedProvider(parse_script([{"final": "given"}]))
    host = open_host(opened, models={"main.fast": BoundModel(provider, "m")})

    async def go() -> Outcome:
        async with host:
            return await host.engine.start("main", {}, Options(caller="tester")).outcome()

    ended = asyncio.run(go())
    assert isinstance(ended, Value)
    assert ended.plain == "given"


def test_a_preview_opens_nothing(tmp_path: Path) -> None:
    deploy = 'model cheap = scripted("nowhere.json")\nmodel fast = openai("gpt-5-mini", key: secret("K"))\n'
    deploy += 'secret K = file("nowhere.txt")\n'
    opened = _opened(tmp_path, {"main.ael": ASKS, "deploy.ael": deploy})
    before = sorted(tmp_path.rglob("*"))
    host = open_preview(opened, reachable(opened.program, "main.main"))
    plan = host.engine.model_node("main.main")
    assert plan is not None
    assert [name for name, _ in plan.chain] == ["main.fast", "main.cheap"]
    assert plan.first(("hello",))[0] == '<input name="question">\nhello\n</input>'
    assert len(host.warnings) == 1
    assert sorted(tmp_path.rglob("*")) == before
    asyncio.run(host.close())


# --- tools in Python -------------------------------------------------------------------------------------------------------

PACK = 'pack p {\n  version "1"\n  extern "MODULE"\n}\n'


def _extern(folder: Path, module: str, function: str, text: str | None) -> Opened:
    files = {"main.ael": EXTERN.format(target=f"{module}:{function}"), "pack.ael": PACK.replace("MODULE", module)}
    if text is not None:
        files[f"{module}.py"] = text
    return _opened(folder, files)


def test_a_function_beside_the_program_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    opened = _extern(tmp_path, "host_mail_one", "send", "def send(text):\n    return text.upper()\n")
    ended = _run(opened)
    assert isinstance(ended, Value)
    assert ended.plain == "HELLO"


@pytest.mark.feature("A1.18")
@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("host_mail_none", None, "ModuleNotFoundError: No module named 'host_mail_none'"),
        ("host_mail_other", "def other():\n    pass\n", "has no attribute 'send'"),
        ("host_mail_value", "send = 3\n", "`host_mail_value:send` is no function"),
        ("host_mail_broken", "def send(:\n", "SyntaxError"),
        ("host_mail_raises", "raise RuntimeError('not today')\n", "RuntimeError: not today"),
    ],
)
def test_a_tool_without_an_implementation_is_told_before_anything_runs(
    tmp_path: Path, name: str, text: str | None, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    opened = _extern(tmp_path, name, "send", text)
    with pytest.raises(HostError) as raised:
        open_host(opened, "main.main")
    assert raised.value.code == "AEL0832"
    assert said in raised.value.message
    assert isinstance(_run(opened, "main.without"), Value), "what does not need it runs"


@pytest.mark.feature("A1.18")
def test_no_token_is_spent_when_a_tool_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    program = """
permission mail.send

/// Send a mail. Call it once.
tool send(text: String(max: 200)) -> String(max: 80)
  needs mail.send
  repeat idempotent
  timeout 5s
  extern "host_mail_never:send"

model clerk {
  provider openai
  name "m"
}

node main() -> String(max: 80)
  model clerk
  policy loop(steps: 2, tool_calls: 2)
  grants mail.send
  tools send
  budget tokens 9_000, time 9s
{
  instructions "Send it."
}
"""
    opened = _opened(tmp_path, {"main.ael": program, "pack.ael": PACK.replace("MODULE", "host_mail_never")})
    provider = ScriptedProvider(parse_script([{"final": "never"}]))
    with pytest.raises(HostError, match="has no implementation"):
        open_host(opened, "main.main", models={"main.clerk": BoundModel(provider, "m")})
    assert provider.asked == 0


# --- stores and closing --------------------------------------------------------------------------------------------------


def test_a_store_lies_beside_its_deployment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = """
permission notes.write

store notes: Map<String, Int> needs notes.write

node main() -> Int
  grants notes.write
{
  let before = notes.get("n") ?? 0
  notes.put("n", before + 1)
  before
}
"""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    folder = tmp_path / "program"
    opened = _opened(folder, {"main.ael": program, "deploy.ael": 'store notes = sqlite("notes.db")\n'})
    assert [ended.plain for ended in (_run(opened), _run(opened)) if isinstance(ended, Value)] == [0, 1]
    assert (folder / "notes.db").is_file()
    assert list(elsewhere.iterdir()) == []
    memory = _opened(folder, {"deploy.ael": "store notes = memory\n"})
    assert [ended.plain for ended in (_run(memory), _run(memory)) if isinstance(ended, Value)] == [0, 0]


def test_closing_never_fails_and_closes_everything(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    closed: list[str] = []

    class Odd(ScriptedProvider):
        async def close(self) -> None:
            closed.append("odd")
            raise RuntimeError("the wire is cut")

    class Even(ScriptedProvider):
        async def close(self) -> None:
            closed.append("even")

    opened = _opened(tmp_path, {"main.ael": ASKS})
    script = parse_script([])
    bound = {"main.fast": BoundModel(Odd(script), "m"), "main.cheap": BoundModel(Even(script), "m")}
    asyncio.run(open_host(opened, models=bound).close())
    assert closed == ["odd", "even"]
    assert capsys.readouterr().err == "ael: closing Odd: the wire is cut\n"


def test_a_script_costs_nothing_and_that_is_known(tmp_path: Path) -> None:
    opened = _opened(tmp_path, {"main.ael": ASKS, "deploy.ael": 'model cheap = scripted("s.json")\n', "s.json": "[]"})
    prices = open_host(opened, "main.other").bindings.prices
    assert prices is not None
    price = prices.price("scripted", "s.json")
    assert price is not None
    assert (price.input, price.output) == (0, 0)
    assert prices.price("openai", "gpt-5-mini") is None, "the table is not read for what cannot cost anything"
