"""Results that are kept as they come, a line for each sample, so that an evaluation that was stopped goes on where it was.

What is kept belongs to exactly one program, deployment, case and measure: `Keys` tells them apart, and what has changed is run again.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import IO, cast

from ael import __version__
from ael.data import dataclass
from ael.durable.pinned import bound_of
from ael.evals.cases import Case
from ael.evals.grade import Grade
from ael.evals.lab import Sample
from ael.evals.observe import of_plain
from ael.evals.opening import OpenedEvaluation
from ael.evals.plan import Kept, Schema
from ael.project.bind_files import FilesBinding
from ael.project.knowledge import KnowledgeBinding
from ael.project.program import Opened
from ael.types.canonical import encode
from ael.types.json import JsonError, read

MAX_BYTES = 512 << 20
MAX_LINE = 16 << 20
_NO_CODE = ("node_modules", "__pycache__")
_FIRST = {"ael": "evaluation", "version": 1}


class KeepError(Exception):
    """Kept results that cannot be used; the message says which file, and why."""


@dataclass(frozen=True)
class Keys:
    """What the samples of an evaluation belong to: `run` the program under its deployment, `measure` the graders with that."""

    run: str
    measure: str

    def of_run(self, case: Case, number: int) -> str:
        """The key of the run of a sample."""
        return _hash(self.run, case.digest, str(number))

    def of_sample(self, case: Case, number: int) -> str:
        """The key of a graded sample."""
        return _hash(self.of_run(case, number), self.measure, case.asked)


def keys_of(opened: OpenedEvaluation) -> Keys:
    """The keys of an evaluation: of the sources, texts and pins of its program, of what its deployment binds, and of its graders."""
    project, evaluation = opened.program.project, opened.evaluation
    parts = [__version__, evaluation.entry, evaluation.approvals]
    for name, tree in sorted(project.modules.items()):
        parts += [name, tree.source.text]
    for (module, path), text in sorted(project.texts.items()):
        parts += [module, path, text.text]
    bound = bound_of(opened.program)
    for name, value in sorted((bound.values or {}).items()):
        parts += [name, value]
    deployment = opened.program.deployment
    for name, binding in sorted(deployment.models.items()):
        parts += [name, binding.provider, str(binding.model)]
        if binding.provider in ("scripted", "replay") and binding.model is not None:
            # What a script answers is what is evaluated.
            parts.append(_file(Path(deployment.folder, binding.model)))
    parts += _world(opened.program)
    looked_at = sorted(f"{one.check.store} {one.check.key}" for one in evaluation.graders if isinstance(one.check, Kept))
    run = _hash(*parts, *looked_at)
    graders = [f"{one.name} {one.least} {one.text}" for one in evaluation.graders]
    graders += [one.check.text for one in evaluation.graders if isinstance(one.check, Schema)]
    sources = [tree.source.text for _, tree in sorted(opened.graded.project.modules.items())]
    return Keys(run, _hash(run, *graders, *sources))


def _world(opened: Opened) -> Iterator[str]:
    """What of the program's world is files: its Python functions, the folder that samples get copies of, the documents."""
    deployment = opened.deployment
    if any(tool.extern is not None and not tool.extern.startswith("std:") for tool in opened.program.tools.values()):
        yield from _python(opened.project.root)
    files = deployment.natives.get("files")
    if isinstance(files, FilesBinding):
        root = Path(deployment.folder, files.folder)
        for where, folders, names in os.walk(root):
            folders.sort()
            yield from (f"{Path(where, name).relative_to(root)} {_file(Path(where, name))}" for name in sorted(names))
    knowledge = deployment.natives.get("knowledge", KnowledgeBinding())
    if isinstance(knowledge, KnowledgeBinding) and knowledge.kind == "sqlite":
        yield _file(Path(deployment.folder, knowledge.path))


def _python(root: Path) -> Iterator[str]:
    """The Python code in the folder of a program: whatever of it a function's module imports. What is installed is not looked at."""
    for where, folders, names in os.walk(root):
        here = Path(where)
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".") and name not in _NO_CODE and not (here / name / "pyvenv.cfg").is_file()
        )
        yield from (f"{(here / name).relative_to(root)} {_file(here / name)}" for name in sorted(names) if name.endswith(".py"))


def _file(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


def _hash(*parts: str) -> str:
    whole = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        whole.update(len(data).to_bytes(8, "big") + data)
    return whole.hexdigest()[:32]


class Results:
    """A file of kept samples, open to be added to. Close it."""

    def __init__(self, path: Path, keys: Keys, *, resume: bool) -> None:
        """`resume`: go on with what is there; else the file must not be there. Raises `KeepError`."""
        self._keys = keys
        self._whole: dict[str, Mapping[str, object]] = {}
        self._runs: dict[str, Mapping[str, object]] = {}
        there = path.exists()
        if there and not resume:
            raise KeepError(f"`{path}` is there already: `--resume` goes on with it, or take another file")
        if there:
            self._load(path)
        try:
            self._file: IO[bytes] = path.open("ab")
        except OSError as error:
            raise KeepError(f"`{path}` cannot be written: {(error.strerror or str(error)).lower()}") from None
        if not there or path.stat().st_size == 0:
            self._write(_FIRST)

    def _load(self, path: Path) -> None:
        try:
            if path.stat().st_size > MAX_BYTES:
                raise KeepError(f"`{path}` is larger than {MAX_BYTES:,} bytes")
            data = path.read_bytes()
        except OSError as error:
            raise KeepError(f"`{path}` cannot be read: {(error.strerror or str(error)).lower()}") from None
        lines = data.split(b"\n")
        if data and _value(lines[0]) != _FIRST:
            raise KeepError(f"`{path}` holds no results of an evaluation that this version of AEL reads")
        for line in lines[1:-1]:
            value = _value(line)
            if value is not None and isinstance(value.get("key"), str) and isinstance(value.get("run"), str):
                self._whole[cast("str", value["key"])] = value
                self._runs[cast("str", value["run"])] = value
        if lines[-1]:
            # The process died while it wrote: the half line is cut off, so that the next one begins on its own.
            with path.open("r+b") as file:
                file.truncate(len(data) - len(lines[-1]))

    def sample(self, case: Case, number: int) -> Sample | None:
        """The kept sample, graded as it would be now; None where something is new."""
        kept = self._whole.get(self._keys.of_sample(case, number))
        if kept is None:
            return None
        try:
            return _sample(case, number, kept)
        except (KeyError, TypeError, ValueError, ArithmeticError):
            return None

    def observation(self, case: Case, number: int) -> Sample | None:
        """The kept run, whose grades were by another measure; None where it is not there."""
        kept = self._runs.get(self._keys.of_run(case, number))
        if kept is None or any(isinstance(one.check, Kept) for one in case.graders):
            return None
        try:
            return _sample(case, number, kept)
        except (KeyError, TypeError, ValueError, ArithmeticError):
            return None

    def keep(self, case: Case, sample: Sample) -> None:
        """Keep a sample that was judged. Raises `KeepError`."""
        if sample.judged:
            self._write(
                {
                    "key": self._keys.of_sample(case, sample.number),
                    "run": self._keys.of_run(case, sample.number),
                    "case": sample.case,
                    "number": sample.number,
                    "seen": sample.seen.plain(),
                    "grades": [grade.plain() for grade in sample.grades],
                    "passed": sample.passed,
                    "score": sample.score,
                    "reason": sample.reason,
                }
            )

    def _write(self, value: Mapping[str, object]) -> None:
        try:
            self._file.write(encode(dict(value)) + b"\n")
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise KeepError(f"results cannot be kept: {(error.strerror or str(error)).lower()}") from None

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _value(line: bytes) -> dict[str, object] | None:
    if not line.strip() or len(line) > MAX_LINE:
        return None
    try:
        value = read(line, max_bytes=MAX_LINE)
    except JsonError:
        return None
    return value if isinstance(value, dict) else None


def _sample(case: Case, number: int, kept: Mapping[str, object]) -> Sample:
    grades = tuple([_grade(cast("Mapping[str, object]", one)) for one in cast("list[object]", kept["grades"])])
    score = kept["score"]
    seen = of_plain(cast("Mapping[str, object]", kept["seen"]))
    found = None if score is None else float(cast("float", score))
    return Sample(case.id, number, seen, grades, True, kept["passed"] is True, found, str(kept["reason"]))


def _grade(kept: Mapping[str, object]) -> Grade:
    score, cost = kept["score"], kept["cost"]
    found = None if score is None else float(cast("float", score))
    return Grade(
        str(kept["name"]), found, kept["passed"] is True, str(kept["reason"]), None if cost is None else Decimal(str(cost))
    )
