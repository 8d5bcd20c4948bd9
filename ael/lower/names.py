"""How the names of a program are called in the Python that it becomes.

Every name of the user's gets a prefix, so that none can be a word, a built-in or a special name of Python, and none can meet a name of
`ael.lower.abi`: `u_` for locals, `f_` for code, `c_` for constants. Temporaries start with `_`.
"""

from __future__ import annotations

import re

FRAME = "k"
"""The frame parameter of what acts."""
DEPTH = "_d"
"""How deep a recursive function is."""
ACTING = "_acting"
"""What ends the name of a function's variant for acting arguments."""

_PLAIN = re.compile(r"[^A-Za-z0-9_]")


def local(slot: str) -> str:
    """A parameter, `let`, `var` or binder."""
    return f"u_{slot}"


def mangled(qualified: str) -> str:
    """A qualified name as part of an identifier; two names may become one, so `Names` tells them apart."""
    return _PLAIN.sub("_", qualified)


class Names:
    """Python names for the qualified names of one program: the same for the same program, no two alike."""

    def __init__(self) -> None:
        self._given: dict[tuple[str, str], str] = {}
        self._taken: set[str] = set()

    def of(self, prefix: str, qualified: str) -> str:
        """The Python name of `qualified` under `prefix` (`f`, `c`)."""
        key = (prefix, qualified)
        found = self._given.get(key)
        if found is None:
            base = found = f"{prefix}_{mangled(qualified)}"
            number = 2
            while found in self._taken or found.endswith(ACTING):
                found = f"{base}_{number}"
                number += 1
            self._taken.add(found)
            self._given[key] = found
        return found

    def originals(self) -> dict[str, str]:
        """Python name -> the name as people know it, for tracebacks."""
        return {python: qualified.rpartition(".")[2] for (_, qualified), python in self._given.items()}
