"""What the tests of the modules that reach the world share: a program with a deployment, run beside real servers on this machine."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from ael.host import open_host
from ael.hosting.failure import HostError
from ael.models.script import parse_script
from ael.models.scripted import ScriptedProvider
from ael.project.entry import choose
from ael.run.bindings import BoundModel, Options
from ael.run.outcome import DeclaredError, Faulted, Outcome, Unsettled, Value
from tests.net.loopback import Answer, Asked, Loopback
from tests.programs import open_files, rendered

__all__ = ["HostError", "World", "declared", "fault", "uncertain", "value"]


class World:
    """Servers by name, and programs that may ask them: `{name}` in a program and a deployment is the address of the server."""

    def __init__(self, folder: Path, **handlers: Callable[[Asked], Answer]) -> None:
        self.folder = folder
        self.handlers = handlers
        self.asked: dict[str, list[Asked]] = {name: [] for name in handlers}
        self.places: dict[str, str] = {}
        self.requests: Any = []

    def run(
        self,
        main: str,
        deploy: str = "",
        values: Mapping[str, object] | None = None,
        *,
        script: object = None,
        files: Mapping[str, str] | None = None,
        approver: Any = None,
        entry: str | None = None,
        run: str = "r1",
    ) -> Outcome:
        """Run the program once. `{ports}` in the deployment are `host` lines for all servers."""
        return asyncio.run(self._run(main, deploy, values or {}, script, files or {}, approver, entry, run))

    async def _run(
        self,
        main: str,
        deploy: str,
        values: Mapping[str, object],
        script: object,
        files: Mapping[str, str],
        approver: Any,
        entry: str | None,
        run: str,
    ) -> Outcome:
        async with AsyncExitStack() as stack:
            servers = {name: await stack.enter_async_context(Loopback(handler)) for name, handler in self.handlers.items()}
            ports = "\n".join(f'host "127.0.0.1:{server.port}"' for server in servers.values())
            places = self.places = {"ports": ports, **{name: server.url for name, server in servers.items()}}
            texts = {"main.ael": _filled(main, places), "pack.ael": 'pack p { version "0.1.0" }\n', **files}
            (self.folder / "deploy.ael").unlink(missing_ok=True)
            if deploy:
                texts["deploy.ael"] = _filled(deploy, places)
            opened, bag = open_files(self.folder, texts)
            assert opened is not None, "\n".join(rendered(d, self.folder) for d in bag.sorted())
            provider = ScriptedProvider(parse_script(json.loads(_filled(json.dumps(script or []), places))), keep_requests=True)
            self.requests = provider.requests
            models = {name: BoundModel(provider, "script", {}, None) for name in opened.program.models}
            given = {name: _filled(one, places) if isinstance(one, str) else one for name, one in values.items()}
            host = open_host(opened, models=models, approver=approver)
            async with host:
                outcome = await host.engine.start(
                    choose(opened.program, entry), given, Options("local", "tester", run=run)
                ).outcome()
            for name, server in servers.items():
                self.asked[name] = server.asked
        left = asyncio.all_tasks() - {asyncio.current_task()}
        assert not left, "no task is left behind"
        return outcome


def _filled(text: str, places: Mapping[str, str]) -> str:
    for name, place in places.items():
        text = text.replace("{" + name + "}", place)
    return text


def value(outcome: Outcome) -> Any:
    assert isinstance(outcome, Value), outcome
    return outcome.value


def declared(outcome: Outcome) -> tuple[str, Any]:
    assert isinstance(outcome, DeclaredError), outcome
    return outcome.error.rpartition(".")[2], outcome.value


def fault(outcome: Outcome) -> Faulted:
    assert isinstance(outcome, Faulted), outcome
    return outcome


def uncertain(outcome: Outcome) -> Unsettled:
    assert isinstance(outcome, Unsettled), outcome
    return outcome
