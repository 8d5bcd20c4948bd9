"""A baseline: what each case came to when it was good, and how it stands to that now. Flaky is told from drifted.

A case is *flaky* when its samples disagree among themselves: it passes sometimes. It *drifted* when it is consistently something else than
it was: all samples were one way and all are the other way now, or the intervals of its pass rates (Wilson, 95 %) have nothing in common.
With goldens a case drifted too when all its samples give the same output, and none of the baseline's samples gave that.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, cast

from ael.data import dataclass
from ael.evals.observe import Observation
from ael.evals.statistics import wilson
from ael.types.canonical import encode
from ael.types.json import JsonError, read

MAX_BYTES = 128 << 20
MAX_OUTPUTS = 20
_FIRST = ("ael", "baseline")
_VERSION = 1

Change = Literal["same", "flaky", "drifted", "improved", "new", "gone", "changed"]
"""`improved`: it drifted to the better, which is nothing to fail for; `changed`: the input of the case is another one now."""


class BaselineError(Exception):
    """A baseline that cannot be used; the message says which file, and why."""


@dataclass(frozen=True)
class Was:
    """One case of a baseline. `outputs`: the different ones, each as the text of its JSON or how the run ended."""

    digest: str
    count: int
    passed: int
    score: float
    outputs: tuple[str, ...]


@dataclass(frozen=True)
class Baseline:
    """What each case came to, by its id."""

    cases: Mapping[str, Was]

    def write(self, path: Path, name: str) -> None:
        """Write it as JSON, the cases in the order of their ids, so that it can be compared as text. Raises `OSError`."""
        cases = {
            key: {
                "input": one.digest, "samples": one.count, "passed": one.passed, "score": round(one.score, 6),
                "outputs": list(one.outputs[:MAX_OUTPUTS]),
            }
            for key, one in sorted(self.cases.items())
        }  # fmt: skip
        whole = {"ael": "baseline", "version": _VERSION, "evaluation": name, "cases": cases}
        lines = [b"{"]
        lines += [b'"%s": %s,' % (key.encode(), encode(whole[key])) for key in ("ael", "version", "evaluation")]
        lines.append(b'"cases": {')
        entries = [encode(key) + b": " + encode(value) for key, value in cases.items()]
        lines.append(b",\n".join(entries))
        lines.append(b"}}")
        # The one that is there stays whole until the new one is.
        own = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            own.write_bytes(b"\n".join(lines) + b"\n")
            own.replace(path)
        except OSError:
            own.unlink(missing_ok=True)
            raise


def load(path: Path) -> Baseline:
    """Read what `Baseline.write` wrote. Raises `BaselineError`."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise BaselineError(f"the baseline `{path}` is larger than {MAX_BYTES:,} bytes")
        value = read(path.read_bytes(), max_bytes=MAX_BYTES)
    except OSError as error:
        raise BaselineError(f"the baseline `{path}` cannot be read: {(error.strerror or str(error)).lower()}") from None
    except JsonError as error:
        raise BaselineError(f"the baseline `{path}` is no JSON: {error}") from None
    try:
        whole = cast("Mapping[str, object]", value)
        if whole.get("ael") != "baseline" or whole.get("version") != _VERSION:
            raise BaselineError(f"`{path}` is no baseline that this version of AEL reads: `--save-baseline` writes one")
        cases = cast("Mapping[str, Mapping[str, object]]", whole["cases"])
        return Baseline({key: _was(one) for key, one in cases.items()})
    except (AttributeError, KeyError, TypeError, ValueError):
        raise BaselineError(f"`{path}` is no baseline: `--save-baseline` writes one") from None


def _was(one: Mapping[str, object]) -> Was:
    outputs = one["outputs"]
    count, passed = one["samples"], one["passed"]
    if not isinstance(outputs, list) or not isinstance(count, int) or not isinstance(passed, int) or not 0 <= passed <= count:
        raise ValueError(one)
    return Was(str(one["input"]), count, passed, float(cast("float", one["score"])), tuple(map(str, outputs)))


def output_of(seen: Observation) -> str:
    """What a run gave, as text that can be compared."""
    return encode(seen.output).decode() if seen.status == "value" else f"{seen.status} {seen.name}"


@dataclass(frozen=True)
class Compared:
    """How each case stands to the baseline, by its id; `before` and `now` of those that are in both."""

    changes: Mapping[str, Change]
    before: Mapping[str, Was]

    def of(self, *kinds: Change) -> list[str]:
        """The ids of the cases with one of these changes."""
        return [key for key, change in self.changes.items() if change in kinds]

    @property
    def drift(self) -> float:
        """The share of the compared cases that drifted."""
        there = [change for change in self.changes.values() if change in ("same", "flaky", "drifted", "improved")]
        return there.count("drifted") / len(there) if there else 0.0


def compare(before: Baseline, now: Baseline, *, golden: bool = False) -> Compared:
    """Compare case by case. `golden`: outputs too, not only whether they are good."""
    changes: dict[str, Change] = {}
    for key, one in now.cases.items():
        was = before.cases.get(key)
        if was is None or not was.count:
            changes[key] = "new"
        elif was.digest != one.digest:
            changes[key] = "changed"
        else:
            changes[key] = change(was, one, golden=golden)
    changes |= {key: "gone" for key in before.cases if key not in now.cases}
    return Compared(changes, before.cases)


def change(was: Was, now: Was, *, golden: bool = False) -> Change:
    """How one case stands to what it was."""
    before, after = was.passed / was.count, now.passed / now.count
    turned = {before, after} == {0.0, 1.0}
    apart = not wilson(was.passed, was.count).overlaps(wilson(now.passed, now.count))
    if turned or apart:
        return "improved" if after > before else "drifted"
    if 0 < now.passed < now.count:
        return "flaky"
    if golden and len(now.outputs) == 1 and now.outputs[0] not in was.outputs:
        return "drifted"
    return "same"
