"""Agents whose edges are placed: the same program, and the visits along some edges in the process, in another, or behind a server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from tests.transports.places import Placed, Setting, opened_in, placed, serving, serving_grpc
from tests.transports.queues import QUEUES, Working, queue, working

DESK = """\
permission world.act
permission world.strike includes world.act

error Empty { id: String }

pub record Found {
  id: String
  more: List<String>
}

/// Do something outside.
tool act(what: String) -> String
  needs world.act
  repeat idempotent
  timeout 60s
  extern "outside:act"

/// Do something outside that must not be done twice.
tool strike(what: String) -> String
  needs world.strike
  repeat never
  timeout 60s
  extern "outside:act"

node plan(ids: List<String>) -> List<String> {
  ids
}

/// Look one thing up.
pub node look(id: String, more: List<String> = []) -> Found fails Empty
  grants world.act
{
  if id == "" { fail Empty(id: "none of ${more.length()}") }
  Found(id: act(id), more: more)
}

/// Look for two seconds at most.
pub node brief(id: String) -> String
  grants world.act
  budget time 2s
{
  act(id)
}

/// Do what must not be done twice.
pub node hit(id: String) -> String fails Uncertain
  grants world.strike
{
  try strike(id)
}

node join(left: Found, right: Found) -> String {
  "${left.id}&${right.id}"
}

node failed(id: String) -> String {
  "failed ${id}"
}

node doubted(id: String) -> String {
  "doubted ${id}"
}

node empty(id: String) -> String {
  "empty ${id}"
}

/// One visit, and what meets its ends.
pub agent one(id: String) -> String
  grants world.act
{
  edge start -> look(id)
  edge look -> finish(look.id)
  edge look -> empty(id) on Empty
  edge look -> failed(id) on Fault
  edge failed, empty -> finish
}

/// One visit that nothing meets.
agent bare(id: String) -> Found fails Empty
  grants world.act
{
  edge start -> look(id, ["a", "b"])
  edge look -> finish
}

/// A visit for each of them.
agent each_of(ids: List<String>) -> List<Found> fails Empty
  grants world.act
{
  edge start -> plan(ids)
  edge plan -> each look(plan)
  edge look -> finish
}

agent each_hit(ids: List<String>) -> List<String> fails Uncertain
  grants world.strike
{
  edge start -> plan(ids)
  edge plan -> each hit(plan)
  edge hit -> finish
}

/// Two visits beside each other, and one when both are there.
agent both(ids: List<String>) -> String fails Empty
  grants world.act
{
  edge start -> left(ids[0])
  edge start -> right(ids[1])
  edge left & right -> join(left, right)
  edge join -> finish
}

node left(id: String) -> Found fails Empty
  grants world.act
{
  try look(id)
}

node right(id: String) -> Found fails Empty
  grants world.act
{
  try look(id)
}

/// An agent in an agent, again and again.
agent rounds(id: String) -> String
  grants world.act
{
  edge start -> one(id)
  edge one -> one("${one}+") when one.length() < 4 up to 5
  edge one -> finish otherwise
}

agent strikes(id: String) -> String
  grants world.strike
{
  edge start -> hit(id)
  edge hit -> finish
  edge hit -> doubted(id) on Uncertain
  edge hit -> failed(id) on Fault
  edge doubted, failed -> finish
}

agent briefly(id: String) -> String
  grants world.act
{
  edge start -> brief(id)
  edge brief -> finish
}

/// Two seconds at most for all of it.
agent hurried(id: String) -> Found fails Empty
  grants world.act
  budget time 2s
{
  edge start -> look(id)
  edge look -> finish
}
"""
AWAY = ("https", "grpc")
"""Behind a server of its own."""


def lines(place: str, edges: Sequence[str], port: int, options: str = "") -> str:
    """The deployment's lines that place edges (`one.start -> one.look`)."""
    more = f", {options}" if options else ""
    where = {
        "in process": "in process",
        "process": f"process(workers: 1{more})",
        "https": f'https("http://127.0.0.1:{port}", token: secret("T"){more})',
        "grpc": f'grpc("127.0.0.1:{port}", token: secret("T"){more})',
    }[place]
    known = 'host "127.0.0.1"\nsecret T = env("ORDERS_TOKEN")\n' if place in AWAY else ""
    return known + "".join(f"edge {edge} = {where}\n" for edge in edges)


@asynccontextmanager
async def edged(
    place: str,
    folder: Path,
    *edges: str,
    main: str = DESK,
    client: str = "",
    server: str = "",
    options: str = "",
    through: Callable[[int], AbstractAsyncContextManager[int]] | None = None,
    **more: Any,
) -> AsyncIterator[Placed]:
    """The program with `edges` at `place`; `folder` of what it gives is where the other side writes what was done outside.

    `client`, `server`: further lines of the deployments of both sides; `options` of the placement; `through` as in `Setting`; `more` goes
    to the host.
    """
    async with AsyncExitStack() as stack:
        alone, port, stop = None, 0, None
        if place in AWAY:
            behind = serving_grpc if place == "grpc" else serving
            alone, port, stop = await stack.enter_async_context(behind(folder / "server", main, "runs = memory\n" + server))
            port = port if through is None else await stack.enter_async_context(through(port))
        if place not in QUEUES:
            given = lines(place, edges, port, options)
        else:
            found, own = stack.enter_context(queue(place)), f", {options}" if options else ""
            there = found.lines + "".join(found.line(f"edge {edge}", options) for edge in edges)
            worker = opened_in(folder / "server", main, f'runs = sqlite("runs.db")\n{there}{server}')
            stop = await stack.enter_async_context(working(worker))
            given = found.lines + "".join(found.line(f"edge {edge}", f"slots: 0{own}") for edge in edges)
        setting = Setting(client=given + client, services=(), more=more)
        program = await stack.enter_async_context(placed("in process", folder, main, setting))
        program.alone, program.port = alone, port
        program.stop = program.stop if stop is None else stop.stop if isinstance(stop, Working) else stop.set
        program.folder = folder / "server" if place in (*AWAY, *QUEUES) else folder
        yield program
