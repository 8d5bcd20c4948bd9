"""Cases from a file: JSON lines or CSV, decoded strictly against the entry. Everything that is wrong is told at once, by line.

A line of JSON is `{"id": "late", "input": {…}, "expected": …, "assert": {…}, "stores": {…}, "tags": ["…"]}`; only `input` is needed. For
the calibration of judges a case also has `output` and `label`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Final, cast

from ael.data import dataclass, field
from ael.evals.assertions import Refused, assertions
from ael.evals.checks import Known
from ael.evals.csv_cases import rows
from ael.evals.generated import EXPECTED
from ael.evals.opening import OpenedEvaluation
from ael.evals.plan import Grader, needs_expected
from ael.lower.unit import CompiledUnit
from ael.project.shown import shown
from ael.run.codec import Codecs, InputCodec
from ael.types.canonical import encode
from ael.types.json import JsonError, read
from ael.types.problem import DecodeError

MAX_BYTES = 64 << 20
MAX_LINE = 1 << 20
MAX_CASES = 10_000
MAX_ID = 120
MOST_TOLD = 20
"""A larger file, a longer line, more cases: refused. Of what is wrong, so much is told."""

ABSENT: Final = object()
"""What a case does not say."""
_KEYS = ("id", "input", "expected", "assert", "stores", "tags", "output", "label")


class CasesError(Exception):
    """Cases that cannot be used. `problems`: a code and a sentence with its place for each, bounded; `more` how many there are beside."""

    def __init__(self, problems: Sequence[tuple[str, str]], more: int = 0) -> None:
        super().__init__(problems[0][1] if problems else "")
        self.problems = tuple(problems)
        self.more = more


@dataclass(frozen=True)
class Case:
    """One case. `input` and `expected` are JSON, decoded and written again; `ABSENT` where nothing is said."""

    id: str
    line: int
    input: Mapping[str, object]
    expected: object = ABSENT
    graders: tuple[Grader, ...] = ()
    stores: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    output: object = ABSENT
    label: object = ABSENT

    @property
    def digest(self) -> str:
        """What its run depends on: input and stores."""
        return hashlib.sha256(encode([dict(self.input), {k: dict(v) for k, v in self.stores.items()}])).hexdigest()

    @property
    def asked(self) -> str:
        """What its grades depend on beside: what is expected, and its own assertions."""
        told = [None if self.expected is ABSENT else [self.expected], [one.text for one in self.graders]]
        return hashlib.sha256(encode(told)).hexdigest()


class Reader:
    """Reads the cases of one evaluation; collects what is wrong."""

    def __init__(self, opened: OpenedEvaluation, unit: CompiledUnit, known: Known) -> None:
        self.opened = opened
        self.known = known
        self.codecs = Codecs(unit, opened.program.deployment.limits)
        sizes = opened.program.deployment.limits
        self.input = InputCodec(self.codecs, unit.nodes[opened.evaluation.entry].spec.signature, sizes.input)
        taken = unit.nodes[f"{known.module}.{EXPECTED}"].spec.signature
        self.expected = InputCodec(self.codecs, taken, sizes.output)
        self.output = self.codecs.value(known.output)
        self.stores = {name: self.codecs.value(spec.value) for name, spec in opened.program.program.stores.items()}
        self.wanted = any(needs_expected(one.check) for one in opened.evaluation.graders)
        self.problems: list[tuple[str, str]] = []
        self.count = 0
        self.ids: dict[str, int] = {}
        self.file = ""

    def read(self, path: Path, *, labelled: bool = False) -> list[Case]:
        """The cases of a file. Raises `CasesError`."""
        self.file = shown(path)
        found: list[Case] = []
        for line, value in self._values(path, path.suffix == ".csv" if labelled else self.opened.evaluation.format == "csv"):
            if len(found) >= MAX_CASES:
                self.wrong("AEL0952", line, f"there are more than {MAX_CASES:,} cases")
                break
            case = self._case(line, value, labelled)
            if case is not None:
                found.append(case)
        if not found and not self.problems:
            self.wrong("AEL0952", 0, "there is no case in it")
        if self.problems:
            raise CasesError(self.problems, self.count - len(self.problems))
        return found

    def wrong(self, code: str, line: int, message: str) -> None:
        """Note something that is wrong."""
        self.count += 1
        if len(self.problems) < MOST_TOLD:
            self.problems.append((code, f"{self.file}:{line}: {message}" if line else f"{self.file}: {message}"))

    def _values(self, path: Path, table: bool) -> Iterator[tuple[int, dict[str, object]]]:
        try:
            if path.stat().st_size > MAX_BYTES:
                self.wrong("AEL0952", 0, f"it is larger than {MAX_BYTES:,} bytes")
                return
            data = path.read_bytes()
        except OSError as error:
            self.wrong("AEL0952", 0, f"it cannot be read: {(error.strerror or 'no such file').lower()}")
            return
        data = data.removeprefix(b"\xef\xbb\xbf")
        if table:
            yield from rows(data, self.input.parameters, self.known, self.wrong)
            return
        for number, line in enumerate(data.split(b"\n"), start=1):
            text = line.strip(b" \t\r")
            if not text:
                continue
            if len(text) > MAX_LINE:
                self.wrong("AEL0952", number, f"the line is longer than {MAX_LINE:,} bytes")
                continue
            try:
                value = read(text, max_bytes=MAX_LINE)
            except JsonError as error:
                self.wrong("AEL0952", number, str(error))
                continue
            if not isinstance(value, dict):
                self.wrong("AEL0952", number, 'a case is an object, such as {"id": "late", "input": {…}}')
                continue
            yield number, value

    def _case(self, line: int, value: dict[str, object], labelled: bool) -> Case | None:
        before = self.count
        for key in value.keys() - set(_KEYS):
            self.wrong("AEL0952", line, f"a case has no `{key[:60]}`; it has {', '.join(f'`{one}`' for one in _KEYS)}")
        name = self._id(line, value)
        tags = value.get("tags", [])
        if not isinstance(tags, list) or not all(isinstance(one, str) for one in tags):
            self.wrong("AEL0952", line, "`tags` is a list of texts")
            tags = []
        given = self._input(line, value)
        expected = self._expected(line, value, labelled)
        output = label = ABSENT
        if labelled:
            output, label = self._labelled(line, value)
        graders: tuple[Grader, ...] = ()
        if "assert" in value:
            try:
                graders = assertions(value["assert"], self.known)
            except Refused as refused:
                self.wrong("AEL0953", line, str(refused))
        stores = self._stores(line, value.get("stores", {}))
        if self.count != before:
            return None
        return Case(name, line, given, expected, graders, stores, tuple(cast("list[str]", tags)), output, label)

    def _id(self, line: int, value: dict[str, object]) -> str:
        name = value.get("id", f"line {line}")
        if isinstance(name, int) and not isinstance(name, bool):
            name = str(name)
        if not isinstance(name, str) or not name.strip() or len(name) > MAX_ID or not name.isprintable():
            self.wrong("AEL0952", line, f"`id` is a text of 1 to {MAX_ID} characters")
            return ""
        if name in self.ids:
            self.wrong("AEL0952", line, f"the id `{name}` is that of line {self.ids[name]} too")
        self.ids.setdefault(name, line)
        return name

    def _input(self, line: int, value: dict[str, object]) -> dict[str, object]:
        given = value.get("input", {})
        try:
            if not isinstance(given, dict):
                self.wrong("AEL0953", line, "`input` is an object with a key for each parameter of the entry")
                return {}
            return cast("dict[str, object]", self.input.value.encode(self.input.value.decode(given)))
        except DecodeError as error:
            self._unfit(line, "input", error)
            return {}

    def _expected(self, line: int, value: dict[str, object], labelled: bool) -> object:
        if "expected" not in value:
            if self.wanted and not labelled and "assert" not in value:
                self.wrong("AEL0953", line, "a grader looks at what is expected, and this case has no `expected`")
            return ABSENT
        try:
            decoded = self.expected.value.decode({"expected": value["expected"]})
            return cast("dict[str, object]", self.expected.value.encode(decoded))["expected"]
        except DecodeError as error:
            self._unfit(line, "", error)
            return ABSENT

    def _labelled(self, line: int, value: dict[str, object]) -> tuple[object, object]:
        if "output" not in value or "label" not in value:
            self.wrong("AEL0953", line, "a labelled case has an `output` and a `label`")
            return ABSENT, ABSENT
        label = value["label"]
        if not (isinstance(label, bool) or (isinstance(label, int | float | Decimal) and 0 <= label <= 1)):
            self.wrong("AEL0953", line, "`label` is true or false, or a score from 0 to 1")
        try:
            return self.output.encode(self.output.decode(value["output"])), label
        except DecodeError as error:
            self._unfit(line, "output", error)
            return ABSENT, ABSENT

    def _stores(self, line: int, given: object) -> dict[str, dict[str, object]]:
        found: dict[str, dict[str, object]] = {}
        if not isinstance(given, dict):
            self.wrong("AEL0953", line, "`stores` is an object: the name of a store -> what it keeps, by key")
            return found
        for text, entries in given.items():
            names = [name for name in self.stores if f".{name}".endswith(f".{text}")]
            if len(names) != 1 or not isinstance(entries, dict):
                told = ", ".join(f"`{name.rpartition('.')[2]}`" for name in self.stores) or "none"
                self.wrong("AEL0953", line, f"there is no store `{str(text)[:60]}` with keys; the program has {told}")
                continue
            codec = self.stores[names[0]]
            for key, kept in entries.items():
                try:
                    found.setdefault(names[0], {})[key] = codec.encode(codec.decode(kept))
                except DecodeError as error:
                    self._unfit(line, f"stores.{text}.{key}", error)
        return found

    def _unfit(self, line: int, where: str, error: DecodeError) -> None:
        for problem in error.problems:
            path = ".".join(part for part in (where, problem.path) if part)
            self.wrong("AEL0953", line, f"`{path}`: {problem.message}")
