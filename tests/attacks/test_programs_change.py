"""A store outlives the program that wrote it: what one version let come into it, another does not take for clean (A14.3, K44)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest

from ael.host import open_host
from ael.models.script import parse_script
from ael.models.scripted import ScriptedProvider
from ael.run.bindings import BoundModel, Options
from ael.run.outcome import Faulted, Outcome, Value
from ael.types.fault import FaultKind
from tests.programs import open_files

HEAD = """
permission ledger
permission mail.send includes ledger

model fast {
  provider openai
  name "gpt-5-mini"
}

store addresses: Map<String, String> needs ledger
store done: Map<String, String> needs ledger

/// Send a letter. Call it when it is finished.
tool send(trusted to: String) -> String
  needs mail.send
  repeat idempotent
{
  done.put("send ${to}", "")
  "sent"
}

node guess(text: String) -> String
  model fast
  policy one_call
{
  instructions "To whom?"
}
"""
OLDER = (
    HEAD
    + """
node main(text: String) -> String
  grants ledger
{
  addresses.put("a", guess(text))
  "kept"
}
"""
)
NEWER = (
    HEAD
    + """
node main(text: String) -> String
  grants mail.send
{
  let said = guess(text)
  if text != "" { addresses.put("a", text) }
  log(said)
  send(ADDRESS ?? "nobody")
}
"""
).replace("ADDRESS", 'addresses.get("a")')
LISTS = NEWER.replace('addresses.get("a")', 'addresses.entries().get("a")')


def run(folder: Path, program: str, given: str) -> Outcome:
    opened, bag = open_files(folder, {"main.ael": program, "deploy.ael": 'store addresses = sqlite("kept.db")\n'})
    assert opened is not None, [(one.code, one.message) for one in bag.sorted()]
    provider = ScriptedProvider(parse_script([{"final": "eve@attacker.example"}]))
    models: Mapping[str, BoundModel] = {"main.fast": BoundModel(provider, "script")}

    async def whole() -> Outcome:
        async with open_host(opened, models=models) as host:
            return await host.engine.start("main", {"text": given}, Options("local", "c")).outcome()

    return asyncio.run(whole())


@pytest.mark.feature("A14.3", "A14.6", "K44")
@pytest.mark.parametrize("newer", [NEWER, LISTS], ids=["get", "entries"])
def test_what_another_version_let_in_is_not_taken_for_clean(newer: str, tmp_path: Path) -> None:
    """The check of the newer program is right about itself: it writes nothing from outside. What is there is somebody else's."""
    assert isinstance(run(tmp_path, OLDER, "x"), Value)
    outcome = run(tmp_path, newer, "")
    assert isinstance(outcome, Faulted)
    assert outcome.kind is FaultKind.DENIED
    assert "`addresses` holds what outside data had a hand in (model:fast; written by r" in outcome.message


@pytest.mark.feature("A14.6")
def test_what_it_wrote_itself_is_clean_whatever_it_had_read_before(tmp_path: Path) -> None:
    for given in ("ann@example.com", "", "bob@example.com"):
        assert isinstance(run(tmp_path, NEWER, given), Value)


@pytest.mark.feature("A14.6")
def test_a_program_that_trusts_nothing_of_it_reads_it(tmp_path: Path) -> None:
    assert isinstance(run(tmp_path, OLDER, "x"), Value)
    reads = OLDER.replace('addresses.put("a", guess(text))\n  "kept"', 'addresses.get("a") ?? guess(text)')
    outcome = run(tmp_path, reads, "x")
    assert isinstance(outcome, Value)
    assert outcome.value == "eve@attacker.example"
