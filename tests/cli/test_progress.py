"""What is told of a run as it goes, and its trace as a tree."""

from __future__ import annotations

import io
from decimal import Decimal

import pytest

from ael.cli.progress import Progress, clean
from ael.cli.trace import lines, plain
from ael.run import events as e
from ael.run.ports import Span, Usage

EVENTS: list[e.Event] = [
    e.RunStarted("r", "main.main", "local", "ada"),
    e.NodeStarted("r", "main", "main"),
    e.NodeStarted("r", "main/answer1", "answer"),
    e.TurnStarted("r", "main/answer1/turn1", "answer", "main.fast", 1),
    e.Text("r", "main/answer1/turn1", "I look "),
    e.Text("r", "main/answer1/turn1", "it up."),
    e.Text("r", "main/answer1/turn1", '{"a": 1}', True),
    e.TurnFinished("r", "main/answer1/turn1", "answer", "main.fast", "calls", Usage(10, output=5), Decimal("0.0012"), 1.24),
    e.ToolStarted("r", "main/answer1/turn1/call1", "main.lookup"),
    e.ToolProgressed("r", "main/answer1/turn1/call1", "main.lookup", 1.0, 4.0, "looking"),
    e.ToolProgressed("r", "main/answer1/turn1/call1", "main.lookup", 2.5, None, ""),
    e.ServerLogged("r", "main/answer1/turn1/call1", "main.lookup", "info", "fine"),
    e.ServerLogged("r", "main/answer1/turn1/call1", "main.lookup", "error", "slow"),
    e.ToolFinished("r", "main/answer1/turn1/call1", "main.lookup", "value", 0.0123),
    e.ToolFinished("r", "main/answer1/turn1/call2", "main.refund", "refused", 0.0, "not granted"),
    e.ApprovalDecided("r", "main/answer1/turn1/call3/approval", "main.refund", False, "ada"),
    e.Retried("r", "main/answer1/turn2", "main.fast", 1, 0.5, "503"),
    e.FellBack("r", "main/answer1/turn2", "main.fast", "main.cheap", "503"),
    e.BudgetReached("r", "main/answer1", "the node `answer`", "tokens", 50),
    e.BudgetReached("r", "main/answer1", "the node `answer`", "tokens", 90),
    e.BudgetReached("r", "main/answer1", "the node `answer`", "steps", 100),
    e.TurnFinished("r", "main/answer1/turn2", "answer", "main.cheap", "done", Usage(3, estimated=True), None, 0.01),
    e.Logged("r", "main", "done \x1b[31m"),
    e.RunFinished("r", "value", 1.5),
]


def _told(**options: bool) -> str:
    out = io.StringIO()
    progress = Progress(out, **options)
    for event in EVENTS:
        progress(event)
    return out.getvalue()


@pytest.mark.feature("A17.10")
def test_plain_lines() -> None:
    assert _told() == (
        "main\n"
        "  answer\n"
        "    fast: 15 tokens, $0.0012, 1.2 s\n"
        "      lookup: 1 of 4 · looking\n"
        "      lookup: 2.5\n"
        "      the server of lookup logs (info): fine\n"
        "      the server of lookup logs (error): slow\n"
        "      lookup ok, 12 ms\n"
        "      refund refused: not granted, 0 ms\n"
        "      refund denied by ada\n"
        "fast: attempt 1 failed (503); again in 0.5 s\n"
        "fast is unavailable (503); asking cheap\n"
        "the node `answer` has used 90 % of its tokens\n"
        "    cheap: 3 tokens (estimated), 10 ms\n"
        "done \N{REPLACEMENT CHARACTER}[31m\n"
    )


def test_what_a_turn_elsewhere_used_is_not_told_as_nothing() -> None:
    out = io.StringIO()
    Progress(out)(e.TurnFinished("r", "main/turn1", "answer", "main.fast", "done", Usage(), None, 0.01))
    assert out.getvalue() == "  fast: 10 ms\n"


def test_quiet_keeps_what_a_person_has_to_know() -> None:
    assert _told(verbose=False).splitlines() == [
        "      the server of lookup logs (error): slow",
        "      refund denied by ada",
        "fast: attempt 1 failed (503); again in 0.5 s",
        "fast is unavailable (503); asking cheap",
        "the node `answer` has used 90 % of its tokens",
        "done \N{REPLACEMENT CHARACTER}[31m",
    ]


def test_text_streams_only_on_a_terminal() -> None:
    assert "I look it up." not in _told()
    coloured = _told(colour=True)
    assert "\x1b[2mI look \x1b[0m\x1b[2mit up.\x1b[0m\n" in coloured, "a line of its own follows"
    assert '{"a": 1}' not in coloured, "a result is not prose"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain äöü 漢字 \U0001f600", "plain äöü 漢字 \U0001f600"),
        ("two\nlines\tand a tab", "two\nlines\tand a tab"),
        ("\x1b]0;title\x07", "\N{REPLACEMENT CHARACTER}]0;title\N{REPLACEMENT CHARACTER}"),
        ("\r\x00\x7f\x9b", "\N{REPLACEMENT CHARACTER}" * 4),
        ("\u202egnp.exe", "\N{REPLACEMENT CHARACTER}gnp.exe"),
        ("\ud800", "\N{REPLACEMENT CHARACTER}"),
    ],
)
def test_text_from_outside_never_steers_a_terminal(text: str, shown: str) -> None:
    assert clean(text) == shown


# --- traces --------------------------------------------------------------------------------------------------------------


def _span(sequence: int, parent: int | None, kind: str, name: str, outcome: str = "value", **more: object) -> Span:
    taint = more.pop("taint", ())
    end = 1.0 + sequence / 1000
    return Span("r", sequence, parent, kind, name, f"p{sequence}", 1.0, end, outcome, taint, more)  # type: ignore[arg-type]


SPANS = [
    _span(3, 2, "tool", "main.lookup", key="0123456789abcdef", taint=("model:fast",)),
    _span(2, 1, "turn", "main.fast", model="claude", cost="0.0012"),
    _span(4, 2, "tool", "main.refund", "refused", reason="not granted", attempt=None),
    _span(5, 1, "node", "summary"),
    _span(1, None, "run", "main", tokens={"input": 3, "output": 2, "cache_read": 0, "estimated": True}),
]


def test_a_trace_is_a_tree_in_the_order_of_beginning() -> None:
    assert list(lines(SPANS, times=False)) == [
        "run main · tokens input 3, output 2 (estimated)",
        "├─ turn main.fast · model claude · cost 0.0012",
        "│  ├─ tool main.lookup · key 0123456789abcdef · from model:fast",
        "│  └─ tool main.refund · reason not granted · REFUSED",
        "└─ node summary",
    ]
    assert list(lines(SPANS, short=True))[2:4] == [
        "│  ├─ tool lookup · 3.0 ms · key 01234567 · from model:fast",
        "│  └─ tool refund · 4.0 ms · reason not granted · REFUSED",
    ]


def test_a_span_whose_parent_is_not_there_stands_at_the_top() -> None:
    assert [line.split(" ")[0] for line in lines([_span(7, 6, "tool", "a"), _span(8, 7, "store", "b")])] == ["tool", "└─"]


def test_a_span_as_json() -> None:
    told = plain(_span(3, 2, "tool", "main.lookup", odd=object, money=Decimal("1.5"), many=(1, 2)))
    assert told["attributes"] == {"odd": str(object), "money": "1.5", "many": [1, 2]}
    assert "content" not in told
