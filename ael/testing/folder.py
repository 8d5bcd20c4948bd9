"""The folder that a `test` has for its files: its own, empty, and gone afterwards, whatever folder the deployment gives."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory

from ael.data import replace
from ael.project.bind_files import CodeBinding, FilesBinding
from ael.project.program import Opened

TESTED = ("sh", "tests.sh")
"""The command of the tests for a test that calls `run_tests` of `std/code`: it writes that file itself."""
_TOPICS = ("std:files.", "std:code.", "std:process.")


@contextmanager
def with_folder(opened: Opened) -> Iterator[Opened]:
    """The program with a folder of its own, if it has to do with files at all."""
    if not any((tool.extern or "").startswith(_TOPICS) for tool in opened.program.tools.values()):
        yield opened
        return
    with TemporaryDirectory(prefix="ael-test-", ignore_cleanup_errors=True) as folder:
        code = CodeBinding(TESTED, after_edit=False, shell=True)
        natives = {**opened.deployment.natives, "files": FilesBinding(folder, write=True), "code": code}
        yield replace(opened, deployment=replace(opened.deployment, natives=natives))
