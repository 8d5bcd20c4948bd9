"""Playing a case: the real check, host, gate, journal and trace; only the model and the world outside are the attacker's."""

from __future__ import annotations

import asyncio
import atexit
import json
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from ael.diagnostics.diagnostic import Diagnostic
from ael.host import Host, open_host
from ael.mcp.manifest import Expected, Uses
from ael.models.script import Script, ScriptedTurn, parse_script
from ael.models.scripted import ScriptedProvider
from ael.project.program import Opened
from ael.run.bindings import BoundModel, Options
from ael.run.gate import Check
from ael.run.outcome import Faulted, Outcome, to_json
from ael.run.ports import ApprovalRequest, Decision, RemoteAnswer, RemotePart, RemoteServer, Span
from ael.run.run import Run
from ael.run.trace import SpanList
from ael.types.pin import pin_digest
from tests.attacks.case import Case, Play
from tests.attacks.programs import PINNED
from tests.attacks.world import answered, changed, workspace
from tests.mcp_run.fakes import FakeSession, remote
from tests.net.loopback import Loopback
from tests.programs import lock_of, open_files

LOCK = lock_of(PINNED[0])
_NAMES = {check: check.name.lower() for check in Check}


class Person:
    """Who is asked: says what the case says, else no, and remembers what was shown."""

    def __init__(self, answers: Sequence[Decision] = ()) -> None:
        self.asked: list[ApprovalRequest] = []
        self._answers = list(answers)

    async def decide(self, request: ApprovalRequest) -> Decision:
        self.asked.append(request)
        return self._answers.pop(0) if self._answers else Decision(False, "ann", "that is not what was asked for")


@dataclass
class Played:
    """What a play left: how the run ended, its spans and records, what the model was sent, who was asked, and the effects."""

    outcome: Outcome
    spans: list[Span]
    person: Person
    providers: list[ScriptedProvider]
    run: Run
    effects: tuple[str, ...]
    sent: list[str] = field(default_factory=list)
    """What reached the server `crm`."""

    @property
    def refusals(self) -> set[str]:
        """The checks that refused a call."""
        found = {_NAMES[Check(int(str(span.attributes["check"])))] for span in self.spans if "check" in span.attributes}
        for entry in self.run.journal.entries():
            if entry.ending is not None and entry.ending.value == "refused" and isinstance(entry.value, Mapping):
                found.add(str((entry.value.get("details") or {}).get("check", "")))
        return found - {""}

    @property
    def evidence(self) -> set[str]:
        """What stopped something here, in the words of the tables."""
        found = self.refusals
        if any("takes only trusted values" in request.reason for request in self.person.asked):
            found.add("trusted")
        if isinstance(self.outcome, Faulted):
            found |= {"ending", f"ending {self.outcome.kind.value}"}
            if self.outcome.kind.value == "InvalidOutput":
                found.add("output")
            if self.outcome.kind.value == "DefinitionChanged":
                found.add("changed")
            if self.outcome.kind.value == "BudgetExhausted":
                found.add("budget")
        for entry in self.run.journal.entries():
            if entry.ending is not None and entry.ending.value == "error":
                found.add("body")
            if entry.ending is not None and entry.ending.value == "fault" and isinstance(entry.value, Mapping):
                found |= {"output"} if entry.value.get("kind") == "InvalidOutput" else set()
        return found

    @property
    def told(self) -> str:
        """Everything that the model was sent."""
        return "\n".join(str(one.messages) for provider in self.providers for one in provider.requests or ())

    @property
    def said(self) -> str:
        """The outcome as text."""
        return str(to_json(self.outcome))


@cache
def _folder() -> Path:
    """Of all programs; gone when the tests have ended."""
    made = Path(tempfile.mkdtemp(prefix="ael-attacks-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


@cache
def _opened(files: tuple[tuple[str, str], ...]) -> tuple[Opened | None, tuple[Diagnostic, ...]]:
    folder = _folder() / f"p{len(list(_folder().iterdir()))}"
    folder.mkdir()
    opened, bag = open_files(folder, dict(files))
    return opened, tuple(bag.sorted())


def check(case: Case, program: str) -> tuple[Opened | None, tuple[Diagnostic, ...]]:
    """The program of a case, checked; kept for the cases that share it."""
    files = {"main.ael": program, "pack.ael": PACK, "ael.lock": LOCK, **case.files}
    if case.deploy:
        files["deploy.ael"] = case.deploy
    return _opened(tuple(sorted(files.items())))


PACK = """pack desk {
  version "1.0.0"
  extern "outside"
}
"""


def play(case: Case, one: Play) -> Played:
    """Run one play of a case."""
    return asyncio.run(_beside_a_server(case, one) if "{host}" in case.deploy else _alone(case, one))


async def _alone(case: Case, one: Play) -> Played:
    opened, found = check(case, case.program)
    assert opened is not None, [f"{d.code} {d.message}" for d in found]
    folder = Path(opened.deployment.folder)
    if "folder(" not in case.deploy:
        return await _play(one, opened)
    before = workspace(folder)
    played = await _play(one, opened)
    played.effects = changed(folder, before)
    return played


async def _beside_a_server(case: Case, one: Play) -> Played:
    """With a real server on this machine, the only one that the program may ask: `{host}` in the deployment, `{web}` in what is said."""
    async with Loopback(answered) as server:
        places = {"{host}": f'host "127.0.0.1:{server.port}"', "{web}": server.url, "{port}": str(server.port)}
        opened, found = check(replace(case, deploy=_filled(case.deploy, places)), case.program)
        assert opened is not None, [f"{d.code} {d.message}" for d in found]
        turns = json.loads(_filled(json.dumps(one.turns), places))
        given = json.loads(_filled(json.dumps(one.given), places))
        played = await _play(replace(one, turns=turns, given=given), opened)
        played.effects = tuple([f"{asked.method} {asked.path}" for asked in server.asked])
        return played


def _filled(text: str, places: Mapping[str, str]) -> str:
    for name, place in places.items():
        text = text.replace(name, place)
    return text


async def _play(one: Play, opened: Opened) -> Played:
    spans, person = SpanList(), Person(one.answers)
    providers: list[ScriptedProvider] = []
    every = [*one.before, one]
    # What is under way decides what the outside says.
    now = [every[0]]
    session, server = _server(one)
    bound = {}
    for name in opened.program.models:
        turns = [turn for play in every for turn in _turns(play, name.rpartition(".")[2])]
        provider = ScriptedProvider(Script(tuple([_turn(turn) for turn in turns])), keep_requests=True)
        providers.append(provider)
        bound[name] = BoundModel(provider, "script")
    outside = [name for name, tool in opened.program.tools.items() if (tool.extern or "").startswith("outside:")]
    functions = {name: _outside(name.rpartition(".")[2], now) for name in outside}
    host = open_host(
        opened,
        models=bound,
        approver=person,
        sinks=[spans],
        functions=functions,
        servers={name: server for name in ("main.crm",) if name in opened.program.servers},
    )
    async with host:
        for play in every:
            now[0] = play
            session.doing = [_answer(play)]
            options = Options(play.tenant, "caller", content=True)
            run = host.engine.start(f"main.{play.entry}", play.given, options)
            outcome = await run.outcome()
        effects = await _effects(host)
    return Played(outcome, spans.spans, person, providers, run, effects, [name for name, *_ in session.calls])


async def _effects(host: Host) -> tuple[str, ...]:
    """What was really done: the rows of the store `done`, of whichever tenant."""
    found: list[str] = []
    store = host.bindings.stores.get("main.done")
    for tenant in ("local", "acme", "beta") if store is not None else ():
        assert store is not None
        found += [key for key, _ in await store.of(tenant).entries(100)]
    return tuple(found)


def _turns(play: Play, model: str) -> Sequence[object]:
    return play.turns.get(model, ()) if isinstance(play.turns, Mapping) else play.turns if model == "fast" else ()


def _turn(turn: object) -> ScriptedTurn:
    return turn if isinstance(turn, ScriptedTurn) else parse_script([turn]).turns[0]


def _outside(name: str, now: Sequence[Play]) -> Callable[..., object]:
    def give(**arguments: object) -> object:
        said = now[0].says.get(name, "nothing")
        if isinstance(said, Exception):
            raise said
        return said(**arguments) if callable(said) else said

    return give


def _server(play: Play) -> tuple[FakeSession, RemoteServer]:
    pinned = PINNED[1]
    uses = Uses("main.crm", tuple(Expected("tool", str(one["name"]), pin_digest(one), one) for one in pinned))
    session = FakeSession(tools=list(play.listed if play.listed is not None else pinned))
    made, _ = remote(session, uses=uses)
    return session, made


def _answer(play: Play) -> RemoteAnswer:
    said = play.says.get("crm", "nothing")
    if isinstance(said, RemoteAnswer):
        return said
    return RemoteAnswer((RemotePart("text", str(said)),))
