"""What a path may be called: nothing that leads back, hides, or is kept from programs."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ael.natives.workspace_names import MAX_PATH, folded, parts_of
from ael.types.fault import Failure
from tests.workspace.support import refused


@pytest.mark.parametrize(
    ("path", "parts"),
    [
        ("", ()), (".", ()), ("./", ()), ("a", ("a",)), ("a/b.txt", ("a", "b.txt")), ("./a//b/", ("a", "b")), ("a/./b", ("a", "b")),
        ("été/ß", ("été", "ß")), (".gitignore", (".gitignore",)), (".env.example", (".env.example",)), ("a b", ("a b",)),
        ("...a", ("...a",)), ("keyboard.py", ("keyboard.py",)), ("environment", ("environment",)), (".github", (".github",)),
    ],
)  # fmt: skip
def test_a_path_in_its_parts(path: str, parts: tuple[str, ...]) -> None:
    assert parts_of(path) == parts


@pytest.mark.feature("A15.1", "K42")
@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd", "/", "//etc", "..", "../x", "a/../b", "a/..", "a/../../x", "\\\\server\\x", "..\\x", "a\\b", "a\0b", "a\nb", "a\tb",
        "a\x1b[2Jb", "\ud800", "...", ". .", "a/ ./b", "a/\u200b/b", "\u2024\u2024/x", "\uff0e\uff0e/x", "x" * 256, "é" * 128,
        "a/" * 65, "x/" * MAX_PATH,
    ],
)  # fmt: skip
def test_a_path_that_leads_elsewhere_or_cannot_be_seen(path: str) -> None:
    assert refused(lambda: parts_of(path), "OutsideWorkspace")["reason"]


@pytest.mark.feature("A15.1", "K41")
@pytest.mark.parametrize(
    "path",
    [
        ".git", ".git/config", "a/.git/HEAD", ".GIT/config", ".Git", ".git.", ".git ", ".g\u200cit", "git~1/config",
        ".git::$INDEX_ALLOCATION", "\uff0egit", ".hg", ".svn/x", ".jj",
        ".env", ".ENV", "a/.env", ".env.local", ".env.production", ".Env.Local", ".envrc", ".netrc", ".npmrc", ".pypirc", ".ssh/config",
        ".aws", "id_rsa", "ID_RSA", "deploy.pem", "server.KEY", "store.jks", ".git-credentials", "terraform.tfstate",
        ".docker/config.json", ".env:x",
    ],
)  # fmt: skip
def test_what_is_kept_from_programs_by_its_name(path: str) -> None:
    refused(lambda: parts_of(path), "OutsideWorkspace")


def test_a_deployment_allows_a_name_in_whatever_case() -> None:
    assert parts_of("a/.env.Test", frozenset({".env.test"})) == ("a", ".env.Test")
    refused(lambda: parts_of(".env", frozenset({".env.test"})), "OutsideWorkspace")
    refused(lambda: parts_of("..", frozenset({".."})), "OutsideWorkspace")


def parts_or_none(path: str) -> tuple[str, ...] | None:
    """The parts of a path, None when it is refused."""
    try:
        return parts_of(path)
    except Failure:
        return None


@given(st.text(max_size=40))
def test_no_path_leads_out(path: str) -> None:
    """Whatever is given: parts that are names, or a refusal; and joined to a folder they stay below it."""
    parts = parts_or_none(path)
    if parts is None:
        assert str(refused(lambda: parts_of(path), "OutsideWorkspace")["path"]).isprintable()
        return
    for part in parts:
        assert part not in ("", ".", "..")
        assert "/" not in part
        assert "\0" not in part
    assert Path("/root", *parts).is_relative_to("/root")


@given(st.text(max_size=20))
def test_folding_twice_says_nothing_new(name: str) -> None:
    assert folded(folded(name)) == folded(name) or ":" in name
