"""The page of evaluations: its program, its evaluation and its cases are checked as they stand."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path

from ael.cli.eval import add_arguments
from ael.evals.checks import CHECKS
from ael.evals.lines import FORMS
from tests.cli.conftest import Ael
from tests.error_pages import _file
from tests.programs import blocks

PAGE = Path(__file__).resolve().parents[2] / "docs" / "evals.md"


def test_the_evaluation_of_the_page_checks(ael: Ael) -> None:
    found = list(blocks(PAGE.read_text("utf-8")))
    made = dict(_file(block.text) for block in found if block.language == "ael")
    made |= {"cases.jsonl": next(block.text for block in found if block.language == "json")}
    made |= {"cases.csv": next(block.text for block in found if block.language == "csv")}
    made["eval.table.ael"] = made["eval.ael"].replace('jsonl("cases.jsonl")', 'csv("cases.csv")')
    ael.write(made)
    assert ael("check", ".").code == 0
    for words in ((), ("--eval", "table")):
        ended = ael("eval", ".", "--check", *words)
        assert ended.code == 0, ended.err
        assert "1 case, 3 graders" in ended.err


def test_every_line_and_option_is_on_the_page() -> None:
    parser = ArgumentParser()
    add_arguments(parser)
    page = PAGE.read_text("utf-8")
    missing = [kind for kind in FORMS if f"`{kind} " not in page and f"`{kind} =" not in page]
    missing += [word for word in CHECKS if f"`{word}" not in page]
    own = (
        "--help",
        "--filter",
        "--tag",
        "--caller",
        "--tenant",
        "--approve",
        "--deny",
        "--all",
        "--quiet",
        "--outline",
        "--jobs",
    )
    options = [word for word in parser._option_string_actions if word.startswith("--") and word not in own]
    missing += [word for word in options if word not in page]
    assert missing == []
