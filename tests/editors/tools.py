"""The programs that tests of editors need: those of this environment, of the system, and the compiled grammar."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import NoReturn

import pytest
from tree_sitter import Language

ROOT = Path(__file__).resolve().parents[2]
GRAMMAR = ROOT / "editors" / "tree-sitter-ael"
SCRIPTS = Path(sysconfig.get_path("scripts"))


def not_run(part: str, missing: str) -> NoReturn:
    """`part` is not tested: a skip that says so, and in CI (the variable `CI`) a failure."""
    reason = f"not run: {part}, because there is no {missing}"
    if os.environ.get("CI", "").lower() not in ("", "0", "false"):
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


def system(name: str, part: str) -> str:
    """The path of a program of the system."""
    found = shutil.which(name)
    return found if found is not None else not_run(part, f"`{name}` on the PATH")


def own(name: str, part: str) -> str:
    """The path of a program of this environment (`node`, `npm`, `ael`)."""
    found = shutil.which(name, path=str(SCRIPTS))
    return found if found is not None else not_run(part, f"`{name}` in {SCRIPTS}")


def environment(**more: str) -> dict[str, str]:
    """The environment for an editor: `ael` and `node` are those of this environment, whatever else is on the PATH."""
    return {**os.environ, "PATH": f"{SCRIPTS}{os.pathsep}{os.environ.get('PATH', '')}", **more}


def language(folder: Path) -> Language:
    """The grammar, compiled into `folder` with the system's C compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        not_run("the tree-sitter grammar", "C compiler")
    made = folder / "ael.so"
    source = GRAMMAR / "src"
    flags = [
        "-shared",
        "-fPIC",
        "-std=c11",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-Wno-unused-parameter",
        "-Wno-unused-but-set-variable",
    ]
    subprocess.run(
        [compiler, *flags, f"-I{source}", "-o", str(made), str(source / "parser.c"), str(source / "scanner.c")], check=True
    )
    function = ctypes.CDLL(str(made)).tree_sitter_ael
    function.restype = ctypes.c_void_p
    capsule = ctypes.pythonapi.PyCapsule_New
    capsule.restype = ctypes.py_object
    capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return Language(capsule(function(), b"tree_sitter.Language", None))
