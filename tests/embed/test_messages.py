"""What Python around a program is told, to the letter: as the pages of the codes show it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

import ael
from tests.embed.serving import served_in_a_thread
from tests.error_pages import FOLDER, read
from tests.programs import write
from tests.test_error_pages import EMBEDDED

MAIN = """\
permission mail.send
permission notes.read

pub enum Priority { Low, High }
pub record Ticket { id: String(max: 20), priority: Priority }

service Notes {
  get(id: String(max: 40)) -> String
    needs notes.read
    repeat idempotent

  put(id: String(max: 40), text: String(max: 200)) -> Unit
    needs notes.read
    repeat idempotent
}

/// Send a letter. Call it when it is written.
tool send(text: String(max: 200)) -> Unit
  needs mail.send
  repeat idempotent
  timeout 5s
  extern "post:send"

pub node ticket() -> Ticket { Ticket(id: "T-1", priority: Priority.Low) }
"""


def send(body: str) -> None:
    """No body for the tool."""


class Shelf:
    def get(self, id: int) -> str:
        return str(id)


@dataclass
class Ticket:
    id: str
    priority: int


async def asked(program: ael.Program, method: str) -> None:
    """Serve the program, and call a method of it."""
    with served_in_a_thread(program._opened) as address:
        async with ael.connect(address) as client:
            await client.call(method)


SCENARIOS: dict[str, Callable[[ael.Program], object]] = {
    "AEL0890": lambda program: program.bind("send", send),
    "AEL0891": lambda program: program.provide("Notes", Shelf()),
    "AEL0892": lambda program: program.run_sync("ticket", result_type=Ticket),
    "AEL0893": lambda program: asyncio.run(program.open().run("ticket")),
    "AEL0894": lambda program: ael.connect("http://agents.example.com"),
    "AEL0895": lambda program: asyncio.run(asked(program, "tickets")),
}


@pytest.mark.parametrize("code", SCENARIOS)
@pytest.mark.feature("B22", "C4", "C13")
def test_the_message_is_the_one_of_its_page(code: str, tmp_path: Path) -> None:
    write(
        tmp_path,
        {"main.ael": MAIN, "pack.ael": 'pack post {\n  version "1.0"\n  extern "post"\n}\n', "deploy.ael": "runs = memory\n"},
    )
    program = ael.load(tmp_path)
    # The tool has no implementation here, and no node that is run needs it.
    with pytest.raises(ael.Error) as raised:
        SCENARIOS[code](program)
    assert raised.value.code == code
    assert f"{raised.value}\n" == read(FOLDER / f"{code}.md").message


def test_every_code_has_its_scenario() -> None:
    assert set(SCENARIOS) == EMBEDDED
