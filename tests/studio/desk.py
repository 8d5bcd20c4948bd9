"""A program whose runs the studio shows, the studio in a thread of this process, and a client of it that is no browser."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from ael.diagnostics.diagnostic import Bag
from ael.diagnostics.render import render_all
from ael.studio.serve import Asked, prepared, serve
from tests.cli.conftest import clean_environment
from tests.programs import write

T = TypeVar("T")
HOSTILE = (
    '<script>window.pwned=1</script><img src=x onerror="window.pwned=1"><svg onload=window.pwned=1></svg>'
    '</pre><iframe srcdoc="<script>parent.pwned=1</script>"></iframe> safe\u202egnp.exe nul\x00 bell\x07 &lt;b&gt;'
)
MAIN = """\
permission money.refund
role finance

store book: Map<String, String> needs money.refund

record Ticket {
  /// Who writes.
  customer: String(max: 120)
  message: String(max: 2_000_000)
  urgent: Bool = false
  order_id?: String(max: 20, pattern: "^[A-Z]-[0-9]+$")
}

/// Refund an order.
tool refund(order: String(max: 40), amount: Decimal(min: 0.01)) -> String
  needs money.refund
  repeat never
  approval required by finance
{
  book.put(new_id(), "${order} ${amount}")
  "R-${order}"
}

model fast {
  provider anthropic
  name "claude-haiku-4-5"
}

/// Answer one ticket.
node answer(ticket: Ticket) -> String(max: 2_000_000) fails Uncertain
  model fast
  policy loop(steps: 4, tool_calls: 4)
  grants money.refund
  tools refund
  budget tokens 2_000_000, cost $5.00, time 10min
{
  instructions "Answer the ticket. Refund what was charged twice."
}

/// File what was answered.
node file(text: String(max: 2_000_000)) -> Int {
  text.length()
}

/// What a person takes over.
node escalate(ticket: Ticket) -> Int {
  ticket.message.length()
}

/// Answer a ticket, and file the answer.
agent desk(ticket: Ticket) -> Int
  grants money.refund
  budget tokens 3_000_000, cost $6.00, time 20min
{
  edge start -> answer(ticket)
  edge answer -> file(answer)
  edge answer -> escalate(ticket) on Fault, Uncertain
  edge file, escalate -> finish
}

/// How many refunds are in the books.
node books() -> Int
  grants money.refund
{
  book.entries().length()
}
"""
SCRIPT = {
    "conversations": [
        {
            "when": "hostile",
            "turns": [{"text": HOSTILE, "call": "refund", "with": {"order": "<b>A-1</b>", "amount": "5.00"}}, {"final": HOSTILE}],
        },
        {
            "when": "slow",
            "turns": [{"text": "word by word", "call": "refund", "with": {}, "delay": 2}, {"final": "the end", "delay": 4}],
        },
        {
            "when": "",
            "turns": [
                {"text": "I refund it.", "call": "refund", "with": {"order": "A-42", "amount": "19.90"}},
                {"final": "It is refunded."},
            ],
        },
    ]
}
DEPLOY = """\
model fast = scripted("script.json")
store book = sqlite("book.db")
runs = sqlite("runs.db")
role finance = ["ann", "local"]
"""
FILES: Mapping[str, str] = {"main.ael": MAIN, "deploy.ael": DEPLOY, "script.json": json.dumps(SCRIPT)}


def program(folder: Path, **other: str) -> Path:
    """The program in a folder, with other files in place of its own (`deploy_ael` for `deploy.ael`)."""
    folder.mkdir(parents=True, exist_ok=True)
    write(folder, {**FILES, **{name.replace("_", "."): text for name, text in other.items()}})
    return folder


@dataclass
class Reply:
    """What the studio answered."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> str:
        return str(self.json["error"])


@dataclass
class Served:
    """A studio under test. `addresses`: those that were told, the last of which opens it."""

    folder: Path
    addresses: list[str]
    base: str = ""
    cookie: str = ""
    _tickets: int = field(default=0)

    @property
    def host(self) -> str:
        return urlsplit(self.addresses[0]).netloc

    @property
    def url(self) -> str:
        """The page, for a browser that has the cookie."""
        return f"http://{self.host}{self.base}"

    def raw(self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None) -> Reply:
        """One request with exactly these headers, and a host where none is said."""
        connection = http.client.HTTPConnection(self.host, timeout=60)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in {"Host": self.host, **(headers or {})}.items():
                if value:
                    connection.putheader(name, value)
            if body is not None:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            answer = connection.getresponse()
            return Reply(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    def enter(self) -> Served:
        """Change the address for a cookie, as a browser does."""
        address = urlsplit(self.addresses[-1])
        opened = self.raw("GET", f"{address.path}?{address.query}")
        assert opened.status == 200
        self.cookie = opened.headers["set-cookie"].partition(";")[0]
        found = re.search(r"url=([^\"]+)", opened.body.decode())
        assert found is not None
        self.base = found[1]
        return self

    def get(self, path: str) -> Reply:
        """What the page asks."""
        return self.raw("GET", f"{self.base}api/{path}", headers={"Cookie": self.cookie, "Sec-Fetch-Site": "same-origin"})

    def events(self, run: str, seen: str | None = None) -> Iterator[tuple[str, str, Any]]:
        """The events of the stream of a run: name, id, data. `seen`: the id of the last one that was seen."""
        connection = http.client.HTTPConnection(self.host, timeout=60)
        try:
            headers = {
                "Cookie": self.cookie,
                "Sec-Fetch-Site": "same-origin",
                **({} if seen is None else {"Last-Event-ID": seen}),
            }
            connection.request("GET", f"{self.base}api/events?run={run}", headers=headers)
            answer = connection.getresponse()
            assert (answer.status, answer.getheader("content-type")) == (200, "text/event-stream")
            said: dict[str, str] = {}
            while line := answer.readline().decode().rstrip("\n") or " ":
                if line == " ":
                    if "data" in said:
                        yield said.get("event", ""), said.get("id", ""), json.loads(said["data"])
                    said = {}
                    continue
                name, _, value = line.partition(": ")
                said[name] = value
        finally:
            connection.close()

    def post(self, path: str, body: object) -> Reply:
        """What the page does."""
        headers = {"Cookie": self.cookie, "Origin": f"http://{self.host}", "Content-Type": "application/json"}
        return self.raw("POST", f"{self.base}api/{path}", json.dumps(body).encode(), headers)

    def begin(self, message: str = "Charged twice!", entry: str = "main.desk", **more: object) -> str:
        """A new run; its id."""
        self._tickets += 1
        given = {} if entry == "main.books" else {"ticket": {"customer": f"c-{self._tickets}", "message": message}}
        made = self.post("runs", {"entry": entry, "input": given, **more})
        assert made.status == 200, made.body
        return str(made.json["run"])

    def until(self, run: str, *states: str) -> dict[str, Any]:
        """The row of a run, once it is in one of these states."""

        def look() -> dict[str, Any] | None:
            row = self.get(f"runs/{run}?brief=1").json
            return row if row["state"] in states else None

        return eventually(look)

    def parked(self, message: str = "Charged twice!", **more: object) -> str:
        """A run that waits for finance."""
        run = self.begin(message, **more)
        self.until(run, "parked")
        return run

    def asked(self, run: str) -> dict[str, Any]:
        """The one thing that a run waits for."""
        (found,) = [one for one in self.get("inbox").json if one["run"] == run]
        return dict(found)

    def decide(self, run: str, decision: str, **more: object) -> Reply:
        """A person's word."""
        asked = self.asked(run)
        return self.post(f"runs/{run}/decide", {"step": asked["step"], "digest": asked["digest"], "decision": decision, **more})

    def booked(self) -> int:
        """How many refunds are in the books."""
        run = self.begin(entry="main.books")
        self.until(run, "ended")
        return int(self.get(f"runs/{run}/step").json["outcome"]["value"])


def eventually(look: Callable[[], T | None], seconds: float = 60.0) -> T:
    """What `look` finds, as soon as there is something."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = look()
        if found is not None:
            return found
        time.sleep(0.03)
    raise AssertionError("it did not come to that")


@contextmanager
def studio(
    folder: Path, *, user: str = "ann", read_only: bool = False, store: Path | None = None, deploy: str | None = None
) -> Iterator[Served]:
    """The studio of the program in a folder, in a thread, until the end of the block."""
    asked = Asked(folder, None, store, 0, user, read_only, False)
    found = prepared(asked, bag := Bag())
    assert found is not None, render_all(bag.sorted())
    addresses: list[str] = []
    ready = threading.Event()
    failed: list[BaseException] = []
    loop = asyncio.new_event_loop()
    stop = asyncio.Event()

    def told(address: str, first: bool) -> None:
        addresses.append(address)
        ready.set()

    def run() -> None:
        try:
            loop.run_until_complete(serve(asked, found, stop, told))
        except BaseException as error:
            failed.append(error)
        finally:
            ready.set()

    thread = threading.Thread(target=run, name="studio-under-test")
    thread.start()
    try:
        assert ready.wait(60)
        assert not failed, failed
        yield Served(folder, addresses)
    finally:
        if not loop.is_closed():
            loop.call_soon_threadsafe(stop.set)
        thread.join(90)
        loop.close()
        assert not thread.is_alive()
        assert not failed, failed


@contextmanager
def worker(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A worker of the program in a process of its own."""
    process = subprocess.Popen(
        [sys.executable, "-m", "ael", "worker", "."], cwd=folder, env={**clean_environment(folder.parent), "PYTHONPATH": os.getcwd()},
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        yield process
    finally:
        process.terminate()
        process.communicate(timeout=60)
