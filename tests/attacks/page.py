"""The page of the suite, `docs/attacks.md`: `python -m tests.attacks.page` writes it, a test says whether it is up to date."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from ael.diagnostics.codes import TITLES
from tests.attacks.case import CHECKS, Case
from tests.attacks.suite import CASES

PAGE = Path(__file__).resolve().parents[2] / "docs" / "attacks.md"
HEAD = """# Attacks, and what stops each

The model only asks; the program decides. Here is the proof: {count} attacks, each with its benign twin, run by every build.

- In each attack **the model is the attacker's**. No trick is needed to talk it into something: it does at once what the hostile text
  wants, in every way that the protocol of models allows. How a text looks decides nothing: no filter of texts is part of this.
- What has to stop it is a check that is no model. The last column says which; the test asserts that it was this one, and that the effect
  did not happen.
- Each **twin** is the same program with harmless data and a model that does its work: its effect happens exactly once, nobody is asked,
  nothing is refused. A check that stops attacks by stopping work does not pass.

What is guaranteed, and what is not, is in [security](security.md). The suite is `tests/attacks`; this page is written from its tables by
`python -m tests.attacks.page`.

## What stops them

| Check | Attacks |
| --- | ---: |
"""


def page(cases: tuple[Case, ...] = CASES) -> str:
    """The text of the page."""
    counts = Counter(case.stopped for case in cases)
    lines = [HEAD.format(count=len(cases)).rstrip("\n")]
    lines += [f"| {_said(check)} | {count} |" for check, count in counts.most_common()]
    for category in dict.fromkeys(case.category for case in cases):
        lines += ["", f"## {category[0].upper()}{category[1:]}", "", "| The attacker's way | What stops it |", "| --- | --- |"]
        lines += [f"| {_cell(case.name)} | {_short(case.stopped)} |" for case in cases if case.category == category]
    return "\n".join(lines) + "\n"


def _said(check: str) -> str:
    if check.startswith("AEL"):
        return f"[{check}](errors/{check}.md): {_cell(TITLES[check])}, found before anything runs"
    return f"**{check}**: {_cell(CHECKS[check])}"


def _short(check: str) -> str:
    return f"[{check}](errors/{check}.md)" if check.startswith("AEL") else check


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
