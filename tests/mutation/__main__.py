"""`python -m tests.mutation [KIND…] [--tests]`: run the mutations of these kinds, or all, and list what survived.

`--tests` first runs the tests that are to kill them over the code as it is: a test that fails anyway kills nothing.
"""

from __future__ import annotations

import re
import sys
import time

from tests.mutation.catalogue import MUTATIONS
from tests.mutation.runner import Runner


def main(words: list[str]) -> int:
    """Exit code 0 when all were killed."""
    kinds = [word for word in words if not word.startswith("--")]
    chosen = [mutation for mutation in MUTATIONS if not kinds or mutation.kind in kinds]
    survived = 0
    with Runner() as runner:
        if "--tests" in words and (output := runner.passes(chosen)):
            print(output)
            return 1
        for mutation in chosen:
            began = time.monotonic()
            try:
                verdict = runner.kill(mutation)
            except ValueError as problem:
                print(f"ERROR    {problem}")
                survived += 1
                continue
            survived += not verdict.killed
            failed = re.search(r"^FAILED (\S+)", verdict.output, re.MULTILINE)
            by = failed[1].rpartition("/")[2][:90] if failed else ""
            print(
                f"{'killed  ' if verdict.killed else 'SURVIVED'} {time.monotonic() - began:4.1f} s  {mutation.label}  {by}",
                flush=True,
            )
    print(f"{len(chosen) - survived} of {len(chosen)} mutations were killed")
    return 1 if survived or not chosen else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
