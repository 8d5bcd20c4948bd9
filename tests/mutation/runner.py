"""Runs mutations one after the other in a server (`server.py`)."""

from __future__ import annotations

import json
import subprocess
import sys
from types import TracebackType
from typing import NamedTuple

from tests.mutation.mutation import ROOT, Mutation

_FAILED = 1
"""What pytest ends with when it ran tests and one failed. Anything else, but 0 and what follows, means that it could not run them."""
_HUNG = -1
"""What a run is told with that had to be ended: without its guard the code does not come back, and a test that hangs has noticed."""


class Verdict(NamedTuple):
    """Whether the mutation was killed, and what pytest wrote."""

    killed: bool
    output: str


class Runner:
    """`with Runner() as runner:` holds a server; `kill` runs the tests of a mutation in it."""

    def __enter__(self) -> Runner:
        command = [sys.executable, "-m", "tests.mutation.server"]
        self._server = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._server.communicate()

    def kill(self, mutation: Mutation) -> Verdict:
        """Run the tests of a mutation. Raises `ValueError` when the guard is not there, or the tests could not be run."""
        code, output = self._ask(mutation.module, mutation.mutated(), mutation.nodes)
        if code not in (0, _FAILED, _HUNG):
            raise ValueError(f"{mutation.label}: {mutation.tests} could not be run ({code}):\n{output}")
        return Verdict(code in (_FAILED, _HUNG), output)

    def passes(self, mutations: list[Mutation]) -> str:
        """Run all tests of `mutations` over the code as it is: what pytest wrote when one fails, else nothing."""
        file = ROOT / mutations[0].file
        nodes = dict.fromkeys(node for mutation in mutations for node in mutation.nodes)
        code, output = self._ask(mutations[0].module, file.read_text(encoding="utf-8"), list(nodes))
        return f"{output}\n(exit code {code})" if code else ""

    def _ask(self, module: str, text: str, tests: list[str]) -> tuple[int, str]:
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.write(json.dumps({"module": module, "text": text, "tests": tests}) + "\n")
        self._server.stdin.flush()
        told = json.loads(self._server.stdout.readline())
        return told["code"], told["output"]
