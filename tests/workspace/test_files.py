"""`std/files` in a program: what is read and written, how much, and what a caller has to face."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.programs import open_files
from tests.workspace.programs import play, program

ERRORS = "OutsideWorkspace, NotFound, NotFile, NotText, FileTooLarge, ReadOnly"
HEAD = f"use std/files.{{append, read_bytes, read_text, write_bytes, write_text, {ERRORS}}}\n"


def test_large_files_go_in_and_out_as_they_are(tmp_path: Path) -> None:
    """A text without a bound of its own is as large as the tool says that it takes."""
    main = f"""{HEAD.replace("append, ", "")}
node main() -> List<Int> fails {ERRORS}
  grants std.files.write
{{
  let big = "0123456789".repeat(90_000)
  try write_text("a.txt", big)
  let text = try read_text("a.txt")
  try write_text("b.txt", "${{text}}!")
  try write_bytes("c.bin", text.to_bytes())
  let data = try read_bytes("c.bin")
  [text.length(), (try read_text("b.txt")).length(), data.length()]
}}
"""
    assert play(program(tmp_path, main)).value == [900_000, 900_001, 900_000]


def test_what_is_larger_than_the_deployment_allows(tmp_path: Path) -> None:
    main = f"""use std/files.{{write_text, {ERRORS.replace("NotText, ", "")}}}

node main() -> Int fails OutsideWorkspace, NotFound, NotFile, ReadOnly
  grants std.files.write
{{
  try write_text("a.txt", "0123456789".repeat(200)) catch {{
    FileTooLarge e => {{
      return e.size - e.limit
    }}
  }}
  0
}}
"""
    assert play(program(tmp_path, main, 'files = folder("./ws", write: true, limit: 1KiB)\n')).value == 2_000 - 1_024
    assert play(program(tmp_path, main, 'files = folder("./ws", write: true)\n')).value == 0
    assert play(program(tmp_path, main, 'files = folder("./ws")\n')).error == "ReadOnly"
    assert play(program(tmp_path, main, "")).fault == "Unavailable"


@pytest.mark.feature("A8.5")
def test_who_adds_to_a_file_faces_that_it_may_have_happened(tmp_path: Path) -> None:
    main = (
        HEAD.replace("read_bytes, read_text, write_bytes, write_text, ", "")
        + f"""
node main() -> Int fails {ERRORS}
  grants std.files.write
{{
  try append("a.txt", "x")
}}
"""
    )
    opened, bag = open_files(tmp_path, {"main.ael": main})
    assert opened is None
    assert any("Uncertain" in d.message for d in bag.sorted())


def test_a_permission_to_read_is_none_to_write(tmp_path: Path) -> None:
    main = f"""use std/files.{{write_text, {ERRORS.replace("NotText, ", "")}}}

node main() -> Bool fails OutsideWorkspace, NotFound, NotFile, FileTooLarge, ReadOnly
  grants std.files.read
{{
  try write_text("a.txt", "x")
}}
"""
    opened, bag = open_files(tmp_path, {"main.ael": main})
    assert opened is None
    assert [d.code for d in bag.sorted()] == ["AEL0509"]


def test_files_of_other_languages_are_read_as_far_as_they_fit(tmp_path: Path) -> None:
    """Characters of three bytes: what is given of a file is counted in characters."""
    main = """use std/code.{read_file, FileView}
use std/files.{FileTooLarge, NotFile, NotFound, NotText, OutsideWorkspace}

node main() -> List<Int> fails OutsideWorkspace, NotFound, NotFile, NotText, FileTooLarge
  grants std.code.read
{
  let seen: FileView = try read_file("a.txt")
  [seen.lines, seen.last, seen.text.length()]
}
"""
    lines, last, length = play(program(tmp_path, main, a_txt="漢字" * 100 + "\n" + ("語" * 99 + "\n") * 900)).value
    assert lines == 901
    assert 300 < last < 500
    assert 39_000 < length <= 40_000
