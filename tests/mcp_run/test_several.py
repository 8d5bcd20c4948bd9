"""Programs with several servers, and with resources and prompts: nothing of one server reaches another, and all of them are closed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import permutations
from pathlib import Path

import pytest

from ael.diagnostics.diagnostic import Bag
from ael.host import Host, open_host
from ael.project.lock import write_lock
from ael.project.program import open_program
from ael.run.bindings import Options
from ael.run.outcome import Outcome
from ael.types.fault import FaultKind
from ael.types.pin import ServerPins, pin
from tests.mcp.http_peer import Asked, HttpPeer, Out
from tests.mcp.mcp_peer import OLD, McpPeer, params, result, text
from tests.mcp.support import open_files
from tests.mcp_run.programs import Crm, finished, network, program, served
from tests.mcp_run.test_http import fault, value
from tests.programs import write

FIND: dict[str, object] = {
    "name": "find",
    "description": "Find it.",
    "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
}
SERVER = """
permission {name}.read

mcp {name} {{
  tool find needs {name}.read repeat idempotent
}}

node {name}_only(text: String(max: 20)) -> String
  grants {name}.read
{{
  {name}.find(text: text)
}}
"""


@asynccontextmanager
async def several(folder: Path, peers: Sequence[McpPeer]) -> AsyncIterator[tuple[Host, list[HttpPeer]]]:
    """A program with a server `s0`, `s1`, … for each peer, and a node for each that asks it alone."""
    names = [f"s{number}" for number in range(len(peers))]
    async with AsyncExitStack() as stack:
        served = [await stack.enter_async_context(HttpPeer(peer)) for peer in peers]
        lines = [f'mcp {name} = http("{peer.url}", retries: 0)' for name, peer in zip(names, served, strict=True)]
        source = "\n".join(SERVER.format(name=name) for name in names)
        write(folder, {"main.ael": source, "deploy.ael": 'host "127.0.0.1"\n' + "\n".join(lines) + "\n"})
        write_lock(folder / "ael.lock", {f"main.{name}": ServerPins(OLD, tools={"find": pin(FIND)}) for name in names})
        bag = Bag()
        opened = open_program(folder / "main.ael", bag)
        assert opened is not None, [(one.code, one.message) for one in bag.sorted()]
        host = await stack.enter_async_context(open_host(opened))
        yield host, served


async def _ask(host: Host, name: str, tenant: str = "local") -> Outcome:
    return await host.engine.start(f"main.{name}_only", {"text": "x"}, Options(tenant=tenant, caller="lin")).outcome()


def _says(word: str) -> McpPeer:
    """A server whose `find` tells who asked whom."""
    peer = McpPeer(tools=[FIND])

    async def find(asked: Asked, out: Out) -> None:
        await out.reply(200, result(asked, text(word)))

    peer.on["tools/call"] = find
    return peer


def test_two_servers_with_the_same_tool_and_two_tenants_are_never_crossed(tmp_path: Path) -> None:
    """K19, K21, K43."""

    async def test() -> None:
        async with several(tmp_path, [_says("zero"), _says("one")]) as (host, peers):
            outcomes = await asyncio.gather(*[_ask(host, name, tenant) for name in ("s0", "s1") for tenant in ("a", "b")])
            assert [value(outcome) for outcome in outcomes] == ["zero", "zero", "one", "one"]
            assert [peer.methods().count("initialize") for peer in peers] == [2, 2]

    finished(test)


@pytest.mark.feature("A2.5", "A9.25", "B12")
def test_a_bad_server_does_not_hide_a_good_one(tmp_path: Path) -> None:
    """K16."""

    async def test() -> None:
        bad = McpPeer(tools=[{**FIND, "description": "Changed."}])
        gone = McpPeer()

        async def broken(asked: Asked, out: Out) -> None:
            await out.reply(200, b"<html>not today</html>", "text/html")

        gone.on["initialize"] = gone.on["server/discover"] = broken
        async with several(tmp_path, [_says("good"), bad, gone]) as (host, peers):
            assert value(await _ask(host, "s0")) == "good"
            assert peers[1].asked == []
            assert peers[2].asked == [], "what an entry does not reach is not even connected"
            assert fault(await _ask(host, "s1")).kind is FaultKind.DEFINITION_CHANGED
            assert fault(await _ask(host, "s2")).kind is FaultKind.MALFORMED
            assert value(await _ask(host, "s0")) == "good"

    finished(test)


@pytest.mark.feature("A9.23")
def test_servers_end_in_any_order(tmp_path: Path) -> None:
    """K22: five servers closed one after the other, in several orders, leave nothing behind and disturb nobody."""

    async def test() -> None:
        before = open_files()
        for number, order in enumerate(list(permutations(range(5)))[::17]):
            folder = tmp_path / str(number)
            folder.mkdir()
            async with several(folder, [_says(str(at)) for at in range(5)]) as (host, _):
                for at in range(5):
                    assert value(await _ask(host, f"s{at}")) == str(at)
                for at in order:
                    await host.bindings.servers[f"main.s{at}"].close()
        for _ in range(200):
            if open_files() <= before:
                break
            await asyncio.sleep(0.01)
        assert open_files() <= before

    finished(test)


@pytest.mark.feature("A9.24")
def test_resources_and_prompts_are_typed_reads(tmp_path: Path) -> None:
    review: dict[str, object] = {"name": "code_review", "arguments": [{"name": "code", "required": True}]}
    source = """
permission docs.read

record Config {
  port: Int(1..65535)
}

mcp crm {
  resource page "file:///{path}" needs docs.read
  resource config "config://app" -> Config needs docs.read
  prompt review as "code_review" needs docs.read
}

node main(path: String(max: 40)) -> String
  grants docs.read
{
  let page = crm.page(path: path)
  let port = crm.config().port
  let said = crm.review(code: page).map(fn(message) => "${message.role}: ${message.text}").join(" | ")
  "${page} ${port} ${said}"
}
"""

    async def test() -> None:
        crm = Crm()
        port = "8080"

        async def read(asked: Asked, out: Out) -> None:
            uri = str(params(asked)["uri"])
            config = f'{{"port": {port}}}'
            content = {"uri": uri, "text": config if uri.startswith("config") else f"the page at {uri}"}
            await out.reply(200, result(asked, {"contents": [content]}))

        async def get(asked: Asked, out: Out) -> None:
            given = params(asked)
            messages = [
                {"role": "user", "content": {"type": "text", "text": f"Review {given['arguments']['code']}"}},
                {"role": "assistant", "content": {"type": "text", "text": "ok"}},
            ]
            await out.reply(200, result(asked, {"messages": messages}))

        async def prompts(asked: Asked, out: Out) -> None:
            await out.reply(200, result(asked, {"prompts": [review]}))

        crm.on |= {"resources/read": read, "prompts/get": get, "prompts/list": prompts}
        async with served(crm, tmp_path, source=source, pinned=[], prompts=[review]) as (made, peer):
            page = "the page at file:///a%20b"
            assert value(await made.run("main.main", {"path": "a b"})) == f"{page} 8080 user: Review {page} | assistant: ok"
            assert "tools/list" not in peer.methods()
            port = '"8080"'
            assert fault(await made.run("main.main", {"path": "a"})).kind is FaultKind.MALFORMED
            [node] = [span for span in made.spans.spans if span.kind == "node"][:1]
            assert node.taint == ("mcp:crm.config", "mcp:crm.page", "mcp:crm.review")

    finished(test)


@pytest.mark.feature("A9.8", "B12")
def test_cycles_of_failing_servers_leave_no_connection_behind(tmp_path: Path) -> None:
    """K39."""

    async def test() -> None:
        crm = Crm()

        async def cut(asked: Asked, out: Out) -> None:
            out.cut()

        crm.doing["get_customer"] = cut
        async with HttpPeer(crm) as peer:
            before = open_files()
            for _ in range(20):
                async with program(tmp_path, network(peer)) as made:
                    assert fault(await made.run("main.customer", {"id": "c-1"})).kind is FaultKind.DISCONNECTED
            for _ in range(300):
                if peer.open == 0 and open_files() <= before:
                    break
                await asyncio.sleep(0.01)
            assert peer.open == 0
            assert open_files() <= before

    finished(test)
