"""`ael test`: nobody is asked over the network, and people agree."""

from __future__ import annotations

from pathlib import Path

import pytest

from ael.testing.runner import run_tests
from tests.programs import open_files

MAIN = """
use std/http.{http_post, NotAllowed}
use std/human.{confirm}
use std/web.{web_read}

test "nobody is asked" {
  try http_post("http://127.0.0.1:1/x", "{}") catch {
    NotAllowed refused => {
      assert refused.reason.contains("not among the hosts")
    }
  }
  try web_read("https://example.com/") catch {
    NotAllowed refused => {
      assert refused.reason.contains("web = ")
    }
  }
}

test "people say yes" {
  let said = try confirm("Really?")
  assert said.yes
}
"""


@pytest.mark.feature("K42", "A15.6")
def test_a_test_reaches_nobody_whatever_the_deployment_lists(tmp_path: Path) -> None:
    deploy = 'host "127.0.0.1"\nhttp = client(hosts: ["example.com"])\nweb = pages(anywhere: true)\n'
    opened, bag = open_files(tmp_path, {"main.ael": MAIN, "deploy.ael": deploy})
    assert opened is not None
    assert not bag.errors
    assert [one.problem for one in run_tests(opened)] == [None, None]


@pytest.mark.feature("K42", "A15.6")
def test_what_a_test_reaches_nobody_for_is_told(tmp_path: Path) -> None:
    main = """
use std/http.{http_get}
use std/human.{ask}

test "asked" { try http_get("https://example.com/") }
test "answered" { try ask("Why?") }
"""
    opened, _ = open_files(tmp_path, {"main.ael": main, "deploy.ael": 'http = client(hosts: ["example.com"])\n'})
    assert opened is not None
    asked, answered = (one.problem or "" for one in run_tests(opened))
    assert asked.startswith("failed with NotAllowed")
    assert asked.endswith("\nnobody is asked over the network in a test")
    assert "the first choice, and this question has no choices" in answered
