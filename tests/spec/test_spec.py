"""Runs the literate programs of this folder.

A page shows a rule with programs. A block `ael` is a program (`ael file=orders.ael` or `python file=own.py`: another file of the
next program); the blocks after it say what must come of it:

    errors      one line each: `AEL0301 3:5 message`
    types       `name: Type` of locals
    input       JSON of the entry's input (`input entry=classify` names the entry, `tenant=acme caller=ann` for whom it runs)
    script      JSON turns of the scripted models
    output      JSON of the result
    outcome     `error NotFound {…}`, `fault LoopLimit …`, `uncertain Orders.refund`: an ending that is no value, its message as a prefix
    calls       one line each: a tool call that ran, was refused, approved, tried again, and what was set right in its arguments
    messages    what the models were sent and answered, conversation by conversation
    schema      JSON of the schemas of the tools that a model was offered, by name; `final` is that of the result
    decision    `no`: whoever is asked for an approval says no
    trace       the trace as `ael run --trace` prints it, without times

A program without any of them must check without a word, and all its `test` blocks must pass. A line `feature: A3.5` names rows of
the feature table.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from ael.cli.trace import lines
from ael.project.program import Opened
from ael.run.message import GUARD
from ael.run.outcome import DeclaredError, Faulted, Outcome, Unsettled, Value
from ael.run.ports import ModelTurn
from ael.testing.runner import Settings, run_tests
from ael.types.text import show
from tests.programs import Block, Ran, blocks, brief, files_of, loads, open_files, run

HERE = Path(__file__).parent


@dataclass
class Case:
    page: Path
    files: list[Block]
    expected: dict[str, Block] = field(default_factory=dict)

    @property
    def name(self) -> str:
        slug = re.sub(r"[^a-z0-9]+", "-", self.files[-1].heading.lower()).strip("-")
        return f"{self.page.relative_to(HERE).with_suffix('')}:{self.files[-1].line}-{slug}"


def cases() -> Iterator[Case]:
    for page in sorted(HERE.rglob("*.md")):
        waiting: list[Block] = []
        case: Case | None = None
        for block in blocks(page.read_text(encoding="utf-8")):
            if block.language == "ael" or "file" in block.words:
                if case is not None:
                    yield case
                    case = None
                waiting.append(block)
                if "file" not in block.words:
                    case, waiting = Case(page, waiting), []
            elif case is not None:
                assert block.language not in case.expected, f"{page}:{block.line}: two blocks `{block.language}`"
                case.expected[block.language] = block
        assert not waiting, f"{page}: files without a program"
        if case is not None:
            yield case


CASES = list(cases())
KNOWN = {"errors", "types", "input", "script", "decision", "output", "outcome", "calls", "messages", "schema", "trace"}
"""The blocks that may follow a program."""
SHOWN = {"output", "outcome", "calls", "messages", "schema", "trace"}
"""Those for which the program runs."""


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_page(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert set(case.expected) <= KNOWN, f"unknown blocks: {set(case.expected) - KNOWN}"
    opened, bag = open_files(tmp_path, files_of(case.files))
    told = [brief(d, tmp_path) for d in bag.sorted()]
    if "errors" in case.expected:
        assert told == case.expected["errors"].text.rstrip("\n").split("\n")
        return
    assert told == []
    assert opened is not None
    if "types" in case.expected:
        assert types(opened) == case.expected["types"].text.splitlines()
    if SHOWN & set(case.expected):
        ran = run_case(case, opened)
        if "output" in case.expected:
            assert isinstance(ran.outcome, Value), ran.outcome
            assert ran.outcome.plain == loads(case.expected["output"].text)
        if "outcome" in case.expected:
            wanted = case.expected["outcome"].text.strip()
            assert ending(ran.outcome)[: len(wanted)] == wanted
        if "calls" in case.expected:
            assert calls(ran) == case.expected["calls"].text.rstrip("\n").split("\n")
        if "messages" in case.expected:
            assert list(messages(ran)) == case.expected["messages"].text.rstrip("\n").split("\n")
        if "schema" in case.expected:
            assert schemas(ran) == loads(case.expected["schema"].text)
        if "trace" in case.expected:
            assert list(lines(ran.spans, times=False)) == case.expected["trace"].text.rstrip("\n").split("\n")
    results = run_tests(opened, settings=Settings(ci=False))
    assert [(r.name, r.problem) for r in results if r.problem is not None] == []


def run_case(case: Case, opened: Opened) -> Ran:
    """Run the program of a case with the input, script and decision of its blocks."""
    given, script, decision = (case.expected.get(name) for name in ("input", "script", "decision"))
    words = {} if given is None else given.words
    return run(
        opened,
        loads(given.text) if given is not None else None,
        loads(script.text) if script is not None else None,
        words.get("entry"),
        approve=decision is None or decision.text.strip() != "no",
        tenant=words.get("tenant", "local"),
        caller=words.get("caller", "tester"),
    )


def calls(ran: Ran) -> list[str]:
    """The tool calls of a run, with what decided about them, in the order in which they began."""
    told: list[str] = []
    for span in sorted(ran.spans, key=lambda span: span.sequence):
        name = span.name.rpartition(".")[2]
        if span.kind == "tool" and span.content is not None:
            arguments = json.dumps(span.content["arguments"], ensure_ascii=False, default=str)
            result = json.dumps(span.content.get("result"), ensure_ascii=False, default=str)
            told.append(f"{name} {arguments} -> {result if span.outcome == 'value' else span.outcome}")
        elif span.kind == "tool":
            told.append(f"{name} {span.outcome} {span.attributes.get('check', '')}: {span.attributes.get('reason', '')}")
        elif span.kind == "approval":
            word = "approved" if span.outcome == "value" else "not approved"
            told.append(f"{name} {word} by {span.attributes['by']}")
        elif span.kind == "retry":
            told.append(f"{name} again after {span.attributes['reason']}")
        elif span.name == "arguments":
            notes = span.attributes["notes"]
            assert isinstance(notes, list)
            told.extend(f"arguments: {note}" for note in notes)
    return told


def messages(ran: Ran) -> Iterator[str]:
    """What went to the models, as `system: …` (without the sentence that all instructions begin with), `user: …`, `answer TOOL: …`;

    of a model's turns its text, calls and result.
    """
    for conversation in ran.conversations:
        spec = conversation.spec
        yield from _lines("system", spec.system.removeprefix(GUARD).lstrip("\n"))
        if spec.tools:
            yield f"tools {spec.tool_choice}: {', '.join(tool.name for tool in spec.tools)}"
        for role, said in conversation.messages or []:
            if isinstance(said, str):
                yield from _lines(role, said)
            elif isinstance(said, ModelTurn):
                yield from (f"call {call.name}: {call.arguments}" for call in said.calls)
                if said.text or said.final is not None:
                    yield from _lines("model", said.final if said.final is not None else said.text)
            elif isinstance(said, tuple):
                for answer in said:
                    yield from _lines(f"{'refusal' if answer.is_error else 'answer'} {answer.call.name}", answer.content)


def _lines(role: str, text: str) -> Iterator[str]:
    for at, line in enumerate(text.split("\n")):
        yield f"{'  ' if at else f'{role}: '}{line}".rstrip()


def schemas(ran: Ran) -> object:
    """The schemas that the first conversation had."""
    spec = ran.conversations[0].spec
    return json.loads(json.dumps({**{tool.name: tool.schema for tool in spec.tools}, "final": spec.output.schema}))


def types(opened: Opened) -> list[str]:
    """`name: Type` of the locals of the main module, in the order in which the check met them."""
    return [f"{local.name}: {show(local.type)}" for local in opened.program.modules[opened.program.main].tables.locals.values()]


def ending(outcome: Outcome) -> str:
    match outcome:
        case Value(plain=plain):
            return f"value {json.dumps(plain, ensure_ascii=False)}"
        case DeclaredError(error=error, plain=plain):
            return f"error {error.partition('.')[2] or error} {json.dumps(plain, ensure_ascii=False)}"
        case Faulted(kind=kind, message=message):
            return f"fault {kind.value} {message}"
        case Unsettled(operation=operation):
            return f"uncertain {operation}"


def test_there_are_pages() -> None:
    assert len(CASES) > 50
