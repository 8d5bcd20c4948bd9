"""How far a line for the shell reaches: checked code, which says of nothing that it is harmless but of what surely is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.workspace.programs import play, program

MAIN = """
use std/code.{Reach, reach}

node main(lines: List<String>) -> List<Reach> {
  lines.map(fn(line) => reach(line))
}
"""
HARMLESS = (
    "git status", "git diff HEAD", "git log --oneline -5", "git add src/a.py", 'git commit -m "a message"', "git branch",
    "git switch -c work", "git show HEAD:src/a.py", "git diff -- src/a.py", "git log --all --no-merges",
    "git branch -m old new", "git branch --merged", 'git commit -am "a b"', "pwd", "wc -l a.txt", "diff a.txt b.txt", "echo 'git push'",
)  # fmt: skip
ASKED = (
    "git push", "git push origin main", "git push --force", "git -C .. push", "git reset --hard", "git clean -fd", "git checkout .",
    "git branch -D main", "git branch -fd main", "git branch -vD main", "git branch --delete main",
    "git switch --discard-changes main", "git tag -d v1", "git commit --amend", "git diff --output=x", "git diff --outp=x",
    "git log --ext-diff", "git grep -Ovi x", "git show --textconv", "git config alias.x y", "git rebase main", "git stash drop",
    "git merge x", "git fetch", "git 'push'", 'git "pu"sh', "git", "GIT push", "deploy", "make deploy", "npm publish",
    "terraform apply", "kubectl delete pod x", "docker push x", "curl http://example.com", "ssh host", "python3 x.py", "sh x.sh",
    "bash -c ls", "env git push", "sudo ls", "xargs rm", "/usr/bin/git status", "./git status", "A=1 git status", "", "echo a > b",
    "echo a; git push", "echo a && git push", "echo a | sh", "echo `git push`", "echo $(git push)", "echo $HOME",
    "echo a\ngit push", "echo a &", "echo *", "echo ~", "echo {a,b}", "echo a\\ b", "echo a # b", "echo !!", "(ls)", "ls\tsrc",
    "echo \u00e9",
    # A blank in quotes is a part of the name of a program, which may be a file of the project.
    '"git status /../deploy.sh"', "'echo /../deploy.sh'", "\"'\"'git status /../x'", 'git "status /../deploy.sh"', "git '' push",
    # Long options that are cut short to the least that git takes.
    "git switch --di main", "git switch --dis main", "git branch --d main", "git branch --de main", "git tag --d v1",
    "git branch --mo a b", "git log --o=x", "git commit --am", "git switch --orphan x", "git add --chmod=+x a.sh",
    "git switch -m main", "git switch --merge main", "git commit -nm x",
    # Files that the tools for files keep from programs.
    "diff .env a.txt", "git show HEAD:.env", "git diff --no-index a b", "diff -rN . b", "diff --recursive . b", "date -f .ENV",
    "git blame deploy/id_rsa", "wc server.pem", 'git show "HEAD:.e"nv', "cat < a",
)  # fmt: skip
OWN = {
    "cat a.txt": "read_file", "head -3 a.txt": "read_file", "tail a": "read_file", "less a": "read_file", "ls -la": "glob",
    "find . -name x": "glob", "find . -delete": "glob", "tree": "glob", "grep -rn x src": "grep", "rg x": "grep",
    "sed -i s/a/b/ a.txt": "edit", "vi a": "edit", "patch -p1": "edit", "tee a": "write_file", "touch a": "write_file",
    "mkdir -p a/b": "write_file", "rm -rf src": "delete_file", "pytest -q": "run_tests", "python3 -m unittest": "run_tests",
    "npm test": "run_tests", "cargo test": "run_tests", "make test": "run_tests",
}  # fmt: skip


def reaches(tmp_path: Path, lines: list[str]) -> list[Any]:
    found: list[Any] = play(program(tmp_path, MAIN), values={"lines": lines}).value
    return found


@pytest.mark.feature("A4.9")
def test_what_can_be_brought_back_runs_at_once(tmp_path: Path) -> None:
    assert dict(zip(HARMLESS, reaches(tmp_path, list(HARMLESS)), strict=True)) == dict.fromkeys(HARMLESS, "Reversible")


@pytest.mark.feature("A4.9")
def test_what_leaves_destroys_or_cannot_be_told_asks_a_person(tmp_path: Path) -> None:
    assert dict(zip(ASKED, reaches(tmp_path, list(ASKED)), strict=True)) == dict.fromkeys(ASKED, "Irreversible")


@pytest.mark.feature("A15.7")
def test_what_has_a_tool_of_its_own_is_left_to_it(tmp_path: Path) -> None:
    """Promoted for one of four reasons: security, staleness, rendering, scheduling; the shell does none of it again."""
    found = dict(zip(OWN, reaches(tmp_path, list(OWN)), strict=True))
    assert found == {line: {"kind": "Own", "tool": tool} for line, tool in OWN.items()}


@pytest.mark.feature("A15.7")
def test_the_page_of_coding_agents_says_why_each_tool_is_there() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "coding-agents.md").read_text(encoding="utf-8")
    for tool in sorted({*OWN.values(), "delete_file"}):
        (row,) = [line for line in page.splitlines() if line.startswith(f"| `{tool}`")]
        assert any(trigger in row for trigger in ("security", "staleness", "rendering", "scheduling")), row
