"""A pytest plugin: `test` blocks of AEL run beside the tests in Python, each an item `main.ael::title`.

Nothing is collected unless it is asked for: by the ini option `ael_tests` (folders and files below the root folder), by `--ael`, or by
naming an `.ael` file on the command line. What needs AEL itself is loaded when the first such file is met.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import cast

import pytest

_NOT_MODULES = ("pack.ael",)


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options and ini options of the plugin."""
    group = parser.getgroup("ael", "tests in AEL")
    group.addoption("--ael", action="store_true", help="collect the test blocks of all .ael files")
    group.addoption("--ael-update-snapshots", action="store_true", help="take the snapshots of AEL tests as they are now")
    parser.addini("ael_tests", "folders and files whose .ael test blocks are collected", type="paths", default=[])
    parser.addini("ael_timeout", "seconds that one AEL test may take", default="60")


def pytest_configure(config: pytest.Config) -> None:
    """The marker that every AEL test has."""
    config.addinivalue_line("markers", "ael: a `test` block of an .ael file")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """The tests of an `.ael` file, where they are wanted."""
    if file_path.suffix != ".ael" or file_path.name in _NOT_MODULES or file_path.name.startswith(("deploy.", "eval.")):
        return None
    config = parent.config
    wanted = config.getoption("--ael") or any(file_path.is_relative_to(one) for one in config.getini("ael_tests"))
    if not wanted and not _named(file_path, config):
        return None
    return cast("pytest.Collector", import_module("ael.testing.pytest_items").AelFile.from_parent(parent, path=file_path))


def _named(file: Path, config: pytest.Config) -> bool:
    """Whether the file itself stands on the command line."""
    words = (str(word).partition("::")[0] for word in config.args)
    return any(word.endswith(".ael") and (config.invocation_params.dir / word).resolve() == file for word in words)
