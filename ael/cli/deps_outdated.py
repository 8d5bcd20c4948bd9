"""`ael deps outdated`: what is newer than what is there or locked.

Which version of a distribution there is to install is asked of pip, under its own settings (`PIP_INDEX_URL`, `PIP_NO_INDEX`): it says what
it would install, and installs nothing. A pack in a folder has no other version than the folder's; what can differ is the lock.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping

from ael.data import dataclass
from ael.project.bring import Brought
from ael.project.content import PackPin

_PATIENCE = 120.0
"""Seconds that pip has for one distribution."""
_ASK = (
    "-m", "pip", "install", "--dry-run", "--quiet", "--report", "-", "--no-deps", "--ignore-installed", "--only-binary", ":all:",
    "--disable-pip-version-check", "--no-input",
)  # fmt: skip


@dataclass(frozen=True)
class Row:
    """A pack: `there` is its version, `locked` that in the lock (None: not locked), `newer` the distribution's newest, where it differs.

    `problem`: why the index could not be asked.
    """

    name: str
    there: str
    locked: str | None
    newer: str | None = None
    problem: str | None = None

    @property
    def outdated(self) -> bool:
        """Whether there is something to do."""
        return self.newer is not None or (self.locked is not None and self.locked != self.there)


def outdated(packs: Mapping[str, Brought], locked: Mapping[str, PackPin], *, offline: bool, as_json: bool) -> int:
    """Print what is outdated. Exit code 1 when something is, 2 when an index could not be asked."""
    rows = [_row(name, one, locked.get(name), offline) for name, one in packs.items()]
    if as_json:
        plain = [
            {
                "name": row.name, "there": row.there, "locked": row.locked, "newer": row.newer, "outdated": row.outdated,
                "problem": row.problem,
            }
            for row in rows
        ]  # fmt: skip
        print(json.dumps(plain, indent=2, ensure_ascii=False))
    for row in rows:
        if row.problem is not None:
            print(f"ael deps: which versions of `{row.name}` there are is not known: {row.problem}", file=sys.stderr)
        elif row.outdated and not as_json:
            print(_told(row))
    if any(row.problem is not None for row in rows):
        return 2
    if any(row.outdated for row in rows):
        return 1
    if not as_json:
        print("nothing is outdated", file=sys.stderr)
    return 0


def _told(row: Row) -> str:
    parts = [f"{row.name} {row.there}"]
    if row.locked is not None and row.locked != row.there:
        parts.append(f"{row.locked} is locked: `ael deps update {row.name}`")
    if row.newer is not None:
        parts.append(row.newer)
    return "; ".join(parts)


def _row(name: str, one: Brought, pin: PackPin | None, offline: bool) -> Row:
    there, locked = one.pack.version, pin.version if pin is not None else None
    kind, _, rest = one.resolved.origin.partition(" ")
    if kind != "distribution" or offline:
        return Row(name, there, locked)
    distribution, _, version = rest.rpartition(" ")
    try:
        newest = _newest(distribution)
    except (OSError, subprocess.SubprocessError, ValueError, LookupError, TypeError) as error:
        return Row(name, there, locked, problem=_reason(error))
    newer = f"the distribution `{distribution}` {version} is installed, and there is {newest}" if newest != version else None
    return Row(name, there, locked, newer)


def _newest(distribution: str) -> str:
    """The version of a distribution that pip would install. Raises what starting it and reading its report can."""
    done = subprocess.run(
        [sys.executable, *_ASK, "--", distribution], capture_output=True, text=True, timeout=_PATIENCE, check=True,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    told = json.loads(done.stdout)
    return str(told["install"][0]["metadata"]["version"])


def _reason(error: Exception) -> str:
    if isinstance(error, subprocess.TimeoutExpired):
        return f"pip did not answer within {_PATIENCE:.0f} s"
    if isinstance(error, subprocess.CalledProcessError):
        lines = [line for line in str(error.stderr).splitlines() if line.strip()]
        return lines[-1].strip()[:200] if lines else f"pip ended with {error.returncode}"
    return f"pip's answer cannot be read: {type(error).__name__}"
