"""For each kind of fault of the typed boundary, a mutation that removes its guard; the tests named for the kind must fail under it.

`python -m tests.types.mutants [KIND…]` copies the package, applies one mutation at a time, runs the tests that are to kill it, and
lists what survived.
"""

# ruff: noqa: E501 - the text of the code that is replaced, as it stands there

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
TYPES = ROOT / "ael" / "types"


class Mutant(NamedTuple):
    """In `file` of `ael/types`, `old` (which is there once) becomes `new`; `tests` are what pytest runs."""

    kind: str
    file: str
    old: str
    new: str
    tests: str


MUTANTS = (
    Mutant("K07", "arguments.py", "        try:\n            return read(text, self._limits, max_bytes=most, decimals=self._decimals)\n        except JsonError as error:\n            raise DecodeError([error.problem()]) from None",
           "        try:\n            return read(text, self._limits, max_bytes=most, decimals=self._decimals)\n        except JsonError:\n            return {}", "test_arguments.py::TestK07"),
    Mutant("K07", "arguments.py", "if size > most:", "if size > most and False:", "test_arguments.py::TestK07"),
    Mutant("K08", "arguments.py", "if raw is None or (", "if raw is None and (", "test_arguments.py::TestK08"),
    Mutant("K09", "arguments.py", "return self.value(found, inner, path, wrapped=True)", "return self.value(found, inner, path, wrapped=False)", "test_arguments.py::TestK09"),
    Mutant("K09", "arguments.py", 'return "" if "str" in kinds else (', 'return (', "test_arguments.py::TestK09"),
    Mutant("K09", "decode_leaf.py", 'f"if type({x}) is not int: {kind}"', 'f"if type({x}) not in (int, str): {kind}"', "test_decode.py"),
    Mutant("K10", "arguments.py", 'elif entry is None and not field.required and "NoneType"', 'elif False and "NoneType"', "test_arguments.py::TestK10"),
    Mutant("K10", "arguments.py", 'and "NoneType" not in self._kinds(field.type):', "and True:", "test_arguments.py::TestK10"),
    Mutant("K11", "decode_emit.py", 'lines.append(f"if len(x) != {len(fields) - len(optional)}{present}: raise M")', "pass", "test_decode.py::TestK11"),
    Mutant("K12", "json.py", 'if b"0e" in plain or _LONG_RUN in plain:', "if False:", "test_json.py::TestK12"),
    Mutant("K12", "canonical.py", 'allow_nan=False, check_circular=False, separators=(",", ":"), default=json_form)', 'allow_nan=True, check_circular=False, separators=(",", ":"), default=json_form)', "test_json.py::TestK12"),
    Mutant("K12", "decode_leaf.py", "low = -FLOAT_MAX if type.min is None", 'low = float("-inf") if type.min is None', "test_decode.py"),
    Mutant("K12", "decode_leaf.py", "least, most = -MAX_INT if low is None else low, MAX_INT if high is None else high", "least, most = -(MAX_INT**2) if low is None else low, MAX_INT**2 if high is None else high", "test_encode.py::TestK47"),
    Mutant("K13", "json.py", "catch_duplicate_keys=True", "catch_duplicate_keys=False", "test_json.py::TestK13"),
    Mutant("K13", "json.py", "        brackets = brackets.replace(b\"[]\", b\"\")\n", "        brackets = b\"\"\n", "test_json.py::TestK13"),
    Mutant("K13", "json.py", "    if len(data) > max_bytes:", "    if False:", "test_json.py::TestK13"),
    Mutant("K13", "decode_leaf.py", "    if not frame.from_text:", "    if False:", "test_encode.py::TestK47"),
    Mutant("K13", "repair.py", 'if duplicate_place(candidate.encode("utf-8", "replace")) != ((), 0):', "if False:", "test_partial.py"),
    Mutant("K17", "schema.py", "if not is_open:\n            made[", "if is_open:\n            made[", "test_schema.py::TestK17"),
    Mutant("K18", "dialect_rules.py", "        if not rules.recursion:", "        if False:", "test_schema.py::TestK18"),
    Mutant("K18", "dialect_rules.py", "    if extra is not False and not rules.maps:", "    if False:", "test_schema.py::TestK18"),
    Mutant("K18", "dialect_rules.py", "    if key not in rules.narrowing:\n        return False", "    if key not in rules.narrowing:\n        return True", "test_schema.py::TestK18"),
    Mutant("K18", "dialect_openai.py", "        _measure(made)\n", "        pass\n", "test_schema.py::TestK18"),
    Mutant("K19", "naming.py", "    parts = name.split(\".\")\n", "    parts = name.replace(\"/\", \".\").split(\".\")\n", "test_naming.py"),
    Mutant("K41", "canonical.py", 'raise EncodeError((), f"{describe(value)} is no data")', 'return str(getattr(value, "_value", value))', "test_json.py"),
    Mutant("K47", "decode.py", "if unbounded and not nesting(value, limits.depth):", "if False:", "test_encode.py::TestK47"),
    Mutant("K47", "decode_support.py", "type(key) is str and self._text_fits(key) and", "", "test_encode.py::TestK47"),
    Mutant("K47", "encode.py", "        if len(text) > most:", "        if False:", "test_encode.py::TestK47"),
    Mutant("K53", "discriminate.py", "    for at, (origin, first) in enumerate(flat):", "    for at, (origin, first) in enumerate(flat[:0]):", "test_discriminate.py::TestK53"),
    Mutant("K53", "discriminate.py", "    if depth > _DEPTH:\n        return False", "    if depth > _DEPTH:\n        return True", "test_discriminate.py::TestK53"),
)  # fmt: skip


def survives(mutant: Mutant) -> bool:
    """Whether the tests pass though the guard is gone."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(ROOT / "ael", Path(folder) / "ael", ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copytree(ROOT / "tests" / "types", Path(folder) / "tests" / "types", ignore=shutil.ignore_patterns("__pycache__"))
        (Path(folder) / "tests" / "__init__.py").touch()
        file = Path(folder) / "ael" / "types" / mutant.file
        file.write_text(file.read_text(encoding="utf-8").replace(mutant.old, mutant.new), encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-c", str(ROOT / "pyproject.toml")]
        command += ["--rootdir", folder, f"tests/types/{mutant.tests}"]
        ran = subprocess.run(
            command, cwd=folder, env={**os.environ, "PYTHONPATH": folder}, capture_output=True, timeout=300, check=False
        )
        if ran.returncode not in (0, 1):
            raise RuntimeError(f"{mutant.kind}: {mutant.tests} did not run:\n{ran.stdout.decode()}{ran.stderr.decode()}")
        return ran.returncode == 0


def main(kinds: list[str]) -> int:
    """Run the mutants of `kinds`, or all."""
    chosen = [mutant for mutant in MUTANTS if not kinds or mutant.kind in kinds]
    survivors = [mutant for mutant in chosen if survives(mutant)]
    for mutant in survivors:
        print(f"{mutant.kind} survived: {mutant.file}: {mutant.new.strip()}")
    print(f"{len(chosen) - len(survivors)} of {len(chosen)} mutants were killed")
    return 1 if survivors or not chosen else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
