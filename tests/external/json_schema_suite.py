"""The official JSON Schema Test Suite, draft 2020-12, and where a copy of it is found."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from ael.types.decode import decoder
from ael.types.from_schema import SchemaRefused, import_schema
from ael.types.problem import DecodeError
from ael.types.schema_node import ANNOTATIONS, HONOURED, REFUSED
from ael.types.type import CheckedType

CHECKOUT = Path(__file__).resolve().parents[2]
_FOLDER = Path("json-schema-test-suite", "tests", "draft2020-12")


def suite() -> Path | None:
    """The folder with the required files: below `AEL_CORPUS`, else below `../shared/corpus`; None where neither has it."""
    named = os.environ.get("AEL_CORPUS")
    places = ([Path(named)] if named else []) + [CHECKOUT.parent / "shared" / "corpus"]
    return next((place / _FOLDER for place in places if (place / _FOLDER).is_dir()), None)


@dataclass(frozen=True)
class Case:
    """A schema of the suite and its tests: a value, and whether it is valid."""

    name: str
    schema: Any
    tests: tuple[tuple[str, Any, bool], ...]


def cases(folder: Path) -> Iterator[Case]:
    """All cases of the required files."""
    for file in sorted(folder.glob("*.json")):
        for case in json.loads(file.read_text(encoding="utf-8")):
            tests = tuple((test["description"], test["data"], test["valid"]) for test in case["tests"])
            yield Case(f"{file.stem}: {case['description']}", case["schema"], tests)


PACKAGE = "jsonschema==4.26.0"
"""The package whose source distribution holds the suite, for a clone without the folder."""


def fetch() -> Path | None:
    """The folder, from the source distribution of `PACKAGE`, kept for the next time; None where the registry cannot be reached."""
    named = os.environ.get("AEL_TEST_CACHE")
    target = (Path(named) if named else Path.home() / ".cache" / "ael-tests") / PACKAGE
    if not (target / _FOLDER).is_dir():
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent) as made:
            pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", "jsonschema", "--dest", made]
            try:
                done = subprocess.run([*pip, PACKAGE], capture_output=True, check=False, timeout=300).returncode == 0
            except subprocess.TimeoutExpired:
                done = False
            if not done:
                return None
            _unpack(next(Path(made).glob("*.tar.gz")), Path(made) / "new")
            if not target.exists():
                (Path(made) / "new").rename(target)
    return target / _FOLDER


def _unpack(archive: Path, target: Path) -> None:
    """The required files of the suite inside of a source distribution, as the folder of the corpora has them."""
    (target / _FOLDER).mkdir(parents=True)
    with tarfile.open(archive) as files:
        for member in files.getmembers():
            place = PurePosixPath(member.name)
            content = files.extractfile(member) if place.parts[1:-1] == ("json", "tests", "draft2020-12") else None
            if content is not None:
                (target / _FOLDER / place.name).write_bytes(content.read())


@dataclass
class Outcome:
    """What became of the suite: the cases refused by keyword, those accepted, and tests whose answer is another one."""

    schemas: int = 0
    tests: int = 0
    native: int = 0
    refused: dict[str, list[str]] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)

    @property
    def accepted(self) -> int:
        return self.schemas - sum(map(len, self.refused.values()))


def run(folder: Path) -> Outcome:
    """Import every schema, and decode the values of those that are accepted."""
    outcome = Outcome()
    for case in cases(folder):
        outcome.schemas += 1
        try:
            made = import_schema(case.schema, "suite.Value")
        except SchemaRefused as refused:
            outcome.refused.setdefault(refused.keyword, []).append(case.name)
            continue
        outcome.native += not isinstance(made.type, CheckedType)
        take = decoder(made.type, made.definitions)
        for description, value, valid in case.tests:
            outcome.tests += 1
            if _taken(take, value) != valid:
                outcome.wrong.append(f"{case.name}: {description}")
    return outcome


def _taken(take: Callable[[object], object], value: object) -> bool:
    try:
        take(value)
    except DecodeError:
        return False
    return True


def table(outcome: Outcome) -> str:
    """The part of `docs/json-schema.md` that says what the suite found."""
    rows = [f"| `{keyword}` | {len(names)} |" for keyword, names in sorted(outcome.refused.items())]
    refused = sum(map(len, outcome.refused.values()))
    return "\n".join(
        [
            f"Of {outcome.schemas} schemas {outcome.accepted} ({outcome.accepted / outcome.schemas:.1%}) are accepted,"
            f" {outcome.native} of them as a type alone, the others as a type with a predicate;",
            f"all of their {outcome.tests:,} tests get the suite's answer. {refused} are refused:",
            "",
            "| Keyword | Schemas |",
            "| --- | --- |",
            *rows,
        ]
    )


def keywords() -> str:
    """The part of `docs/json-schema.md` that lists every keyword, from the tables that the reader goes by."""
    refused = [f"| `{keyword}` | {reason} |" for keyword, reason in sorted(REFUSED.items())]
    return "\n".join(
        [
            f"**Held to exactly**: {_names(HONOURED)}.",
            "",
            f"**Annotations**, which constrain no value: {_names(ANNOTATIONS)}.",
            "",
            "**Refused**, wherever they stand:",
            "",
            "| Keyword | Why |",
            "| --- | --- |",
            *refused,
        ]
    )


def _names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(names, key=str.lower))


PAGE = CHECKOUT / "docs" / "json-schema.md"


def written(page: str, outcome: Outcome) -> str:
    """The page with its generated parts made anew."""
    for name, text in (("keywords", keywords()), ("suite", table(outcome))):
        before, begin, rest = page.partition(f"<!-- {name} -->\n")
        _, end, after = rest.partition("<!-- end -->")
        page = f"{before}{begin}{text}\n{end}{after}"
    return page


if __name__ == "__main__":
    # `python -m tests.external.json_schema_suite` writes the generated parts of the page
    found = suite() or fetch()
    assert found is not None
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), run(found)), encoding="utf-8")
