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
