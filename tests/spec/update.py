"""Fills in the expectations of spec pages that are empty: `python -m tests.spec.update [PAGE…]`.

Read what it wrote: it records, it does not judge.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path

from ael.cli.trace import lines
from tests.programs import brief, files_of, open_files
from tests.spec.test_spec import SHOWN, Case, calls, cases, ending, messages, run_case, schemas, types


def fill(case: Case, every: bool) -> dict[int, str]:
    """Line of a block -> its new text."""
    empty = {name: block for name, block in case.expected.items() if not block.text.strip() or every}
    wanted = {name: block for name, block in empty.items() if name in ("errors", "types", *SHOWN)}
    if not wanted:
        return {}
    new: dict[int, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        opened, bag = open_files(Path(folder), files_of(case.files))
        told = "\n".join(brief(d, Path(folder)) for d in bag.sorted())
        if "errors" in wanted:
            new[wanted["errors"].line] = told
        elif opened is None:
            print(f"{case.name}: does not check\n{told}", file=sys.stderr)
        else:
            ran = run_case(case, opened)
            said = {
                "types": "\n".join(types(opened)),
                "output": ending(ran.outcome),
                "outcome": ending(ran.outcome),
                "calls": "\n".join(calls(ran)),
                "messages": "\n".join(messages(ran)),
                "schema": json.dumps(schemas(ran), ensure_ascii=False) if ran.conversations else "",
                "trace": "\n".join(lines(ran.spans, times=False)),
            }
            for name, block in wanted.items():
                text = said[name]
                if name == "output":
                    if not text.startswith("value "):
                        print(f"{case.name}: {text}", file=sys.stderr)
                        continue
                    text = json.dumps(json.loads(text.removeprefix("value ")), ensure_ascii=False)
                new[block.line] = text
    return new


def main(words: list[str]) -> None:
    """Update the pages named (default: all)."""
    every = "--all" in words
    chosen = {word for word in words if not word.startswith("-")}
    changes: dict[Path, dict[int, str]] = {}
    for case in cases():
        if not chosen or case.page.stem in chosen:
            try:
                changes.setdefault(case.page, {}).update(fill(case, every))
            except Exception as error:
                print(f"{case.name}: {type(error).__name__}: {error}", file=sys.stderr)
    for page, new in changes.items():
        text = page.read_text(encoding="utf-8").split("\n")
        for line in sorted(new, reverse=True):
            end = line
            while text[end].rstrip() != "```":
                end += 1
            text[line:end] = new[line].split("\n")
        page.write_text("\n".join(text), encoding="utf-8")


if __name__ == "__main__":
    here = Path.cwd()
    main(sys.argv[1:])
    os.chdir(here)
