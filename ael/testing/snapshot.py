"""Snapshots: values that a test compares with what it was before, in a readable file beside the program that people look at in a review.

`__snapshots__/main.ael.snap` holds those of `main.ael`. A file holds nothing that differs from run to run: no times, no order of running.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ael.types.canonical import EncodeError, encode
from ael.types.fault import Fault, FaultKind

FOLDER = "__snapshots__"
_HEAD = "=== "
_INDENT = "    "
_SHOWN = 60
"""Lines of a difference that a failure shows."""
_TRIES, _AGAIN = 100, 0.05
"""How often the lock of a file is tried, and the seconds between."""
_MOST = 256 * 1024
"""Characters of one snapshot."""


class SnapshotError(Exception):
    """A file of snapshots that cannot be read: what is wrong, with the line."""


class SnapshotFile:
    """The snapshots of one module. Changed in memory by its tests, and written once."""

    def __init__(self, source: Path, *, update: bool = False, ci: bool | None = None) -> None:
        self.path = source.parent / FOLDER / f"{source.name}.snap"
        self.update = update
        self.ci = bool(os.environ.get("CI")) if ci is None else ci
        self.kept = _read(self.path)
        self.used: set[tuple[str, str]] = set()
        self.written: dict[tuple[str, str], str] = {}

    def orphans(self, tests: frozenset[str], passed: frozenset[str]) -> list[tuple[str, str]]:
        """Snapshots that nobody asked for: of no test that there is, or of one that ran to its end without them."""
        return sorted(key for key in self.kept if key not in self.used and (key[0] not in tests or key[0] in passed))

    def save(self, *, drop: frozenset[tuple[str, str]] = frozenset()) -> bool:
        """Write what is new or updated, without those of `drop`; whether anything changed."""
        if not drop and all(self.kept.get(key) == text for key, text in self.written.items()):
            return False
        self.path.parent.mkdir(exist_ok=True)
        with _alone(self.path):
            # Another process may have written those of its tests meanwhile.
            self.kept = _read(self.path)
            now = {key: text for key, text in {**self.kept, **self.written}.items() if key not in drop}
            if now == self.kept:
                return False
            self.kept = now
            if not now:
                self.path.unlink(missing_ok=True)
                return True
            whole = self.path.with_name(f".{self.path.name}.{os.getpid()}")
            whole.write_text(_written(now), encoding="utf-8", newline="\n")
            whole.replace(self.path)
        return True


class Snapshots:
    """The snapshots of one test."""

    def __init__(self, file: SnapshotFile, test: str) -> None:
        self.file = file
        self.test = test
        self._names: set[str] = set()

    def compare(self, name: str, value: object, mask: Callable[[str], str]) -> None:
        """Compare with what is kept, or keep it. Raises the fault `AssertionFailed` where it differs, and on a build machine where there
        is nothing to compare with."""
        if not name.strip() or "\n" in name or len(name) > 200:
            raise Fault(FaultKind.OUT_OF_RANGE, "the name of a snapshot is one line of 1 to 200 characters")
        if name in self._names:
            raise Fault(FaultKind.ASSERTION_FAILED, f"two snapshots of this test have the name `{name}`")
        self._names.add(name)
        text = mask(rendered(value))
        if len(text) > _MOST:
            raise Fault(FaultKind.TOO_LARGE, f"the snapshot `{name}` has {len(text):,} characters, more than {_MOST:,}")
        key = (self.test, name)
        self.file.used.add(key)
        before = self.file.kept.get(key)
        if before == text:
            return
        if self.file.update or (before is None and not self.file.ci):
            self.file.written[key] = text
            return
        if before is None:
            message = f"there is no snapshot `{name}`, and on a build machine none is made: run `ael test` and commit {self.file.path.name}"
            raise Fault(FaultKind.ASSERTION_FAILED, message)
        lines = difference(before, text)
        message = f"the snapshot `{name}` differs; `ael test --update-snapshots` takes what is now\n" + "\n".join(lines)
        raise Fault(FaultKind.ASSERTION_FAILED, message)


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """One process at a time writes the file. A lock that was left behind is taken over."""
    lock = path.with_name(f".{path.name}.lock")
    for _ in range(_TRIES):
        try:
            os.close(os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
            break
        except FileExistsError:
            time.sleep(_AGAIN)
    try:
        yield
    finally:
        lock.unlink(missing_ok=True)


def rendered(value: object) -> str:
    """A value as a person reads it: text as it is, everything else as JSON over several lines. Raises the fault `Malformed`."""
    if isinstance(value, str):
        return value
    try:
        return json.dumps(json.loads(encode(value)), ensure_ascii=False, indent=2)
    except EncodeError as error:
        raise Fault(FaultKind.MALFORMED, f"a snapshot keeps data: {error.message}") from None


def difference(before: str, now: str, most: int = _SHOWN) -> list[str]:
    """What differs, as lines with `-` and `+`, and a few around them."""
    lines = list(difflib.unified_diff(before.split("\n"), now.split("\n"), "before", "now", n=2, lineterm=""))
    return lines if len(lines) <= most else [*lines[:most], f"… {len(lines) - most} lines more"]


def _written(kept: dict[tuple[str, str], str]) -> str:
    """The file: each snapshot below a line with its test and name, its text indented."""
    parts = []
    for (test, name), text in sorted(kept.items()):
        lines = "\n".join(_INDENT + line if line else "" for line in text.split("\n"))
        # A text that ends with empty lines says how many: an editor takes them away at the end of a file.
        ends = len(text) - len(text.rstrip("\n"))
        more = f" +{ends}" if ends else ""
        head = f"{_HEAD}{json.dumps(test, ensure_ascii=False)} {json.dumps(name, ensure_ascii=False)}{more}"
        body = lines.rstrip("\n")
        parts.append(f"{head}\n{body}\n")
    return "\n".join(parts)


_LINE = re.compile(r'=== ("(?:[^"\\]|\\.)*") ("(?:[^"\\]|\\.)*")(?: \+([0-9]{1,6}))?')


def _read(path: Path) -> dict[tuple[str, str], str]:
    try:
        text = path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise SnapshotError(f"`{path}` cannot be read: {getattr(error, 'strerror', None) or 'it is not UTF-8'}") from None
    found: dict[tuple[str, str], str] = {}
    lines: list[str] = []
    key: tuple[str, str] | None = None
    ends = 0

    def finish() -> None:
        if key is not None:
            found[key] = "\n".join(lines).rstrip("\n") + "\n" * ends

    for number, line in enumerate(text.split("\n"), start=1):
        head = _LINE.fullmatch(line)
        if head is not None:
            finish()
            try:
                key, lines, ends = (json.loads(head[1]), json.loads(head[2])), [], int(head[3] or 0)
            except ValueError:
                raise SnapshotError(f"`{path}`, line {number}: this is no head of a snapshot") from None
        elif key is None and line:
            raise SnapshotError(f'`{path}`, line {number}: a snapshot begins with `=== "test" "name"`')
        elif line and not line.startswith(_INDENT):
            raise SnapshotError(f"`{path}`, line {number}: the text of a snapshot is indented by four blanks")
        else:
            lines.append(line[len(_INDENT) :])
    finish()
    return found
